"""What is to be mirrored: the request of `contract/` as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka, parse_kafka
from sparkjob.request_file import digest_of, parse_json
from sparkjob.wire.batches import Producer

VERSION = 1
_LEAST_MILLISECONDS, _MOST_MILLISECONDS = 100, 60_000
_MOST_EPOCH = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that has this name on both sides.

    Attributes:
        start: below it the target has records of null.
    """

    name: str
    source_id: str
    target_id: str
    start: int


@dataclass(frozen=True, slots=True)
class Request:
    """One run of a subscription.

    Attributes:
        whom: the object that asks, for people.
        producer: whom the target knows all writers of this mirror by.
    """

    digest: str
    whom: str
    run: int
    source: Kafka
    target: Kafka
    producer: Producer
    milliseconds: int
    topics: tuple[Topic, ...]


def parse_request(content: bytes) -> Request:
    """Reads a request.

    Raises:
        Refused: it is none that this program can work on.
    """
    fields = parse_json(content)
    fields.check_version(VERSION)
    whom, producer = whom_of(fields), fields.object("producer")
    source, target = (kafka_of(fields.object(side)) for side in ("source", "target"))
    if source.cluster_id == target.cluster_id:
        raise Refused(f"source and target are one Kafka cluster, {source.cluster_id}: a log is not mirrored to itself")
    return Request(
        digest_of(content),
        whom,
        fields.number("run"),
        source,
        target,
        Producer(producer.number("id"), producer.number("epoch", _MOST_EPOCH)),
        milliseconds_of(fields),
        _topics(fields),
    )


def whom_of(fields: Fields) -> str:
    """The object that asks."""
    whom = fields.object("object")
    return f"{whom.text('namespace')}/{whom.text('name')}"


def kafka_of(fields: Fields) -> Kafka:
    """A side, with its id.

    Raises:
        Refused: it is incomplete.
    """
    kafka = parse_kafka(fields)
    if kafka.cluster_id is None:
        raise Refused(f"{fields.where}.clusterId is missing: a subscription must say which Kafka is meant")
    return kafka


def milliseconds_of(fields: Fields) -> int:
    """Between two micro-batches.

    Raises:
        Refused: too few, or too many.
    """
    value = fields.number("intervalMilliseconds")
    if not _LEAST_MILLISECONDS <= value <= _MOST_MILLISECONDS:
        raise Refused(
            f"request.intervalMilliseconds is {value}, not a number from {_LEAST_MILLISECONDS} to {_MOST_MILLISECONDS}"
        )
    return value


def require_names(names: Sequence[str]) -> None:
    """Of the topics.

    Raises:
        Refused: there are none, or one comes twice.
    """
    if not names:
        raise Refused("the request has no topics")
    if len(set(names)) < len(names):
        raise Refused("the request names a topic twice")


def _topics(fields: Fields) -> tuple[Topic, ...]:
    topics = tuple(
        Topic(row.text("name"), row.text("sourceTopicId"), row.text("targetTopicId"), row.number("from"))
        for row in fields.objects("topics")
    )
    require_names([topic.name for topic in topics])
    return topics
