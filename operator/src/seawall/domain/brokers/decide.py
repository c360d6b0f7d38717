"""What the controller of brokers decides: it publishes what is news, then corrects what it may of Kafka's own topics.

The replicas that they lack are made by the run that moves the pool's (`domain/reassignment/planning.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.status import events_of, with_brokers, with_nothing_observed
from seawall.domain.brokers.view import BrokersFound, InternalTopic, NothingObserved, ReplicationView
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict
from seawall.domain.decision import FAILURES, Decision, Failure, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.kafka import MIN_ISR, ConfigChange
from seawall.domain.min_isr import Limit, limit_of
from seawall.domain.step import Event, EventType
from seawall.domain.times import BROKERS_PERIOD_SECONDS, BROKERS_SOON_SECONDS


@dataclass(frozen=True, slots=True)
class RepairMinISR:
    """Set min.insync.replicas of one of Kafka's own topics."""

    topic: str
    min_isr: int
    before: int

    @property
    def change(self) -> ConfigChange:
        """The same, for Kafka."""
        return ConfigChange(self.topic, {MIN_ISR: str(self.min_isr)})

    def event(self) -> Event:
        """What the event says."""
        said = f"Set {MIN_ISR} of {self.topic} to {self.min_isr}; it was {self.before}"
        return Event(EventType.NORMAL, EventReason.INTERNAL_TOPIC_REPAIRED, said)


def min_isr_repairs(
    spec: WALClusterSpec, view: ReplicationView, limit: Limit | None = None
) -> tuple[RepairMinISR, ...]:
    """One for each topic whose value stops writes too early, or lets them go on too long.

    It is lowered only below the replication factor, and raised only to what is in sync now, and not while a run may
    take replicas back (`limit`): writes never stop by it.
    Two WALClusters on one Kafka come to an end, because neither lowers what the other raised.
    """
    if not spec.internal_topics.repair:
        return ()
    return tuple(found for topic in view.internal if (found := _repair(spec, topic, limit)) is not None)


def _repair(spec: WALClusterSpec, topic: InternalTopic, limit: Limit | None) -> RepairMinISR | None:
    least, factor = spec.internal_topics.min_in_sync_replicas or 1, topic.replication_factor
    if topic.min_isr is None:
        return None
    if topic.min_isr >= factor > 1:
        return RepairMinISR(topic.name, factor - 1, topic.min_isr)
    if limit is not None and limit.forbids(topic.min_isr, least):
        return None
    if topic.min_isr < least < factor and topic.in_sync >= least:
        return RepairMinISR(topic.name, least, topic.min_isr)
    return None


def would_repair(cluster: WALCluster, found: BrokersFound | NothingObserved) -> bool:
    """Whether something would be corrected by what was found."""
    if isinstance(found, NothingObserved) or isinstance(cluster.spec, InvalidSpec):
        return False
    return bool(_repairs(cluster, cluster.spec, found))


def _repairs(cluster: WALCluster, spec: WALClusterSpec, found: BrokersFound) -> tuple[RepairMinISR, ...]:
    limit = limit_of(cluster.status.reassignment)
    return () if cluster.metadata.is_paused else min_isr_repairs(spec, found.view, limit)


def pause_after(previous: float | None) -> float:
    """Seconds until the next look, by those before this one; None: this one follows a change."""
    return BROKERS_SOON_SECONDS if previous is None else min(2 * previous, BROKERS_PERIOD_SECONDS)


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest look, and when the next one is due, in seconds.

    Attributes:
        failed: why a correction failed the last time it was tried; None: it did not.
        is_tried: it was tried since this look, and is not again before the next one.
    """

    now: datetime
    found: BrokersFound | NothingObserved
    after: float = BROKERS_PERIOD_SECONDS
    failed: Failure | None = None
    is_tried: bool = False


BrokersDecision = Decision[WALClusterStatus, RepairMinISR]


def decide(cluster: WALCluster, observed: Observed) -> BrokersDecision:
    """Publishes what is not in the status yet, and then corrects what it may."""
    kafka, spec, found = cluster.status.kafka, cluster.spec, observed.found
    if kafka is None or cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, "Kafka was not met yet, or the WALCluster goes", observed.after)
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.now)
    if isinstance(found, NothingObserved):
        return _publishing(cluster, with_nothing_observed(cluster, kafka, found.reason, found.message, build), observed)
    if isinstance(spec, InvalidSpec):
        return _publishing(
            cluster, with_nothing_observed(cluster, kafka, Reason.NOT_ASKED, spec.message, build), observed
        )
    repairs = _repairs(cluster, spec, found)
    stands = observed.failed.message if observed.failed is not None and repairs else ""

    def publish(verdict: Verdict) -> Published[WALClusterStatus]:
        failed = verdict.message if verdict.reason in FAILURES else stands
        status = with_brokers(cluster, kafka, spec, found, build, failed=failed)
        return Published(status, events_of(cluster.status, status))

    actions = () if observed.is_tried else repairs
    return Decision(cluster.status, AS_PUBLISHED, actions, publish, publishes_first=True, pace=observed.after)


AS_PUBLISHED = Verdict(Outlook.READY, "", "brokers are as the status says")


def _publishing(cluster: WALCluster, status: WALClusterStatus, observed: Observed) -> BrokersDecision:
    published = Published(status, events_of(cluster.status, status))
    return Decision(cluster.status, AS_PUBLISHED, publish=lambda _: published, pace=observed.after)
