"""The port `PartitionReassigner` on Kafka in memory. Kafka's sentences are the real ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from seawall.adapters.kafka.errors import failure_of_partition
from seawall.adapters.kafka.topic_answers import failure_of, refused_names
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.partitions import (
    NO_RATES,
    Broker,
    BrokerState,
    NewVoter,
    Partition,
    PartitionId,
    Quorum,
    QuorumReplica,
    Rates,
    Reassigning,
    Replica,
    Sizes,
    ThrottledReplicas,
    Throttles,
)
from seawall.domain.throttles import FOLLOWER_RATE, LEADER_RATE
from tests.fakes import kafka_voters
from tests.fakes.kafka_moves import begin, cancel, shown

if TYPE_CHECKING:  # they import this module
    from tests.fakes.kafka import FakeKafka, FakeTopic

PREFERRED_LEADER_NOT_AVAILABLE = 80
NOTHING = ThrottledReplicas()
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class FakeReassigner:
    """The partitions of one cluster."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers; one that is down is fenced."""
        self._ask("brokers")
        moves = self.kafka.moves
        return tuple(
            Broker(
                broker,
                moves.racks.get(broker),
                BrokerState.FENCED if broker in self.kafka.offline else BrokerState.ONLINE,
            )
            for broker in self.kafka.brokers
            if broker not in moves.unregistered
        )

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, tuple[Partition, ...] | TopicFailure]:
        """All partitions of topics."""
        self._ask("partitions")
        shown = [name for name in self.kafka.topics if name not in self.kafka.refuses_topics]
        found = {name: self._find(name) for name in (shown if topics is None else topics)}
        return {
            name: topic if isinstance(topic, TopicFailure) else self._partitions(topic)
            for name, topic in found.items()
            if topics is not None or not isinstance(topic, TopicFailure) or topic.why is not TopicTrouble.UNKNOWN_TOPIC
        }

    def min_insync_replicas(self, topics: Collection[str]) -> Mapping[str, int | TopicFailure]:
        """What is set, or the default of all brokers."""
        self._ask("min_insync_replicas")
        found = {name: self._find(name) for name in topics}
        return {
            name: topic if isinstance(topic, TopicFailure) else self.kafka.min_isr(topic)
            for name, topic in found.items()
        }

    def ongoing(self) -> Mapping[PartitionId, Reassigning]:
        """Every move that is not done."""
        self._ask("ongoing")
        return {
            partition: Reassigning(
                self.kafka.topics[partition.topic].replicas_of(partition.partition),
                frozenset(move.adding),
                frozenset(move.removing),
            )
            for partition, move in self.kafka.moves.ongoing.items()
        }

    def reassign(self, targets: Mapping[PartitionId, tuple[int, ...] | None]) -> Mapping[PartitionId, TopicFailure]:
        """Moves what Kafka does not refuse, whether or not the answer gets lost."""
        if not targets:
            return {}
        self._ask("reassign")
        failures = {partition: self._reassign(partition, target) for partition, target in targets.items()}
        self._answer()
        return {partition: failure for partition, failure in failures.items() if failure is not None}

    def throttles(self, topics: Collection[str]) -> Throttles:
        """The rates, and what of these topics they apply to."""
        self._ask("throttles")
        moves = self.kafka.moves
        reported = {
            broker: rates
            for broker, rates in moves.broker_rates.items()
            if broker not in self.kafka.offline and rates != NO_RATES
        }
        found = {name: self.kafka.topics[name] for name in topics if name in self.kafka.topics}
        throttled = {name: _throttled(topic) for name, topic in found.items()}
        return Throttles(moves.rates, reported, {name: some for name, some in throttled.items() if some != NOTHING})

    def alter_throttles(self, rates: Rates | None, replicas: Mapping[str, ThrottledReplicas]) -> None:
        """Sets rates and lists, whether or not the answer gets lost."""
        self._ask("alter_throttles")
        if rates is not None:
            for name, rate in ((LEADER_RATE, rates.leader), (FOLLOWER_RATE, rates.follower)):
                if rate is not None and rate < 0:
                    invalid = f"Invalid value {rate} for configuration {name}"
                    raise Refused(f"Kafka refused the throttle: {invalid}: Value must be at least 0")
            self.kafka.moves.rates = rates
        for name in sorted(replicas.keys() & self.kafka.topics.keys()):
            _throttle(self.kafka.topics[name].configs, replicas[name])
        self._answer()
        gone = sorted(name for name in replicas if name not in self.kafka.topics and replicas[name] != NOTHING)
        if gone:
            sentence = f"The topic '{gone[0]}' does not exist."
            raise OutsideUnavailable(f"Kafka did not answer for the throttle of topic {gone[0]}: {sentence}")

    def elect_preferred_leaders(self, partitions: Collection[PartitionId]) -> Mapping[PartitionId, TopicFailure]:
        """Elects where the preferred leader is in sync, whether or not the answer gets lost."""
        if not partitions:
            return {}
        self._ask("elect_preferred_leaders")
        failures = {partition: self._elect(partition) for partition in partitions}
        self._answer()
        return {partition: failure for partition, failure in failures.items() if failure is not None}

    def sizes(self, topics: Collection[str] | None = None) -> Sizes:
        """Records are in partition 0; a replica that is being made has nothing yet."""
        self._ask("sizes")
        online = frozenset(self.kafka.brokers) - self.kafka.offline
        return Sizes(
            {
                PartitionId(topic.name, partition): {
                    broker: topic.log.size if partition == 0 and (0, broker) not in topic.catching_up else 0
                    for broker in topic.replicas_of(partition)
                    if broker in online
                }
                for topic in self.kafka.topics.values()
                if topics is None or topic.name in topics
                for partition in range(topic.partitions)
                if not online.isdisjoint(topic.replicas_of(partition))
            },
            online,
        )

    def unregister(self, broker: int) -> None:
        """Forgets it, whatever is on it, whether or not the answer gets lost."""
        self._ask("unregister")
        self.kafka.moves.unregistered.add(broker)
        self._answer()

    def features(self) -> dict[str, int]:
        """The levels that are finalized."""
        self._ask("features")
        return dict(self.kafka.moves.features)

    def eligible_leaders(self) -> Mapping[PartitionId, frozenset[int]]:
        """Those that went when too few were left in sync."""
        self._ask("eligible_leaders")
        return {
            PartitionId(topic.name, partition): self.kafka.eligible(topic, partition)
            for topic in self.kafka.topics.values()
            for partition in range(topic.partitions)
            if topic.views_until_seen == 0 and topic.name not in self.kafka.moves.failing
        }

    def quorum(self) -> Quorum:
        """All brokers are voters, unless there are controllers; the first that is up leads."""
        self._ask("quorum")
        return self._quorum()

    def _quorum(self) -> Quorum:
        moves = self.kafka.moves
        voters = moves.controllers or self.kafka.brokers
        down = moves.controllers_down if moves.controllers else self.kafka.offline
        up = [voter for voter in voters if voter not in down and voter not in moves.unheard]
        if len(up) * 2 <= len(voters):
            raise OutsideUnavailable("Kafka's controllers did not answer: they have no majority.")
        observers = [self._follower(*each) for each in sorted(moves.observers.items())]
        for broker in sorted({*self.kafka.brokers} - {*voters}):
            is_heard = broker not in self.kafka.offline and broker not in moves.cut_off
            observers.append(QuorumReplica(broker, 0, 0 if is_heard else 60_000))
        found = tuple(self._follower(each, moves.directories.get(each)) for each in voters)
        return Quorum(up[0], found, tuple(observers))

    def add_voter(self, voter: NewVoter) -> None:
        """Whoever has all of the log votes, whether or not the answer gets lost."""
        self._ask("add_voter")
        kafka_voters.add(self.kafka.moves, self._quorum(), voter)
        self._answer()

    def remove_voter(self, voter: int, directory_id: str) -> None:
        """The entry of that disk goes, whether or not the answer gets lost."""
        self._ask("remove_voter")
        kafka_voters.remove(self.kafka.moves, self._quorum(), voter, directory_id)
        self._answer()

    def _follower(self, controller: int, directory: str | None) -> QuorumReplica:
        moves = self.kafka.moves
        lag = moves.voter_lags.get(controller, 0)
        behind = None if controller in moves.unheard else moves.silent.get(directory or "", 500 * lag)
        return QuorumReplica(controller, lag, behind, directory)

    def _find(self, name: str) -> FakeTopic | TopicFailure:
        if impossible := refused_names([name]):
            return impossible[name]
        topic: FakeTopic | None = self.kafka.topics.get(name)
        if topic is None or topic.views_until_seen > 0:
            return failure_of(name, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if name in self.kafka.refuses_topics:
            return failure_of(name, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        if name in self.kafka.moves.failing:
            return failure_of(name, KafkaError(self.kafka.moves.failing[name]))
        return topic

    def _partitions(self, topic: FakeTopic) -> tuple[Partition, ...]:
        return tuple(shown(self.kafka, topic, partition) for partition in range(topic.partitions))

    def _reassign(self, partition: PartitionId, target: tuple[int, ...] | None) -> TopicFailure | None:
        topic = self.kafka.topics.get(partition.topic)
        if topic is None or partition.partition >= topic.partitions:
            return failure_of_partition(partition, KafkaError.UNKNOWN_TOPIC_OR_PART, None)
        invalid = None if target is None else invalid_replicas(self.kafka, target)
        refusal = invalid or self.kafka.moves.refuse(partition, target)
        if refusal is not None:
            return failure_of_partition(partition, KafkaError.INVALID_REPLICA_ASSIGNMENT, refusal)
        if target is None:
            cancel(self.kafka, partition)
        elif target != topic.replicas_of(partition.partition) or partition in self.kafka.moves.ongoing:
            begin(self.kafka, partition, target)
        return None

    def _elect(self, partition: PartitionId) -> TopicFailure | None:
        topic = self.kafka.topics.get(partition.topic)
        if topic is None or partition.partition >= topic.partitions:
            return failure_of_partition(partition, KafkaError.UNKNOWN_TOPIC_OR_PART, None)
        isr, _ = self.kafka.led(topic, partition.partition)
        preferred = topic.replicas_of(partition.partition)[0]
        if preferred not in isr or preferred in self.kafka.offline:
            return failure_of_partition(
                partition, PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
            )
        topic.leaders[partition.partition] = preferred
        return None

    def _ask(self, method: str) -> None:
        self.kafka.count(method)
        if self.kafka.unreachable is not None:
            raise OutsideUnavailable(self.kafka.unreachable.message)
        if self.kafka.offline.issuperset(self.kafka.brokers):
            raise OutsideUnavailable("No broker of Kafka answered.")

    def _answer(self) -> None:
        if self.kafka.lose_answer():
            raise OutsideUnavailable("Kafka did not answer: Local: Timed out")


def invalid_replicas(kafka: FakeKafka, target: tuple[int, ...]) -> str | None:
    """The sentence by which Kafka refuses replicas that a person names, or None."""
    if not target:
        return "The manual partition assignment includes an empty replica list."
    registered = set(kafka.brokers) - kafka.moves.unregistered
    for broker in sorted(target):
        if target.count(broker) > 1:
            return f"The manual partition assignment includes the broker {broker} more than once."
        if broker not in registered:
            return f"The manual partition assignment includes broker {broker}, but no such broker is registered."
    return None


def _throttle(configs: dict[str, str], wanted: ThrottledReplicas) -> None:
    lists = ((LEADERS, wanted.leaders, wanted.every_leader), (FOLLOWERS, wanted.followers, wanted.every_follower))
    for key, replicas, everything in lists:
        configs.pop(key, None)
        if everything or replicas:
            exact = ",".join(f"{replica.partition}:{replica.broker}" for replica in sorted(replicas))
            configs[key] = "*" if everything else exact


def _throttled(topic: FakeTopic) -> ThrottledReplicas:
    leaders, followers = topic.configs.get(LEADERS, ""), topic.configs.get(FOLLOWERS, "")
    return ThrottledReplicas(_replicas(leaders), _replicas(followers), leaders == "*", followers == "*")


def _replicas(text: str) -> frozenset[Replica]:
    pairs = [item.split(":") for item in text.split(",") if ":" in item]
    return frozenset(Replica(int(partition), int(broker)) for partition, broker in pairs)
