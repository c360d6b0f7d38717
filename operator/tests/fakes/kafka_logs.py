"""The port `KafkaLogs` on Kafka in memory. Kafka's sentences are the real ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from seawall.adapters.kafka.errors import NOT_SUPPORTED
from seawall.adapters.kafka.logs import check_epoch, check_id
from seawall.adapters.kafka.topic_answers import failure_of, refused_names, unanswered
from seawall.domain.datanodes.scans import describe_unreadable
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka_log import (
    AskedEpoch,
    Deleted,
    DeleteOutcome,
    DeleteRefused,
    DeleteUnknown,
    DescribedTopic,
    EpochEnd,
    EpochUnknown,
    FirstSince,
    Keys,
    LogOffsets,
    LogSizes,
    NewestRecord,
    Nulls,
    ProducerId,
    ProducerState,
    Scanned,
    TopicFailure,
    TopicTrouble,
)
from tests.fakes.kafka_log import FakeLog

if TYPE_CHECKING:  # they import this module
    from tests.fakes.kafka import FakeKafka, FakeTopic


ANY_EPOCH = -1
"""Who asks so believes whoever answers."""


class FakeKafkaLogs:
    """The logs of one cluster."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka

    def describe_topics(self, topics: Collection[str]) -> Mapping[str, DescribedTopic | TopicFailure]:
        """The ids and replicas of topics; the cluster's metadata needs no leader."""
        self.kafka.count("describe_topics")
        found = {name: self._find(name, needs_leader=False, shown=self.kafka.shown) for name in topics}
        return {
            name: topic
            if isinstance(topic, TopicFailure)
            else DescribedTopic(topic.log.topic_id, self.kafka.recorded(topic))
            for name, topic in found.items()
        }

    def describe_offsets(self, topics: Collection[str]) -> Mapping[str, LogOffsets | TopicFailure]:
        """Log start, high watermark and leader epoch."""
        self.kafka.count("describe_offsets")
        found = {name: self._find(name, shown=self.kafka.led_as) for name in topics}
        return {
            name: topic if isinstance(topic, TopicFailure) else _offsets(topic.log) for name, topic in found.items()
        }

    def find_first_since(self, topics: Collection[str], since: datetime) -> Mapping[str, FirstSince | TopicFailure]:
        """The first record of each log that is as young."""
        self.kafka.count("find_first_since")
        found = {name: self._find(name) for name in topics}
        return {
            name: topic if isinstance(topic, TopicFailure) else FirstSince(topic.log.first_since(since))
            for name, topic in found.items()
        }

    def describe_epoch_ends(
        self, epochs: Mapping[str, AskedEpoch]
    ) -> Mapping[str, EpochEnd | EpochUnknown | TopicFailure]:
        """Where the given epochs end, as who is taken for the leader has it."""
        self.kafka.count("describe_epoch_ends")
        return {name: self._epoch_end(name, asked) for name, asked in epochs.items()}

    def describe_sizes(self, topics: Collection[str]) -> Mapping[str, LogSizes | TopicFailure]:
        """Bytes on disk, as the brokers that are up tell."""
        self.kafka.count("describe_sizes")
        return {name: self._sizes(name) for name in topics}

    def take_producer_id(self) -> ProducerId:
        """The next one."""
        self.kafka.count("take_producer_id")
        if self.kafka.unreachable is not None or self.kafka.offline.issuperset(self.kafka.brokers):
            raise OutsideUnavailable("Kafka did not answer: Local: Timed out")
        self.kafka.producer_ids += 1
        return ProducerId(self.kafka.producer_ids, 0)

    def describe_producer(
        self, topics: Collection[str], producer_id: int
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """What the logs remember."""
        self.kafka.count("describe_producer")
        found = {name: self._find(name) for name in topics}
        return {
            name: topic
            if isinstance(topic, TopicFailure)
            else ProducerState(*topic.log.producers.get(producer_id, (None,)))
            for name, topic in found.items()
        }

    def append_nulls(self, nulls: Nulls) -> None:
        """As an idempotent producer."""
        self.kafka.count("append_nulls")
        topic = self._find(nulls.topic)
        if isinstance(topic, TopicFailure):
            raise OutsideUnavailable(topic.message)
        if topic.log.topic_id != nulls.topic_id:
            raise OutsideUnavailable(f"Kafka did not answer for to append to {nulls.topic}: Broker: Unknown topic id")
        refusal = topic.log.append_as(nulls.producer.id, nulls.producer.epoch, nulls.sequence, nulls.count)
        if refusal is not None:
            raise Refused(f"Kafka refused to append to {nulls.topic}: {refusal}")
        if self.kafka.lose_answer():
            raise OutsideUnavailable("Kafka did not answer: Local: Timed out")

    def find_unreadable(self, topic: str, start: int) -> Scanned | TopicFailure:
        """Reads to the first bad key, or to the end: time stands still meanwhile."""
        self.kafka.count("find_unreadable")
        found = self._find(topic)
        if isinstance(found, TopicFailure):
            return found
        log = found.log
        if not log.log_start <= start <= log.end:
            return unanswered(topic, "Broker: Offset out of range")
        for offset, key in sorted(log.keys.items()):
            what = describe_unreadable(key, has_value=True)
            if what is not None and start <= offset < log.end:
                return Scanned(offset, offset, what)
        return Scanned(log.end)

    def read_keys(self, ranges: Mapping[str, tuple[int, int]]) -> Mapping[str, Keys | TopicFailure]:
        """The keys of what is in the log; records that nobody gave a key have one of nobody's."""
        self.kafka.count("read_keys")
        if self.kafka.late_keys:
            self.kafka.late_keys -= 1
            ranges = {name: (start, start) for name, (start, _) in ranges.items()}
        return {name: self._keys(name, *offsets) for name, offsets in ranges.items()}

    def _keys(self, name: str, start: int, end: int) -> Keys | TopicFailure:
        topic = self._find(name)
        if isinstance(topic, TopicFailure):
            return topic
        log = topic.log
        if not log.log_start <= start <= log.end:
            return unanswered(name, "Broker: Offset out of range")
        return Keys({offset: log.key_of(offset) for offset in range(start, min(end, log.end))})

    def read_newest(self, topic: str, partitions: Collection[int]) -> Mapping[int, NewestRecord | TopicFailure | None]:
        """What was committed last, in each partition that there is."""
        self.kafka.count("read_newest")
        found = self._find(topic)
        if isinstance(found, TopicFailure):
            return dict.fromkeys(partitions, found)
        return {number: self._newest(found, number) for number in partitions}

    def _newest(self, topic: FakeTopic, number: int) -> NewestRecord | TopicFailure | None:
        if number >= topic.partitions:
            return failure_of(topic.name, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return NewestRecord(*topic.newest[number]) if number in topic.newest else None

    def delete_records(
        self,
        before: Mapping[str, int],
        topic_ids: Mapping[str, str] | None = None,
        epochs: Mapping[str, int] | None = None,
    ) -> Mapping[str, DeleteOutcome]:
        """Deletes what Kafka does not refuse, whether or not the answer gets lost."""
        self.kafka.count("delete_records")
        outcomes = {
            name: self._delete(name, offset, (topic_ids or {}).get(name), (epochs or {}).get(name))
            for name, offset in before.items()
        }
        if self.kafka.lose_answer():
            lost = DeleteUnknown("Kafka did not tell whether it deleted records: Local: Timed out")
            return {name: lost if isinstance(outcome, Deleted) else outcome for name, outcome in outcomes.items()}
        return outcomes

    def _find(
        self, name: str, *, needs_leader: bool = True, shown: Callable[[str], FakeTopic | None] | None = None
    ) -> FakeTopic | TopicFailure:
        """A topic as it is, or as a broker shows it that may be behind."""
        if impossible := refused_names([name]):
            return impossible[name]
        if self.kafka.unreachable is not None or self.kafka.offline.issuperset(self.kafka.brokers):
            return unanswered(name, "Local: Timed out")
        if name in self.kafka.refuses_topics:
            return failure_of(name, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        topic: FakeTopic | None = (shown or self.kafka.topics.get)(name)
        if topic is None or topic.views_until_seen > 0:
            return failure_of(name, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        leader = self.kafka.recorded(topic).leader
        if leader is not None:
            topic.log.lead(leader)
        elif needs_leader:
            return failure_of(name, KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return topic

    def _described(self, topic: FakeTopic) -> DescribedTopic:
        return DescribedTopic(topic.log.topic_id, self.kafka.recorded(topic))

    def _epoch_end(self, name: str, asked: AskedEpoch) -> EpochEnd | EpochUnknown | TopicFailure:
        topic = self._find(name)
        if isinstance(topic, TopicFailure):
            return topic
        log = self.kafka.deposed.get(name, topic.log)
        if asked.current not in {ANY_EPOCH, log.epoch}:
            is_behind = asked.current > log.epoch
            code = KafkaError.UNKNOWN_LEADER_EPOCH if is_behind else KafkaError.FENCED_LEADER_EPOCH
            return failure_of(name, KafkaError(code))
        found = log.end_of(asked.epoch)
        return EpochUnknown() if found is None else EpochEnd(*found)

    def _sizes(self, name: str) -> LogSizes | TopicFailure:
        topic = self._find(name, needs_leader=False)
        if isinstance(topic, TopicFailure):
            return topic
        sizes = {broker: topic.log.size for broker in topic.replicas if broker not in self.kafka.offline}
        return LogSizes(sizes) if sizes else unanswered(name, "Local: Timed out")

    def _delete(self, name: str, before: int, topic_id: str | None, epoch: int | None) -> DeleteOutcome:
        topic = self._find(name)
        if isinstance(topic, TopicFailure):
            sentence = f"Nothing is deleted of topic {name}, because its high watermark is not known: {topic.message}"
            return DeleteUnknown(sentence) if topic.why is TopicTrouble.UNANSWERED else DeleteRefused(sentence)
        other = None if topic_id is None else check_id(name, topic_id, self._described(topic))
        wrong = check_epoch(name, epoch, topic.log.epoch) or _check_offset(name, before, topic.log.end) or other
        if wrong is not None:
            return wrong
        if topic.configs.get("cleanup.policy") == "compact":
            violation = KafkaError(KafkaError.POLICY_VIOLATION).str()
            return DeleteRefused(f"Kafka refused to delete records of topic {name}: {violation}", unsupported=True)
        if refusal := self.kafka.refuse_delete(name):
            unsupported = refusal in {KafkaError(code).str() for code in NOT_SUPPORTED}
            return DeleteRefused(f"Kafka refused to delete records of topic {name}: {refusal}", unsupported)
        topic.log.delete_before(before)
        return Deleted(topic.log.log_start)


def _offsets(log: FakeLog) -> LogOffsets:
    return LogOffsets(log.log_start, log.end, log.epoch)


def _check_offset(name: str, before: int, end: int) -> DeleteOutcome | None:
    if 1 <= before <= end:
        return None
    return DeleteRefused(f"Seawall deletes nothing of topic {name} before {before}: its high watermark is {end}")
