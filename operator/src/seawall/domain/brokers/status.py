"""The parts of a WALCluster's status that tell of brokers and controllers, with a condition each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from seawall.api.meta import REBALANCE_ANNOTATION, Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokerState, BrokerStatus, KafkaStatus, QuorumStatus
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.view import BrokerNumbers, BrokersFound, InternalTopic, NothingObserved, ReplicationView
from seawall.domain.conditions import ConditionBuilder, ConditionStatus, loss_event, of_kinds, with_own
from seawall.domain.events import EventReason
from seawall.domain.partitions import NO_RATES, Quorum, QuorumReplica
from seawall.domain.step import Event, EventType
from seawall.domain.throttles import least_of, own_rates_sentence
from seawall.domain.times import BROKERS_BEHIND_MS


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition says."""

    status: ConditionStatus
    reason: Reason
    message: str


def replication_health(spec: WALClusterSpec, view: ReplicationView, *, remembers: bool | None = None) -> Finding:
    """The worst there is to say of the partitions, and always of brokers that somebody throttled: that may be why.

    That a disk which was emptied could lead is no trouble yet: it is said where there is no other.
    """
    found = _of_partitions(spec, view)
    danger = emptied_disk_danger(spec.topics, remembers=remembers)
    if danger and found.status == "True":
        found = replace(found, message=f"{found.message}; {danger}")
    throttled = own_rates_sentence(
        {numbers.broker.id: numbers.own_rates for numbers in view.brokers if numbers.own_rates != NO_RATES}
    )
    if view.rates_unknown:
        throttled = f"whether brokers have throttles of their own is not known: {view.rates_unknown}"
    elif throttled and found.status == "True":
        return Finding("False", Reason.THROTTLED, throttled)
    return replace(found, message=f"{found.message}; {throttled}") if throttled else found


def emptied_disk_danger(topics: TopicsSpec, *, remembers: bool | None) -> str:
    """Why a broker that comes back with an empty disk may lead the pool's topics; empty: it may not, or nobody knows.

    Source: tried on Kafka 4.3.1 (docs/replication.md#a-disk-that-was-emptied).
    """
    if topics.replication_factor == 1:
        return ""
    what = "a broker that comes back with an emptied disk may lead, and the others drop what it lacks"
    if topics.effective_min_in_sync_replicas() == 1:
        return f"min.insync.replicas is 1: {what} (docs/replication.md#a-disk-that-was-emptied)"
    if remembers is False:
        return f"eligible leader replicas are off in Kafka: {what} (docs/replication.md#a-disk-that-was-emptied)"
    return ""


def _of_partitions(spec: WALClusterSpec, view: ReplicationView) -> Finding:
    total = view.partitions
    if view.leaderless.count:
        said = f"{view.leaderless.count} of {total} partitions have no leader: {view.leaderless}"
        return Finding("False", Reason.LEADERLESS, f"{said}; {_where(view)}")
    if view.under_min_isr.count:
        said = f"{view.under_min_isr.count} of {total} partitions refuse writes with acks=all: {view.under_min_isr}"
        return Finding("False", Reason.UNDER_MIN_ISR, f"{said}; {_where(view)}")
    if view.under_replicated.count:
        said = f"{view.under_replicated.count} of {total} partitions have replicas that are not in sync"
        return Finding("False", Reason.UNDER_REPLICATED, f"{said}: {view.under_replicated}; {_where(view)}")
    if problems := [problem for topic in view.internal for problem in internal_problems(spec, topic)]:
        return Finding("False", Reason.INTERNAL_TOPICS, "; ".join(problems))
    if view.led_by_others.count:
        return Finding("True", Reason.IN_SYNC, _led_by_others(view))
    return Finding("True", Reason.IN_SYNC, "every replica is in sync")


def internal_problems(spec: WALClusterSpec, topic: InternalTopic) -> Iterator[str]:
    """What is not as expected of one of Kafka's own topics."""
    expected, factor = spec.internal_topics, topic.replication_factor
    wanted = expected.replication_factor or spec.topics.replication_factor
    if factor < wanted:
        yield f"{topic.name} has replication factor {factor}, not {wanted}"
    if topic.min_isr is None:
        return
    if topic.min_isr >= factor > 1:
        stops = "one broker that is down stops its writes"
        yield f"min.insync.replicas of {topic.name} is {topic.min_isr}, with replication factor {factor}: {stops}"
    elif topic.min_isr < (expected.min_in_sync_replicas or 0):
        yield f"min.insync.replicas of {topic.name} is {topic.min_isr}, not {expected.min_in_sync_replicas}"


