"""What is to be written to a bucket: the request of `contract/TABLE.md` as values."""

from __future__ import annotations

from dataclasses import dataclass

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka
from sparkjob.request_file import digest_of, parse_json
from sparkjob.s3 import S3, parse_s3
from wal_subscription.records.request import selection_of, snapshot_uri_of, writer_of
from wal_subscription.records.selection import Selection
from wal_subscription.request import VERSION, kafka_of, milliseconds_of, require_names, whom_of
from walrecord import drops_repeated_middle

SINK = "Table"
_COMMIT_MILLISECONDS, _LEAST_MILLISECONDS, _MOST_MILLISECONDS = 30_000, 100, 3_600_000
_FILE_BYTES, _LEAST_BYTES, _MOST_BYTES = 128 << 20, 1 << 10, 1 << 30
"""A file is sent in one piece, which is in memory for so long."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the source.

    Attributes:
        generation: of what was written of it: each one is a chain of its own.
        start: where it begins when there is no commit.
        names_known_to: the names of all tables were read when its log had ended here.
    """

    name: str
    source_id: str
    generation: int
    start: int
    names_known_to: int = 0


@dataclass(frozen=True, slots=True)
class Sink:
    """Where rows and commits go.

    Attributes:
        storage: the bucket; its keys are read from files anew each time.
        writer: the folder below its prefix; commits are signed with it.
        commit_milliseconds: between two commits of a topic.
        most_bytes: when files have so many, there is a commit.
        keeps_dead_letters: else a record that gives no rows stops its topic.
    """

    storage: Fields
    writer: str
    commit_milliseconds: int
    most_bytes: int
    keeps_dead_letters: bool

    def place(self) -> S3:
        """The bucket, with its keys as they are now.

        Raises:
            Refused: a file cannot be read.
        """
        return parse_s3(self.storage)


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One run of a subscription.

    Attributes:
        drops_repeats: whether the database's version drops a Middle that comes again.
        snapshot_uri: the folder of what topics begin with; None: they begin with the log.
    """

    digest: str
    whom: str
    run: int
    source: Kafka
    milliseconds: int
    sink: Sink
    selection: Selection
    drops_repeats: bool
    topics: tuple[Topic, ...]
    snapshot_uri: str | None = None


def parse_table_request(content: bytes) -> TableRequest:
    """Reads a request.

    Raises:
        Refused: it is none that this program can work on.
    """
    fields = parse_json(content)
    fields.check_version(VERSION)
    topics = tuple(_topic(row) for row in fields.objects("topics"))
    require_names([topic.name for topic in topics])
    return TableRequest(
        digest_of(content),
        whom_of(fields),
        fields.number("run"),
        kafka_of(fields.object("source")),
        milliseconds_of(fields),
        _sink(fields.object("table")),
        selection_of(fields.object("tables")),
        drops_repeated_middle(fields.text_or_none("databaseVersion")),
        topics,
        snapshot_uri_of(fields),
    )


def _topic(row: Fields) -> Topic:
    return Topic(
        row.text("name"),
        row.text("sourceTopicId"),
        *(row.number(name) for name in ("generation", "from", "namesKnownTo")),
    )


def _sink(fields: Fields) -> Sink:
    storage = fields.object("s3")
    parse_s3(storage)  # what is missing is told at once
    return Sink(
        storage,
        writer_of(fields),
        _number(fields, "commitMilliseconds", _COMMIT_MILLISECONDS, _LEAST_MILLISECONDS, _MOST_MILLISECONDS),
        _number(fields, "maxFileBytes", _FILE_BYTES, _LEAST_BYTES, _MOST_BYTES),
        fields.flag("deadLetters"),
    )


def _number(fields: Fields, name: str, usual: int, least: int, most: int) -> int:
    value = fields.number_or_none(name)
    if value is None:
        return usual
    if not least <= value <= most:
        raise Refused(f"{fields.where}.{name} is {value}, not a number from {least} to {most}")
    return value
