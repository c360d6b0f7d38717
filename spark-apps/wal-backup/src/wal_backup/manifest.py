"""A manifest: all that a backup says of itself. What no manifest names does not exist; none is ever changed.

A child names its parent by the SHA-256 of the parent's bytes as they are stored: the manifests of a chain are a hash
chain, and a part of one that was exchanged is found.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from sparkjob.errors import Refused
from sparkjob.fields import MAX_U64, Fields
from wal_backup.gaps import Gap
from wal_backup.layout import manifest_name
from wal_backup.parquet import Section

VERSION = 1


@dataclass(frozen=True, slots=True)
class Parent:
    """The manifest before: its name below the chain's `manifests`, and its digest."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a topic, as the operator found it: the first offset that it reads, and its flushed entry id."""

    id: int
    reads_from: int
    flushed: int | None


@dataclass(frozen=True, slots=True)
class TopicBackup:
    """Offsets [start, end) of a topic.

    Attributes:
        epochs: each leader epoch of the records, with the offset of its first record here.
        gaps: offsets in the range that the log does not have.
    """

    name: str
    topic_id: str
    log_start: int
    start: int
    end: int
    config: Mapping[str, str]
    regions: tuple[Region, ...]
    epochs: tuple[tuple[int, int], ...]
    gaps: tuple[Gap, ...]
    sections: tuple[Section, ...]

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(section.records for section in self.sections)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object by its path below the chain."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The newest record of a topic that was backed up, and the digest of it alone."""

    offset: int
    digest: str


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """The bracket around a snapshot of the database's own files and metadata, which the backup closed.

    Attributes:
        snapshot: what its owner calls it.
        held_time, snapshot_time: since when the log was held, and when the snapshot was known to be taken; RFC 3339.
        reads_from: by topic the first offset that any region would have read before the snapshot was taken.
    """

    name: str
    snapshot: str
    held_time: str
    snapshot_time: str
    reads_from: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One backup.

    Attributes:
        sequence: its place in the chain; 0: a full backup.
        request_digest: of the request that asked for it.
        last_records: by topic, also of backups before: the next one asks whether it is still there, and the same.
        restore_point: None: it is none.
    """

    cluster_id: str
    chain: str
    backup: str
    attempt: int
    sequence: int
    request_digest: str
    parent: Parent | None
    started_time: str
    finished_time: str
    topics: tuple[TopicBackup, ...]
    objects: tuple[StoredObject, ...]
    last_records: Mapping[str, LastRecord] = field(default_factory=dict)
    restore_point: RestorePoint | None = None

    @property
    def name(self) -> str:
        """Its file below the chain's `manifests`."""
        return manifest_name(self.backup, self.attempt, self.sequence)

    def to_bytes(self) -> bytes:
        """As it is stored; the same manifest gives the same bytes."""
        text = json.dumps({"version": VERSION, **_json(self)}, sort_keys=True, separators=(",", ":"))
        return gzip.compress(text.encode(), mtime=0)


_NAMES = {"start": "from", "end": "to"}
"""What members are called as in requests, where Python's are called otherwise."""


def _json(value: Any) -> Any:
    """Members of our classes in camel case; keys of mappings (topics, configs) as they are."""
    if is_dataclass(value):
        return {_member(each.name): _json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: _json(each) for name, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, tuple) else value


def _member(name: str) -> str:
    first, *words = _NAMES.get(name, name).split("_")
    return first + "".join(word.capitalize() for word in words)


def digest_of_manifest(content: bytes) -> str:
    """SHA-256 of the bytes as they are stored."""
    return hashlib.sha256(content).hexdigest()


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Reads the bytes of a manifest.

    Raises:
        Refused: They are none, or one of a version that this program does not know.
    """
    try:
        data: Any = json.loads(gzip.decompress(content))
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise Refused(f"{where} cannot be read: {error}") from error
    found = Fields.of(data, where)
    found.check_version(VERSION)
    parent = found.object_or_none("parent")
    return Manifest(
        found.text("clusterId"),
        found.text("chain"),
        found.text("backup"),
        found.number("attempt"),
        found.number("sequence"),
        found.text("requestDigest"),
        None if parent is None else Parent(parent.text("name"), parent.text("digest")),
        found.text("startedTime"),
        found.text("finishedTime"),
        tuple(_topic(topic) for topic in found.objects("topics")),
        tuple(
            StoredObject(each.text("path"), each.number("bytes"), each.text("sha256"))
            for each in found.objects("objects")
        ),
        _last_records(found.object("lastRecords")),
        parse_point(found),
    )


def parse_point(fields: Fields) -> RestorePoint | None:
    """The `restorePoint` of a request or a manifest."""
    found = fields.object_or_none("restorePoint")
    if found is None:
        return None
    starts = found.object("readsFrom")
    name, snapshot, held_time, snapshot_time = (
        found.text(each) for each in ("name", "snapshot", "heldTime", "snapshotTime")
    )
    by_topic = {topic: starts.number(topic) for topic in starts.members}
    return RestorePoint(name, snapshot, held_time, snapshot_time, by_topic)


def _last_records(fields: Fields) -> dict[str, LastRecord]:
    found = {topic: fields.object(topic) for topic in fields.members}
    return {topic: LastRecord(each.number("offset"), each.text("digest")) for topic, each in found.items()}


def _topic(fields: Fields) -> TopicBackup:
    return TopicBackup(
        fields.text("name"),
        fields.text("topicId"),
        fields.number("logStart"),
        fields.number("from"),
        fields.number("to"),
        dict(fields.object("config").members),
        tuple(parse_region(region) for region in fields.objects("regions")),
        _pairs(fields, "epochs"),
        _pairs(fields, "gaps"),
        tuple(_section(section) for section in fields.objects("sections")),
    )


def parse_region(fields: Fields) -> Region:
    """A region, as a request and a manifest have it."""
    return Region(fields.number("id", MAX_U64), fields.number("readsFrom"), fields.number_or_none("flushed"))


def _pairs(fields: Fields, name: str) -> tuple[tuple[int, int], ...]:
    found = fields.members.get(name)
    try:
        return tuple((int(first), int(second)) for first, second in found or ())
    except (TypeError, ValueError):
        raise Refused(f"{fields.where}.{name} is no list of pairs of numbers") from None


def _section(fields: Fields) -> Section:
    row_group, first, last = (fields.number(name) for name in ("rowGroup", "first", "last"))
    records, size, largest = (fields.number(name) for name in ("records", "bytes", "largest"))
    newest, digest = fields.integer("newest"), fields.text("digest")
    return Section(fields.text("object"), row_group, first, last, records, size, largest, newest, digest)
