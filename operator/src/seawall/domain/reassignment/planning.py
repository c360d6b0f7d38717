"""From what is declared to a plan: what is asked of it, whether to balance, and whether a frozen plan still holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.reassignment import Racks, Rebalance
from seawall.domain.kafka import INTERNAL_TOPICS
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand, Infeasible, LeftAlone, Placement, place
from seawall.domain.reassignment.journal import Journal, build_journal


def demand_of(spec: WALClusterSpec, partitions: Collection[Partition]) -> Demand:
    """The declared replication factor for every topic of the pool that there is, away from excluded brokers.

    Kafka's own topics are among the partitions only where they are to be repaired; they, and those of others, also
    where a broker of a managed Kafka is excluded. What is not named keeps as many replicas as it has.
    """
    pool = {found.id.topic for found in partitions if spec.topics.index_of(found.id.topic) is not None}
    return Demand(
        replication_factor={
            **dict.fromkeys(sorted(pool), spec.topics.replication_factor),
            **_internal_factors(spec, partitions),
        },
        exclude=frozenset(spec.reassignment.exclude_brokers),
        racks=spec.reassignment.racks is Racks.REQUIRED,
    )


def internal_topics_to_move(spec: WALClusterSpec) -> frozenset[str]:
    """Kafka's own topics, if a run may move them."""
    return frozenset(INTERNAL_TOPICS) if spec.internal_topics.repair else frozenset()


def _internal_factor(spec: WALClusterSpec) -> int:
    return spec.internal_topics.replication_factor or spec.topics.replication_factor


def _internal_factors(spec: WALClusterSpec, partitions: Collection[Partition]) -> dict[str, int]:
    """Kafka's own topics with partitions that have too few replicas. They never lose any."""
    wanted = _internal_factor(spec)
    factors: dict[str, list[int]] = {}
    for found in partitions:
        if found.id.topic in internal_topics_to_move(spec):
            factors.setdefault(found.id.topic, []).append(len(found.replicas))
    return {topic: max(wanted, *some) for topic, some in sorted(factors.items()) if min(some) < wanted}


def is_rebalance_due(
    cluster: WALCluster, spec: WALClusterSpec, partitions: Collection[Partition], brokers: Collection[Broker]
) -> bool:
    """Whether a plan that is made now should make loads even: by a new annotation, or because a broker has joined."""
    run, asked = cluster.status.reassignment, cluster.metadata.rebalance_asked
    if asked is not None and (run is None or asked != run.rebalanced_for):
        return True
    return spec.reassignment.rebalance is Rebalance.ON_EXPANSION and _has_empty_broker(spec, partitions, brokers)


def _has_empty_broker(spec: WALClusterSpec, partitions: Collection[Partition], brokers: Collection[Broker]) -> bool:
    """Whether a broker has nothing although there is a replica of the pool for each of them."""
    excluded = spec.reassignment.exclude_brokers
    usable = [found.id for found in brokers if found.state is BrokerState.ONLINE and found.id not in excluded]
    pool = [found for found in partitions if spec.topics.index_of(found.id.topic) is not None]
    load = Counter(broker for partition in pool for broker in partition.replicas)
    return sum(load[broker] for broker in usable) >= len(usable) and any(load[broker] == 0 for broker in usable)


@dataclass(frozen=True, slots=True)
class CannotPlan:
    """What is declared cannot be planned, at least now, and why in one sentence."""

    message: str


_WHY_LEFT_ALONE = {
    LeftAlone.NO_LEADER: "nobody leads it: bring its brokers back",
    LeftAlone.IN_SYNC_NEEDED: "what it could keep is not in sync: it waits until it is",
}


def plan_moves(
    partitions: Collection[Partition], brokers: Collection[Broker], demand: Demand
) -> Placement | CannotPlan | None:
    """What has to move; None: nothing.

    Bytes are left out of it: they grow all the time, and two looks at one cluster must come to the same plan.
    """
    found = place(partitions, brokers, demand)
    if isinstance(found, Infeasible):
        return CannotPlan(found.message)
    if found.moves:
        return found
    if found.left_alone:
        (topic, number), why = min(found.left_alone.items())
        others = f" (and {len(found.left_alone) - 1} more)" if len(found.left_alone) > 1 else ""
        return CannotPlan(f"{topic}-{number}{others} cannot be moved yet: {_WHY_LEFT_ALONE[why]}")
    return None


def freeze(
    placement: Placement, demand: Demand, sizes: Mapping[PartitionId, Mapping[int, int]], now: datetime
) -> Journal:
    """The journal of a placement, with the bytes of the largest replica of each partition."""
    largest = {found: max(by_broker.values(), default=0) for found, by_broker in sizes.items()}
    return build_journal(placement.moves, demand.exclude, largest, now)


def is_still_wanted(journal: Journal, spec: WALClusterSpec, demand: Demand) -> bool:
    """Whether a frozen plan is what is declared now: its replication factors, and the brokers that are excluded."""
    return journal.exclude == demand.exclude and all(
        _is_wanted(move.id.topic, len(move.wanted), spec, demand) for move in journal.moves
    )


def _is_wanted(topic: str, replicas: int, spec: WALClusterSpec, demand: Demand) -> bool:
    """Of Kafka's own topics as many as declared, or as any partition has: one that has arrived may show too many.

    A broker that has not heard of the end of its move still shows the replicas that went with those that came.
    """
    asked = demand.replication_factor.get(topic, replicas)
    least = min(asked, _internal_factor(spec)) if topic in INTERNAL_TOPICS else asked
    return least <= replicas <= asked
