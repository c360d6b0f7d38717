"""A throttle that came late: from an operator that slept right before the call, while another one ended the run.

Kafka cannot be fenced, so that window stays; what is left by it is looked for while nothing moves. It is known by what
the last run wrote down: both default rates are one that it had set, lists name only its own moves. Somebody else who
sets exactly these is taken for the sleeper, unless a broker of the run has rates of its own, as Kafka's tool sets them.
"""

from __future__ import annotations

from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.domain.partitions import Rates, Replica, ThrottledReplicas
from seawall.domain.reassignment.actions import ClearThrottle
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.lists import Lists
from seawall.domain.reassignment.observed import KafkaState, Observed
from seawall.domain.reassignment.throttling import NOTHING, before_run, is_foreign


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
