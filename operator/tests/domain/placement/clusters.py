"""Clusters at random, for properties."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand


@dataclass(frozen=True)
class Case:
    """What `place` is asked."""

    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    demand: Demand


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
    partitions = tuple(
        draw(_partitions(PartitionId(f"t{row // 2}", row % 2), crowded, healthy=healthy)) for row in range(rows)
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


@st.composite
def _partitions(draw: st.DrawFn, id_: PartitionId, brokers: list[int], *, healthy: bool) -> Partition:
    replicas = tuple(draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True)))
    if healthy or draw(st.booleans()):
        return Partition(id_, replicas, frozenset(replicas), draw(st.sampled_from(replicas)))
    isr = draw(st.sets(st.sampled_from(replicas), min_size=1))
    return Partition(id_, replicas, frozenset(isr), draw(st.sampled_from([*sorted(isr), None])))


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
