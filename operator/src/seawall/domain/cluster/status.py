"""Builds a WALCluster's status from a verdict, with what it says of its WAL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import TopicsStatus, WALCluster, WALClusterStatus, WALStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.domain.brokers.status import own_conditions
from seawall.domain.cluster.actions import ClusterAction
from seawall.domain.cluster.data_plane import (
    data_plane_conditions,
    data_plane_event,
    data_plane_status,
    readoption_event,
)
from seawall.domain.cluster.gate import gate_conditions, gate_event
from seawall.domain.cluster.identity import why_wrong
from seawall.domain.cluster.limits import limit_conditions, limit_event
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.cluster.recorded import only_shards, with_shards
from seawall.domain.cluster.settings import settings_conditions, settings_event
from seawall.domain.cluster.sharing import sharing_conditions
from seawall.domain.cluster.stops import stop_event, stops_of
from seawall.domain.cluster.verdict import Case
from seawall.domain.conditions import (
    ConditionBuilder,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
)
from seawall.domain.datanodes.health import datanode_conditions
from seawall.domain.decision import Decision, Published
from seawall.domain.kafka import KafkaView, NoKafka
from seawall.domain.kafka_config.decide import own_conditions as config_conditions
from seawall.domain.kafka_in_sync.decide import own_conditions as in_sync_conditions
from seawall.domain.kafka_security.status import own_conditions as security_conditions
from seawall.domain.kafka_volumes.decide import own_conditions as volumes_conditions
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage, TopicLine
from seawall.domain.ledger.reasons import Reason as Against
from seawall.domain.managed_kafka.decide import own_conditions as nodes_conditions
from seawall.domain.step import Event
from seawall.domain.text import listed
from seawall.domain.topics.pool import TopicState
from seawall.domain.verification import schedule

KIND = ConditionType.WAL_INTACT
NOTICEABLE = 0.05
"""Bytes that changed by less than this share are not written: the status would change at every look."""


def wal_conditions(cluster: WALCluster, observed: Observed, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition WALIntact, or none where there is no database to ask. False is a disaster, said first.

    A topic that is lost, or is another one, is one also where no database is declared: its record says that one wrote.
    """
    before = find_condition(cluster.status.conditions, KIND)
    if (disaster := observed.disaster()) is not None:
        return (build(KIND, "False", *disaster),)
    if before is not None and observed.may_stand(before.reason):
        return (before,)
    return _of_ledger(cluster, observed, before, build)