def _led_by_others(view: ReplicationView) -> str:
    """No harm, and after a restart for some minutes nothing but usual: so the condition stays True."""
    leads = [numbers.leaders for numbers in view.brokers if numbers.broker.state is BrokerState.ONLINE]
    return (
        f"every replica is in sync; {view.led_by_others.count} of {view.partitions} partitions are not led by their"
        f" preferred leader, which could lead: {view.led_by_others} (a broker leads {min(leads)} to {max(leads)}); if"
        f" Kafka does not elect it by itself in some minutes, a new value of {REBALANCE_ANNOTATION} does for the pool,"
        " and kafka-leader-election for other topics"
    )


def _where(view: ReplicationView) -> str:
    """The brokers on which replicas are not in sync."""
    behind = [numbers.broker for numbers in view.brokers if numbers.under_replicated]
    if not behind:
        return "their only replicas are in sync and do not lead"
    named = ", ".join(
        str(broker.id) if broker.state is BrokerState.ONLINE else f"{broker.id} ({broker.state})" for broker in behind
    )
    return f"not in sync are replicas on broker{'s' if len(behind) > 1 else ''} {named}"


def quorum_health(quorum: Quorum) -> Finding:
    """Whether the voters keep up, and what is left to lose."""
    behind, voters = [voter.id for voter in quorum.voters if _is_behind(voter)], len(quorum.voters)
    if not behind:
        many = "its only voter" if voters == 1 else f"all {voters} voters keep up"
        return Finding("True", Reason.KEEPING_UP, f"controller {quorum.leader} leads, {many}")
    spare = voters - len(behind) - (voters // 2 + 1)
    left = "with one more, nothing in Kafka could change" if spare < 1 else f"{spare} more may be lost"
    named = f"voter{'s' if len(behind) > 1 else ''} {', '.join(map(str, behind))}"
    message = f"{named} of {voters} do not keep up: {left}{_of_its_clock(quorum)}"
    return Finding("False", Reason.VOTERS_BEHIND, message)


def _of_its_clock(quorum: Quorum) -> str:
    """What ends it, where nobody is known to follow by the leader's clock: another leader has another clock.

    Who is silent is not known, so whether the leader may go is told by what needs no clock.
    """
    if all(voter.behind_ms is None or voter.behind_ms >= 0 for voter in quorum.voters):
        return ""
    return (
        f"; the clock of controller {quorum.leader}, which leads, was set back: wait until it has caught up, or restart"
        " that controller if each LogEndOffset that kafka-metadata-quorum.sh describe --replication shows of a voter"
        " rises"
    )


def quorum_status(quorum: Quorum) -> QuorumStatus:
    """The controllers; the lag is so coarse that it is no news with every record."""
    lag = max((voter.lag for voter in quorum.voters), default=0)
    return QuorumStatus(
        leader=quorum.leader,
        voters=tuple(voter.id for voter in quorum.voters),
        behind=tuple(voter.id for voter in quorum.voters if _is_behind(voter)),
        max_lag=10 ** (len(str(lag)) - 1) if lag >= 10 else 0,  # noqa: PLR2004 - the last digit is noise
    )


def _is_behind(voter: QuorumReplica) -> bool:
    return not voter.keeps_up(BROKERS_BEHIND_MS)


OWN_CONDITIONS = (ConditionType.REPLICATION_HEALTHY, ConditionType.QUORUM_HEALTHY)
CHANGE_SHARE = 10
"""Bytes are news of their own when they changed by more than one part in so many."""


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of brokers and controllers, as it was written."""
    return of_kinds(status.conditions, *OWN_CONDITIONS)


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
    if isinstance(quorum, NothingObserved):
        health, controllers = Finding("Unknown", quorum.reason, quorum.message), kafka.quorum
    else:
        health, controllers = quorum_health(quorum), quorum_status(quorum)
    brokers = kafka.brokers.model_copy(
        update={"items": settled(kafka.brokers.items, items_of(kafka, spec, found.view))}
    )
    remembers = found.eligible_leader_replicas
    if remembers is None:
        remembers = kafka.eligible_leader_replicas
    reported = kafka.model_copy(
        update={"brokers": brokers, "quorum": controllers, "eligible_leader_replicas": remembers}
    )
    replication = replication_health(spec, found.view, remembers=remembers)
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
        Event(
            EventType.NORMAL, EventReason.BROKER_DRAINED, f"nothing is on broker {broker} any more: it may be removed"
        )
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
