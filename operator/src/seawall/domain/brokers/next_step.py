"""The next step of the controller that looks at brokers: it records what is news, and does nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.status import events_of, with_brokers, with_nothing_seen
from seawall.domain.brokers.view import BrokersFound
from seawall.domain.conditions import ConditionBuilder
from seawall.domain.step import Record, Wait

PERIOD_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class NothingSeen:
    """Nobody could look, and why."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest look, and when the next one is due, in seconds."""

    now: datetime
    found: BrokersFound | NothingSeen
    after: float = PERIOD_SECONDS


def next_step(cluster: WALCluster, observed: Observed) -> Record[WALClusterStatus] | Wait:
    """Records what is not in the status yet."""
    kafka, spec, found = cluster.status.kafka, cluster.spec, observed.found
    if kafka is None or cluster.metadata.deletion_timestamp is not None:
        return Wait("Kafka was not met yet, or the WALCluster goes", observed.after)
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.now)
    if isinstance(found, NothingSeen):
        status = with_nothing_seen(cluster, kafka, found.reason, found.message, build)
    elif isinstance(spec, InvalidSpec):
        status = with_nothing_seen(cluster, kafka, Reason.NOT_ASKED, spec.message, build)
    else:
        status = with_brokers(cluster, kafka, spec, found, build)
    if status == cluster.status:
        return Wait("brokers are as the status says", observed.after)
    return Record(status, events_of(cluster.status, status), observed.after)
