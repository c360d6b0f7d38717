"""One question about many topics, in requests of some size, and each topic's own answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from seawall.adapters.kafka.errors import ELECTING, UNKNOWN_TOPIC, is_refusal, wait_for
from seawall.adapters.kafka.values import described_topic_of
from seawall.adapters.times import KAFKA_ELECTION_SECONDS
from seawall.domain.errors import NotSupported, OutsideUnavailable
from seawall.domain.kafka import ConfigChange, NewTopic, describe_illegal_name
from seawall.domain.kafka_log import DescribedTopic, FirstSince, TopicFailure, TopicTrouble

_ItemT = TypeVar("_ItemT")

WRITE_RECORDS = 5_000
"""Metadata records that one request may cause. The controller refuses a request of more than 10,000 as a whole
("Unable to perform excessively large batch operation"): 1,000 WAL topics with their configs are just too many."""
DELETE_TOPICS = 1_000
DESCRIBE_TOPICS = 100
"""Each answer has all configs, some 40, of every topic, as objects of half a kB: few at a time take little memory."""

DESCRIBE_LOGS = 2_000
"""Ids and offsets are small, but who waits for 10,000 of them wants the others when one broker hangs."""


def batches(
    items: Sequence[_ItemT], limit: int, weigh: Callable[[_ItemT], int] = lambda _: 1
) -> Iterator[list[_ItemT]]:
    """Splits into batches that weigh at most `limit`; an item that is heavier has a batch of its own."""
    batch: list[_ItemT] = []
    weight = 0
    for item in items:
        added = weigh(item)
        if batch and weight + added > limit:
            yield batch
            batch, weight = [], 0
        batch.append(item)
        weight += added
    if batch:
        yield batch


def once(names: Sequence[str]) -> list[str]:
    """Each name once: librdkafka 2.16.0 crashes the process when a DeleteTopics request names a topic twice."""
    return list(dict.fromkeys(names))


def records_of_topic(topic: NewTopic) -> int:
    """The topic, its partition, and each config."""
    return 2 + len(topic.configs)


def records_of_change(change: ConfigChange) -> int:
    """Each config."""
    return len(change.set) + len(change.reset)


_AnswerT = TypeVar("_AnswerT")

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
NO_SUCH_OFFSET = -1
"""Kafka's answer when no record is as young."""
_EPOCH = datetime.fromtimestamp(0, UTC)

Ask = Callable[[AdminClient, Sequence[str], float], Mapping[str, Future[Any]]]
"""Asks about the topics of a batch, with so many seconds for the answers."""


def ask_topics(
    client: AdminClient,
    topics: Collection[str],
    ask: Ask,
    read: Callable[[str, Any], _AnswerT | TopicFailure],
    seconds: float,
) -> dict[str, _AnswerT | TopicFailure]:
    """Asks in batches, and reads each topic's answer; all of it within the seconds."""
    # One impossible name, and librdkafka answers for no topic of the request at all until it times out.
    answers: dict[str, _AnswerT | TopicFailure] = {**refused_names(topics)}
    deadline = time.monotonic() + seconds
    for batch in batches([topic for topic in dict.fromkeys(topics) if topic not in answers], DESCRIBE_LOGS):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            answers |= {topic: unanswered(topic, "there was no time left to ask") for topic in batch}
            continue
        try:
            values, errors = _ask_again(client, batch, ask, deadline)
        except KafkaException as failure:
            values, errors = {}, dict.fromkeys(batch, failure.args[0])  # refused by the client, before it was sent
        except OutsideUnavailable as silence:
            answers |= {topic: unanswered(topic, str(silence)) for topic in batch}
            continue
        answers |= {topic: read(topic, value) for topic, value in values.items()}
        answers |= {topic: failure_of(topic, error) for topic, error in errors.items()}
    return answers


def _ask_again(
    client: AdminClient, batch: Sequence[str], ask: Ask, deadline: float
) -> tuple[dict[str, Any], dict[str, KafkaError]]:
    """The values and errors of a batch; those whose leader is being elected are asked again a few times."""
    values: dict[str, Any] = {}
    others: dict[str, KafkaError] = {}
    for pause in (*KAFKA_ELECTION_SECONDS, None):
        remaining = deadline - time.monotonic()
        found, errors = wait_for(ask(client, batch, remaining), remaining)
        values |= found
        electing = [topic for topic, error in errors.items() if error.code() in ELECTING]
        others = {**{topic: error for topic, error in others.items() if topic not in batch}, **errors}
        if not electing or pause is None or deadline - time.monotonic() <= pause:
            break
        time.sleep(pause)
        batch = electing
    return values, others


