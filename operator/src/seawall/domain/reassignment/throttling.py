"""What is throttled while replicas are on their way, throttles that came late, and how long a copy takes at a rate.

The rates are the cluster's default. Those that stood before the run are put back at its end; a rate that is neither of
them nor one that the run has set is somebody else's, who had a reason in mid-run: it stays. The lists of topics are the
run's own as long as these are on their way; what somebody else had listed before is put back then (`lists`). Rates of
single brokers are never changed: they are told (`domain/throttles.py`).

Kafka cannot be fenced, so that window stays; what is left by it is looked for while nothing moves. It is known by what
the last run wrote down: both default rates are one that it had set, lists name only its own moves. Somebody else who
sets exactly these is taken for the sleeper, unless a broker of the run has rates of its own, as Kafka's tool sets them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from math import ceil

from seawall.api.v1alpha1.reassignment import RatesBefore, ReassignmentStatus
from seawall.domain.partitions import NO_RATES, PartitionId, Rates, Replica, ThrottledReplicas, throttled_replicas
from seawall.domain.reassignment.actions import ClearThrottle, SetThrottle
from seawall.domain.reassignment.journal import Journal, Lists
from seawall.domain.reassignment.observed import KafkaState, Observed
from seawall.domain.reassignment.tracker import MoveTracker, Progress
from seawall.domain.throttles import least_of, least_rate, own_rates_sentence
from seawall.domain.times import REASSIGNMENT_AT_LEAST

NOTHING = ThrottledReplicas()
MAX_REMEMBERED = 16


def throttle_for(
    tracker: MoveTracker,
    batch: Mapping[PartitionId, tuple[int, ...]],
    status: ReassignmentStatus,
    rate: int,
    lists: Lists,
) -> SetThrottle | None:
    """The throttle to set before a batch is submitted; None: it stands, or nothing is copied.

    Topics that have arrived are taken out: who catches up after a restart must not be slowed down for another's move.
    """
    moves: dict[PartitionId, tuple[Collection[int], Collection[int]]] = {
        move.id: (tracker.kafka.ongoing[move.id].original, tracker.kafka.ongoing[move.id].target)
        for move in tracker.moves_in(Progress.IN_FLIGHT)
    }
    moves.update((found, (tracker.kafka.partitions[found].replicas, goal)) for found, goal in batch.items())
    wanted = throttled_replicas(moves)
    if not wanted:
        return None
    before = unlike_before(tracker.kafka, tracker.journal.topics - wanted.keys(), lists)
    changed = {topic: found for topic, found in wanted.items() if tracker.kafka.throttles.topics.get(topic) != found}
    changed |= before
    rates = None if is_foreign(tracker.kafka, status) else Rates(rate, rate)
    is_rate_right = rates is None or tracker.kafka.throttles.rates == rates
    return None if is_rate_right and not changed else SetThrottle(None if rates is None else rate, changed)


def leftover_throttle(
    kafka: KafkaState, topics: Collection[str], status: ReassignmentStatus, lists: Lists
) -> ClearThrottle | None:
    """What is left of the throttle; None: it is gone, and rates and lists are as they were before."""
    changed = unlike_before(kafka, topics, lists)
    rates = None if is_foreign(kafka, status) else before_run(status)
    is_rate_right = rates is None or kafka.throttles.rates == rates
    return None if is_rate_right and not changed else ClearThrottle(rates, changed)


def arrived_throttle(tracker: MoveTracker, status: ReassignmentStatus, lists: Lists) -> ClearThrottle | None:
    """What a run that submits nothing now still has listed of topics that nobody moves; None: nothing.

    Rates stay, as they throttle nothing that is not listed. Lists that the run cannot have set are somebody else's.
    """
    if not status.rates_set:
        return None
    kafka, own = tracker.kafka, _own_lists(tracker.kafka, tracker.journal, lists)
    arrived = {topic: before for topic, before in own.items() if _is_at_rest(kafka, topic)}
    return ClearThrottle(None, arrived) if arrived else None


def _is_at_rest(kafka: KafkaState, topic: str) -> bool:
    """Whether nobody moves a partition of what is listed, as far as Kafka tells of each of them."""
    found = kafka.throttles.topics[topic]
    listed = {PartitionId(topic, replica.partition) for replica in found.leaders | found.followers}
    return listed <= kafka.partitions.keys() and listed.isdisjoint(kafka.ongoing)


def is_foreign(kafka: KafkaState, status: ReassignmentStatus) -> bool:
    """Whether the rates in force are somebody else's, set in mid-run."""
    rates, before = kafka.throttles.rates, before_run(status)
    return not (
        rates.leader in {None, before.leader, *status.rates_set}
        and rates.follower in {None, before.follower, *status.rates_set}
    )


def before_run(status: ReassignmentStatus) -> Rates:
    """The rates that stood before the run."""
    before = status.rates_before
    return NO_RATES if before is None else Rates(before.leader, before.follower)


def remembered(kafka: KafkaState) -> RatesBefore:
    """The rates that stand now, for the status."""
    rates = kafka.throttles.rates
    return RatesBefore(leader=rates.leader, follower=rates.follower)


