"""What is said of replication and of the quorum: a condition each, of one reason and one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from seawall.api.meta import REBALANCE_ANNOTATION
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.kafka_brokers import BrokerState, QuorumStatus
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.view import InternalTopic, ReplicationView
from seawall.domain.conditions import ConditionStatus
from seawall.domain.partitions import NO_RATES, Quorum, QuorumReplica
from seawall.domain.throttles import own_rates_sentence
from seawall.domain.times import BROKERS_BEHIND_MS


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition says."""

    status: ConditionStatus
    reason: Reason
    message: str


def replication_health(spec: WALClusterSpec, view: ReplicationView) -> Finding:
    """The worst there is to say of the partitions, and always of brokers that somebody throttled: that may be why."""
    found = _of_partitions(spec, view)
    throttled = own_rates_sentence(
        {numbers.broker.id: numbers.own_rates for numbers in view.brokers if numbers.own_rates != NO_RATES}
    )
    if view.rates_unknown:
        throttled = f"whether brokers have throttles of their own is not known: {view.rates_unknown}"
    elif throttled and found.status == "True":
        return Finding("False", Reason.THROTTLED, throttled)
    return replace(found, message=f"{found.message}; {throttled}") if throttled else found


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
    return Finding("False", Reason.VOTERS_BEHIND, f"{named} of {voters} do not keep up: {left}")


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
    return voter.behind_ms is None or voter.behind_ms > BROKERS_BEHIND_MS
