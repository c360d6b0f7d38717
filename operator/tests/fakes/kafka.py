"""Kafka in memory. It is no kinder than Kafka: late, partial, and its answers get lost.

Messages are sorted and worded by the adapter's own `Failures`; Kafka's sentences are the real ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError

from seawall.adapters.kafka.admin import ENOUGH
from seawall.adapters.kafka.errors import ALREADY_EXISTS, Failures, refuse_repeated
from seawall.adapters.kafka.kept import not_kept, refusal_of_unkept
from seawall.adapters.kafka.topic_answers import require_described
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import (
    ConfigChange,
    Configs,
    KafkaConnection,
    KafkaView,
    NewTopic,
    NoKafka,
    Topic,
    Unreachable,
    describe_illegal_name,
)
from tests.fakes.kafka_configs import config_refusal, default_refusal, kept_form, tiering_refusal
from tests.fakes.kafka_eligible import InSync
from tests.fakes.kafka_log import FakeLog
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.fakes.kafka_moves import FakeMoves
from tests.fakes.kafka_reassigner import FakeReassigner, invalid_replicas
from tests.fakes.kafka_users import FakeKafkaUsers

MIN_ISR = "min.insync.replicas"
Refusal = Callable[[str, str, str], str | None]
"""Topic, config and value to the sentence by which Kafka (a CreateTopicPolicy, say) refuses them, or None."""


@dataclass
class FakeTopic:
    """A topic; tests may change what they like."""

    name: str
    replicas: tuple[int, ...]
    partitions: int = 1
    configs: dict[str, str] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    """What DescribeConfigs shows: `configs` as they were `late_configs` calls ago."""
    views_until_seen: int = 0
    views_until_led: int = 0
    describes_until_current: int = 0
    log: FakeLog = field(default_factory=FakeLog)
    elsewhere: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The replicas of partitions that are not where partition 0 is."""
    catching_up: set[tuple[int, int]] = field(default_factory=set)
    """Partitions and brokers: replicas that are not in sync although their broker is up."""
    newest: dict[int, tuple[bytes | None, bytes | None]] = field(default_factory=dict)
    """By partition key and value of its last committed record."""
    leaders: dict[int, int] = field(default_factory=dict)
    """By partition who leads while in sync, of those that a reassignment touched; else the first in sync does."""
    remembered: dict[int, InSync] = field(default_factory=dict)
    """By partition who was in sync, and eligible to lead, when somebody asked last."""

    def replicas_of(self, partition: int) -> tuple[int, ...]:
        """The replicas of one partition."""
        return self.elsewhere.get(partition, self.replicas)

    def place(self, partition: int, replicas: tuple[int, ...]) -> None:
        """Gives one partition its replicas; the others stay where they are."""
        if partition:
            self.elsewhere[partition] = replicas
            return
        for other in range(1, self.partitions):
            self.elsewhere.setdefault(other, self.replicas)
        self.replicas = replicas


@dataclass
class GoneTopic:
    """A topic that was deleted, and that brokers show which have not heard of it; the others do not.

    Attributes:
        answers: for how many more answers such brokers are asked, too: in turn with the others, two answers each.
    """

    topic: FakeTopic
    answers: int

    def is_shown(self) -> bool:
        """Whether the next answer is of a broker that is behind."""
        self.answers -= 1
        return self.answers // 2 % 2 == 0


