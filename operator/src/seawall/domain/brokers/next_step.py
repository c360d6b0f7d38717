"""The next step of the controller that looks at brokers: it records what is news, then corrects what it may."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.repair import RepairMinISR, min_isr_repairs
from seawall.domain.brokers.status import events_of, with_brokers, with_nothing_seen
from seawall.domain.brokers.view import BrokersFound
from seawall.domain.conditions import ConditionBuilder
from seawall.domain.failure import Failure
from seawall.domain.min_isr import limit_of
from seawall.domain.step import Act, Record, Step, Wait

PERIOD_SECONDS = 30.0
SOON_SECONDS = 2.0
"""After a change: brokers tell of it one after another, and replicas of new topics take seconds to be in sync."""


def pause_after(previous: float | None) -> float:
    """Seconds until the next look, by those before this one; None: this one follows a change."""
    return SOON_SECONDS if previous is None else min(2 * previous, PERIOD_SECONDS)


@dataclass(frozen=True, slots=True)
class NothingSeen:
    """Nobody could look, and why."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest look, when the next one is due, in seconds, and why a correction since then failed."""

    now: datetime
    found: BrokersFound | NothingSeen
    after: float = PERIOD_SECONDS
    failure: Failure | None = None
    stands: Failure | None = None
    """Why it failed the last time: it is tried again, and until then the condition says so."""


BrokersStep = Step[WALClusterStatus, RepairMinISR]


def next_step(cluster: WALCluster, observed: Observed) -> BrokersStep:
    """Records what is not in the status yet, and then acts on it."""
    kafka, spec, found = cluster.status.kafka, cluster.spec, observed.found
    if kafka is None or cluster.metadata.deletion_timestamp is not None:
        return Wait("Kafka was not met yet, or the WALCluster goes", observed.after)
    repairs: tuple[RepairMinISR, ...] = ()
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.now)
    if isinstance(found, NothingSeen):
        status = with_nothing_seen(cluster, kafka, found.reason, found.message, build)
    elif isinstance(spec, InvalidSpec):
        status = with_nothing_seen(cluster, kafka, Reason.NOT_ASKED, spec.message, build)
    else:
        limit = limit_of(cluster.status.reassignment)
        repairs = () if cluster.metadata.is_paused else min_isr_repairs(spec, found.view, limit)
        failure = observed.failure or observed.stands
        failed = failure.message if failure is not None and repairs else ""
        status = with_brokers(cluster, kafka, spec, found, build, failed=failed)
    if status != cluster.status:
        return Record(status, events_of(cluster.status, status), 0.0)
    if repairs and observed.failure is None:
        return Act(repairs)
    return Wait("brokers are as the status says", observed.after)
