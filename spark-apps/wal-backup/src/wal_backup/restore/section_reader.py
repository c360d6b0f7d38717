"""Reads sections of a store, one row group after the other, and only such as are what was written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from sparkjob.wire.records import Record, digest_of
from wal_backup.check import unreadable
from wal_backup.findings import Finding, Kind
from wal_backup.parquet import Section, read_section
from wal_backup.store import Damaged, Store

_TRIES = 2
"""Of reading a section where it is, before the whole object is copied."""


class SectionChanged(Exception):  # noqa: N818 - what it is
    """A section is not what was written."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class SectionReader:
    """Sections of the objects below one chain; the object that was read last stays open."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store, self._folder = store, folder
        self._path: str | None = None
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def read(self, topic: str, section: Section) -> list[Record]:
        """The records of a section: what is in memory at once.

        Raises:
            SectionChanged: they are not those that were written.
            Interrupted, Refused: the store does not answer, or does not let us.
        """
        try:
            topics, records = self._read_patiently(section)
        except FileNotFoundError:
            message = f"object {section.object} is not there: it had topic {topic} from offset {section.first} on"
            raise SectionChanged(_finding(Kind.OBJECT_MISSING, message, topic, section)) from None
        except Damaged as damaged:
            raise SectionChanged(_finding(Kind.OBJECT_CHANGED, str(damaged), topic, section)) from None
        except (OSError, pa.ArrowException, IndexError, KeyError) as error:
            raise SectionChanged(unreadable(topic, section, error)) from error
        if topics != {topic} or digest_of(records) != section.digest:
            where = f"row group {section.row_group} of {section.object}, {topic} from offset {section.first}"
            message = f"{where}: these are not the records that were written"
            raise SectionChanged(_finding(Kind.SECTION_CHANGED, message, topic, section))
        return records

    def _read_patiently(self, section: Section) -> tuple[set[str], list[Record]]:
        """An error may be a broken page's or a broken network's: a copy of the object that came whole tells."""
        for _ in range(_TRIES):
            try:
                return read_section(self._open(section.object), section.row_group)
            except FileNotFoundError:
                raise
            except (OSError, pa.ArrowException):
                self._close()
        return self._read_copy(section)

    def _read_copy(self, section: Section) -> tuple[set[str], list[Record]]:
        with tempfile.TemporaryDirectory(prefix="wal-backup-") as folder:
            local = Path(folder) / "object.parquet"
            self._store.fetch(f"{self._folder}/{section.object}", local)
            with pq.ParquetFile(local, page_checksum_verification=True) as file:
                return read_section(file, section.row_group)

    def _open(self, path: str) -> pq.ParquetFile:
        if self._file is None or self._path != path:
            self._close()
            source = self._store.open(f"{self._folder}/{path}")
            self._file, self._path = pq.ParquetFile(source, page_checksum_verification=True), path
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close(force=True)
            self._file = None


def _finding(kind: Kind, message: str, topic: str, section: Section) -> Finding:
    return Finding(kind, message, section.object, topic, section.first)
