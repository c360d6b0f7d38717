"""One task of a backup: reads its ranges, writes one object, and says what is in it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record, digest_of, no_search_for_cycles
from wal_backup.gaps import Gap, merge
from wal_backup.manifest import LastRecord, StoredObject
from wal_backup.parquet import Section, SectionWriter, sha256_of
from wal_backup.store import Place, Store


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
    """What a task leaves; without a record there is no object."""

    ranges: tuple[RangeRead, ...]
    sections: tuple[tuple[str, Section], ...]
    object: StoredObject | None


def write_object(
    ranges: Sequence[Range], options: Mapping[str, str], place: Place, folder: str, path: str
) -> TaskResult:
    """Reads these ranges of Kafka and publishes their records as one object at `<folder>/<path>` of the store.

    Raises:
        RangeGone, Interrupted, Refused: as the reader and the store.
    """
    with no_search_for_cycles(), tempfile.TemporaryDirectory(prefix="wal-backup-") as local:
        file = Path(local) / "object.parquet"
        writer = SectionWriter(file, path)
        try:
            with Reader(options) as reader:
                found = tuple(_copy(reader, each, writer) for each in ranges)
        finally:
            writer.close()
        if not writer.sections:
            return TaskResult(found, (), None)
        stored = StoredObject(path, file.stat().st_size, sha256_of(file))
        Store(place).put(f"{folder}/{path}", file)
        return TaskResult(found, tuple(writer.sections), stored)


def _copy(reader: Reader, wanted: Range, writer: SectionWriter) -> RangeRead:
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
