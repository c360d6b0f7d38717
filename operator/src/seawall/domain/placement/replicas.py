"""Which replicas of a partition stay, where new ones go, and which one is the preferred leader."""

from __future__ import annotations

import numpy as np

from seawall.domain.placement.even import Moving, even_out
from seawall.domain.placement.grid import Grid, Mask, Numbers, one_hot


def keep(grid: Grid, replicas: Mask) -> Mask:
    """As many of a row's replicas as it should have, none of them on an excluded broker.

    Where racks are demanded, one in each rack. The leader stays first of all, then what is in sync, then what is
    online, then what is alone in its rack, then what is on a broker that keeps less, then what comes first.
    """
    allowed = replicas & ~grid.excluded
    clash = np.full(len(allowed), grid.racks_demanded) & (grid.in_racks(allowed) > 1).any(axis=1)
    choose = (allowed.sum(axis=1) > grid.factor) | clash
    kept: Mask = allowed & ~choose[:, None]
    load = kept.sum(axis=0)
    for row in np.flatnonzero(choose):
        for column in _chosen(grid, int(row), allowed[row], load):
            kept[row, column] = True
            load[column] += 1
    return kept


def _chosen(grid: Grid, row: int, allowed: Mask, load: Numbers) -> list[int]:
    position = {broker: index for index, broker in enumerate(grid.partitions[row].replicas)}
    left = [int(column) for column in np.flatnonzero(allowed)]
    chosen: list[int] = []
    racks: list[int] = []

    def worth(column: int) -> tuple[bool, bool, bool, int, int, int]:
        return (
            column != grid.leader[row],
            not grid.in_sync[row, column],
            not grid.usable[column],
            racks.count(int(grid.rack[column])),
            int(load[column]),
            position[grid.brokers[column].id],
        )

    while left and len(chosen) < grid.factor[row]:
        best = min(left, key=worth)
        chosen.append(best)
        racks.append(int(grid.rack[best]))
        left.remove(best)
        if grid.racks_demanded:
            left = [column for column in left if grid.rack[column] not in racks]
    return chosen


def choices(grid: Grid, kept: Mask) -> tuple[Mask, Mask]:
    """Which of the kept replicas could go instead of which others that were not kept: nothing is copied for it.

    Only in-sync replicas that are online, on both sides; the leader stays, and rows that also get new ones.
    """
    alike = grid.in_sync & grid.usable & ~grid.leads()
    lowered = (grid.replicas.sum(axis=1) > kept.sum(axis=1))[:, None] & (kept.sum(axis=1) == grid.factor)[:, None]
    return kept & alike & lowered, grid.replicas & ~kept & alike & lowered


def extend(grid: Grid, kept: Mask) -> Mask:
    """Adds what rows lack: in the rack that has fewest of the row's replicas, there on the broker that has fewest.

    A row that cannot have as many as it should stays short: brokers or racks are too few.
    """
    placed = kept.copy()
    racks = grid.in_racks(placed)
    load = placed.sum(axis=0)
    most = len(kept) + 1
    never = most * (len(grid.brokers) + 1)
    for row in np.flatnonzero(placed.sum(axis=1) < grid.factor):
        for _ in range(grid.factor[row] - int(placed[row].sum())):
            in_rack = racks[row, grid.rack]
            free = grid.usable & ~placed[row]
            if grid.racks_demanded:
                free &= in_rack == 0
            if not free.any():
                break
            column = int(np.where(free, in_rack * most + load, never).argmin())
            placed[row, column] = True
            racks[row, grid.rack[column]] += 1
            load[column] += 1
    return placed


def lead(grid: Grid, placed: Mask, free: Mask) -> Numbers:
    """The preferred leaders, as columns, even over brokers; only those of the rows that are free may be others.

    A broker that is offline or whose replica is not in sync leads nothing that is free, if another can.
    """
    able: Mask = placed & grid.usable & (grid.in_sync | ~grid.replicas)
    able = np.where(able.any(axis=1, keepdims=True), able, placed)
    stays = ~free | able[np.arange(len(placed)), grid.preferred]
    preferred = np.where(stays, grid.preferred, -1)
    load = one_hot(preferred, len(grid.brokers)).sum(axis=0)
    for row in np.flatnonzero(~stays):
        leader = grid.leader[row]
        column = leader if able[row, leader] else int(np.where(able[row], load, len(placed) + 1).argmin())
        preferred[row] = column
        load[column] += 1
    width = len(grid.brokers)
    may = able & free[:, None]
    home = one_hot(grid.preferred, width)
    even = even_out(grid.without_racks(), one_hot(preferred, width), Moving(may, may, home, np.zeros_like(may)))
    found: Numbers = even.argmax(axis=1)
    return found
