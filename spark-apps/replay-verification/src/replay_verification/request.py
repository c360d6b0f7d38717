"""What is to be verified: `contract/request.json` as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sparkjob.errors import Refused
from sparkjob.fields import MAX_U64, Fields
from sparkjob.kafka import Kafka, parse_kafka
from sparkjob.request_file import digest_of, parse_json, read_bytes

VERSION = 2
READ = (1, 2)
"""Version 1 did not tell the database's version, which is then taken for the strictest."""


class Level(StrEnum):
    """How much is proved; each level includes the one before."""

    COVERAGE = "Coverage"
    """The log has every offset that a region would read."""
    INTEGRITY = "Integrity"
    """Every record of it decodes, entries are whole and in order."""
    EQUIVALENCE = "Equivalence"
    """The log gives the rows that the database has."""

    def includes(self, other: Level) -> bool:
        """Whether it asks for at least what the other one does."""
        levels = list(Level)
        return levels.index(self) >= levels.index(other)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whom the report answers."""

    namespace: str
    name: str
    uid: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a topic: the first offset that it would read, and the last entry id that is durable."""

    id: int
    reads_from: int
    flushed: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its range [start, end)."""

    name: str
    topic_id: str
    log_start: int | None
    start: int
    end: int
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, and the digest of the bytes that asked it."""

    digest: str
    verification: Verification
    level: Level
    kafka: Kafka
    topics: tuple[Topic, ...]
    snapshot_uri: str | None
    database_version: str | None = None
    """"major.minor" or with the patch: what the database's reader lets pass differs. None: not known."""


def read_request(path: str) -> Request:
    """Reads a request file, gzipped when its name ends in `.gz`.

    Raises:
        Refused: It cannot be read, or is not a request that this program can work on.
    """
    return parse_request(read_bytes(path))


def parse_request(content: bytes) -> Request:
    """Reads the bytes of a request.

    Raises:
        Refused: They are not a request that this program can work on.
    """
    fields = parse_json(content)
    fields.check_version(*READ)
    level = _level(fields.text("level"))
    snapshot = fields.object_or_none("snapshot")
    if level is Level.EQUIVALENCE and snapshot is None:
        raise Refused("level Equivalence compares with a snapshot, and the request has none: give snapshot.uri")
    topics = tuple(_topic(topic) for topic in fields.objects("topics"))
    if not topics:
        raise Refused("the request has no topics")
    if len({topic.name for topic in topics}) < len(topics):
        raise Refused("the request names a topic twice")
    whom = fields.object("verification")
    return Request(
        digest_of(content),
        Verification(whom.text("namespace"), whom.text("name"), whom.text("uid"), whom.number("attempt")),
        level,
        parse_kafka(fields.object("kafka")),
        topics,
        None if snapshot is None else snapshot.text("uri"),
        fields.text_or_none("databaseVersion"),
    )


def _level(name: str) -> Level:
    try:
        return Level(name)
    except ValueError:
        raise Refused(f"request.level is {name}, which is none of {', '.join(Level)}") from None


def _topic(fields: Fields) -> Topic:
    name, start, end = fields.text("name"), fields.number("from"), fields.number("to")
    if start > end:
        raise Refused(f"topic {name} is asked for from offset {start} to {end}: the range ends before it begins")
    regions = tuple(
        Region(region.number("id", MAX_U64), region.number("readsFrom"), region.number_or_none("flushed"))
        for region in fields.objects("regions")
    )
    if len({region.id for region in regions}) < len(regions):
        raise Refused(f"topic {name} names a region twice")
    early = min((region.reads_from for region in regions), default=start)
    if early < start:
        raise Refused(f"topic {name} is asked for from offset {start}, but a region of it reads from {early}")
    return Topic(name, fields.text("topicId"), fields.number_or_none("logStart"), start, end, regions)
