"""Whose turn it is: runs of one WALCluster never overlap, whether a policy made them or a person.

Runs go one after another, in the order in which they were created; one that has begun goes before all that have not. A
run asks for its turn again before each thing that it does, so two that began in the same moment do not both go on. This
is for tidiness and plain numbers only: two runs at once are harmless, because each deletion is safe by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.cluster_name import cluster_name
from seawall.domain.conditions import find_condition
from seawall.domain.purge.reasons import Reason


def run_in_front(run: WALPurge, runs: Iterable[WALPurge]) -> WALPurge | None:
    """The run that has its turn before this one; None when it is this run's turn."""
    cluster = cluster_name(run)
    conflicting_owners = [
        other
        for other in runs
        if other.metadata.namespace == run.metadata.namespace
        and other.metadata.uid != run.metadata.uid
        and cluster_name(other) == cluster
        and _takes_turns(other)
        and _order(other) < _order(run)
    ]
    return min(conflicting_owners, key=_order, default=None)


def why_waiting(front: WALPurge) -> str:
    """What the condition Waiting says of the run in front, and what to do if it cannot go on by itself."""
    stage = f"is in {front.status.stage}" if front.status.stage is not None else "has not begun"
    sentence = f"WALPurge {front.metadata.name} of the same WALCluster comes first; it {stage}"
    if front.metadata.is_paused:
        return f"{sentence} and is paused: remove its annotation seawall.dev/paused, or delete it"
    ready = find_condition(front.status.conditions, ConditionType.READY)
    if ready is not None and ready.reason == Reason.CANNOT_OBSERVE:
        return f"{sentence} and cannot look at the ledger ({ready.message}): mend that, or delete it"
    return sentence


def _takes_turns(run: WALPurge) -> bool:
    """A run that is over, that goes, or that this operator cannot read stands in nobody's way."""
    is_over = run.status.is_finished or run.metadata.deletion_timestamp is not None
    return not is_over and not isinstance(run.spec, InvalidSpec)


def _order(run: WALPurge) -> tuple[bool, datetime, str]:
    return run.status.stage is None, run.metadata.creation_timestamp, run.metadata.uid
