"""Clusters at random, for properties."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand


@dataclass(frozen=True)
class Case:
    """What `place` is asked."""

    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    demand: Demand


T = TypeVar("T", bound=Hashable)

RACKS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=8)
STATES = st.sampled_from([BrokerState.ONLINE] * 5 + [BrokerState.FENCED, BrokerState.OFFLINE])


@st.composite
def cases(draw: st.DrawFn, *, healthy: bool = False) -> Case:
    """Uneven starts, dead brokers, brokers that are gone, replicas out of sync, leaderless partitions, odd demands.

    Healthy ones have none of the ailments, and no broker without a rack while others have one.
    """
    racks = draw(RACKS)
    if healthy and None in racks:
        racks = [None] * len(racks)
    brokers = tuple(
        Broker(id_, rack, BrokerState.ONLINE if healthy else draw(STATES)) for id_, rack in enumerate(racks, start=1)
    )
    everywhere = [broker.id for broker in brokers] + ([] if healthy else [77])
    crowded = draw(st.lists(st.sampled_from(everywhere), min_size=1, unique=True))
    rows = draw(st.integers(0, 14))
    replicas = _unique(tuple(crowded), 4)
    partitions = tuple(
        _draw_partition(draw, PartitionId(f"t{row // 2}", row % 2), replicas, healthy=healthy) for row in range(rows)
    )
    topics = sorted({partition.id.topic for partition in partitions})
    return Case(
        partitions,
        brokers,
        Demand(
            replication_factor=draw(st.dictionaries(st.sampled_from(topics), st.integers(1, 4))) if topics else {},
            exclude=draw(st.frozensets(st.sampled_from([broker.id for broker in brokers]), max_size=2)),
            racks=draw(st.booleans()),
            rebalance=draw(st.booleans()),
        ),
    )


def _draw_partition(
    draw: st.DrawFn, id_: PartitionId, some: st.SearchStrategy[list[int]], *, healthy: bool
) -> Partition:
    replicas = tuple(draw(some))
    if healthy or draw(st.booleans()):
        return Partition(id_, replicas, frozenset(replicas), draw(_one_of(replicas)))
    isr = draw(_some_of(replicas))
    return Partition(id_, replicas, frozenset(isr), draw(_one_of((*sorted(isr), None))))


# To make a strategy takes longer than to draw from it.
@cache
def _one_of(values: tuple[T, ...]) -> st.SearchStrategy[T]:
    return st.sampled_from(values)


@cache
def _some_of(values: tuple[int, ...]) -> st.SearchStrategy[set[int]]:
    return st.sets(st.sampled_from(values), min_size=1)


@cache
def _unique(values: tuple[int, ...], most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)


def after(case: Case, wanted: dict[PartitionId, tuple[int, ...]]) -> tuple[Partition, ...]:
    """The partitions when all moves are over: what was added is in sync, and who is preferred leads."""
    return tuple(
        partition
        if partition.id not in wanted
        else Partition(
            partition.id,
            wanted[partition.id],
            frozenset(wanted[partition.id]) & partition.isr | frozenset(wanted[partition.id]) - {*partition.replicas},
            wanted[partition.id][0],
        )
        for partition in case.partitions
    )