def _of_ledger(
    cluster: WALCluster, observed: Observed, before: Condition | None, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.database is None:
        return ()
    match observed.ledger:
        case LedgerPage() as page if damaged := page.damaged():
            disaster = _disaster(damaged)
            more = (problem for problem in page.problems if problem not in disaster)
            return (build(KIND, "False", str(damaged[0].reason), "; ".join((disaster, *more))),)
        case LedgerPage() as page:
            message = f"no region of {len(page.lines)} topics needs records that are gone"
            return (build(KIND, "True", Reason.INTACT, "; ".join((message, *page.problems))),)
        case Unavailable(why, message):
            return (build(KIND, "Unknown", why.value, message),)
        case None:
            is_of_ledger = before is not None and before.reason != Reason.TOPIC_LOST
            if before is not None and is_of_ledger and before.observed_generation == cluster.metadata.generation:
                return (before,)
            return (build(KIND, "Unknown", Reason.NOT_ASKED, "the first look at the ledger has not ended yet"),)


def wal_status(cluster: WALCluster, observed: Observed) -> WALStatus | None:
    """The numbers of the newest look that succeeded; those before, while they are about the same."""
    if isinstance(cluster.spec, InvalidSpec):
        return cluster.status.wal
    before, recorded = cluster.status.wal, observed.recorded
    if recorded is not None:
        before = with_shards(before, recorded.shards)
    if cluster.spec.database is None:
        return only_shards(before)
    page = observed.ledger
    if not isinstance(page, LedgerPage):
        return before
    now = WALStatus(
        topics=len(page.lines),
        purgeable=sum(1 for line in page.lines if line.purge_to is not None),
        held_back=sum(1 for line in page.lines if line.reason not in {None, Against.NOTHING_TO_PURGE}),
        bytes=_sum(line.size_bytes for line in page.lines),
        purgeable_bytes=_sum(line.bytes_to_purge for line in page.lines if line.purge_to is not None),
        record_shards=tuple(sorted({*page.record_shards, *(before.record_shards if before is not None else ())})),
    )
    return before if before is not None and _is_about_the_same(before, now) else now


def _disaster(damaged: Sequence[TopicLine]) -> str:
    first = damaged[0]
    names, remedy = listed([line.name for line in damaged]), first.reason.remedy if first.reason else ""
    return f"{names}: {first.message} {remedy}"


def wal_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when the WAL is damaged, or is whole again."""
    return loss_event(cluster.status.conditions, status.conditions, KIND, "the WAL is whole again")


def _sum(sizes: Iterable[int | None]) -> int | None:
    """None if any is unknown."""
    listed_sizes = list(sizes)
    known = [size for size in listed_sizes if size is not None]
    return sum(known) if len(known) == len(listed_sizes) else None


def _is_about_the_same(before: WALStatus, now: WALStatus) -> bool:
    if (before.topics, before.purgeable, before.held_back) != (now.topics, now.purgeable, now.held_back):
        return False
    if before.record_shards != now.record_shards:
        return False
    pairs = ((before.bytes, now.bytes), (before.purgeable_bytes, now.purgeable_bytes))
    return all(
        old == new or (old is not None and new is not None and abs(new - old) < NOTICEABLE * max(old, new))
        for old, new in pairs
    )


ClusterDecision = Decision[WALClusterStatus, ClusterAction]

DIFFERING = (TopicState.DRIFTED, TopicState.PARTITIONS_DIFFER, TopicState.REPLICATION_FACTOR_DIFFERS)


def status_of(case: Case, verdict: Verdict) -> WALClusterStatus:
    """The status of a WALCluster whose pool was observed."""
    total, ready = len(case.pool.states), len(case.pool.in_state(TopicState.READY))
    build = _conditions(case.cluster, case.observed.now)
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
            *settings_conditions(case.cluster, case.observed, build),
            *limit_conditions(case.cluster, case.observed, build),
            *gate_conditions(case.cluster, case.observed, build),
            *wal_conditions(case.cluster, case.observed, build),
            *sharing_conditions(case.cluster, case.observed, build),
            *_conditions_of_others(case.cluster),
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
        reassignment=case.cluster.status.reassignment,
        data_plane=data_plane_status(case.cluster, case.observed),
        wal=wal_status(case.cluster, case.observed),
        disruption=case.cluster.status.disruption,
        restart=case.cluster.status.restart,
        deletion=case.cluster.status.deletion,
        stops=stops_of(case.cluster),
        managed_kafka=case.cluster.status.managed_kafka,
        kafka_security=case.cluster.status.kafka_security,
        kafka_config=case.cluster.status.kafka_config,
    )


def status_without_pool(cluster: WALCluster, verdict: Verdict, observed: Observed) -> WALClusterStatus:
    """The status of a WALCluster whose pool was not looked at; what was last known of the pool stays."""
    build, kafka = _conditions(cluster, observed.now), observed.kafka
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
            *settings_conditions(cluster, observed, build),
            *limit_conditions(cluster, observed, build),
            *gate_conditions(cluster, observed, build),
            *wal_conditions(cluster, observed, build),
            *sharing_conditions(cluster, observed, build),
            *_conditions_of_others(cluster),
        ),
        kafka=_kafka(cluster, kafka) if isinstance(kafka, KafkaView) else cluster.status.kafka,
        topics=cluster.status.topics,
        reassignment=cluster.status.reassignment,
        data_plane=data_plane_status(cluster, observed),
        wal=wal_status(cluster, observed),
        disruption=cluster.status.disruption,
        restart=cluster.status.restart,
        deletion=cluster.status.deletion,
        stops=stops_of(cluster),
        managed_kafka=cluster.status.managed_kafka,
        kafka_security=cluster.status.kafka_security,
        kafka_config=cluster.status.kafka_config,
    )


def events_of(cluster: WALCluster, status: WALClusterStatus) -> tuple[Event, ...]:
    """What a person should hear of: Ready, the data plane and the WAL."""
    run = cluster.status.reassignment
    reported = None if run is None or run.failed_change is None else run.failed_change.message
    ready = transition_events(cluster.status.conditions, status.conditions)
    ready = tuple(event for event in ready if event.message != reported)  # the run's own controller has told it
    adopted = readoption_event(cluster, status)
    others = (
        stop_event(cluster, status),
        adopted,
        data_plane_event(cluster, status),
        settings_event(cluster, status),
        limit_event(cluster, status),
        gate_event(cluster, status),
        wal_event(cluster, status),
    )
    return tuple(dict.fromkeys((*ready, *filter(None, others))))  # what two conditions say alike is told once


def without_pool(cluster: WALCluster, observed: Observed, verdict: Verdict, *actions: ClusterAction) -> ClusterDecision:
    """What is decided of a WALCluster whose pool is not looked at. The Kafka that was met is recorded first of all."""

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        status = status_without_pool(cluster, found, observed)
        return Published(status, events_of(cluster, status))

    kafka = observed.kafka
    met = cluster.status.kafka if not isinstance(kafka, KafkaView) else _kafka(cluster, kafka)
    return Decision(cluster.status.model_copy(update={"kafka": met}), verdict, actions, publish)


def _conditions_of_others(cluster: WALCluster) -> tuple[Condition, ...]:
    """What other controllers wrote stays as it is."""
    status = cluster.status
    return (
        *schedule.own_conditions(status),
        *own_conditions(status),
        *datanode_conditions(status),
        *nodes_conditions(status),
        *in_sync_conditions(status),
        *volumes_conditions(status),
        *security_conditions(status),
        *config_conditions(status),
    )


def _conditions(cluster: WALCluster, now: datetime) -> ConditionBuilder:
    return ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, now)


def _kafka(cluster: WALCluster, kafka: KafkaView) -> KafkaStatus | None:
    """What is shown of Kafka. Another cluster than the one that is meant is neither shown nor pinned."""
    if why_wrong(cluster, kafka) is not None:
        return cluster.status.kafka
    before, known = cluster.status.kafka, kafka.known_brokers()
    items, quorum = (before.brokers.items, before.quorum) if before is not None else ((), None)
    brokers = BrokersStatus(total=len(known), online=len(kafka.online), items=items)
    remembers = None if before is None else before.eligible_leader_replicas
    return KafkaStatus(cluster_id=kafka.cluster_id, brokers=brokers, quorum=quorum, eligible_leader_replicas=remembers)
