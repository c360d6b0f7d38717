"""Kafka: its topics and their logs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from seawall.domain.kafka import ConfigChange, Configs, KafkaView, NewTopic, NoKafka
from seawall.domain.kafka_log import (
    AskedEpoch,
    DeleteOutcome,
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
)


class KafkaAdmin(Protocol):
    """One Kafka cluster. Every call is one batch: one request for a thousand topics, not a thousand requests.

    Topics of one request that Kafka does not refuse are created or altered, whatever becomes of the others.
    """

    def view(self) -> KafkaView | NoKafka:
        """Asks for the cluster's metadata; what hinders the answer is a value, with its sentence."""
        ...

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        """The configs set on the topics themselves. A topic that vanished meanwhile is left out.

        Brokers learn of topics and changes one after another: right after a write, the answer may still be the old one.

        Raises:
            Refused: Kafka said no to some of them: an impossible name, or no right to describe.
            OutsideUnavailable: Kafka did not answer for all of them.
        """
        ...

    def describe_broker_configs(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker that is online these configs as they are in force; what it does not tell is left out.

        It costs the right to describe the configs of the cluster.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: a broker did not answer.
        """
        ...

    def describe_broker_overrides(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker what of these configs was set on it alone: it wins over the default of all.

        Brokers of which nothing was, and those that do not answer, are left out. It costs the right to describe the
        configs of the cluster.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: no broker answered.
        """
        ...

    def describe_default_configs(self) -> Configs:
        """What is set as the default of all brokers while they run: what stands in their files is not in it.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: it did not answer.
        """
        ...

    def alter_default_configs(self, changes: Mapping[str, str | None]) -> None:
        """Sets defaults of all brokers, which they take while they run; None takes one back. All of them, or none.

        Raises:
            Refused: Kafka said no: a value that is none, a config that brokers only read at their start, no right.
            OutsideUnavailable: it did not answer; it may have happened.
        """
        ...

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Creates topics; one that exists already is no error, wherever its replicas are.

        Replicas on brokers that are registered and down are made when these are back, if another of the topic is up.

        Raises:
            Refused: Kafka said no to some of them, or to describe one that is there: the message is its sentence for
                the first.
            OutsideUnavailable: Kafka did not answer for some of them; they may exist or not.
        """
        ...

    def add_partitions(self, totals: Mapping[str, int]) -> None:
        """Gives topics more partitions, up to these numbers; one that has as many, or more, stays as it is.

        Raises:
            Refused: Kafka said no to some of them; the message is its sentence for the first.
            OutsideUnavailable: Kafka did not answer for some of them.
        """
        ...

    def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Sets and resets configs (IncrementalAlterConfigs).

        Raises:
            Refused: Kafka said no to some of them; the message is its sentence for the first.
            OutsideUnavailable: Kafka did not answer for some of them.
        """
        ...

    def delete_topics(self, ids: Mapping[str, str]) -> None:
        """Deletes the topics of these ids, by name; one that does not exist, or not any more, is no error.

        Kafka finds them by the ids alone: one that was made anew under the name stays.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: Kafka did not answer for some of them.
        """
        ...


class KafkaLogs(Protocol):
    """The logs of partition 0 of many topics. Every call is a few requests, however many topics it is about.

    What Kafka does not tell of a topic is a value and leaves the other topics alone: when no broker answers, each topic
    is unanswered. A topic named twice counts once.

    All of them raise OutsideUnavailable when the connection makes no sense, as with a certificate that is none.
    """

    def describe_topics(self, topics: Collection[str]) -> Mapping[str, DescribedTopic | TopicFailure]:
        """The ids of topics, with replicas, in-sync replicas and leader as in a view."""
        ...

    def describe_offsets(self, topics: Collection[str]) -> Mapping[str, LogOffsets | TopicFailure]:
        """Log start, high watermark and leader epoch. The log start is read first: it is not ahead of the other."""
        ...

    def find_first_since(self, topics: Collection[str], since: datetime) -> Mapping[str, FirstSince | TopicFailure]:
        """The first record of each log whose timestamp is at or after `since`."""
        ...

    def describe_epoch_ends(
        self, epochs: Mapping[str, AskedEpoch]
    ) -> Mapping[str, EpochEnd | EpochUnknown | TopicFailure]:
        """Where the given epoch of each topic ends now; worth asking when a leader epoch is not the one remembered."""
        ...

    def describe_sizes(self, topics: Collection[str]) -> Mapping[str, LogSizes | TopicFailure]:
        """Bytes on disk of every replica."""
        ...

    def take_producer_id(self) -> ProducerId:
        """An id for an idempotent producer, that nobody else has (InitProducerId); one that is not used does no harm.

        Raises:
            Refused: Kafka says no: Seawall's user may not write there.
            OutsideUnavailable: it did not answer, or cannot say yet.
        """
        ...

    def describe_producer(
        self, topics: Collection[str], producer_id: int
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """What the leaders remember of a producer; it costs the right to read."""
        ...

    def append_nulls(self, nulls: Nulls) -> None:
        """Appends records of null as an idempotent producer: each once, and none where the sequence does not fit.

        A newer epoch fences the older ones, for as long as the leader remembers the producer: that is
        `producer.id.expiration.ms` from the timestamp of its last record on, and these are of now.

        Raises:
            Refused: the sequence does not fit, the epoch is an old one, or the user may not write.
            OutsideUnavailable: Kafka did not answer, or knows no topic of this id; some of them may be there.
        """
        ...

    def find_unreadable(self, topic: str, start: int) -> Scanned | TopicFailure:
        """Reads from an offset until the first record whose key the database cannot read, the end, or for some seconds.

        It costs the right to read, and what it reads goes through the network.
        """
        ...

    def read_keys(self, ranges: Mapping[str, tuple[int, int]]) -> Mapping[str, Keys | TopicFailure]:
        """The keys of the records in each topic's range (first offset, first offset beyond), for some seconds.

        It costs the right to read; what there was no time for, or is no record (any more), is left out.
        """
        ...

    def read_newest(self, topic: str, partitions: Collection[int]) -> Mapping[int, NewestRecord | TopicFailure | None]:
        """By partition of one topic its last record that was committed, of any partition; None: it has none.

        It is at least as new as what was committed before any transaction began that is open now. It costs the right
        to read.
        """
        ...

    def delete_records(
        self,
        before: Mapping[str, int],
        topic_ids: Mapping[str, str] | None = None,
        epochs: Mapping[str, int] | None = None,
    ) -> Mapping[str, DeleteOutcome]:
        """Deletes the records before each offset, which is exclusive: that record stays. One batch, see DELETE_BATCH.

        An offset below 1 or beyond the high watermark, which is read for it, is refused and not sent: to Kafka, -1
        means everything. Kafka addresses the topic by its name: one that has another id than in `topic_ids`, asked
        right before by the connection that deletes, is refused and not sent. It may be another cluster's, when the
        addresses lead elsewhere by now. Where another leader epoch answers than in `epochs`, nothing is sent, and the
        outcome is unknown: the log may have been cut since, and have grown with other records.
        """
        ...
