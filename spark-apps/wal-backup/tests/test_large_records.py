"""A task of a backup has about one object on its own disk at once, however many bytes its offsets have."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sparkjob.errors import Interrupted
from sparkjob.wire.reader import Range
from sparkjob.wire.records import Record
from tests.support.log_readers import reader_of
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import parquet, task
from wal_backup.check import ObjectToCheck, check_object
from wal_backup.layout import chain_folder, object_path, part_path
from wal_backup.parquet import Section, read_section
from wal_backup.store import Folder, Store
from wal_backup.task import TaskResult, write_objects

CHAIN, PATH = chain_folder("q1Sh-9_ISia_zwGINzRvyQ", "greptimedb"), object_path("full", 1, "driver", 0, 3)
RANGES = [Range("wal_0", 5, 40), Range("wal_1", 0, 0), Range("wal_2", 0, 12)]
OF_A_SECTION, BYTES = 10, 300
OF_AN_OBJECT = 2_000
"""Bytes: less than a section of such records has, so that each is an object of its own."""


def record_of(topic: str, offset: int) -> Record:
    """With a value that does not compress."""
    value = bytes((offset * 7919 + place * place * 31 + len(topic)) % 251 for place in range(BYTES))
    return Record(offset, 1_700_000_000_000 + offset, 1, topic.encode(), value, None)


def written(folder: Path, limit: int) -> TaskResult:
    """What a task leaves whose objects may have so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "Reader", reader_of(record_of, lambda _: 0))
        patch.setattr(parquet, "MOST_RECORDS", OF_A_SECTION)
        patch.setattr(task, "MOST_OBJECT_BYTES", limit)
        return write_objects(RANGES, {}, Folder(str(folder)), CHAIN, PATH)


def findings(folder: Path, result: TaskResult) -> list[str]:
    """As whoever checks a backup finds them."""
    sections = defaultdict[str, list[tuple[str, Section]]](list)
    for topic, section in result.sections:
        sections[section.object].append((topic, section))
    assert {each.path for each in result.objects} == sections.keys()
    objects = [ObjectToCheck(CHAIN, each, tuple(sections[each.path])) for each in result.objects]
    return [found.message for each in objects for found in check_object(Folder(str(folder)), each)]


def stored(folder: Path, result: TaskResult) -> dict[str, list[Record]]:
    """By topic, in the order of their sections."""
    records = defaultdict[str, list[Record]](list)
    for topic, section in result.sections:
        with pq.ParquetFile(folder / CHAIN / section.object) as file:
            topics, found = read_section(file, section.row_group)
        assert topics == {topic}
        records[topic] += found
    return records


def all_is_there(folder: Path, result: TaskResult) -> None:
    """Once, in objects that are what they are said to be."""
    assert findings(folder, result) == []
    wanted = {each.topic: [record_of(each.topic, at) for at in range(each.start, each.end)] for each in RANGES}
    assert stored(folder, result) == {topic: records for topic, records in wanted.items() if records}
    assert [each.topic for each in result.ranges] == [each.topic for each in RANGES]
    names = sorted(path.name for path in (folder / CHAIN / PATH).parent.iterdir())
    assert names == sorted(each.path.rpartition("/")[2] for each in result.objects)


def many_bytes_are_several_objects() -> None:
    with tempfile.TemporaryDirectory() as name:
        result = written(Path(name), OF_AN_OBJECT)
        all_is_there(Path(name), result)
        assert [each.path for each in result.objects] == [part_path(PATH, part) for part in range(6)]
        assert max(each.bytes for each in result.objects) < 4 * OF_AN_OBJECT


def test_many_bytes_are_several_objects_and_no_record_is_lost_in_between() -> None:
    many_bytes_are_several_objects()


def test_few_bytes_are_one_object_with_the_path_of_its_task(tmp_path: Path) -> None:
    result = written(tmp_path, task.MOST_OBJECT_BYTES)
    all_is_there(tmp_path, result)
    assert [each.path for each in result.objects] == [PATH]


def test_nothing_is_no_object(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "Reader", reader_of(record_of, lambda _: 0))
        result = write_objects([Range("wal_1", 0, 0)], {}, Folder(str(tmp_path)), CHAIN, PATH)
    assert (result.objects, result.sections, list(tmp_path.iterdir())) == ((), (), [])


def test_a_store_that_fails_at_a_later_object_fails_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Store.put

    def fails(store: Store, path: str, local: Path) -> None:
        if path.endswith("-2.parquet"):
            raise Interrupted("the store does not answer")
        honest(store, path, local)

    monkeypatch.setattr(Store, "put", fails)
    with pytest.raises(Interrupted, match="does not answer"):
        written(tmp_path, OF_AN_OBJECT)
    assert len(list((tmp_path / CHAIN / PATH).parent.iterdir())) == 2, "which no manifest names"


def test_paths_of_parts_are_others_than_those_of_other_tasks() -> None:
    paths = [part_path(object_path("full", 1, "driver", number, attempt), part)
             for number in range(12) for attempt in range(12) for part in range(12)]  # fmt: skip
    assert len(set(paths)) == len(paths)


def test_no_guard_can_be_taken_away() -> None:
    writer = task._ObjectWriter
    mutants: tuple[Mutant, ...] = tuple(
        (rewritten(writer, name, guard, instead), many_bytes_are_several_objects)
        for name, guard, instead in (
            ("add", "self._writer.size >= MOST_OBJECT_BYTES", "False"),
            ("add", "self._writer.begin(self._topic)", "pass"),
            ("_next", "len(self.objects)", "0"),
        )
    )
    assert find_survivors(mutants) == []
