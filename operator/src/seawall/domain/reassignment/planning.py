"""From what is declared to a plan, and whether a plan that was frozen is still what is declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from seawall.domain.partitions import Broker, Partition, PartitionId
from seawall.domain.placement import Demand, Infeasible, LeftAlone, Placement, place
from seawall.domain.reassignment.journal import Journal, build_journal


@dataclass(frozen=True, slots=True)
class CannotPlan:
    """What is declared cannot be planned, at least now, and why in one sentence."""

    message: str


_WHY_LEFT_ALONE = {
    LeftAlone.NO_LEADER: "nobody leads it: bring its brokers back",
    LeftAlone.IN_SYNC_NEEDED: "what it could keep is not in sync: it waits until it is",
}


def plan_moves(
    partitions: Collection[Partition], brokers: Collection[Broker], demand: Demand
) -> Placement | CannotPlan | None:
    """What has to move; None: nothing.

    Bytes are left out of it: they grow all the time, and two looks at one cluster must come to the same plan.
    """
    found = place(partitions, brokers, demand)
    if isinstance(found, Infeasible):
        return CannotPlan(found.message)
    if found.moves:
        return found
    if found.left_alone:
        (topic, number), why = min(found.left_alone.items())
        others = f" (and {len(found.left_alone) - 1} more)" if len(found.left_alone) > 1 else ""
        return CannotPlan(f"{topic}-{number}{others} cannot be moved yet: {_WHY_LEFT_ALONE[why]}")
    return None


def freeze(
    placement: Placement, demand: Demand, sizes: Mapping[PartitionId, Mapping[int, int]], now: datetime
) -> Journal:
    """The journal of a placement, with the bytes of the largest replica of each partition."""
    largest = {found: max(by_broker.values(), default=0) for found, by_broker in sizes.items()}
    return build_journal(placement.moves, demand.exclude, largest, now)


def is_still_wanted(journal: Journal, demand: Demand) -> bool:
    """Whether a frozen plan is what is declared now: its replication factors, and the brokers that are excluded."""
    return journal.exclude == demand.exclude and all(
        demand.replication_factor.get(move.id.topic, len(move.wanted)) == len(move.wanted) for move in journal.moves
    )
