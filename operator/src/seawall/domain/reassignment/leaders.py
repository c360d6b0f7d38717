"""Who should lead, and does not: what a run elects at its end, and what is elected for who asks for balance."""

from __future__ import annotations

from seawall.domain.partitions import PartitionId, led_by_others
from seawall.domain.placement import Why
from seawall.domain.reassignment.observed import Look
from seawall.domain.reassignment.sight import Progress, Sight

BALANCES = frozenset({str(Why.BALANCE), str(Why.LEADERS)})


def not_preferred(sight: Sight) -> tuple[PartitionId, ...]:
    """Partitions of a run that others lead; of one that is for balance, all of the pool."""
    look = sight.look
    found = {
        move.id
        for move in sight.moves_in(Progress.DONE)
        if look.partitions[move.id].leader != move.wanted[0] and look.is_online(move.wanted[0])
    }
    if not BALANCES.isdisjoint(sight.journal.why):
        found.update(not_preferred_in(look))
    return tuple(sorted(found))


def not_preferred_in(look: Look) -> tuple[PartitionId, ...]:
    """The partitions that were looked at whose preferred leader could lead, and does not."""
    online = [broker for broker in look.brokers if look.is_online(broker)]
    return led_by_others(look.partitions.values(), online, look.ongoing)
