"""What is to be verified: `contract/request.json` as values."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from replay_verification.errors import Refused
from replay_verification.fields import MAX_U64, Fields

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
class Tls:
    """PEM files; without a CA the machine's own are trusted."""

    ca_file: str | None
    cert_file: str | None
    key_file: str | None


@dataclass(frozen=True, slots=True)
class Sasl:
    """A user, by files."""

    mechanism: str
    username_file: str
    password_file: str


@dataclass(frozen=True, slots=True)
class Kafka:
    """Where the log is."""

    bootstrap_servers: tuple[str, ...]
    cluster_id: str | None
    tls: Tls | None
    sasl: Sasl | None


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
    try:
        content = Path(path).read_bytes()
        content = gzip.decompress(content) if path.endswith(".gz") else content
    except (OSError, EOFError) as error:
        raise Refused(f"the request {path} cannot be read: {error}") from error
    return parse_request(content)


def parse_request(content: bytes) -> Request:
    """Reads the bytes of a request.

    Raises:
        Refused: They are not a request that this program can work on.
    """
    try:
        data: Any = json.loads(content)
    except ValueError as error:
        raise Refused(f"the request is not JSON: {error}") from error
    fields = Fields.of(data, "request")
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
        hashlib.sha256(content).hexdigest(),
        Verification(whom.text("namespace"), whom.text("name"), whom.text("uid"), whom.number("attempt")),
        level,
        _kafka(fields.object("kafka")),
        topics,
        None if snapshot is None else snapshot.text("uri"),
        fields.text_or_none("databaseVersion"),
    )


def check_digest(request: Request, digest: str | None) -> None:
    """Refuses a request that is not the one it was started for: it could send the password in the Secret anywhere.

    Raises:
        Refused: its digest is another one.
    """
    if digest is not None and request.digest != digest:
        raise Refused(f"the request has digest {request.digest}, and this application was made for {digest}")


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


def _kafka(fields: Fields) -> Kafka:
    servers = fields.texts("bootstrapServers")
    if not servers:
        raise Refused("request.kafka.bootstrapServers is empty")
    tls, sasl = fields.object_or_none("tls"), fields.object_or_none("sasl")
    return Kafka(
        servers,
        fields.text_or_none("clusterId"),
        None
        if tls is None
        else Tls(tls.text_or_none("caFile"), tls.text_or_none("certFile"), tls.text_or_none("keyFile")),
        None if sasl is None else Sasl(sasl.text("mechanism"), sasl.text("usernameFile"), sasl.text("passwordFile")),
    )
