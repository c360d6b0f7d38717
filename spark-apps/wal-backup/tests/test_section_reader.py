"""A store that stutters in the middle of a restore is no damaged backup: that is said of what is on its disks alone."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sparkjob.errors import Interrupted
from sparkjob.wire.records import Record
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import check
from wal_backup.check import ObjectToCheck, check_object
from wal_backup.findings import Kind
from wal_backup.manifest import StoredObject
from wal_backup.parquet import Section, SectionWriter
from wal_backup.restore.section_reader import SectionChanged, SectionReader
from wal_backup.store import Damaged, Folder, Store

CHAIN, OBJECT, TOPIC = "chain", "data/full-1/00000-0.parquet", "wal_0"
RECORDS = [Record(number, 1_700_000_000_000 + number, 1, b"key", b"%d" % number, None) for number in range(50)]
ALWAYS = 10**6


class Broken(io.RawIOBase):
    """A connection that is reset whenever something is read of it."""

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, at: int, whence: int = 0) -> int:
        return 1_000 if whence else at

    def tell(self) -> int:
        return 0

    def read(self, _: int = -1) -> bytes:
        raise OSError("When reading information: AWS Error NETWORK_CONNECTION: curlCode: 56, connection reset")


class StutteringStore(Store):
    """Breaks off so many of the reads of parts, and does with a whole object what it is told to.

    Attributes:
        fetched: how often a whole object was asked for.
    """

    def __init__(self, folder: Path, breaks: int, then: Callable[[Path], None] = lambda _: None) -> None:
        super().__init__(Folder(str(folder)))
        self._breaks, self._then = breaks, then
        self.fetched = 0

    def open(self, path: str) -> Any:
        self._breaks -= 1
        return Broken() if self._breaks >= 0 else super().open(path)

    def fetch(self, path: str, local: Path) -> None:
        self.fetched += 1
        super().fetch(path, local)
        self._then(local)


def written(folder: Path) -> Section:
    """An object of one section."""
    path = folder / CHAIN / OBJECT
    path.parent.mkdir(parents=True)
    writer = SectionWriter(path, OBJECT)
    writer.begin(TOPIC)
    for record in RECORDS:
        writer.add(record)
    writer.close()
    ((_, section),) = writer.sections
    return section


def read(store: Store, section: Section) -> list[Record]:
    with SectionReader(store, CHAIN) as reader:
        return reader.read(TOPIC, section)


def end_of(store: Store, section: Section) -> Exception | None:
    """How it ends to read."""
    try:
        read(store, section)
    except (Interrupted, SectionChanged) as error:
        return error
    return None


def breaks_off(_: Path) -> None:
    raise Interrupted("the store does not answer")


class InPart:
    """The files of a store of which each ends in the middle, when it is read as a stream."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open_input_stream(self, path: str, **more: Any) -> pa.BufferReader:
        with self._files.open_input_stream(path, **more) as source:
            content = source.read()
        return pa.BufferReader(content[: len(content) // 2])


def in_part(store: Store) -> Store:
    """The same store, and each connection ends early and says nothing of it."""
    store._files = InPart(store._files)
    return store


def finds_damage(_: Path) -> None:
    raise Damaged("the object is damaged: checksums mismatch")


@pytest.mark.parametrize(("breaks", "fetched"), [(0, 0), (1, 0), (2, 1), (ALWAYS, 1)])
def test_a_store_that_stutters_is_asked_again_and_then_for_the_whole_object(
    tmp_path: Path, breaks: int, fetched: int
) -> None:
    section, store = written(tmp_path), StutteringStore(tmp_path, breaks)
    assert read(store, section) == RECORDS
    assert store.fetched == fetched


def a_store_that_does_not_give_the_object_interrupts() -> None:
    with tempfile.TemporaryDirectory() as folder:
        section = written(Path(folder))
        broken, short = StutteringStore(Path(folder), ALWAYS, breaks_off), StutteringStore(Path(folder), ALWAYS)
        for store, words in ((broken, "does not answer"), (in_part(short), "in part")):
            ended = end_of(store, section)
            assert isinstance(ended, Interrupted), ended
            assert words in str(ended)


def test_a_store_that_does_not_give_the_object_interrupts() -> None:
    a_store_that_does_not_give_the_object_interrupts()


def a_check_that_gets_an_object_in_part_interrupts() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        section, content = written(Path(folder)), (Path(folder) / CHAIN / OBJECT).read_bytes()
        stored = StoredObject(OBJECT, len(content), hashlib.sha256(content).hexdigest())
        place, each = Folder(folder), ObjectToCheck(CHAIN, stored, ((TOPIC, section),))
        assert check_object(place, each) == []
        patch.setattr(check, "Store", lambda place: in_part(Store(place)))
        with pytest.raises(Interrupted, match="in part"):
            check_object(place, each)


def test_a_check_that_gets_an_object_in_part_interrupts() -> None:
    a_check_that_gets_an_object_in_part_interrupts()


def a_manifest_that_comes_in_part_says_nothing_of_its_chain() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Folder(folder))
        store.write("manifest", b"whole")
        assert store.read("manifest") == b"whole"
        with pytest.raises(Interrupted, match="in part"):
            in_part(store).read("manifest")


def test_a_manifest_that_comes_in_part_says_nothing_of_its_chain() -> None:
    a_manifest_that_comes_in_part_says_nothing_of_its_chain()


def test_what_the_store_calls_damaged_is_a_finding(tmp_path: Path) -> None:
    section = written(tmp_path)
    with pytest.raises(SectionChanged, match="checksums mismatch") as raised:
        read(StutteringStore(tmp_path, ALWAYS, finds_damage), section)
    found = raised.value.finding
    assert (found.kind, found.object, found.topic, found.offset) == (Kind.OBJECT_CHANGED, OBJECT, TOPIC, 0)


@pytest.mark.parametrize("at", [30, -12])
@pytest.mark.parametrize("breaks", [0, 1, ALWAYS])
def test_a_damaged_object_is_a_finding_however_the_store_stutters(tmp_path: Path, at: int, breaks: int) -> None:
    """In a page, and in the footer."""
    section, path = written(tmp_path), tmp_path / CHAIN / OBJECT
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(SectionChanged) as raised:
        read(StutteringStore(tmp_path, breaks), section)
    assert raised.value.finding.kind is Kind.SECTION_UNREADABLE


def test_no_guard_can_be_taken_away() -> None:
    copied = "return self._read_copy(section)"
    as_before = "return read_section(self._open(section.object), section.row_group)"
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(SectionReader, "_read_patiently", copied, as_before),
            a_store_that_does_not_give_the_object_interrupts,
        ),
        (
            rewritten(Store, "fetch", "self._require_whole(path, local.stat().st_size)", "pass"),
            a_store_that_does_not_give_the_object_interrupts,
        ),
        (
            rewritten(Store, "fetch", "self._require_whole(path, local.stat().st_size)", "pass"),
            a_check_that_gets_an_object_in_part_interrupts,
        ),
        (
            rewritten(Store, "read", "self._require_whole(path, len(content))", "pass"),
            a_manifest_that_comes_in_part_says_nothing_of_its_chain,
        ),
    )
    assert find_survivors(mutants) == []
