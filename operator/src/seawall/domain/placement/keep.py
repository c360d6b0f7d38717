"""Which replicas stay."""

from __future__ import annotations

import numpy as np

from seawall.domain.placement.grid import Grid, Mask, Numbers


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
