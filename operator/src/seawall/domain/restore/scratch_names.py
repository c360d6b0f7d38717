"""What scratch topics are called: by names that no pool has, so that nobody else looks after them.

A pool's topics are `<prefix>_<number>`, and these names have no underscore: that is so for every WALCluster there is or
will be. Each has the beginning of its restore's UID, so that another one of that name, or of another namespace, has
other topics. All begin alike, so that rights can be given for them.
"""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.meta import InvalidSpec, ObjectMeta
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoredTopic

PREFIX = "seawall-scratch-"
"""How all of them begin."""


def scratch_name(restore: ObjectMeta, number: int) -> str:
    """The name of the nth scratch topic of a restore; neither `_` nor `.`, which Kafka takes for one in metrics."""
    return f"{PREFIX}{restore.name}-{restore.uid[:8]}-{number}"


def into_scratch(restore: WALRestore, rows: Iterable[RestoredTopic]) -> tuple[RestoredTopic, ...]:
    """The topics that come back, each into a scratch topic if that is declared."""
    if not is_scratch(restore):
        return tuple(rows)
    names = ((row, scratch_name(restore.metadata, at)) for at, row in enumerate(rows))
    return tuple(row.model_copy(update={"into": name}) for row, name in names)


def is_scratch(restore: WALRestore) -> bool:
    """Whether it restores into scratch topics; of a spec that cannot be read its topics say so."""
    if isinstance(restore.spec, InvalidSpec):
        return any(row.into is not None for row in restore.status.topics)
    return restore.spec.scratch is not None
