"""The logs of topics by confluent-kafka, and by kafka-python what that lacks: the port `KafkaLogs`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, DeletedRecords, ListOffsetsResultInfo

from seawall.adapters.kafka import raw_logs, raw_producer
from seawall.adapters.kafka.client import SharedClient, drain
from seawall.adapters.kafka.connection import Trouble, open_client
from seawall.adapters.kafka.errors import NOT_SUPPORTED, is_refusal, wait_for
from seawall.adapters.kafka.keys import read_keys
from seawall.adapters.kafka.newest import read_newest
from seawall.adapters.kafka.scan import find_unreadable
from seawall.adapters.kafka.topic_answers import (
    EARLIEST,
    LATEST,
    by_topic,
    describe_topics,
    find_first_since,
    list_offsets,
    refused_names,
)
from seawall.adapters.kafka.values import log_offsets_of
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import NoKafka
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

_AnswerT = TypeVar("_AnswerT")


class ConfluentKafkaLogs:
    """The logs of one Kafka cluster; any number of threads may use it at once.

    A client that had no answer for some topic is thrown away: it remembers leaders that are none any more. Each delete
    has a client of its own, because a broker serves a connection's requests one after another, and deletes are slow.

    Args:
        client: what asks; who else asks by it does not wait for deletes.
        request_timeout: seconds that one call of the port may take.
    """

    def __init__(self, client: SharedClient, *, request_timeout: float) -> None:
        self._client = client
        self._request_timeout = request_timeout

    def describe_topics(self, topics: Collection[str]) -> Mapping[str, DescribedTopic | TopicFailure]:
        """The ids of topics, with replicas, in-sync replicas and leader."""
        return self._read(lambda client, seconds: describe_topics(client, topics, seconds))

    def describe_offsets(self, topics: Collection[str]) -> Mapping[str, LogOffsets | TopicFailure]:
        """Log start, high watermark and leader epoch."""

        def ask(client: AdminClient, seconds: float) -> dict[str, LogOffsets | TopicFailure]:
            starts = list_offsets(client, topics, EARLIEST, seconds / 2)
            reported = [topic for topic, start in starts.items() if not isinstance(start, TopicFailure)]
            ends = list_offsets(client, reported, LATEST, seconds / 2)
            return {topic: log_offsets_of(topic, start, ends.get(topic, start)) for topic, start in starts.items()}

        return self._read(ask)

    def find_first_since(self, topics: Collection[str], since: datetime) -> Mapping[str, FirstSince | TopicFailure]:
        """The first record of each log whose timestamp is at or after `since`."""
        return self._read(lambda client, seconds: find_first_since(client, topics, since, seconds))

    def describe_epoch_ends(
        self, epochs: Mapping[str, AskedEpoch]
    ) -> Mapping[str, EpochEnd | EpochUnknown | TopicFailure]:
        """Where the given epoch of each topic ends now."""
        return raw_logs.describe_epoch_ends(self._client.connection, epochs, self._request_timeout)

    def describe_sizes(self, topics: Collection[str]) -> Mapping[str, LogSizes | TopicFailure]:
        """Bytes on disk of every replica."""
        return raw_logs.describe_sizes(self._client.connection, list(dict.fromkeys(topics)), self._request_timeout)

    def take_producer_id(self) -> ProducerId:
        """An id for an idempotent producer."""
        return raw_producer.take_producer_id(self._client.connection, self._request_timeout)

    def describe_producer(
        self, topics: Collection[str], producer_id: int
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """What the leaders remember of a producer."""
        return raw_producer.describe_producer(self._client.connection, topics, producer_id, self._request_timeout)

    def append_nulls(self, nulls: Nulls) -> None:
        """Appends records of null as an idempotent producer."""
        raw_producer.append_nulls(self._client.connection, nulls, self._request_timeout)

    def find_unreadable(self, topic: str, start: int) -> Scanned | TopicFailure:
        """Reads records by a consumer of its own, for some seconds."""
        refused = refused_names([topic])
        if refused:
            return refused[topic]
        return find_unreadable(self._client.connection, topic, start, self._request_timeout)

    def read_keys(self, ranges: Mapping[str, tuple[int, int]]) -> Mapping[str, Keys | TopicFailure]:
        """Reads records by a consumer of its own, for some seconds."""
        refused = refused_names(list(ranges))
        allowed = {topic: found for topic, found in ranges.items() if topic not in refused}
        found = read_keys(self._client.connection, allowed, self._request_timeout) if allowed else {}
        return {**refused, **found}

    def read_newest(self, topic: str, partitions: Collection[int]) -> Mapping[int, NewestRecord | TopicFailure | None]:
        """Reads records by a consumer of its own, for some seconds."""
        client = _opened(self._client.get())
        return read_newest(client, self._client.connection, topic, set(partitions), self._request_timeout)

    def delete_records(
        self,
        before: Mapping[str, int],
        topic_ids: Mapping[str, str] | None = None,
        epochs: Mapping[str, int] | None = None,
    ) -> Mapping[str, DeleteOutcome]:
        """Deletes the records before each offset.

        Ids and epochs are asked by the client that deletes: it has resolved the addresses anew, and may be elsewhere.
        """
        client = _opened(open_client(self._client.connection, Trouble()))
        deadline = time.monotonic() + self._request_timeout
        ends = list_offsets(client, before, LATEST, self._request_timeout / 3)
        checked = {
            topic: _check_leader(topic, (epochs or {}).get(topic), ends[topic])
            or _check_offset(topic, offset, ends[topic])
            for topic, offset in before.items()
        }
        outcomes: dict[str, DeleteOutcome] = {topic: found for topic, found in checked.items() if found is not None}
        outcomes |= _others(client, topic_ids or {}, before.keys() - outcomes.keys(), self._request_timeout / 3)
        allowed = {topic: offset for topic, offset in before.items() if topic not in outcomes}
        if allowed:
            outcomes |= _delete(client, allowed, deadline - time.monotonic())
        drain(client)
        return outcomes

    def _read(
        self, ask: Callable[[AdminClient, float], dict[str, _AnswerT | TopicFailure]]
    ) -> dict[str, _AnswerT | TopicFailure]:
        client = _opened(self._client.get())
        answers = ask(client, self._request_timeout)
        drain(client)
        failures = {answer.why for answer in answers.values() if isinstance(answer, TopicFailure)}
        if TopicTrouble.UNANSWERED in failures:
            self._client.close()
        return answers


def _opened(client: AdminClient | NoKafka) -> AdminClient:
    if isinstance(client, NoKafka):
        raise OutsideUnavailable(client.message)
    return client


def _others(
    client: AdminClient, topic_ids: Mapping[str, str], topics: Collection[str], seconds: float
) -> dict[str, DeleteOutcome]:
    """What becomes of topics that are not, or not surely, those that are meant."""
    meant = [topic for topic in topics if topic in topic_ids]
    found = describe_topics(client, meant, seconds)
    outcomes = {topic: check_id(topic, topic_ids[topic], found[topic]) for topic in meant}
    return {topic: outcome for topic, outcome in outcomes.items() if outcome is not None}


def check_id(topic: str, topic_id: str, found: DescribedTopic | TopicFailure) -> DeleteOutcome | None:
    """What becomes of a delete from a topic that has not the id that is meant; None: it has."""
    if isinstance(found, TopicFailure):
        sentence = f"Nothing is deleted of topic {topic}, because its id is not known: {found.message}"
        return DeleteUnknown(sentence) if found.why is TopicTrouble.UNANSWERED else DeleteRefused(sentence)
    if found.topic_id == topic_id:
        return None
    return DeleteRefused(
        f"Seawall deletes nothing of topic {topic}: its id is {found.topic_id}, and {topic_id} is meant"
    )


def _check_leader(topic: str, epoch: int | None, end: ListOffsetsResultInfo | TopicFailure) -> DeleteOutcome | None:
    return None if isinstance(end, TopicFailure) else check_epoch(topic, epoch, end.leader_epoch)


def check_epoch(topic: str, epoch: int | None, now: int | None) -> DeleteOutcome | None:
    """What becomes of a delete from a topic whose leader's epoch is not the one that is meant; None: it is, or none."""
    if epoch is None or now == epoch:
        return None
    return DeleteUnknown(f"Nothing is deleted of topic {topic}: its leader epoch is another one since it was observed")


