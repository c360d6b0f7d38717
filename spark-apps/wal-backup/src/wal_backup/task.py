"""One task of a backup: reads its ranges, writes an object, or several if they are large, and says what is in them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record, digest_of, no_search_for_cycles
from wal_backup.gaps import Gap, merge
from wal_backup.layout import part_path
from wal_backup.manifest import LastRecord, StoredObject
from wal_backup.parquet import Section, SectionWriter, sha256_of
from wal_backup.store import Place, Store

MOST_OBJECT_BYTES = 1 << 30
"""Of one object, about: a task has no more of its records on a disk of its own at once, nor has who checks them."""


@dataclass(frozen=True, slots=True)
class RangeRead:
    """What was read of one range.

    Attributes:
        epochs: each leader epoch with the offset of its first record.
        last_record: the newest one; None: there is none.
    """

    topic: str
    start: int
    gaps: tuple[Gap, ...]
    epochs: tuple[tuple[int, int], ...]
    last_record: LastRecord | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task leaves; without a record there is no object, and with many bytes there are several."""

    ranges: tuple[RangeRead, ...]
    sections: tuple[tuple[str, Section], ...]
    objects: tuple[StoredObject, ...]


def write_objects(
    ranges: Sequence[Range], options: Mapping[str, str], place: Place, folder: str, path: str
) -> TaskResult:
    """Reads these ranges of Kafka and publishes their records at `<folder>/<path>` of the store, and beside it.

    Raises:
        RangeGone, Interrupted, Refused: as the reader and the store.
    """
    with no_search_for_cycles(), tempfile.TemporaryDirectory(prefix="wal-backup-") as local:
        writer = _ObjectWriter(Path(local) / "object.parquet", Store(place), folder, path)
        try:
            with Reader(options) as reader:
                found = tuple(_copy(reader, each, writer) for each in ranges)
        finally:
            writer.close()
        writer.publish()
        return TaskResult(found, tuple(writer.sections), tuple(writer.objects))


class _ObjectWriter:
    """Writes objects one after another, each to the same local file, and publishes one before the next begins.

    Attributes:
        objects: those that are published.
        sections: theirs, with their topics.
    """

    def __init__(self, local: Path, store: Store, folder: str, path: str) -> None:
        self._local, self._store, self._folder, self._path = local, store, folder, path
        self.objects, self.sections = list[StoredObject](), list[tuple[str, Section]]()
        self._topic = ""
        self._writer = self._next()

    def begin(self, topic: str) -> None:
        """What is added from now on is this topic's."""
        self._topic = topic
        self._writer.begin(topic)

    def add(self, record: Record) -> None:
        """One record. Raises as `publish`."""
        self._writer.add(record)
        if self._writer.size >= MOST_OBJECT_BYTES:
            self.close()
            self.publish()
            self._writer = self._next()
            self._writer.begin(self._topic)

    def close(self) -> None:
        """Ends the object that is being written; it may be half of one, which is not published then."""
        self._writer.close()

    def publish(self) -> None:
        """Puts the object that was closed, if it has records.

        Raises:
            Refused, Interrupted: as the store.
        """
        if self._writer.sections:
            path = part_path(self._path, len(self.objects))
            stored = StoredObject(path, self._local.stat().st_size, sha256_of(self._local))
            self._store.put(f"{self._folder}/{path}", self._local)
            self.objects.append(stored)
            self.sections += self._writer.sections

    def _next(self) -> SectionWriter:
        return SectionWriter(self._local, part_path(self._path, len(self.objects)))


def _copy(reader: Reader, wanted: Range, writer: _ObjectWriter) -> RangeRead:
    writer.begin(wanted.topic)
    gaps, epochs, expected = list[Gap](), dict[int, int](), wanted.start
    last: Record | None = None
    for record, epoch in reader.read(wanted):
        if record.offset > expected:
            gaps.append((expected, record.offset))
        epochs.setdefault(epoch, record.offset)
        writer.add(record)
        last, expected = record, record.offset + 1
    if expected < wanted.end:
        gaps.append((expected, wanted.end))
    newest = None if last is None else LastRecord(last.offset, digest_of([last]))
    return RangeRead(wanted.topic, wanted.start, merge(gaps), tuple(epochs.items()), newest)
