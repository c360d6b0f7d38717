"""Two restores of one WALCluster must not be at work at once: of topics that both find missing, both would be sure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seawall.api.resource import STAGE
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.restore.scratch_names import is_scratch

WRITES = frozenset({RestoreStage.WRITING, RestoreStage.REMOVING, RestoreStage.ADOPTING})
AT_WORK = WRITES | {RestoreStage.PREPARING}
"""The stages in which topics of a restore may be there, and are not whole."""


def is_at_work(restore: WALRestore, stages: Collection[RestoreStage] = AT_WORK) -> bool:
    """Whether it is in one of these stages, or in one that this version does not know."""
    return restore.status.stage in stages or STAGE in restore.unreadable


def find_other(obj: WALRestore, others: Iterable[WALRestore]) -> str | None:
    """The name of one that comes first: it is further, or as far and older.

    One into scratch topics is in nobody's way, and waits for all that are at work on the pool.
    """
    for other in others:
        if is_scratch(other):
            continue
        comes_first = is_scratch(obj) or _age(other) < _age(obj)
        is_older = other.status.stage is RestoreStage.PREPARING and comes_first
        if other.metadata.uid != obj.metadata.uid and (is_older or is_at_work(other, WRITES)):
            return other.metadata.name
    return None


def _age(obj: WALRestore) -> tuple[object, ...]:
    return obj.metadata.creation_timestamp, obj.metadata.uid
