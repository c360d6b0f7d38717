"""A check reads sections as columns: whatever their records are, it says of them what their records say."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from sparkjob.wire.records import Headers, Record, digest_of
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import columns
from wal_backup.columns import Content, content_of
from wal_backup.parquet import MOST_RECORDS, SectionWriter, read_section, read_table

TOPIC = "wal_0"
CONTENTS = some.none() | some.binary(max_size=20)
HEADERS = some.lists(some.tuples(some.text(max_size=3), CONTENTS), max_size=2)
TIMES = some.integers(-1, 2**53)
ROWS = some.tuples(some.integers(1, 2**40), TIMES, some.integers(0, 2), CONTENTS, CONTENTS)


def record(row: tuple[int, int, int, bytes | None, bytes | None], offset: int) -> Record:
    return Record(offset, row[1], row[2], row[3], row[4], None)


RECORDS = some.lists(ROWS, min_size=1, max_size=12).map(
    lambda rows: [record(row, at) for row, at in zip(rows, accumulate(row[0] for row in rows), strict=True)]
)


def stored(folder: Path, records: list[Record]) -> pa.Table:
    """The row group of such records, as the file has it."""
    path = folder / f"{secrets.token_hex(4)}.parquet"
    writer = SectionWriter(path, path.name)
    writer.begin(TOPIC)
    for each in records:
        writer.add(each)
    writer.close()
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        topics, found = read_section(file, 0)
        assert (topics, found) == ({TOPIC}, records)
        return read_table(file, 0)


def content(records: list[Record]) -> Content:
    """As the records say."""
    offsets = [each.offset for each in records]
    rises = all(one < other for one, other in pairwise(offsets))
    return Content(frozenset({TOPIC}), len(records), (offsets[0], offsets[-1]), rises, digest_of(records))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(records=RECORDS, headers=some.none() | some.lists(HEADERS, min_size=1, max_size=3))
def test_columns_say_what_records_say(tmp_path: Path, records: list[Record], headers: list[Headers] | None) -> None:
    """Headers of the first records, or of none."""
    for number, each in enumerate(headers or ()):
        if number < len(records):
            records[number] = records[number]._replace(headers=each)
    assert content_of(stored(tmp_path, records)) == content(records)


def of_every_kind(folder: Path) -> None:
    plain = [
        Record(7, -1, 0, None, b"", None),
        Record(9, 5, 1, b"", None, None),
        Record(10, 2**50, 2, b"k", b"v", None),
    ]
    headers = [each._replace(headers=[("a", None), ("a", b"")]) for each in plain]
    for records in (plain, headers, [*plain[:2], headers[2]], [plain[0]._replace(headers=[])]):
        assert content_of(stored(folder, records)) == content(records)


def test_a_section_of_every_kind(tmp_path: Path) -> None:
    of_every_kind(tmp_path)


def whose_offsets_do_not_rise(folder: Path) -> None:
    """A file that somebody else wrote: as many records from the first to the last."""
    records = [Record(offset, 1, 1, None, b"v", None) for offset in (0, 2, 2, 3)]
    found = content_of(stored(folder, records))
    assert (found, found.rises) == (content(records), False)


def test_offsets_that_do_not_rise_are_told(tmp_path: Path) -> None:
    whose_offsets_do_not_rise(tmp_path)


def test_a_full_section_and_the_topics_of_two(tmp_path: Path) -> None:
    records = [Record(number, number, 1, b"k", b"%d" % number, None) for number in range(MOST_RECORDS)]
    one = stored(tmp_path, records)
    assert content_of(one) == content(records)
    other = one.set_column(0, one.schema.field(0), pa.array(["wal_1"] * len(one)).dictionary_encode())
    both = content_of(pa.concat_tables([one, other], promote_options="default").unify_dictionaries())
    assert (both.topics, both.records, both.rises) == (frozenset({TOPIC, "wal_1"}), 2 * MOST_RECORDS, False)


def test_a_row_group_without_records(tmp_path: Path) -> None:
    found = content_of(stored(tmp_path, [Record(1, 1, 1, None, None, None)]).slice(0, 0))
    assert found == Content(frozenset(), 0, (), True, digest_of([]))


@pytest.mark.parametrize(
    ("mutate", "story"),
    [
        (
            rewritten(columns, "digest_of_columns", 'table.column("headers").null_count < len(table)', "False"),
            of_every_kind,
        ),
        (rewritten(columns, "digest_of_columns", "_lengths(keys)", "_lengths(_content(keys))"), of_every_kind),
        (rewritten(columns, "digest_of_columns", "_lengths(values)", "_lengths(_content(values))"), of_every_kind),
        (
            rewritten(columns, "content_of", "bool((offsets[1:] > offsets[:-1]).all())", "True", sys.modules[__name__]),
            whose_offsets_do_not_rise,
        ),
    ],
)
def test_no_guard_can_be_taken_away(
    mutate: Callable[[pytest.MonkeyPatch], None], story: Callable[[Path], None], tmp_path: Path
) -> None:
    assert find_survivors([(mutate, lambda: story(tmp_path))]) == []