class FakeKafka:
    """One cluster, and a `KafkaAdmin` of it. Brokers count from 1.

    Attributes:
        unreachable: what `view` answers instead of the cluster, if anything; other calls then are unavailable.
        deposed: logs as a broker has them that led, was replaced, and has not heard of it: who asks by another broker's
            metadata than the client of the offsets may be sent to it.
        offline: brokers that are down.
        refuse: refuses configs beyond what Kafka itself refuses.
        unkept: configs that it takes and does not keep, as some services do.
        refuses_topics: topics that it tells nothing of, as without the right to describe them; they may be created.
        refuse_delete: the sentence by which Kafka (an ACL, say) refuses to delete records of a topic, or None.
        late_topics: how many views do not show a new topic.
        late_leaders: how many views, after that, show a new topic without a leader.
        late_configs: how many describe calls show a topic's configs as they were before a change.
        late_deletes: among how many answers about a deleted topic, or a new one of its name, are some that show it.
        late_keys: how many reads of keys have no time for a single record.
        lost_answers: how many of the next writes happen although they seem unanswered.
        users: its users, and their rights.
        moves: what a `PartitionReassigner` sees and changes beyond that.
        producer_ids: how many were taken.
        broker_configs: of all brokers.
        refuses_brokers: the sentence by which it refuses to tell of these.
        defaults: what is set for all brokers while they run.
        overrides: what is set on single brokers while they run.
        requests: how many calls that were not empty were made, by method.
    """

    def __init__(self, brokers: int = 3, cluster_id: str = "fake-cluster") -> None:
        self.cluster_id = cluster_id
        self.brokers = tuple(range(1, brokers + 1))
        self.topics: dict[str, FakeTopic] = {}
        self.gone: dict[str, GoneTopic] = {}
        self.deposed: dict[str, FakeLog] = {}
        self.offline: set[int] = set()
        self.unreachable: NoKafka | None = None
        self.refuse: Refusal = lambda _topic, _config, _value: None
        self.unkept: frozenset[str] = frozenset()
        self.refuses_topics: set[str] = set()
        self.refuse_delete: Callable[[str], str | None] = lambda _topic: None
        self.late_topics = 0
        self.late_leaders = 0
        self.late_configs = 0
        self.late_deletes = 0
        self.late_keys = 0
        self.lost_answers = 0
        self.producer_ids = 0
        self.broker_configs = {"connections.max.idle.ms": "600000", "producer.id.expiration.ms": "86400000"}
        self.refuses_brokers = ""
        self.defaults: dict[str, str] = {}
        self.overrides: dict[int, dict[str, str]] = {}
        self.requests: dict[str, int] = {}
        self.moves = FakeMoves()
        self.users = FakeKafkaUsers()
        self._placement = itertools.count()

    def add_topic(
        self, name: str, *, replicas: Sequence[int] = (1,), partitions: int = 1, configs: Configs | None = None
    ) -> FakeTopic:
        """A topic that somebody else made."""
        topic = FakeTopic(name, tuple(replicas), partitions, dict(configs or {}), dict(configs or {}))
        self.topics[name] = topic
        return topic

    def view(self) -> KafkaView | NoKafka:
        """The cluster as a broker that may be behind shows it."""
        self.count("view")
        if self.unreachable is not None:
            return self.unreachable
        if self.offline.issuperset(self.brokers):
            return NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")
        online = frozenset(self.brokers) - self.offline
        shown = (self.shown(name) for name in {**self.topics, **self.gone} if name not in self.refuses_topics)
        recorded = {topic.name: self.recorded(topic) for topic in shown if topic is not None}
        for topic in self.topics.values():
            if topic.views_until_seen > 0:
                topic.views_until_seen -= 1
            elif topic.views_until_led > 0:
                topic.views_until_led -= 1
        return KafkaView(self.cluster_id, online, recorded)

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        """The configs set on the topics themselves."""
        self._ask("describe_configs", topics)
        configs: dict[str, Configs] = {}
        failures = Failures()
        for name in dict.fromkeys(topics):
            topic = self.topics.get(name)
            if refusal := describe_illegal_name(name):
                failures.add({name: KafkaError(KafkaError.TOPIC_EXCEPTION, refusal)})
            elif topic is not None and topic.views_until_seen == 0:
                if topic.describes_until_current > 0:
                    topic.describes_until_current -= 1
                else:
                    topic.described = dict(topic.configs)
                configs[name] = dict(topic.described)
        failures.raise_any()
        return configs

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Creates those that Kafka does not refuse."""
        refuse_repeated(topic.name for topic in topics)
        self._ask("create_topics", topics)
        failures = Failures(ALREADY_EXISTS)
        for topic in topics:
            error = self._creation_error(topic)
            if error is None:
                self._create(topic)
            else:
                failures.add({topic.name: error})
        self._answer(failures)
        if missing := [topic.name for topic in topics if topic.name in self.refuses_topics]:
            require_described(FakeKafkaLogs(self).describe_topics(missing))

    def add_partitions(self, totals: Mapping[str, int]) -> None:
        """Gives topics more partitions."""
        self._ask("add_partitions", list(totals))
        failures = Failures(ENOUGH)
        for name, total in totals.items():
            if name not in self.topics:
                unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, f"The topic '{name}' does not exist.")
                failures.add({name: unknown})
                continue
            self.topics[name].partitions = max(total, self.topics[name].partitions)
        self._answer(failures)

    def describe_broker_configs(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker that is online these configs."""
        self._ask("describe_broker_configs", list(keys))
        if self.refuses_brokers:
            raise Refused(self.refuses_brokers)
        online = [broker for broker in self.brokers if broker not in self.offline]
        told = {key: value for key, value in self.broker_configs.items() if key in keys}
        return dict.fromkeys(online, told)

    def describe_broker_overrides(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker that is online what of these configs was set on it alone."""
        self._ask("describe_broker_overrides", list(keys))
        online = {broker: configs for broker, configs in self.overrides.items() if broker not in self.offline}
        own = {broker: {key: value for key, value in each.items() if key in keys} for broker, each in online.items()}
        return {broker: configs for broker, configs in own.items() if configs}

    def describe_default_configs(self) -> Configs:
        """What is set as the default of all brokers."""
        self._ask("describe_default_configs", ["all"])
        return dict(self.defaults)

    def alter_default_configs(self, changes: Mapping[str, str | None]) -> None:
        """Sets defaults of all brokers, or takes them back: all, or none."""
        self._ask("alter_default_configs", list(changes))
        refusals = [why for key, value in changes.items() if (why := default_refusal(key, value)) is not None]
        if refusals:
            raise Refused(f"Kafka refused {', '.join(sorted(changes))} of all brokers: {refusals[0]}")
        self._remember(self.topics.values())
        for key, value in changes.items():
            self.defaults.pop(key, None)
            if value is not None:
                self.defaults[key] = value
        self._answer(Failures())

    def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Alters the topics whose changes Kafka does not refuse; each topic all or nothing."""
        refuse_repeated(change.topic for change in changes)
        changes = [change for change in changes if change.set or change.reset]
        self._ask("alter_configs", changes)
        failures = Failures()
        for change in changes:
            error = self._alteration_error(change)
            if error is None:
                self._alter(self.topics[change.topic], change)
            else:
                failures.add({change.topic: error})
        self._answer(failures)
        if unkept := not_kept(changes, {name: topic.configs for name, topic in self.topics.items()}):
            raise refusal_of_unkept(unkept)

    def delete_topics(self, ids: Mapping[str, str]) -> None:
        """Deletes those that exist under the name with the id."""
        self._ask("delete_topics", list(ids))
        for name, topic_id in ids.items():
            if name in self.topics and self.topics[name].log.topic_id == topic_id:
                self.gone[name] = GoneTopic(self.topics.pop(name), self.late_deletes)
        self._answer(Failures())

    def shown(self, name: str) -> FakeTopic | None:
        """A topic as the broker that is asked next shows it; None: it shows none of the name."""
        gone, topic = self.gone.get(name), self.topics.get(name)
        if gone is not None and gone.answers > 0 and gone.is_shown():
            return gone.topic
        return topic if topic is not None and topic.views_until_seen == 0 else None

    def led_as(self, name: str) -> FakeTopic | None:
        """The same, of the leader: one that has taken records for a topic has heard that it was made."""
        topic = self.topics.get(name)
        return topic if topic is not None and topic.log.end > 0 else self.shown(name)

    def recorded(self, topic: FakeTopic) -> Topic:
        """The topic as metadata shows it."""
        isr, leader = self.led(topic, 0)
        return Topic(topic.name, topic.partitions, topic.replicas, isr, leader)

    def led(self, topic: FakeTopic, partition: int) -> tuple[tuple[int, ...], int | None]:
        """The in-sync replicas of a partition, and its leader."""
        settled = [broker for broker in topic.replicas_of(partition) if (partition, broker) not in topic.catching_up]
        isr = tuple(broker for broker in settled if broker not in self.offline)
        if not isr:
            return tuple(settled[-1:]), None  # the last replica stays in the ISR when it goes down
        before = topic.remembered.get(partition, InSync(frozenset(settled)))
        if before != InSync(frozenset(isr)):
            before = before.becomes(isr, topic.replicas_of(partition), self.min_isr(topic))
        topic.remembered[partition] = before
        leader = topic.leaders.get(partition)
        if topic.views_until_led > 0:
            return isr, None
        return isr, leader if leader in isr else isr[0]

    def eligible(self, topic: FakeTopic, partition: int) -> frozenset[int]:
        """The replicas that may lead although they are not in sync: they were, and went when too few were left."""
        isr, _ = self.led(topic, partition)
        remembered = topic.remembered.get(partition)
        return frozenset() if remembered is None else remembered.eligible - frozenset(isr)

    def min_isr(self, topic: FakeTopic) -> int:
        """What is in force for a topic: its own, or the default of all brokers."""
        return int(topic.configs.get(MIN_ISR, self.defaults.get(MIN_ISR, "1")))

    def _creation_error(self, topic: NewTopic) -> KafkaError | None:
        if topic.name in self.topics:
            return KafkaError(KafkaError.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        if refusal := describe_illegal_name(topic.name):
            return KafkaError(KafkaError.TOPIC_EXCEPTION, refusal)
        if topic.replicas:
            return self._assignment_error(topic) or self._config_error(topic.name, topic.configs)
        if topic.replication_factor > len(self.brokers):
            wanted = topic.replication_factor
            return KafkaError(
                KafkaError.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot "
                f"be reached because only {len(self.brokers)} broker(s) are registered or some brokers have all their "
                "log directories cordoned.",
            )
        return self._config_error(topic.name, topic.configs)

    def _alteration_error(self, change: ConfigChange) -> KafkaError | None:
        if refusal := describe_illegal_name(change.topic):
            return KafkaError(KafkaError.TOPIC_EXCEPTION, refusal)
        if change.topic not in self.topics:
            return KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, f"The topic '{change.topic}' does not exist.")
        if not change.set.keys().isdisjoint(change.reset):
            return KafkaError(KafkaError.INVALID_REQUEST, "Duplicate ConfigEntry found")
        before = self.topics[change.topic].configs
        after = {key: value for key, value in {**before, **change.set}.items() if key not in change.reset}
        if refusal := tiering_refusal(before, after):
            return KafkaError(KafkaError.INVALID_CONFIG, refusal)
        return self._config_error(change.topic, change.set)

    def _config_error(self, topic: str, configs: Mapping[str, str]) -> KafkaError | None:
        for key, value in configs.items():
            if refusal := config_refusal(key, value):
                return KafkaError(KafkaError.INVALID_CONFIG, refusal)
            if refusal := self.refuse(topic, key, value):
                return KafkaError(KafkaError.POLICY_VIOLATION, refusal)
        return None

    def _assignment_error(self, topic: NewTopic) -> KafkaError | None:
        refusal = invalid_replicas(self, topic.replicas)
        if refusal is None and self.offline.issuperset(topic.replicas):
            refusal = (
                "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
                "shutdown."
            )
        return None if refusal is None else KafkaError(KafkaError.INVALID_REPLICA_ASSIGNMENT, refusal)

    def _create(self, topic: NewTopic) -> None:
        first = next(self._placement)
        # Registered brokers that are down get replicas as well.
        replicas = topic.replicas or tuple(
            self.brokers[(first + offset) % len(self.brokers)] for offset in range(topic.replication_factor)
        )
        created = self.add_topic(
            topic.name, replicas=replicas, partitions=topic.partitions, configs=_kept(topic.configs)
        )
        created.views_until_seen, created.views_until_led = self.late_topics, self.late_leaders

    def _remember(self, topics: Iterable[FakeTopic]) -> None:
        """Who went until now went while min.insync.replicas was as it is."""
        for topic in topics:
            for partition in range(topic.partitions):
                self.led(topic, partition)

    def _alter(self, topic: FakeTopic, change: ConfigChange) -> None:
        self._remember([topic])
        topic.configs |= _kept({key: value for key, value in change.set.items() if key not in self.unkept})
        for key in change.reset:
            topic.configs.pop(key, None)
        topic.describes_until_current = self.late_configs

    def _ask(self, method: str, items: Sequence[object]) -> None:
        if not items:
            return
        self.count(method)
        if self.unreachable is not None:
            raise OutsideUnavailable(self.unreachable.message)
        if self.offline.issuperset(self.brokers):
            raise OutsideUnavailable("No broker of Kafka answered.")

    def _answer(self, failures: Failures) -> None:
        if self.lose_answer():
            raise OutsideUnavailable("Kafka did not answer: Local: Timed out")
        failures.raise_any()

    def lose_answer(self) -> bool:
        """Whether the answer of this write gets lost."""
        is_lost = self.lost_answers > 0
        self.lost_answers -= is_lost
        return is_lost

    def count(self, method: str) -> None:
        """Counts a call."""
        self.requests[method] = self.requests.get(method, 0) + 1


class FakeKafkaClusters:
    """Finds clusters by their addresses; an address without a cluster is unreachable.

    Attributes:
        clusters: the cluster at each address.
        connections: what each object is connected with.
        forgotten: the objects whose connections were closed.
    """

    def __init__(self, clusters: Mapping[str, FakeKafka]) -> None:
        self.clusters = dict(clusters)
        self.connections: dict[Key, KafkaConnection] = {}
        self.forgotten: list[Key] = []

    def connect(self, key: Key, connection: KafkaConnection) -> FakeKafka:
        """The cluster at the first address where there is one."""
        self.connections[key] = connection
        found = [self.clusters[server] for server in connection.bootstrap_servers if server in self.clusters]
        if found:
            return found[0]
        nobody = FakeKafka()
        nobody.unreachable = NoKafka(
            Unreachable.NOT_ANSWERING, f"No broker of Kafka at {', '.join(connection.bootstrap_servers)} answered."
        )
        return nobody

    def logs(self, key: Key, connection: KafkaConnection) -> FakeKafkaLogs:
        """The logs of the same cluster."""
        return FakeKafkaLogs(self.connect(key, connection))

    def reassigner(self, key: Key, connection: KafkaConnection) -> FakeReassigner:
        """The partitions of the same cluster."""
        return FakeReassigner(self.connect(key, connection))

    def users(self, key: Key, connection: KafkaConnection) -> FakeKafkaUsers:
        """The users of the same cluster."""
        return self.connect(key, connection).users

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone."""
        self.connections.pop(key, None)
        self.forgotten.append(key)


def _kept(configs: Configs) -> dict[str, str]:
    return {key: kept_form(key, value) for key, value in configs.items()}
