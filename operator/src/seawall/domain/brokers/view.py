"""A look at the brokers of a Kafka cluster, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from seawall.domain.brokers.reasons import Reason
from seawall.domain.kafka import INTERNAL_TOPICS
from seawall.domain.partitions import (
    NO_RATES,
    Broker,
    BrokerState,
    Partition,
    PartitionId,
    Quorum,
    Rates,
    Reassigning,
    Sizes,
    led_by_others,
)

SHOWN = 3
"""How many partitions a sentence names."""


@dataclass(frozen=True, slots=True)
class BrokerObservation:
    """What Kafka said.

    Attributes:
        brokers: all that are known, by id.
        partitions: of all topics that may be described.
        ongoing: what is reassigned.
        min_isr: min.insync.replicas of Kafka's own topics, and of those that have too few in-sync replicas; one that
            Kafka did not tell is left out.
        sizes: bytes on disk; None: nobody told.
        own_rates: throttles of single brokers that are alive; a sentence: why Kafka did not tell.
    """

    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]
    ongoing: Mapping[PartitionId, Reassigning]
    min_isr: Mapping[str, int]
    sizes: Sizes | None
    own_rates: Mapping[int, Rates] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerNumbers:
    """One broker.

    `log_dir_bytes` and `stored`, the partitions in its log directories, those of topics that may not be described
    included, are None when it did not tell.
    """

    broker: Broker
    leaders: int
    replicas: int
    under_replicated: int
    under_min_isr: int
    log_dir_bytes: int | None
    stored: int | None
    own_rates: Rates = NO_RATES


@dataclass(frozen=True, slots=True)
class Troubled:
    """Partitions that are in some trouble: how many, and a few of them."""

    count: int
    some: tuple[PartitionId, ...]

    @classmethod
    def of(cls, partitions: Iterable[PartitionId]) -> Troubled:
        """Counts, and keeps the first ones."""
        found = sorted(partitions)
        return cls(len(found), tuple(found[:SHOWN]))

    def __str__(self) -> str:
        named = ", ".join(f"{topic}-{partition}" for topic, partition in self.some)
        return named if self.count <= len(self.some) else f"{named} and {self.count - len(self.some)} more"


@dataclass(frozen=True, slots=True)
class ReplicationView:
    """A look in numbers; the partitions themselves are not kept.

    Attributes:
        brokers: by id.
        partitions: how many there are.
        leaderless: nobody leads them.
        under_min_isr: they have a leader, and fewer in-sync replicas than min.insync.replicas.
        under_replicated: replicas are not in sync, those left out that are only being made.
        led_by_others: their preferred leader could lead, and does not.
        internal: Kafka's own topics that there are.
        rates_unknown: why Kafka did not tell of throttles of single brokers; empty: it did.
    """

    brokers: tuple[BrokerNumbers, ...]
    partitions: int
    leaderless: Troubled
    under_min_isr: Troubled
    under_replicated: Troubled
    led_by_others: Troubled
    internal: tuple[InternalTopic, ...]
    rates_unknown: str = ""


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """One of Kafka's own topics.

    Attributes:
        replication_factor: the fewest replicas of its partitions; one that is only being made is none yet.
        in_sync: the fewest in-sync replicas of its partitions.
        min_isr: None: Kafka did not tell.
    """

    name: str
    replication_factor: int
    in_sync: int
    min_isr: int | None


@dataclass(frozen=True, slots=True)
class NothingObserved:
    """Nobody could look, and why."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class BrokersFound:
    """A look in numbers, and the controllers, or why Kafka did not tell of them.

    Attributes:
        eligible_leader_replicas: whether a replica that was in sync when its leader went is remembered, and leads
            before one that lost its disk (KIP-966); None: Kafka does not tell.
    """

    view: ReplicationView
    quorum: Quorum | NothingObserved
    eligible_leader_replicas: bool | None = None


METADATA_VERSION, ELIGIBLE_LEADER_REPLICAS = "metadata.version", "eligible.leader.replicas.version"