def list_offsets(
    client: AdminClient, topics: Collection[str], spec: OffsetSpec, seconds: float
) -> dict[str, ListOffsetsResultInfo | TopicFailure]:
    """The first or the next offset of each topic; where the next one is the high watermark.

    Read uncommitted, or an open transaction would hold it back at the last stable offset.
    """

    def read(topic: str, reported: ListOffsetsResultInfo) -> ListOffsetsResultInfo | TopicFailure:
        # librdkafka's answer for a broker that died is the offset -1001, and no error.
        return reported if reported.offset >= 0 else unanswered(topic, "its leader told no offset")

    return _ask_offsets(client, topics, spec, read, seconds)


def find_first_since(
    client: AdminClient, topics: Collection[str], since: datetime, seconds: float
) -> dict[str, FirstSince | TopicFailure]:
    """The first offset of each topic whose record is as young."""

    def read(topic: str, reported: ListOffsetsResultInfo) -> FirstSince | TopicFailure:
        if reported.offset < NO_SUCH_OFFSET:
            return unanswered(topic, "its leader told no offset")
        return FirstSince(None if reported.offset == NO_SUCH_OFFSET else reported.offset)

    # For Kafka a time is a number of milliseconds, and one below zero means something else.
    milliseconds = max(0, (since - _EPOCH) // timedelta(milliseconds=1))
    spec: OffsetSpec = OffsetSpec.for_timestamp(milliseconds)
    return _ask_offsets(client, topics, spec, read, seconds)


def _ask_offsets(
    client: AdminClient,
    topics: Collection[str],
    spec: OffsetSpec,
    read: Callable[[str, ListOffsetsResultInfo], _AnswerT | TopicFailure],
    seconds: float,
) -> dict[str, _AnswerT | TopicFailure]:
    def ask(client: AdminClient, batch: Sequence[str], seconds: float) -> Mapping[str, Future[Any]]:
        asked = {TopicPartition(topic, 0): spec for topic in batch}
        isolation = IsolationLevel.READ_UNCOMMITTED
        return by_topic(client.list_offsets(asked, isolation_level=isolation, request_timeout=seconds))

    deadline = time.monotonic() + seconds
    answers = ask_topics(client, topics, ask, read, seconds)
    mute = [topic for topic, answer in answers.items() if _is_mute(answer)]
    if mute:
        # librdkafka does not say why none of the topics that it asked about has a leader; their metadata do.
        described = describe_topics(client, mute, max(0.0, deadline - time.monotonic()))
        answers |= {topic: answer for topic, answer in described.items() if isinstance(answer, TopicFailure)}
    return answers


def describe_topics(
    client: AdminClient, topics: Collection[str], seconds: float
) -> dict[str, DescribedTopic | TopicFailure]:
    """The ids of topics, with replicas, in-sync replicas and leader."""

    def ask(client: AdminClient, batch: Sequence[str], seconds: float) -> Mapping[str, Future[Any]]:
        return client.describe_topics(TopicCollection(list(batch)), request_timeout=seconds)

    return ask_topics(client, topics, ask, described_topic_of, seconds)


def require_described(answers: Mapping[str, object]) -> None:
    """Of topics that were created, and that no metadata show: they leave out what may not be described.

    Raises:
        NotSupported: the user lacks that right, and the same would be created for ever.
    """
    for answer in answers.values():
        if isinstance(answer, TopicFailure) and answer.why is TopicTrouble.REFUSED:
            raise NotSupported(f"{answer.message}. It is there, and without the right Describe nothing shows it")


def _is_mute(answer: object) -> bool:
    return isinstance(answer, TopicFailure) and answer.why is TopicTrouble.UNANSWERED


def refused_names(topics: Collection[str]) -> dict[str, TopicFailure]:
    """The failures of topics that cannot exist."""
    sentences = {topic: describe_illegal_name(topic) for topic in topics}
    return {
        topic: TopicFailure(TopicTrouble.REFUSED, f"Kafka has no such topic. {sentence}")
        for topic, sentence in sentences.items()
        if sentence is not None
    }


def failure_of(topic: str, error: KafkaError) -> TopicFailure:
    """An error as a value."""
    if error.code() in UNKNOWN_TOPIC:
        return TopicFailure(TopicTrouble.UNKNOWN_TOPIC, f"Kafka knows no topic {topic}")
    if is_refusal(error):
        return TopicFailure(TopicTrouble.REFUSED, f"Kafka refused topic {topic}: {error.str()}")
    return unanswered(topic, error.str())


def unanswered(topic: str, why: str) -> TopicFailure:
    """A topic of which nothing was told."""
    return TopicFailure(TopicTrouble.UNANSWERED, f"Kafka did not answer for topic {topic}: {why}")


def by_topic(futures: Mapping[TopicPartition, Future[Any]]) -> dict[str, Future[Any]]:
    """The futures of single partitions, by their topics."""
    return {partition.topic: future for partition, future in futures.items()}
