"""Shortest paths between all brokers (Floyd and Warshall), among equals those with the fewest arcs."""

from __future__ import annotations

import numpy as np

from seawall.domain.placement.grid import Numbers

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
