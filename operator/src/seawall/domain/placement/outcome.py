"""What a placement comes to: moves, or why there can be none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from seawall.domain.partitions import PartitionId
from seawall.domain.placement.grid import Demand, Grid, Mask


class Why(StrEnum):
    """Why a partition moves. One that moves for several reasons has the first."""

    DRAIN = "Drain"
    """A replica is on an excluded broker."""
    RAISE = "Raise"
    """It has fewer replicas than it should."""
    LOWER = "Lower"
    """It has more replicas than it should."""
    RACKS = "Racks"
    """Two of its replicas are in one rack."""
    BALANCE = "Balance"
    """Its broker has more replicas than others."""
    LEADERS = "Leaders"
    """The broker that it prefers as leader leads more than others. Nothing is copied."""


class LeftAlone(StrEnum):
    """Why a partition that is not as demanded does not move; look at it again later."""

    NO_LEADER = "NoLeader"
    """Nobody leads it, so nobody can copy it: bring its brokers back."""
    IN_SYNC_NEEDED = "InSyncNeeded"
    """What it could keep is not in sync: wait until it is, or bring its brokers back."""


@dataclass(frozen=True, slots=True)
class Move:
    """Replicas before and after, the preferred leader first."""

    id: PartitionId
    original: tuple[int, ...]
    wanted: tuple[int, ...]
    why: Why

    @property
    def added(self) -> frozenset[int]:
        """Brokers that make a copy."""
        return frozenset(self.wanted) - frozenset(self.original)


@dataclass(frozen=True, slots=True)
class Placement:
    """The moves by partition, and what is not as demanded and stays nevertheless."""

    moves: tuple[Move, ...]
    left_alone: Mapping[PartitionId, LeftAlone]

    @property
    def wanted(self) -> dict[PartitionId, tuple[int, ...]]:
        """The new replicas of what moves."""
        return {move.id: move.wanted for move in self.moves}

    @property
    def copies(self) -> int:
        """How many replicas are copied."""
        return sum(len(move.added) for move in self.moves)


class InfeasibleReason(StrEnum):
    """Why no placement is as demanded."""

    UNKNOWN_BROKERS = "UnknownBrokers"
    """A broker is excluded that nobody knows: more likely a slip than a wish."""
    RACKS_UNKNOWN = "RacksUnknown"
    """Racks are demanded, and a broker has none."""
    TOO_FEW_BROKERS = "TooFewBrokers"
    """More replicas than brokers."""
    TOO_FEW_RACKS = "TooFewRacks"
    """Racks are demanded, and there are more replicas than racks."""
    TOO_MANY_EXCLUDED = "TooManyExcluded"
    """There would be enough without the excluded ones."""
    BROKERS_NOT_ONLINE = "BrokersNotOnline"
    """There would be enough if all brokers were online."""


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No placement is as demanded, and why in one sentence."""

    reason: InfeasibleReason
    message: str


def slips(grid: Grid, demand: Demand) -> Infeasible | None:
    """What can be seen from the brokers alone."""
    unknown = demand.exclude - {broker.id for broker in grid.brokers}
    if unknown:
        message = f"excludeBrokers names {_brokers(unknown)}, which Kafka does not know: take out what is gone"
        return Infeasible(InfeasibleReason.UNKNOWN_BROKERS, message)
    rackless = [b.id for b, usable in zip(grid.brokers, grid.usable, strict=True) if usable and b.rack is None]
    if grid.racks_demanded and rackless:
        message = f"each replica should be in a rack of its own, and broker.rack is not set on {_brokers(rackless)}"
        return Infeasible(InfeasibleReason.RACKS_UNKNOWN, message)
    return None


def why_infeasible(grid: Grid, placed: Mask) -> Infeasible:
    """What is missing for the row that lacks most; `placed` is as near as it comes."""
    lacking = grid.factor - placed.sum(axis=1)
    row = int(np.lexsort((-grid.factor, -lacking))[0])
    factor = int(grid.factor[row])
    every, rest = np.ones_like(grid.excluded), ~grid.excluded
    if factor > len(grid.brokers):
        message = f"{factor} replicas need as many brokers, and Kafka has {len(grid.brokers)}"
        return Infeasible(InfeasibleReason.TOO_FEW_BROKERS, message)
    if grid.racks_demanded and factor > _racks(grid, every):
        message = (
            f"{factor} replicas in racks of their own need as many racks, and the brokers have {_racks(grid, every)}"
        )
        return Infeasible(InfeasibleReason.TOO_FEW_RACKS, message)
    if factor > rest.sum() or (grid.racks_demanded and factor > _racks(grid, rest)):
        count, what = (_racks(grid, rest), "rack") if grid.racks_demanded else (int(rest.sum()), "broker")
        left = f"{count} {what}{'' if count == 1 else 's'}"
        message = f"excludeBrokers leaves {left}, and {factor} replicas need more"
        return Infeasible(InfeasibleReason.TOO_MANY_EXCLUDED, message)
    down = [broker.id for broker, usable in zip(grid.brokers, grid.usable | grid.excluded, strict=True) if not usable]
    topic, partition = grid.partitions[row].id
    missing = f"partition {partition} of topic {topic} lacks a place for {lacking[row]} of {factor} replicas"
    message = f"{missing} while {_brokers(down)} {'is' if len(down) == 1 else 'are'} not online"
    return Infeasible(InfeasibleReason.BROKERS_NOT_ONLINE, message)


def _racks(grid: Grid, brokers: Mask) -> int:
    return len(np.unique(grid.rack[brokers]))


def _brokers(ids: Iterable[int]) -> str:
    listed = sorted(ids)
    return f"{'broker' if len(listed) == 1 else 'brokers'} {', '.join(map(str, listed))}"