def _check_offset(topic: str, offset: int, end: ListOffsetsResultInfo | TopicFailure) -> DeleteOutcome | None:
    """What becomes of a delete that must not be sent, or cannot be yet; None: it may be sent."""
    if isinstance(end, TopicFailure):
        sentence = f"Nothing is deleted of topic {topic}, because its high watermark is not known: {end.message}"
        return DeleteUnknown(sentence) if end.why is TopicTrouble.UNANSWERED else DeleteRefused(sentence)
    if not 1 <= offset <= end.offset:
        sentence = f"Seawall deletes nothing of topic {topic} before {offset}: its high watermark is {end.offset}"
        return DeleteRefused(sentence)
    return None


def _delete(client: AdminClient, before: Mapping[str, int], seconds: float) -> dict[str, DeleteOutcome]:
    if seconds <= 0:  # the process was stopped for a while: what it knows is old
        return {
            topic: DeleteUnknown(f"Nothing is deleted of topic {topic}: there was no time left") for topic in before
        }
    partitions = [TopicPartition(topic, 0, offset) for topic, offset in before.items()]
    try:
        # The broker answers before the client gives up: its answer tells more.
        futures = client.delete_records(partitions, request_timeout=seconds, operation_timeout=seconds * 0.8)
        values, errors = wait_for(by_topic(futures), seconds)
    except KafkaException as failure:
        error = failure.args[0]
        sentence = f"Kafka's client refused the request: {error.str()}"
        return {topic: DeleteRefused(sentence, error.code() in NOT_SUPPORTED) for topic in before}
    except OutsideUnavailable as silence:
        return {topic: DeleteUnknown(str(silence)) for topic in before}
    outcomes: dict[str, DeleteOutcome] = {topic: _outcome_of_error(topic, error) for topic, error in errors.items()}
    for topic, deleted in values.items():
        outcomes[topic] = _outcome_of_answer(topic, deleted, before[topic])
    return outcomes


def _outcome_of_answer(topic: str, deleted: DeletedRecords, before: int) -> DeleteOutcome:
    # As with other offsets, librdkafka's answer for a broker that died may be a number below zero.
    if deleted.low_watermark >= before:
        return Deleted(deleted.low_watermark)
    return DeleteUnknown(f"Kafka told no log start after deleting records of topic {topic}")


def _outcome_of_error(topic: str, error: KafkaError) -> DeleteOutcome:
    # What is worth another try may have happened all the same: a leader deletes first, then waits for its followers,
    # and may time out or lose its leadership meanwhile.
    if is_refusal(error):
        sentence = f"Kafka refused to delete records of topic {topic}: {error.str()}"
        return DeleteRefused(sentence, error.code() in NOT_SUPPORTED)
    return DeleteUnknown(f"Kafka did not tell whether it deleted records of topic {topic}: {error.str()}")
