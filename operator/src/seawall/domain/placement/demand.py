"""What is asked of a placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Demand:
    """What the replicas should be like; a partition that is like it stays as it is.

    Attributes:
        replication_factor: replicas by topic; a topic that is not named keeps as many as it has.
        exclude: brokers that shall have no replica of these partitions.
        racks: no two replicas of a partition in one rack. Without it, new replicas are spread as well as it goes.
        rebalance: also move replicas that may stay, until all brokers have as many replicas and preferred leaders.
    """

    replication_factor: Mapping[str, int] = field(default_factory=dict)
    exclude: frozenset[int] = frozenset()
    racks: bool = False
    rebalance: bool = False
