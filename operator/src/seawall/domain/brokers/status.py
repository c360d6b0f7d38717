"""The parts of a WALCluster's status that tell of brokers and controllers. Whoever writes the others keeps these."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import KafkaStatus, WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokerStatus
from seawall.domain.brokers.health import Finding, quorum_health, quorum_status, replication_health
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.view import BrokerNumbers, BrokersFound, ReplicationView
from seawall.domain.conditions import ConditionBuilder, loss_event, with_own
from seawall.domain.step import Event, EventType
from seawall.domain.throttles import least_of

OWN_CONDITIONS = (ConditionType.REPLICATION_HEALTHY, ConditionType.QUORUM_HEALTHY)
CHANGE_SHARE = 10
"""Bytes are news of their own when they changed by more than one part in so many."""


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of brokers and controllers, as it was written."""
    return tuple(condition for condition in status.conditions if condition.type in OWN_CONDITIONS)


def with_brokers(
    cluster: WALCluster,
    kafka: KafkaStatus,
    spec: WALClusterSpec,
    found: BrokersFound,
    build: ConditionBuilder,
    *,
    failed: str,
) -> WALClusterStatus:
    """The status with what a look found; `failed` is why Kafka's own topics are not corrected, if that is tried."""
    quorum = found.quorum
    if isinstance(quorum, str):
        health, controllers = Finding("Unknown", Reason.NO_QUORUM, quorum), kafka.quorum
    else:
        health, controllers = quorum_health(quorum), quorum_status(quorum)
    brokers = kafka.brokers.model_copy(
        update={"items": settled(kafka.brokers.items, items_of(kafka, spec, found.view))}
    )
    reported = kafka.model_copy(update={"brokers": brokers, "quorum": controllers})
    replication = replication_health(spec, found.view)
    if failed:
        replication = replace(replication, message=f"{replication.message}; {failed}")
    return _with(cluster.status, reported, replication, health, build)


def with_nothing_observed(
    cluster: WALCluster, kafka: KafkaStatus, reason: Reason, why: str, build: ConditionBuilder
) -> WALClusterStatus:
    """The status when nobody can look: what was seen last stays, and the conditions say that it is old."""
    unknown = Finding("Unknown", reason, why)
    return _with(cluster.status, kafka, unknown, unknown, build)


def events_of(before: WALClusterStatus, after: WALClusterStatus) -> tuple[Event, ...]:
    """One event for each condition that is lost, or back, and for each broker that was drained."""
    replicas = loss_event(before.conditions, after.conditions, OWN_CONDITIONS[0], "replicas are in sync again")
    quorum = loss_event(before.conditions, after.conditions, OWN_CONDITIONS[1], "the controllers are well again")
    drained = (
        Event(EventType.NORMAL, "BrokerDrained", f"nothing is on broker {broker} any more: it may be removed")
        for broker in sorted(_drained(after) - _drained(before))
    )
    return (*filter(None, (replicas, quorum)), *drained)


def items_of(kafka: KafkaStatus, spec: WALClusterSpec, view: ReplicationView) -> tuple[BrokerStatus, ...]:
    """The brokers; one that did not tell of its logs keeps what it told last."""
    before = {item.id: item for item in kafka.brokers.items}
    excluded = frozenset(spec.reassignment.exclude_brokers)
    return tuple(
        _item(numbers, before.get(numbers.broker.id), is_excluded=numbers.broker.id in excluded)
        for numbers in view.brokers
    )


def settled(before: tuple[BrokerStatus, ...], now: tuple[BrokerStatus, ...]) -> tuple[BrokerStatus, ...]:
    """The newer brokers if there is news; else the older ones, so that bytes alone are not written at every look."""
    without_bytes = [[item.model_copy(update={"log_dir_bytes": None}) for item in items] for items in (before, now)]
    if without_bytes[0] != without_bytes[1]:
        return now
    pairs = zip(before, now, strict=True)
    return before if all(_is_close(old.log_dir_bytes, new.log_dir_bytes) for old, new in pairs) else now


def _is_close(old: int | None, new: int | None) -> bool:
    return old == new if old is None or new is None else abs(new - old) * CHANGE_SHARE <= max(old, new)


def _item(numbers: BrokerNumbers, before: BrokerStatus | None, *, is_excluded: bool) -> BrokerStatus:
    was_drained, last_bytes = (before.drained, before.log_dir_bytes) if before is not None else (None, None)
    is_empty = numbers.replicas == 0 and (numbers.stored == 0 or (numbers.stored is None and was_drained is True))
    return BrokerStatus(
        id=numbers.broker.id,
        rack=numbers.broker.rack,
        state=numbers.broker.state,
        leaders=numbers.leaders,
        replicas=numbers.replicas,
        under_replicated=numbers.under_replicated,
        under_min_in_sync_replicas=numbers.under_min_isr,
        log_dir_bytes=last_bytes if numbers.log_dir_bytes is None else numbers.log_dir_bytes,
        drained=is_empty if is_excluded else None,
        throttle_bytes_per_second=least_of(numbers.own_rates),
    )


def _drained(status: WALClusterStatus) -> frozenset[int]:
    items = status.kafka.brokers.items if status.kafka is not None else ()
    return frozenset(item.id for item in items if item.drained)


def _with(
    status: WALClusterStatus, kafka: KafkaStatus, replication: Finding, quorum: Finding, build: ConditionBuilder
) -> WALClusterStatus:
    own = tuple(
        build(kind, finding.status, finding.reason, finding.message)
        for kind, finding in zip(OWN_CONDITIONS, (replication, quorum), strict=True)
    )
    return status.model_copy(
        update={"kafka": kafka, "conditions": with_own(status.conditions, own, OWN_CONDITIONS)},
    )
