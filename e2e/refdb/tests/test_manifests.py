"""Manifests, files and the entries of the log: what is durable."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdb.errors import RegionFatalError
from refdb.region.files import KEPT_MANIFESTS, RegionFiles
from refdb.region.manifest import Manifest
from refdb.region.rows import Put, decode_puts, encode_put
from refdb.schema import Column, ColumnType, Schema, Value

SCHEMA = Schema(
    tuple(Column(kind.value, kind) for kind in ColumnType), (ColumnType.STRING.value,), "TimestampMillisecond"
)
FIRST = Manifest(0, "topic", SCHEMA, flushed_entry_id=7)
VALUES: dict[ColumnType, st.SearchStrategy[Value]] = {
    ColumnType.STRING: st.text(),
    ColumnType.INT32: st.integers(-(2**31), 2**31 - 1),
    ColumnType.INT64: st.integers(-(2**63), 2**63 - 1),
    ColumnType.UINT64: st.integers(0, 2**64 - 1),
    ColumnType.FLOAT64: st.floats(allow_nan=False),
    ColumnType.BOOLEAN: st.booleans(),
    ColumnType.TIMESTAMP: st.integers(-(2**63), 2**63 - 1),
}
ROW = st.tuples(*(st.none() | VALUES[column.type] for column in SCHEMA.columns))


def test_a_manifest_survives_its_text() -> None:
    manifest = FIRST.flushed(9, 4, "a.parquet")
    assert Manifest.from_text(manifest.to_text()) == manifest
    assert (manifest.version, manifest.flushed_entry_id, manifest.files) == (1, 9, ("a.parquet",))


def test_the_flushed_entry_id_never_goes_back() -> None:
    with pytest.raises(RegionFatalError, match="go back"):
        FIRST.flushed(6, 1, "a.parquet")


@pytest.mark.parametrize("text", ["", "{", "{}", '{"version":1}', "[]"])
def test_half_a_manifest_is_fatal(text: str) -> None:
    with pytest.raises(RegionFatalError):
        Manifest.from_text(text)


def test_only_one_writer_makes_a_version(tmp_path: Path) -> None:
    files = RegionFiles(tmp_path)
    assert files.latest() is None
    files.commit(FIRST)
    with pytest.raises(RegionFatalError, match="another leader"):
        RegionFiles(tmp_path).commit(FIRST)
    assert files.latest() == FIRST
    assert [path.name for path in (tmp_path / "manifest").iterdir()] == [f"{0:020}.json"]


def test_the_newest_manifests_are_kept(tmp_path: Path) -> None:
    files, manifest = RegionFiles(tmp_path), FIRST
    for _ in range(12):
        files.commit(manifest)
        manifest = manifest.opened(0)
    assert files.latest() is not None
    names = sorted(path.stem for path in (tmp_path / "manifest").iterdir())
    assert names == [f"{version:020}" for version in range(12 - KEPT_MANIFESTS, 12)]


def test_a_version_that_was_cleaned_up_cannot_be_made_again(tmp_path: Path) -> None:
    files, manifest = RegionFiles(tmp_path), FIRST
    for _ in range(12):
        files.commit(manifest)
        manifest = manifest.opened(0)
    with pytest.raises(RegionFatalError, match="another leader"):
        files.commit(FIRST.opened(0))
    latest = files.latest()
    assert latest is not None
    assert latest.version == 11


@given(st.lists(ROW, min_size=1, max_size=5))
def test_rows_survive_an_entry(rows: list[tuple[Value, ...]]) -> None:
    put = Put(17, tuple(rows))
    assert decode_puts(SCHEMA, encode_put(SCHEMA, put), 1) == [put]
    assert put.next_sequence == 17 + len(rows)


def test_rows_survive_a_file(tmp_path: Path) -> None:
    files = RegionFiles(tmp_path)
    files.commit(FIRST)
    rows = [("a", 1, -(2**62), 2**64 - 1, 0.1, True, 5), (None, None, None, None, None, None, 6)]
    name = files.write_rows(SCHEMA, rows)
    assert list(files.read_rows(name)) == rows


def test_an_entry_of_another_table_is_fatal() -> None:
    other = Schema((Column("ts", ColumnType.TIMESTAMP),), (), "ts")
    with pytest.raises(RegionFatalError, match="offset 3"):
        decode_puts(SCHEMA, encode_put(other, Put(1, ((1,),))), 3)
