"""Which replica is the preferred leader."""

from __future__ import annotations

import numpy as np

from seawall.domain.placement.even import Moving, even_out
from seawall.domain.placement.grid import Grid, Mask, Numbers, one_hot


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
