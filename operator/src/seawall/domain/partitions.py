"""Where the replicas of partitions are, as Kafka says, and how they are moved: brokers, throttles, the quorum."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from seawall.api.v1alpha1.kafka_brokers import BrokerState as BrokerState  # noqa: PLC0414 - is one of these values


class PartitionId(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as the brokers' metadata shows it.

    Attributes:
        id: which it is.
        replicas: brokers, the preferred leader first. While it is reassigned, those that come and those that go too.
        isr: the replicas in sync. The last one stays in it when its broker goes down.
        leader: None: nobody leads, nothing can be read or written.
    """

    id: PartitionId
    replicas: tuple[int, ...]
    isr: frozenset[int]
    leader: int | None


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker, with its rack if it has one."""

    id: int
    rack: str | None
    state: BrokerState


@dataclass(frozen=True, slots=True)
class Reassigning:
    """A partition on its way, whoever sent it there.

    Attributes:
        replicas: all that it has now, old and new ones.
        adding: those that are new.
        removing: those that go as soon as the new ones are in sync.
    """

    replicas: tuple[int, ...]
    adding: frozenset[int]
    removing: frozenset[int]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas when it is done."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def original(self) -> frozenset[int]:
        """The replicas when it is cancelled."""
        return frozenset(self.replicas) - self.adding


class Replica(NamedTuple):
    """One copy of a partition of a topic that is known."""

    partition: int
    broker: int


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """The replicas of one topic to which the rates apply.

    A run makes exact lists and never "*": that would slow down whoever catches up after a restart, and keep it out of
    the ISR. What somebody else set is put back as it was, "*" as well.

    Attributes:
        leaders: replicas that send no faster, while they lead, to those that are not in sync.
        followers: replicas that fetch no faster until they are in sync.
        every_leader: somebody else set "*" for leaders.
        every_follower: somebody else set "*" for followers.
    """

    leaders: frozenset[Replica] = frozenset()
    followers: frozenset[Replica] = frozenset()
    every_leader: bool = False
    every_follower: bool = False


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes a second that a broker sends to, and fetches for, throttled replicas; None: as much as it can."""

    leader: int | None = None
    follower: int | None = None


NO_RATES = Rates()


@dataclass(frozen=True, slots=True)
class Throttles:
    """What slows reassignments down.

    Attributes:
        rates: those of every broker: the cluster's default. A broker's own rates can be set and removed by that broker
            alone, which may have died meanwhile; the default is removed for the dead as well.
        by_broker: rates that somebody else set on single brokers that are alive; they win over the default.
        topics: what is throttled, of the topics that were asked about.
    """

    rates: Rates = NO_RATES
    by_broker: Mapping[int, Rates] = field(default_factory=dict)
    topics: Mapping[str, ThrottledReplicas] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes on disk.

    Attributes:
        by_partition: of each replica, by broker; copies that are still being made, too.
        told: the brokers that answered: what the others have is not known.
    """

    by_partition: Mapping[PartitionId, Mapping[int, int]]
    reported: frozenset[int]


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A node that follows the metadata log.

    Attributes:
        id: of the node.
        lag: records behind the leader.
        behind_ms: for how long it has lacked some, by the leader's clock; None: the leader never heard of it; less than
            0: it heard of it at a time that its clock, which somebody set back, has not shown again yet.
        directory_id: of its disk, as Kafka writes it; None: it does not tell, as before Kafka 3.9.
    """

    id: int
    lag: int
    behind_ms: int | None
    directory_id: str | None = None

    def keeps_up(self, most_ms: int) -> bool:
        """Whether it is known to have lacked records for no longer: by a clock that was set back nothing is known."""
        return self.behind_ms is not None and 0 <= self.behind_ms <= most_ms


@dataclass(frozen=True, slots=True)
class NewVoter:
    """A controller that is to vote.

    Attributes:
        id: of the node.
        directory_id: of its disk, as Kafka writes it: the vote is that disk's.
        listener: the name of the listener at which the others find it.
        host: and where that is.
        port: and which port.
    """

    id: int
    directory_id: str
    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Quorum:
    """The controllers, as their leader tells; more than half of the voters must keep up for anything to change."""

    leader: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


def known_brokers(registered: Iterable[Broker], partitions: Iterable[Partition]) -> tuple[Broker, ...]:
    """The brokers by id: registered ones, and those that only replica lists name: these are offline."""
    by_id = {broker.id: broker for broker in registered}
    for partition in partitions:
        for replica in partition.replicas:
            by_id.setdefault(replica, Broker(replica, None, BrokerState.OFFLINE))
    return tuple(by_id[broker] for broker in sorted(by_id))


def led_by_others(
    partitions: Iterable[Partition], online: Collection[int], ongoing: Collection[PartitionId]
) -> tuple[PartitionId, ...]:
    """The partitions whose preferred leader is in sync and on a broker that is online, and does not lead.

    After a restart of its broker Kafka lets it lead again within minutes; never where auto.leader.rebalance.enable is
    false, or as long as a broker leads no more than a tenth less than it should. What is reassigned is left out.
    """
    return tuple(
        found.id
        for found in partitions
        if found.leader not in {None, found.replicas[0]}
        and found.replicas[0] in found.isr
        and found.replicas[0] in online
        and found.id not in ongoing
    )


def throttled_replicas(
    moves: Mapping[PartitionId, tuple[Collection[int], Collection[int]]],
) -> dict[str, ThrottledReplicas]:
    """What to throttle by topic for moves from replicas to replicas, as Kafka's own tool does.

    A leader that leaves the list in mid-move is followed by another of the replicas before: all of them are listed.
    """
    leaders: dict[str, set[Replica]] = {}
    followers: dict[str, set[Replica]] = {}
    for (topic, partition), (before, wanted) in moves.items():
        adding = set(wanted) - set(before)
        if adding:
            leaders.setdefault(topic, set()).update(Replica(partition, broker) for broker in before)
            followers.setdefault(topic, set()).update(Replica(partition, broker) for broker in adding)
    return {topic: ThrottledReplicas(frozenset(leaders[topic]), frozenset(followers[topic])) for topic in leaders}
