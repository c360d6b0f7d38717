"""Which topics a restore may bring back: those of the pool, and those beyond its count that the backup may have.

Topics under the prefix beyond `topics.count` are backed up with the others. What the store has nobody but the job
reads; so they are known by the objects of backups, or because the restore names them, where those are gone with the
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.restore import RestoreSource, WALRestoreSpec
from seawall.api.v1alpha1.topic_pool import TopicsSpec


def asked_topics(spec: WALRestoreSpec, topics: TopicsSpec, backups: Iterable[WALBackup]) -> tuple[str, ...]:
    """Those that are asked for, by their index."""
    named = {*spec.topics, *(spec.pad_to or ()), *(spec.target.offsets or ())}
    backed_up = {row.name for each in backups if _is_source(each, spec.source) for row in each.status.topics}
    found = {name: topics.index_of(name) for name in (*topics.topic_names(), *named, *backed_up) if spec.selects(name)}
    indexed = ((index, name) for name, index in found.items() if index is not None)
    return tuple(name for _, name in sorted(indexed))


def _is_source(backup: WALBackup, source: RestoreSource) -> bool:
    """Whether it may be what is restored, or of the same chain; one that wrote nothing has nothing."""
    status = backup.status
    is_there = status.manifest is not None and status.cluster_id == source.cluster_id
    return is_there and source.chain in {None, status.chain}
