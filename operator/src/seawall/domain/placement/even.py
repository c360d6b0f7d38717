"""Shortest paths between all brokers (Floyd and Warshall), among equals those with the fewest arcs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seawall.domain.placement.grid import Grid, Mask, Numbers

FAR = 2**30
"""The cost of an arc or a path that there is not."""


def shortest_paths(costs: Numbers) -> tuple[Numbers, Numbers]:
    """Of the costs of single arcs, from by to: the costs of the best paths, and the first broker on the way.

    There must be no circle that costs less than nothing.
    """
    count = len(costs)
    hops = count + 1
    weights = np.where(costs < FAR, costs * hops + 1, FAR * hops)
    np.fill_diagonal(weights, FAR * hops)
    following = np.tile(np.arange(count), (count, 1))
    for via in range(count):
        by_way = weights[:, via : via + 1] + weights[via]
        better = by_way < weights
        if better.any():
            weights = np.where(better, by_way, weights)
            following = np.where(better, following[:, via : via + 1], following)
    is_path = weights < FAR * hops // 2
    return np.where(is_path, (weights - 1) // hops, FAR), following


def path_between(following: Numbers, start: int, end: int) -> list[int]:
    """The brokers on the way, both ends included.

    Raises:
        ArithmeticError: there is a circle that costs less than nothing, and the way goes round it for ever.
    """
    path = [start]
    while path[-1] != end:
        path.append(int(following[path[-1], end]))
        if len(path) > len(following):
            raise ArithmeticError("a circle of moves costs less than nothing: the start was not one of least cost")
    return path


COSTS = (-1, 0, 1)
FEW = 64
"""So many rows are counted anew one by one; more of them all together."""


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """What may move, rows by brokers.

    Attributes:
        leave: from where.
        enter: to where.
        home: places that cost nothing.
        late: those of `leave` that are taken last, among equals.
    """

    leave: Mask
    enter: Mask
    home: Mask
    late: Mask


def even_out(grid: Grid, placed: Mask, moving: Moving) -> Mask:
    """Moves until no load of a usable broker can be nearer to the others'; racks are spread no worse than before."""
    state = _State(grid, placed, moving)
    while (step := state.next_step()) is not None:
        path, amount = step
        for start, end, cost in path:
            state.move(start, end, cost, amount)
    return state.placed


class _State:
    """Replicas on their way, and how many rows have each arc."""

    def __init__(self, grid: Grid, placed: Mask, moving: Moving) -> None:
        self.grid, self.moving = grid, moving
        self.placed = placed.copy()
        self.racks = grid.in_racks(placed)
        self.same_rack = grid.rack[:, None] == grid.rack
        self.arcs = self._count(np.arange(len(placed)))

    def next_step(self) -> tuple[list[tuple[int, int, int]], int] | None:
        """The arcs (from, to, cost) of the path between the most different loads, and how many replicas follow it."""
        cheapest = np.where(self.arcs[2] > 0, COSTS[2], FAR)
        for cost in (1, 0):
            cheapest = np.where(self.arcs[cost] > 0, COSTS[cost], cheapest)
        distances, following = shortest_paths(cheapest)
        load = self.placed.sum(axis=0)
        more = load[:, None] - load
        gain = (distances < FAR) & ((more >= 2) | ((more == 1) & (distances < 0)))  # noqa: PLR2004 - 1 only swaps loads
        gain &= self.grid.usable[:, None] & self.grid.usable
        if not gain.any():
            return None
        worth = np.where(gain, more * 2 * FAR - distances, -1)
        start, end = (int(index) for index in np.unravel_index(int(worth.argmax()), worth.shape))
        path = [(a, b, int(cheapest[a, b])) for a, b in pairwise(path_between(following, start, end))]
        return path, self._amount(path, load)

    def _amount(self, path: list[tuple[int, int, int]], load: Numbers) -> int:
        """How many rows may go at once by a path of one arc; by a longer one, one."""
        (start, end, cost) = path[0]
        if len(path) > 1:
            return 1
        usable = load[self.grid.usable]
        above = load[start] - -(-usable.sum() // len(usable))
        below = usable.sum() // len(usable) - load[end]
        wanted = min(above, below) if min(above, below) > 0 else (load[start] - load[end]) // 2
        return int(max(1, min(wanted, self.arcs[cost + 1][start, end])))

    def move(self, start: int, end: int, cost: int, amount: int) -> None:
        """Moves the replicas of so many rows: those first that are not late, then the smallest, then the first."""
        able = self._leaves(start) & self._enters(end)
        able &= self.same_rack[start, end] | (self.racks[:, self.grid.rack[end]] < self.racks[:, self.grid.rack[start]])
        home = self.moving.home
        able &= home[:, start].astype(np.int64) - home[:, end] == cost
        rows = np.flatnonzero(able)
        order = np.lexsort((rows, self.grid.sizes[rows], self.moving.late[rows, start]))
        rows = np.sort(rows[order[:amount]])
        if len(rows) != amount:
            raise ArithmeticError("a path of moves used one partition twice: it was not the shortest")
        is_few = len(rows) <= FEW
        if is_few:
            self.arcs -= self._count(rows)
        self.placed[rows, start], self.placed[rows, end] = False, True
        self.racks[rows, self.grid.rack[start]] -= 1
        self.racks[rows, self.grid.rack[end]] += 1
        self.arcs = self.arcs + self._count(rows) if is_few else self._count(np.arange(len(self.placed)))

    def _leaves(self, column: int) -> Mask:
        return self.placed[:, column] & self.moving.leave[:, column]

    def _enters(self, column: int) -> Mask:
        return self.moving.enter[:, column] & ~self.placed[:, column]

    def _count(self, rows: Numbers) -> Numbers:
        """How many of these rows have each arc: cost by from by to."""
        width = self.placed.shape[1]
        found = np.zeros((len(COSTS), width, width), np.int64)
        placed, racks, home = self.placed[rows], self.racks[rows], self.moving.home[rows]
        enter = self.moving.enter[rows] & ~placed
        leave = self.moving.leave[rows] & placed
        in_rack = racks[:, self.grid.rack]
        for start in np.flatnonzero(leave.any(axis=0)):
            here = leave[:, start]
            able = enter[here] & (self.same_rack[start] | (in_rack[here] < in_rack[here, start][:, None]))
            from_home = home[here, start][:, None]
            to_home = home[here]
            found[0, start] = (able & ~from_home & to_home).sum(axis=0)
            found[1, start] = (able & (from_home == to_home)).sum(axis=0)
            found[2, start] = (able & from_home & ~to_home).sum(axis=0)
        return found
