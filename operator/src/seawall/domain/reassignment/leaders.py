"""Who should lead, and does not: what a run elects at its end, and what is elected for who asks for balance."""

from __future__ import annotations

from seawall.domain.partitions import PartitionId, led_by_others
from seawall.domain.placement import Why
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.tracker import MoveTracker, Progress

BALANCES = frozenset({str(Why.BALANCE), str(Why.LEADERS)})


def not_preferred(tracker: MoveTracker) -> tuple[PartitionId, ...]:
    """Partitions of a run that others lead; of one that is for balance, all of the pool."""
    kafka = tracker.kafka
    found = {
        move.id
        for move in tracker.moves_in(Progress.DONE)
        if kafka.partitions[move.id].leader != move.wanted[0] and kafka.is_online(move.wanted[0])
    }
    if not BALANCES.isdisjoint(tracker.journal.why):
        found.update(not_preferred_in(kafka))
    return tuple(sorted(found))


def not_preferred_in(kafka: KafkaState) -> tuple[PartitionId, ...]:
    """The partitions that were looked at whose preferred leader could lead, and does not."""
    online = [broker for broker in kafka.brokers if kafka.is_online(broker)]
    return led_by_others(kafka.partitions.values(), online, kafka.ongoing)
