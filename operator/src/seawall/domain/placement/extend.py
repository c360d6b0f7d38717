"""Where new replicas go."""

from __future__ import annotations

import numpy as np

from seawall.domain.placement.grid import Grid, Mask


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
