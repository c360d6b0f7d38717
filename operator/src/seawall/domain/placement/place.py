"""The placement: what stays, where the rest goes, evened out, with preferred leaders; and where new partitions go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from seawall.domain.partitions import Broker, Partition, PartitionId
from seawall.domain.placement.even import Moving, even_out
from seawall.domain.placement.grid import NOBODY, Demand, Grid, Mask, Numbers, make_grid
from seawall.domain.placement.outcome import Infeasible, LeftAlone, Move, Placement, Why, slips, why_infeasible
from seawall.domain.placement.replicas import choices, extend, keep, lead


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


NO_SIZES: Mapping[PartitionId, int] = {}


def place(
    partitions: Collection[Partition],
    brokers: Collection[Broker],
    demand: Demand,
    sizes: Mapping[PartitionId, int] = NO_SIZES,
) -> Placement | Infeasible:
    """The moves with the fewest copies after which all is as demanded; the same for whatever order things come in.

    Of equally few copies the one that loads brokers most evenly, first with replicas, then with preferred leaders.
    Loads are those of the partitions given. `sizes` are the bytes of one replica: of equal moves the smallest is made.
    """
    grid = make_grid(partitions, brokers, demand, sizes)
    if (slip := slips(grid, demand)) is not None:
        return slip
    kept = keep(grid, grid.replicas)
    stays = _left_alone(grid, kept)
    rows = np.array([row.id in stays for row in grid.partitions], np.bool_)
    kept = np.where(rows[:, None], grid.replicas, kept)
    grid = grid.with_factor(np.where(rows, grid.replicas.sum(axis=1), grid.factor))
    placed = extend(grid, kept)
    if (placed.sum(axis=1) < grid.factor).any():
        return why_infeasible(grid, placed)
    may_rebalance = grid.healthy() & ~rows & demand.rebalance
    placed = even_out(grid, placed, _moving(grid, kept, placed, may_rebalance))
    preferred = lead(grid, placed, may_rebalance | (placed != grid.replicas).any(axis=1))
    return Placement(_moves(grid, kept, placed, preferred), stays)


def _left_alone(grid: Grid, kept: Mask) -> dict[PartitionId, LeftAlone]:
    """The rows that should change and stay: nobody could copy them, or fewer replicas would be in sync than must be."""
    change: Mask = (kept != grid.replicas).any(axis=1) | (kept.sum(axis=1) < grid.factor)
    leaderless = grid.leader == NOBODY
    after = (kept & grid.in_sync).sum(axis=1) + grid.factor - kept.sum(axis=1)
    fewer = after < np.minimum(grid.factor, grid.in_sync.sum(axis=1))
    return {
        grid.partitions[row].id: LeftAlone.NO_LEADER if leaderless[row] else LeftAlone.IN_SYNC_NEEDED
        for row in np.flatnonzero(change & (leaderless | fewer))
    }


def _moving(grid: Grid, kept: Mask, placed: Mask, may_rebalance: Mask) -> Moving:
    """What may move: new replicas, to where nothing was; what stays instead of another; and all that may rebalance.

    A leader stays where the replication factor is lowered, and what is not in sync takes nobody's place.
    """
    go, come = choices(grid, kept)
    new = placed & ~grid.replicas
    leave = go | new
    enter = come | (new.any(axis=1, keepdims=True) & grid.usable & ~grid.replicas)
    lowered = (grid.replicas.sum(axis=1) > grid.factor)[:, None]
    leave |= may_rebalance[:, None] & grid.usable & ~(lowered & grid.leads())
    enter |= may_rebalance[:, None] & grid.usable
    return Moving(leave, enter, grid.replicas, grid.leads())


def _moves(grid: Grid, kept: Mask, placed: Mask, preferred: Numbers) -> tuple[Move, ...]:
    changed = (placed != grid.replicas).any(axis=1) | (preferred != grid.preferred)
    return tuple(
        Move(
            grid.partitions[row].id,
            grid.partitions[row].replicas,
            _listed(grid, int(row), placed[row], int(preferred[row])),
            _why(grid, int(row), kept[row], placed[row]),
        )
        for row in np.flatnonzero(changed)
    )


def _listed(grid: Grid, row: int, placed: Mask, preferred: int) -> tuple[int, ...]:
    """The preferred leader, then what stays in its order, then what is new by id."""
    wanted = [grid.brokers[column].id for column in np.flatnonzero(placed)]
    original = grid.partitions[row].replicas
    place_of = {broker: index for index, broker in enumerate(original)}
    first = grid.brokers[preferred].id
    return tuple(sorted(wanted, key=lambda broker: (broker != first, place_of.get(broker, len(original)), broker)))


def _why(grid: Grid, row: int, kept: Mask, placed: Mask) -> Why:
    before = grid.replicas[row]
    reasons = (
        (bool((before & grid.excluded).any()), Why.DRAIN),
        (grid.factor[row] > before.sum(), Why.RAISE),
        (grid.factor[row] < before.sum(), Why.LOWER),
        (bool(kept.sum() < before.sum()), Why.RACKS),
        (bool((placed != before).any()), Why.BALANCE),
    )
    return next((why for holds, why in reasons if holds), Why.LEADERS)