def rates_with(status: ReassignmentStatus, rate: int) -> tuple[int, ...]:
    """The rates that the run has set and this one, which is written down before it is set."""
    if rate in status.rates_set:
        return status.rates_set
    return (*status.rates_set, rate)[-MAX_REMEMBERED:]


def lists_of_others(kafka: KafkaState, topics: Collection[str]) -> dict[str, ThrottledReplicas]:
    """What is throttled of these topics while the run has throttled nothing yet."""
    return {topic: kafka.throttles.topics[topic] for topic in topics if topic in kafka.throttles.topics}


def unlike_before(kafka: KafkaState, topics: Collection[str], lists: Lists) -> dict[str, ThrottledReplicas]:
    """The topics of which something else is throttled than before the run, with what it was; a deleted one has none."""
    before = {topic: lists.get(topic, NOTHING) for topic in topics if topic not in kafka.absent}
    return {topic: found for topic, found in before.items() if kafka.throttles.topics.get(topic, NOTHING) != found}


def cluster_rate(kafka: KafkaState) -> int | None:
    """The cluster's default, the lesser of both."""
    return least_of(kafka.throttles.rates)


def rate_in_force(kafka: KafkaState, journal: Journal) -> int | None:
    """The throttle as the status shows it: that of the slowest broker of the run."""
    return least_rate(kafka.throttles, _brokers(journal))


def said_of_brokers(kafka: KafkaState, journal: Journal) -> str:
    """A clause about brokers of the run whose own rates win over the throttle; empty if there are none."""
    brokers = _brokers(journal)
    sentence = own_rates_sentence({found: own for found, own in kafka.throttles.by_broker.items() if found in brokers})
    return f"; {sentence}" if sentence else ""


def _brokers(journal: Journal) -> frozenset[int]:
    return frozenset(broker for move in journal.moves for broker in (*move.original, *move.wanted))


def late_throttle(kafka: KafkaState, observed: Observed, status: ReassignmentStatus) -> ClearThrottle | None:
    """What of the last run's throttle stands although it is over; None: nothing, or replicas may be on their way."""
    is_busy = bool(kafka.ongoing) or observed.line.ahead is not None or observed.line.contender is not None
    if is_busy or is_foreign(kafka, status):
        return None
    rates = before_run(status) if _are_own(kafka.throttles.rates, status) else None
    journal, lists = observed.journal.readable, {}
    if journal is not None and journal.digest == status.digest:
        lists = _own_lists(kafka, journal, observed.journal.lists)
    return None if rates is None and not lists else ClearThrottle(rates, lists)


def _are_own(rates: Rates, status: ReassignmentStatus) -> bool:
    """A run sets both at once, to the same."""
    return rates.leader == rates.follower and rates.leader in status.rates_set and rates != before_run(status)


def _own_lists(kafka: KafkaState, journal: Journal, before: Lists) -> dict[str, ThrottledReplicas]:
    """The topics that are throttled as the run did, with what was throttled of them before it."""
    brokers = {broker for move in journal.moves for broker in (*move.original, *move.wanted)}
    if not brokers.isdisjoint(kafka.throttles.by_broker):
        return {}
    own: dict[str, set[Replica]] = {topic: set() for topic in journal.topics}
    for move in journal.moves:
        own[move.id.topic] |= {Replica(move.id.partition, broker) for broker in (*move.original, *move.wanted)}
    left = {
        topic: found for topic, found in kafka.throttles.topics.items() if _names_only(found, own.get(topic, set()))
    }
    return {topic: before.get(topic, NOTHING) for topic, found in left.items() if found != before.get(topic, NOTHING)}


def _names_only(found: ThrottledReplicas, own: set[Replica]) -> bool:
    """Lists of others may be `*`, or name replicas that did not move."""
    return not found.every_leader and not found.every_follower and found.leaders | found.followers <= own


SLOW = 4
"""A run that takes so many times its estimate is slower than what is written meanwhile explains."""


def why_slow(status: ReassignmentStatus, now: datetime) -> str:
    """A clause for a run that takes far longer than was estimated; empty for any other."""
    if status.start_time is None or status.estimated_seconds is None:
        return ""
    taken, limit = now - status.start_time, timedelta(seconds=SLOW * status.estimated_seconds)
    if taken < max(limit, REASSIGNMENT_AT_LEAST):
        return ""
    return (
        f"; it was estimated to take {status.estimated_seconds} s and takes longer:"
        " below what the database writes, a throttle never lets it end (reassignment.throttleBytesPerSecond)"
    )


def estimate_seconds(journal: Journal, bytes_per_second: int) -> int:
    """Seconds of the busiest broker, which sends or fetches no faster than the throttle.

    The preferred leader sends. What the database writes meanwhile comes on top, so it is the least that it takes.
    """
    fetched: Counter[int] = Counter()
    sent: Counter[int] = Counter()
    for move in journal.moves:
        for broker in move.adding:
            fetched[broker] += move.size
            sent[move.original[0]] += move.size
    return ceil(max((*fetched.values(), *sent.values()), default=0) / bytes_per_second)
