"""What is to be handed on: the request of `contract/` as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka
from sparkjob.request_file import digest_of, parse_json
from wal_subscription.records.selection import Selection
from wal_subscription.request import VERSION, kafka_of, milliseconds_of, require_names, whom_of
from walrecord import drops_repeated_middle

SINK = "Records"
_MOST_TABLE = 2**32 - 1
_MOST_PARTITIONS = 10_000
_LEAST_PROGRESS = 128 << 10
"""Bytes that a record of progress may have: it names many entries that were given up."""
_WRITER = re.compile(r"[A-Za-z0-9._-]{1,200}")


class By(StrEnum):
    """What has its rows in one partition, and so in one order."""

    TOPIC = "Topic"
    TABLE = "Table"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the source.

    Attributes:
        start: where it begins when there is no progress.
        partition: of the topic of progress.
        generation: how often a person let it begin anew.
        names_known_to: the names of all tables were read when its log had ended here.
    """

    name: str
    source_id: str
    start: int
    partition: int
    generation: int = 0
    names_known_to: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """A topic of the target."""

    name: str
    topic_id: str
    partitions: int = 1
    most_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Sink:
    """Where rows and progress go.

    Attributes:
        writer: what transactional ids begin with, and progress is signed with.
        dead_letters: None: a record that gives no rows stops its topic.
    """

    writer: str
    by: By
    rows: Output
    progress: Output
    dead_letters: Output | None

    @property
    def outputs(self) -> list[Output]:
        """All topics of the target."""
        return [self.rows, self.progress, *([] if self.dead_letters is None else [self.dead_letters])]

    def transactional_id(self, topic: str) -> str:
        """Of whoever writes a topic's rows: who begins, ends those who began before."""
        return f"{self.writer}.{topic}"


@dataclass(frozen=True, slots=True)
class RecordsRequest:
    """One run of a subscription.

    Attributes:
        drops_repeats: whether the database's version drops a Middle that comes again.
        snapshot_uri: the folder of what topics begin with; None: they begin with the log.
    """

    digest: str
    whom: str
    run: int
    source: Kafka
    target: Kafka
    milliseconds: int
    sink: Sink
    selection: Selection
    drops_repeats: bool
    topics: tuple[Topic, ...]
    snapshot_uri: str | None = None


def parse_records_request(content: bytes) -> RecordsRequest:
    """Reads a request.

    Raises:
        Refused: it is none that this program can work on.
    """
    fields = parse_json(content)
    fields.check_version(VERSION)
    source, target = (kafka_of(fields.object(side)) for side in ("source", "target"))
    sink, topics = _sink(fields.object("records")), _topics(fields)
    outputs = [output.name for output in sink.outputs]
    if len(set(outputs)) < len(outputs):
        raise Refused("rows, progress and dead letters need a topic each")
    if source.cluster_id == target.cluster_id and (both := set(outputs) & {topic.name for topic in topics}):
        raise Refused(f"topic {min(both)} would get what is read from it")
    return RecordsRequest(
        digest_of(content),
        whom_of(fields),
        fields.number("run"),
        source,
        target,
        milliseconds_of(fields),
        sink,
        selection_of(fields.object("tables")),
        drops_repeated_middle(fields.text_or_none("databaseVersion")),
        topics,
        snapshot_uri_of(fields),
    )


def snapshot_uri_of(request: Fields) -> str | None:
    """The folder of what topics begin with; None: they begin with the log.

    Raises:
        Refused: it is not named.
    """
    snapshot = request.object_or_none("snapshot")
    return None if snapshot is None else snapshot.text("uri").rstrip("/")


def writer_of(fields: Fields) -> str:
    """What progress is signed with.

    Raises:
        Refused: it has letters that it must not have.
    """
    writer = fields.text("writer")
    if not _WRITER.fullmatch(writer):
        raise Refused(f"{fields.where}.writer is {writer!r}: letters, digits, '.', '_' and '-' make up a writer")
    return writer


def _sink(fields: Fields) -> Sink:
    writer, by = writer_of(fields), fields.text("by")
    if by not in set(By):
        raise Refused(f"{fields.where}.by is {by}, and neither {By.TOPIC} nor {By.TABLE}")
    dead_letters, progress = fields.object_or_none("deadLetters"), _output(fields.object("progress"))
    if progress.most_bytes < _LEAST_PROGRESS:
        least = f"a record of progress may have {_LEAST_PROGRESS}"
        raise Refused(f"{fields.where}.progress.maxMessageBytes is {progress.most_bytes}: {least}")
    return Sink(
        writer,
        By(by),
        _output(fields.object("rows")),
        progress,
        None if dead_letters is None else _output(dead_letters),
    )


def _output(fields: Fields) -> Output:
    most, partitions = fields.number("maxMessageBytes", 2**31 - 1), fields.number("partitions", _MOST_PARTITIONS)
    if partitions < 1:
        raise Refused(f"{fields.where}.partitions is 0")
    return Output(fields.text("topic"), fields.text("topicId"), partitions, most)


def selection_of(fields: Fields) -> Selection:
    """The `tables` of a request.

    Raises:
        Refused: a table is and is not selected.
    """
    names = {row.number("id", _MOST_TABLE): row.text("name") for row in fields.objects("known")}
    others = frozenset(fields.numbers("notSelected", _MOST_TABLE))
    if both := sorted(others & names.keys()):
        raise Refused(f"{fields.where} has table {both[0]} in known and in notSelected")
    return Selection(fields.texts("include"), fields.texts("exclude"), names, others)


def _topics(fields: Fields) -> tuple[Topic, ...]:
    progress = fields.object("records").object("progress").number("partitions", _MOST_PARTITIONS)
    topics = tuple(_topic(row) for row in fields.objects("topics"))
    require_names([topic.name for topic in topics])
    places = [topic.partition for topic in topics]
    if len(set(places)) < len(places) or max(places) >= progress:
        raise Refused(f"each topic needs a partition of the {progress} of the progress for itself")
    return topics


def _topic(row: Fields) -> Topic:
    return Topic(
        row.text("name"),
        row.text("sourceTopicId"),
        row.number("from"),
        row.number("progressPartition"),
        row.number("generation"),
        row.number("namesKnownTo"),
    )
