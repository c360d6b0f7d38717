"""The least that there can be, as a flow of least cost that networkx finds: for comparing, not for use."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx


@dataclass(frozen=True)
class Row:
    """One partition.

    Attributes:
        fixed: replicas that are there in any case.
        count: how many more it gets.
        may: where these may be, with what each costs.
    """

    fixed: frozenset[int]
    count: int
    may: Mapping[int, int]


@dataclass(frozen=True)
class Least:
    """The best there is: the sum of squared loads of the usable brokers, and the sum of costs."""

    squares: int
    costs: int


def least(rows: Sequence[Row], usable: set[int], rack: Mapping[int, Hashable] | None = None) -> Least:
    """Least crowding of racks first (if racks are given), then least squares of loads, then least costs."""
    graph: nx.MultiDiGraph[Hashable] = nx.MultiDiGraph()
    graph.add_node("end", demand=sum(row.count for row in rows))
    load = {broker: sum(broker in row.fixed for row in rows) for broker in usable}
    square = 1 + sum(row.count for row in rows)
    crowd = 1 + square * 2 * (1 + len(rows)) ** 2 * max(1, len(usable))
    for number, row in enumerate(rows):
        graph.add_node(("row", number), demand=-row.count)
        for name in {_rack(rack, broker) for broker in row.may}:
            taken = sum(_rack(rack, other) == name for other in row.fixed)
            for more in range(row.count):
                cost = 0 if rack is None else crowd * (2 * (taken + more) + 1)
                graph.add_edge(("row", number), ("rack", number, name), capacity=1, weight=cost)
        for broker, cost in row.may.items():
            graph.add_edge(("rack", number, _rack(rack, broker)), broker, capacity=1, weight=cost)
    for broker in usable:
        for more in range(len(rows)):
            graph.add_edge(broker, "end", capacity=1, weight=square * (2 * (load[broker] + more) + 1))
    _, flow = nx.network_simplex(graph)
    costs = 0
    for number, row in enumerate(rows):
        for broker, cost in row.may.items():
            if flow["rack", number, _rack(rack, broker)][broker][0]:
                load[broker] += 1
                costs += cost
    return Least(sum(count**2 for count in load.values()), costs)


def _rack(rack: Mapping[int, Hashable] | None, broker: int) -> Hashable:
    return None if rack is None else rack[broker]
