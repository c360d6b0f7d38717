"""Where the replicas of partitions go that do not exist yet, beside those that do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from seawall.domain.partitions import Broker, Partition, PartitionId
from seawall.domain.placement.demand import Demand
from seawall.domain.placement.even import Moving, even_out
from seawall.domain.placement.extend import extend
from seawall.domain.placement.grid import Mask, make_grid
from seawall.domain.placement.infeasible import slips, why_infeasible
from seawall.domain.placement.lead import lead
from seawall.domain.placement.outcome import Infeasible


def place_new(
    topics: Collection[str], partitions: Collection[Partition], brokers: Collection[Broker], demand: Demand
) -> dict[str, tuple[int, ...]] | Infeasible:
    """The replicas of new topics of one partition each, the preferred leader first.

    They are spread over racks, and so that all brokers have as many replicas and preferred leaders as it goes, what is
    there already counted in: that stays where it is. Only brokers that are online and not excluded get any.

    Args:
        topics: the new ones.
        partitions: those that there are, and that count.
        brokers: all that are known.
        demand: what they should be like; it has the replication factor of each.
    """
    fresh = [Partition(PartitionId(topic, 0), (), frozenset(), None) for topic in topics]
    there = [found for found in partitions if found.id.topic not in set(topics)]
    factors = {topic: demand.replication_factor[topic] for topic in topics}
    grid = make_grid([*there, *fresh], brokers, replace(demand, replication_factor=factors), {})
    if (slip := slips(grid, demand)) is not None:
        return slip
    is_new: Mask = np.array([not row.replicas for row in grid.partitions], np.bool_)
    placed = extend(grid, grid.replicas)
    if (placed.sum(axis=1) < grid.factor).any():
        return why_infeasible(grid, placed)
    may = is_new[:, None] & grid.usable
    placed = even_out(grid, placed, Moving(may, may, grid.replicas, np.zeros_like(may)))
    first = np.where(is_new, placed.argmax(axis=1), grid.preferred)
    preferred = lead(replace(grid, preferred=first), placed, is_new)
    found: dict[str, tuple[int, ...]] = {}
    for row in np.flatnonzero(is_new):
        on = [grid.brokers[column].id for column in np.flatnonzero(placed[row])]
        leader = grid.brokers[preferred[row]].id
        found[grid.partitions[row].id.topic] = tuple(sorted(on, key=lambda broker: (broker != leader, broker)))
    return found
