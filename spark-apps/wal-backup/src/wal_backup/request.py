"""What is to be done: the requests of `contract/` as values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka, parse_kafka
from sparkjob.request_file import digest_of, parse_json
from wal_backup.layout import chain_folder
from wal_backup.manifest import Parent, Region, RestorePoint, parse_point, parse_region
from wal_backup.store import Place, parse_place

VERSION = 1
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Level(StrEnum):
    """How much of what the store has is proved; each level includes the one before."""

    NONE = "None"
    """Nothing; only a backup may ask for it."""
    CHECKSUMS = "Checksums"
    """What was written is there: sizes, SHA-256, the digest of each section's records, every offset."""
    INTEGRITY = "Integrity"
    """And it replays: every record decodes, entries are whole and in order."""


@dataclass(frozen=True, slots=True)
class TopicRange:
    """Offsets [start, end) of the topic with this id, and what its manifest shall say of it."""

    name: str
    topic_id: str
    log_start: int
    start: int
    end: int
    config: Mapping[str, str]
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class NamedChain:
    """A chain, and the manifest of its full backup, by which it is known."""

    name: str
    full: Parent


@dataclass(frozen=True, slots=True)
class Expiry:
    """What is to be deleted when the backup counts.

    Attributes:
        storage: the same place, as whoever may delete there; it is opened, and its keys are read, only then.
        chains: what is to go, the oldest first.
        stays: what must be there, and whole, or nothing goes.
    """

    storage: Fields
    chains: tuple[NamedChain, ...]
    stays: tuple[NamedChain, ...]


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """One backup. Without a parent it is full, and begins its chain.

    Attributes:
        verify: what is proved of it before it counts.
        database_version: "major.minor" or with the patch: what its reader lets pass differs. None: not known.
        point: the restore point that it makes; None: none.
        expiry: None: nothing is deleted.
    """

    digest: str
    backup: str
    attempt: int
    verify: Level
    database_version: str | None
    chain: str
    parent: Parent | None
    kafka: Kafka
    cluster_id: str
    place: Place
    topics: tuple[TopicRange, ...]
    point: RestorePoint | None = None
    expiry: Expiry | None = None

    @property
    def folder(self) -> str:
        """Its chain in the store."""
        return chain_folder(self.cluster_id, self.chain)


@dataclass(frozen=True, slots=True)
class ChainRequest:
    """A chain that is to be inspected or checked; without its name all chains of that Kafka are."""

    place: Place
    cluster_id: str
    chain: str | None


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What is to be checked, and how much of it is to be proved. The database's version as in a backup's request."""

    chains: ChainRequest
    level: Level
    database_version: str | None


def parse_backup(content: bytes) -> BackupRequest:
    """Reads the request of a backup.

    Raises:
        Refused: it is none that this program can work on.
    """
    fields = parse_json(content)
    fields.check_version(VERSION)
    topics = tuple(_topic(topic) for topic in fields.objects("topics"))
    if not topics:
        raise Refused("the request has no topics")
    if len({topic.name for topic in topics}) < len(topics):
        raise Refused("the request names a topic twice")
    kafka = parse_kafka(fields.object("kafka"))
    if kafka.cluster_id is None:
        raise Refused("request.kafka.clusterId is missing: a backup must say whose log it is")
    parent, whom = fields.object_or_none("parent"), fields.object("backup")
    return BackupRequest(
        digest_of(content),
        _named(whom, "name"),
        whom.number("attempt"),
        parse_level(fields, "verify", tuple(Level)),
        fields.text_or_none("databaseVersion"),
        _named(fields, "chain"),
        None if parent is None else Parent(parent.text("name"), parent.text("digest")),
        kafka,
        _cluster_id(kafka.cluster_id),
        parse_place(fields.object("storage")),
        topics,
        parse_point(fields),
        _expiry(fields.object_or_none("expire")),
    )


def _expiry(fields: Fields | None) -> Expiry | None:
    if fields is None:
        return None
    return Expiry(fields.object("storage"), *(tuple(map(_chain, fields.objects(name))) for name in ("chains", "stays")))


def _chain(fields: Fields) -> NamedChain:
    full = fields.object("full")
    return NamedChain(_named(fields, "name"), Parent(full.text("name"), full.text("digest")))


def parse_chain(content: bytes) -> ChainRequest:
    """Reads the request of `inspect`. Raises as `parse_backup`."""
    fields = parse_json(content)
    fields.check_version(VERSION)
    return parse_chain_fields(fields)


def parse_check(content: bytes) -> CheckRequest:
    """Reads the request of `check`. Raises as `parse_backup`."""
    fields = parse_json(content)
    fields.check_version(VERSION)
    level = parse_level(fields, "level", (Level.CHECKSUMS, Level.INTEGRITY))
    return CheckRequest(parse_chain_fields(fields), level, fields.text_or_none("databaseVersion"))


def parse_chain_fields(fields: Fields) -> ChainRequest:
    """Which chain of which store is meant. Raises as `parse_backup`."""
    chain = None if fields.text_or_none("chain") is None else _named(fields, "chain")
    cluster_id = _cluster_id(fields.text("clusterId"))
    return ChainRequest(parse_place(fields.object("storage")), cluster_id, chain)


def _topic(fields: Fields) -> TopicRange:
    name, start, end = fields.text("name"), fields.number("from"), fields.number("to")
    if start > end:
        raise Refused(f"topic {name} is asked for from offset {start} to {end}: the range ends before it begins")
    return TopicRange(
        name,
        fields.text("topicId"),
        fields.number("logStart"),
        start,
        end,
        {name: str(value) for name, value in fields.object("config").members.items()},
        tuple(parse_region(region) for region in fields.objects("regions")),
    )


def parse_level(fields: Fields, name: str, known: Sequence[Level]) -> Level:
    """How much is to be proved. Raises as `parse_backup`."""
    value = fields.text(name)
    if value not in known:
        raise Refused(f"{fields.where}.{name} is {value}, which is none of {', '.join(known)}")
    return Level(value)


def _named(fields: Fields, name: str) -> str:
    """A name that becomes a part of a path."""
    value = fields.text(name)
    if not _NAME.fullmatch(value):
        raise Refused(f"{fields.where}.{name} is {value!r}: a name has at most 63 of a-z, 0-9 and -")
    return value


def _cluster_id(value: str) -> str:
    if not _CLUSTER_ID.fullmatch(value):
        raise Refused(f"{value!r} is no cluster id of Kafka")
    return value
