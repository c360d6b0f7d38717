"""On which brokers new topics of a pool are made.

Kafka places topics at random: a fresh pool is as uneven as dice are. So each topic is made where `place_new` puts it.
What cannot be as declared must not keep the database without its topics: racks are given up first, then exclusions, and
the event says so; the run that moves replicas says it as well, until it is as declared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.reassignment import Racks
from seawall.domain.kafka import NewTopic
from seawall.domain.partitions import Broker, BrokerState, Partition, known_brokers
from seawall.domain.placement import Demand, Infeasible, place_new


def with_replicas(
    spec: WALClusterSpec, topics: Sequence[NewTopic], partitions: Collection[Partition], registered: Collection[Broker]
) -> tuple[tuple[NewTopic, ...], str]:
    """The topics with their replicas, and what people should know of these; empty: all is as declared.

    Args:
        spec: what is declared.
        topics: the new ones.
        partitions: those of the pool that there are.
        registered: the brokers.
    """
    brokers = known_brokers(registered, partitions)
    declared = Demand(
        replication_factor={topic.name: topic.replication_factor for topic in topics},
        exclude=frozenset(spec.reassignment.exclude_brokers) & {broker.id for broker in brokers},
        racks=spec.reassignment.racks is Racks.REQUIRED,
    )
    names = list(declared.replication_factor)
    said = _not_online(brokers)
    for demand in (declared, replace(declared, racks=False), replace(declared, racks=False, exclude=frozenset())):
        found = place_new(names, partitions, brokers, demand)
        if not isinstance(found, Infeasible):
            return tuple(replace(topic, replicas=found[topic.name]) for topic in topics), "; ".join(filter(None, said))
        said = [f"not as declared: {found.message}", *_not_online(brokers)]
    return tuple(topics), "; ".join(["Kafka chose their brokers", *said])


def _not_online(brokers: Collection[Broker]) -> list[str]:
    others = [str(broker.id) for broker in brokers if broker.state is not BrokerState.ONLINE]
    return [f"none is on broker {', '.join(others)}, which is not online"] if others else []
