"""What a placement comes to: moves, or why there can be none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from seawall.domain.partitions import PartitionId


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
