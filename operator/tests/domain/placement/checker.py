"""Judges a placement by the rules alone: knows nothing of how it was found, and tries all choices instead.

For small clusters only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from seawall.domain.partitions import Broker, BrokerState, Partition
from seawall.domain.placement import LeftAlone, Move, Placement, Why
from tests.domain.placement.clusters import Case


@dataclass(frozen=True)
class Rules:
    """A case, with what follows from it."""

    case: Case

    @property
    def brokers(self) -> dict[int, Broker]:
        """Registered ones, and those that replica lists name."""
        named = {id_ for partition in self.case.partitions for id_ in partition.replicas}
        unknown = {id_: Broker(id_, None, BrokerState.OFFLINE) for id_ in named}
        return unknown | {broker.id: broker for broker in self.case.brokers}

    @property
    def usable(self) -> set[int]:
        """Who may get replicas."""
        online = {id_ for id_, broker in self.brokers.items() if broker.state is BrokerState.ONLINE}
        return online - self.case.demand.exclude

    def factor(self, partition: Partition) -> int:
        """How many replicas it should have."""
        return self.case.demand.replication_factor.get(partition.id.topic, len(partition.replicas))

    def rack(self, broker: int) -> object:
        """Equal for brokers in one rack."""
        return self.brokers[broker].rack or broker

    def is_spread(self, replicas: frozenset[int]) -> bool:
        """Whether racks are as demanded."""
        return not self.case.demand.racks or len({self.rack(id_) for id_ in replicas}) == len(replicas)

    def crowding(self, replicas: frozenset[int]) -> int:
        """Less is better spread."""
        return sum(count**2 for count in Counter(map(self.rack, replicas)).values())

    def is_met(self, partition: Partition) -> bool:
        """Whether nothing needs to move."""
        replicas = frozenset(partition.replicas)
        return (
            len(replicas) == self.factor(partition)
            and not replicas & self.case.demand.exclude
            and self.is_spread(replicas)
        )

    def choices(self, partition: Partition) -> Iterator[frozenset[int]]:
        """All replicas that would be as demanded."""
        stay = frozenset(partition.replicas) - self.case.demand.exclude
        for wanted in combinations(sorted(stay | self.usable), self.factor(partition)):
            if self.is_spread(frozenset(wanted)):
                yield frozenset(wanted)

    def is_safe(self, partition: Partition, wanted: frozenset[int]) -> bool:
        """As many are in sync after the move as before, or as there should be; nobody loses the last one."""
        in_sync = partition.isr & {*partition.replicas}
        after = len(wanted & in_sync) + len(wanted - {*partition.replicas})
        return after >= min(len(in_sync), self.factor(partition)) and after >= 1


def complaints(case: Case, placement: Placement) -> list[str]:
    """What is wrong with it; each rule is a sentence."""
    rules = Rules(case)
    moves = {move.id: move for move in placement.moves}
    found = [] if [*moves] == sorted(moves) and len(moves) == len(placement.moves) else ["moves are by partition"]
    for partition in case.partitions:
        move = moves.get(partition.id)
        left = placement.left_alone.get(partition.id)
        if move is not None:
            found += [f"{move}: {wrong}" for wrong in _wrong(rules, partition, move)]
            found += ["moves and is left alone"] if left is not None else []
        elif left is not None:
            found += _left_wrongly(rules, partition, left)
        elif not rules.is_met(partition):
            found.append(f"{partition} is not as demanded and stays without a reason")
    return found


def _wrong(rules: Rules, partition: Partition, move: Move) -> Iterator[str]:
    demand = rules.case.demand
    wanted, original = frozenset(move.wanted), frozenset(partition.replicas)
    checks = {
        "is a move from where the replicas are": move.original == partition.replicas,
        "changes something": move.wanted != move.original,
        "has each broker once": len(wanted) == len(move.wanted),
        "is one of the choices": wanted in set(rules.choices(partition)),
        "copies to usable brokers": wanted - original <= rules.usable,
        "has a leader to copy from": partition.leader is not None,
        "keeps replicas in sync": rules.is_safe(partition, wanted),
        "moves what is as demanded only to balance": demand.rebalance or not rules.is_met(partition),
        "drops a leader only if it must": partition.leader in wanted
        or partition.leader in demand.exclude
        or (demand.rebalance and rules.factor(partition) >= len(original)),
        "drops what is out of sync first": demand.rebalance
        or demand.racks
        or not (original - wanted - demand.exclude) & partition.isr
        or wanted & original <= partition.isr,
        "prefers a leader that is in sync": move.wanted[0] in partition.isr | (wanted - original)
        or not (wanted & rules.usable) & (partition.isr | (wanted - original)),
    }
    yield from (f"not: {sentence}" for sentence, holds in checks.items() if not holds)
    if not demand.rebalance:
        yield from _not_least(rules, partition, wanted)
    if (move.why is Why.DRAIN) != bool(original & demand.exclude):
        yield "the reason is another one"


def _not_least(rules: Rules, partition: Partition, wanted: frozenset[int]) -> Iterator[str]:
    original = frozenset(partition.replicas)
    all_choices = list(rules.choices(partition))
    least = min((len(choice - original) for choice in all_choices), default=None)
    if len(wanted - original) != least:
        yield f"not: copies {least} replicas"
    alike = [choice for choice in all_choices if choice & original == wanted & original]
    if rules.crowding(wanted) != min(map(rules.crowding, alike), default=None):
        yield "not: spreads new replicas over racks"


def _left_wrongly(rules: Rules, partition: Partition, left: LeftAlone) -> Iterator[str]:
    if rules.is_met(partition):
        yield f"{partition} is as demanded and told as left alone"
    if (left is LeftAlone.NO_LEADER) != (partition.leader is None):
        yield f"{partition} is left alone for another reason"
    if left is LeftAlone.IN_SYNC_NEEDED:
        original = frozenset(partition.replicas)
        all_choices = list(rules.choices(partition))
        least = min((len(choice - original) for choice in all_choices), default=0)
        for choice in all_choices:
            keeps_leader = partition.leader in choice or partition.leader in rules.case.demand.exclude
            if len(choice - original) == least and keeps_leader and rules.is_safe(partition, choice):
                yield f"{partition} could safely be {sorted(choice)}"
