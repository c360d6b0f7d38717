"""Builds a WALCluster's status from a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.wal_cluster import BrokersStatus, KafkaStatus, TopicsStatus, WALCluster, WALClusterStatus
from seawall.domain.conditions import ConditionStatus, as_status, build_condition, find_condition
from seawall.domain.kafka import KafkaView, NoKafka
from seawall.domain.step import Event, EventType, Record, Wait
from seawall.domain.topics.pool import TopicState
from seawall.domain.wal_cluster.data_plane import data_plane_conditions, data_plane_event, data_plane_status
from seawall.domain.wal_cluster.identity import why_wrong
from seawall.domain.wal_cluster.observed import Observed
from seawall.domain.wal_cluster.reasons import Reason
from seawall.domain.wal_cluster.verdict import Case, Outlook, Verdict

DIFFERING = (TopicState.DRIFTED, TopicState.PARTITIONS_DIFFER, TopicState.REPLICATION_FACTOR_DIFFERS)


def status_of(case: Case, verdict: Verdict) -> WALClusterStatus:
    """The status of a WALCluster whose pool was observed."""
    total, ready = len(case.pool.states), len(case.pool.in_state(TopicState.READY))
    build = _Conditions(case.cluster, case.observed.now)
    return WALClusterStatus(
        observed_generation=case.cluster.metadata.generation,
        conditions=(
            *build.kstatus(verdict),
            build(ConditionType.KAFKA_REACHABLE, "True", Reason.CONNECTED),
            build(
                ConditionType.TOPICS_READY,
                as_status(ready == total),
                Reason.READY if ready == total else verdict.reason,
                f"{ready} of {total} topics are ready",
            ),
            *data_plane_conditions(case.cluster, case.observed, build),
        ),
        kafka=_kafka(case.cluster, case.kafka),
        topics=TopicsStatus(
            desired=total,
            ready=ready,
            drifted=len(case.pool.in_state(*DIFFERING)),
            foreign=len(case.pool.foreign),
            under_replicated=case.pool.under_replicated,
            min_in_sync_replicas=case.spec.topics.effective_min_in_sync_replicas(),
        ),
        data_plane=data_plane_status(case.cluster, case.observed),
    )


def status_without_pool(cluster: WALCluster, verdict: Verdict, observed: Observed) -> WALClusterStatus:
    """The status of a WALCluster whose pool was not looked at; what was last known of the pool stays."""
    build, kafka = _Conditions(cluster, observed.now), observed.kafka
    match kafka:
        case KafkaView() if verdict.reason == Reason.WRONG_CLUSTER:
            reachable = build(ConditionType.KAFKA_REACHABLE, "False", verdict.reason, verdict.message)
        case KafkaView():
            reachable = build(ConditionType.KAFKA_REACHABLE, "True", Reason.CONNECTED)
        case NoKafka():
            reachable = build(ConditionType.KAFKA_REACHABLE, "False", kafka.why.value, kafka.message)
        case None:
            reachable = build(ConditionType.KAFKA_REACHABLE, "Unknown", Reason.NOT_ASKED, verdict.message)
    return WALClusterStatus(
        observed_generation=cluster.metadata.generation,
        conditions=(
            *build.kstatus(verdict),
            reachable,
            build(ConditionType.TOPICS_READY, "Unknown", verdict.reason, verdict.message),
            *data_plane_conditions(cluster, observed, build),
        ),
        kafka=_kafka(cluster, kafka) if isinstance(kafka, KafkaView) else cluster.status.kafka,
        topics=cluster.status.topics,
        data_plane=data_plane_status(cluster, observed),
    )


def events_of(cluster: WALCluster, status: WALClusterStatus) -> tuple[Event, ...]:
    """What a person should hear of: Ready and the data plane."""
    return tuple(filter(None, (_ready_event(cluster, status), data_plane_event(cluster, status))))


def _ready_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when the reason of Ready changed, or its sentence did while a person is needed.

    Losing Ready is a warning, unless an edit is what it comes from.
    """
    before = find_condition(cluster.status.conditions, ConditionType.READY)
    after = find_condition(status.conditions, ConditionType.READY)
    stalled = find_condition(status.conditions, ConditionType.STALLED)
    if after is None or stalled is None:
        return None
    needs_person = stalled.status == "True"
    if before is not None and before.reason == after.reason and not (needs_person and before.message != after.message):
        return None
    was_ready = before is not None and before.status == "True"
    is_edited = before is not None and before.observed_generation != after.observed_generation
    lost_ready = was_ready and after.status != "True" and not is_edited
    event_type = EventType.WARNING if needs_person or lost_ready else EventType.NORMAL
    return Event(event_type, after.reason, after.message)


def record_or_wait(cluster: WALCluster, observed: Observed, verdict: Verdict) -> Record[WALClusterStatus] | Wait:
    """Records the verdict of a tick that has no pool to tend, or waits when the status says it already."""
    status = status_without_pool(cluster, verdict, observed)
    if status != cluster.status:
        return Record(status, events_of(cluster, status))
    return Wait(verdict.message, verdict.after)


@dataclass(frozen=True, slots=True)
class _Conditions:
    """Builds the conditions of one status."""

    cluster: WALCluster
    now: datetime

    def __call__(self, kind: ConditionType, status: ConditionStatus, reason: str, message: str = "") -> Condition:
        return build_condition(
            self.cluster.status.conditions,
            kind,
            status,
            reason,
            message,
            generation=self.cluster.metadata.generation,
            now=self.now,
        )

    def kstatus(self, verdict: Verdict) -> tuple[Condition, ...]:
        """The three conditions that `kubectl wait` and Flux read; always all three, False ones too."""
        holds = {
            ConditionType.READY: verdict.outlook is Outlook.READY,
            ConditionType.RECONCILING: verdict.outlook is Outlook.PROGRESSING,
            ConditionType.STALLED: verdict.outlook is Outlook.STALLED,
        }
        return tuple(self(kind, as_status(value), verdict.reason, verdict.message) for kind, value in holds.items())


def _kafka(cluster: WALCluster, kafka: KafkaView) -> KafkaStatus | None:
    """What is shown of Kafka. Another cluster than the one that is meant is neither shown nor pinned."""
    if why_wrong(cluster, kafka) is not None:
        return cluster.status.kafka
    brokers = BrokersStatus(total=len(kafka.known_brokers()), online=len(kafka.online))
    return KafkaStatus(cluster_id=kafka.cluster_id, brokers=brokers)