def remembers_eligible_leaders(features: Mapping[str, int]) -> bool | None:
    """Whether Kafka does, by its finalized features; None: it lacks what every KRaft Kafka has."""
    return None if METADATA_VERSION not in features else features.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0


def lacking(partition: Partition, ongoing: Mapping[PartitionId, Reassigning]) -> frozenset[int]:
    """The replicas of a partition that are not in sync and should be."""
    return settled_replicas(partition, ongoing) - partition.isr


def settled_replicas(partition: Partition, ongoing: Mapping[PartitionId, Reassigning]) -> frozenset[int]:
    """The replicas of a partition but for those that are only being made."""
    moving = ongoing.get(partition.id)
    return frozenset(partition.replicas) - (moving.adding if moving is not None else frozenset())


def worth_asking(partitions: Iterable[Partition], ongoing: Mapping[PartitionId, Reassigning]) -> frozenset[str]:
    """The topics whose min.insync.replicas matters now: to ask about 10,000 of them takes seconds."""
    partitions = tuple(partitions)
    troubled = {partition.id.topic for partition in partitions if lacking(partition, ongoing)}
    return frozenset(
        troubled | {partition.id.topic for partition in partitions if partition.id.topic in INTERNAL_TOPICS}
    )


def view_of(assessment: BrokerObservation) -> ReplicationView:
    """The look in numbers."""
    online = {broker.id for broker in assessment.brokers if broker.state is BrokerState.ONLINE}
    leaderless = {partition.id for partition in assessment.partitions if partition.leader is None}
    under_min_isr = {
        partition.id
        for partition in assessment.partitions
        if partition.leader is not None and len(partition.isr) < assessment.min_isr.get(partition.id.topic, 1)
    }
    return ReplicationView(
        _broker_numbers(assessment, leaderless | under_min_isr),
        len(assessment.partitions),
        Troubled.of(leaderless),
        Troubled.of(under_min_isr),
        Troubled.of(partition.id for partition in assessment.partitions if lacking(partition, assessment.ongoing)),
        Troubled.of(led_by_others(assessment.partitions, online, assessment.ongoing)),
        tuple(found for name in INTERNAL_TOPICS if (found := _internal(assessment, name)) is not None),
        assessment.own_rates if isinstance(assessment.own_rates, str) else "",
    )


def _broker_numbers(assessment: BrokerObservation, refusing: Collection[PartitionId]) -> tuple[BrokerNumbers, ...]:
    leaders = Counter(partition.leader for partition in assessment.partitions)
    replicas = Counter(broker for partition in assessment.partitions for broker in partition.replicas)
    behind = Counter(broker for partition in assessment.partitions for broker in lacking(partition, assessment.ongoing))
    refused = Counter(
        broker for partition in assessment.partitions if partition.id in refusing for broker in partition.replicas
    )
    bytes_on: Counter[int] = Counter()
    stored: Counter[int] = Counter()
    for of_partition in assessment.sizes.by_partition.values() if assessment.sizes is not None else ():
        bytes_on.update(of_partition)
        stored.update(of_partition.keys())
    reported = assessment.sizes.reported if assessment.sizes is not None else frozenset()
    rates = {} if isinstance(assessment.own_rates, str) else assessment.own_rates
    return tuple(
        BrokerNumbers(
            broker,
            leaders[broker.id],
            replicas[broker.id],
            behind[broker.id],
            refused[broker.id],
            bytes_on[broker.id] if broker.id in reported else None,
            stored[broker.id] if broker.id in reported else None,
            rates.get(broker.id, NO_RATES),
        )
        for broker in assessment.brokers
    )


def _internal(assessment: BrokerObservation, name: str) -> InternalTopic | None:
    """The topic, if it exists."""
    found = [partition for partition in assessment.partitions if partition.id.topic == name]
    if not found:
        return None
    factors = [len(settled_replicas(partition, assessment.ongoing)) for partition in found]
    in_sync = min(len(partition.isr) if partition.leader is not None else 0 for partition in found)
    return InternalTopic(name, min(factors), in_sync, assessment.min_isr.get(name))
