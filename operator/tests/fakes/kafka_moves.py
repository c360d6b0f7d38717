"""Reassignments in memory: they advance when told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seawall.domain.partitions import NO_RATES, Partition, PartitionId, Rates

if TYPE_CHECKING:  # it imports this module
    from tests.fakes.kafka import FakeKafka, FakeTopic

Target = tuple[int, ...] | None


@dataclass
class FakeMove:
    """A reassignment that is not done.

    Attributes:
        original: the replicas before it.
        target: the replicas after it.
    """

    original: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def adding(self) -> tuple[int, ...]:
        """The replicas to be made."""
        return tuple(broker for broker in self.target if broker not in self.original)

    @property
    def removing(self) -> tuple[int, ...]:
        """The replicas that go in the end."""
        return tuple(broker for broker in self.original if broker not in self.target)


@dataclass
class FakeMoves:
    """What a cluster knows of reassignments; tests may change what they like.

    Attributes:
        ongoing: those that are not done.
        racks: of brokers that have one.
        unregistered: brokers that Kafka forgot.
        rates: the cluster's default.
        broker_rates: what somebody set on single brokers.
        late: how many answers show a partition as it was before its move ended.
        behind: partitions as brokers show them that have not heard of the end, and how many more such answers come.
        refuse: the sentence by which Kafka refuses a target, or None.
        voter_lags: records that voters of the quorum lack.
        features: levels that are finalized.
        controllers: the voters; empty: all brokers.
        controllers_down: voters that are down, and no brokers.
        unheard: voters that the leader has not heard of yet.
        directories: of controllers, by id.
        observers: controllers that follow and do not vote: the directory of each, by id.
        silent: by directory for how many milliseconds the leader has not heard of a controller.
        cut_off: brokers that no controller has heard of for a minute.
        failing: topics of which metadata tell an error, and its code.
    """

    ongoing: dict[PartitionId, FakeMove] = field(default_factory=dict)
    racks: dict[int, str] = field(default_factory=dict)
    unregistered: set[int] = field(default_factory=set)
    rates: Rates = NO_RATES
    broker_rates: dict[int, Rates] = field(default_factory=dict)
    late: int = 0
    behind: dict[PartitionId, tuple[Partition, int]] = field(default_factory=dict)
    refuse: Callable[[PartitionId, Target], str | None] = lambda _partition, _target: None
    voter_lags: dict[int, int] = field(default_factory=dict)
    controllers: tuple[int, ...] = ()
    controllers_down: set[int] = field(default_factory=set)
    unheard: set[int] = field(default_factory=set)
    directories: dict[int, str] = field(default_factory=dict)
    observers: dict[int, str] = field(default_factory=dict)
    silent: dict[str, int] = field(default_factory=dict)
    cut_off: set[int] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    features: dict[str, int] = field(
        default_factory=lambda: {"metadata.version": 30, "eligible.leader.replicas.version": 1}
    )


def begin(kafka: FakeKafka, partition: PartitionId, target: tuple[int, ...]) -> None:
    """Sends a partition on its way, as Kafka's controller does it; without new replicas, it is there at once."""
    cancel(kafka, partition)
    topic = kafka.topics[partition.topic]
    original = topic.replicas_of(partition.partition)
    _, leader = kafka.led(topic, partition.partition)
    if leader is not None:
        topic.leaders[partition.partition] = leader
    move = FakeMove(original, target)
    kafka.moves.ongoing[partition] = move
    topic.place(partition.partition, target + move.removing)
    topic.catching_up |= {(partition.partition, broker) for broker in move.adding}
    _finish(kafka, partition)


def cancel(kafka: FakeKafka, partition: PartitionId) -> bool:
    """Restores the original replicas, but not their order; whether there was something to cancel."""
    if partition not in kafka.moves.ongoing:
        return False
    _keep(kafka, partition)
    move = kafka.moves.ongoing.pop(partition)
    topic = kafka.topics[partition.topic]
    topic.catching_up -= {(partition.partition, broker) for broker in move.adding}
    left = topic.replicas_of(partition.partition)
    topic.place(partition.partition, tuple(broker for broker in left if broker not in move.adding))
    return True


def advance(kafka: FakeKafka, partitions: int | None = None) -> int:
    """Lets the next new replica of so many partitions, or of all, be in sync; one whose new replicas all are is done.

    Nothing is fetched by brokers that are down, or from a partition that nobody leads.

    Returns:
        How many partitions got on.
    """
    moved = 0
    for partition in sorted(kafka.moves.ongoing):
        if partitions is not None and moved >= partitions:
            break
        topic = kafka.topics[partition.topic]
        _, leader = kafka.led(topic, partition.partition)
        waiting = [
            broker
            for broker in kafka.moves.ongoing[partition].target
            if (partition.partition, broker) in topic.catching_up and broker not in kafka.offline
        ]
        if leader is not None and waiting:
            topic.catching_up.discard((partition.partition, waiting[0]))
            moved += 1
            _finish(kafka, partition)
    return moved


def _finish(kafka: FakeKafka, partition: PartitionId) -> None:
    """Ends a move whose new replicas all are in sync, if some replica that stays is."""
    move, topic = kafka.moves.ongoing[partition], kafka.topics[partition.topic]
    isr, _ = kafka.led(topic, partition.partition)
    if set(move.adding) <= set(isr) and not set(isr).isdisjoint(move.target):
        _keep(kafka, partition)
        del kafka.moves.ongoing[partition]
        topic.place(partition.partition, move.target)


def _keep(kafka: FakeKafka, partition: PartitionId) -> None:
    """The partition as it is, for brokers that do not hear yet of what comes next."""
    if kafka.moves.late:
        topic = kafka.topics[partition.topic]
        isr, leader = kafka.led(topic, partition.partition)
        replicas = topic.replicas_of(partition.partition)
        kafka.moves.behind[partition] = Partition(partition, replicas, frozenset(isr), leader), kafka.moves.late


def shown(kafka: FakeKafka, topic: FakeTopic, partition: int) -> Partition:
    """A partition as the broker that is asked shows it."""
    name = PartitionId(topic.name, partition)
    before, answers = kafka.moves.behind.get(name, (None, 0))
    if before is not None and answers > 0:
        kafka.moves.behind[name] = before, answers - 1
        return before
    isr, leader = kafka.led(topic, partition)
    return Partition(name, topic.replicas_of(partition), frozenset(isr), leader)
