"""What a restore is to know of others: what the database needs of its topics, and what backups and policies say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.restore import WALRestore, WALRestoreSpec
from seawall.domain.backup.broken import found_it_broken, why_it_stays
from seawall.domain.backup.retention import deleting
from seawall.domain.cluster.identity import pool_of
from seawall.domain.ledger.needs import Records, TopicNeeds, find_needs
from seawall.domain.restore.asked import asked_topics
from seawall.observe.ledger import LedgerObserver
from seawall.observe.records import read_records
from seawall.ports import Kube


def read_names(kube: Kube, obj: WALRestore, asked: WALRestoreSpec, spec: WALClusterSpec) -> tuple[str, ...]:
    """The topics that are asked for and may come back."""
    return asked_topics(asked, spec.topics, kube.list(WALBackup, obj.metadata.namespace).items)


def read_needs(
    observer: LedgerObserver, asked: WALRestoreSpec, cluster: WALCluster, names: Sequence[str]
) -> Mapping[str, TopicNeeds]:
    """What the database needs of the topics that are to come back, by the ledger and by Seawall's records.

    Of the Kafka that is pinned, and of the one that was backed up, which may have been another.
    """
    here, source = pool_of(cluster), asked.source.cluster_id
    there = None if here is None or source == here.cluster_id else replace(here, cluster_id=source)
    observation = observer.observe(cluster)
    records = Records(
        read_records(observer.intents, here, names),
        read_records(observer.intents, there, names),
        cluster.status.recorded_shards,
    )
    return find_needs(observation, names, records)


def read_why_it_stays(kube: Kube, obj: WALRestore) -> str | None:
    """Why one that is over outlives its ttl: what it found of a chain goes with it. Asked only of a broken one."""
    if not obj.status.is_over or not found_it_broken(obj):
        return None
    return why_it_stays(obj, kube.list(WALBackupPolicy, obj.metadata.namespace).items)


def read_deleting(kube: Kube, obj: WALRestore, asked: WALRestoreSpec) -> str | None:
    """Who deletes its chain: whoever froze its list later than this restore was created, has left the chain out."""
    chain = asked.source.chain
    return None if chain is None else deleting(chain, kube.list(WALBackup, obj.metadata.namespace).items)
