"""A snapshot of a database's rows, in a layout of no database: `snapshot.json` in a folder, and Parquet files.

    {"version": 1, "regions": [{"id": …, "topic": "wal_0", "columns": ["host", "ts", "load"], "key": ["host", "ts"],
                                "cuts": [{"entryId": 19, "files": ["a.parquet"]}, {"entryId": 40, "files": [...]}]}]}

A cut is the state of the region after exactly the entries up to `entryId`. Of rows with the same key the one in a later
file counts; a file has a key once. Files are relative to the folder. Times are integers, in the unit that the log has.

Optional: of a cut `sequence`, the highest sequence number of its rows: what the log has up to it again changes nothing,
as in the database. Of a region `appendMode`: true for a table that keeps rows of the same key, which is not compared;
and `types`: what the log calls the types of columns ({"ts": "TIMESTAMP_MILLISECOND"}), where files tell less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeVar

from sparkjob.entry_rows import plain
from sparkjob.errors import Refused
from sparkjob.fields import MAX_U64, Fields

T = TypeVar("T")
VERSION = 1
NAME = "snapshot.json"
_FILE = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*(/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*")

_PASSED_OVER = re.compile(r"(^|/)_[^/=]*$|\._COPYING_$")
"""Also where they are named (Hadoop's hidden files: HadoopFSUtils.shouldFilterOutPathName of Spark 4.0.0)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows after all entries up to this one."""

    entry_id: int
    files: tuple[str, ...]
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotRegion:
    """A region's columns, those that make rows the same, and its cuts, the oldest first."""

    id: int
    topic: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    cuts: tuple[Cut, ...]
    append_mode: bool = False
    types: Mapping[str, str] = field(default_factory=dict)


def parse_snapshot(content: bytes, uri: str) -> dict[int, SnapshotRegion]:
    """Reads a `snapshot.json`: its regions by id.

    Raises:
        Refused: It is no snapshot that this program can read.
    """
    try:
        data: Any = json.loads(content)
    except ValueError as error:
        raise Refused(f"{uri} is not JSON: {error}") from error
    fields = Fields.of(data, uri)
    fields.check_version(VERSION)
    regions = [_region(region) for region in fields.objects("regions")]
    found = {region.id: region for region in regions}
    if len(found) < len(regions):
        raise Refused(f"{uri} has a region twice")
    return found


def _region(fields: Fields) -> SnapshotRegion:
    columns, key = fields.texts("columns"), fields.texts("key")
    if not key or not set(key) <= set(columns) or len(set(columns)) < len(columns):
        raise Refused(f"{fields.where}: the key must be some of the columns, and each column stands once")
    cuts = tuple(_cut(cut) for cut in fields.objects("cuts"))
    if any(older.entry_id >= newer.entry_id for older, newer in pairwise(cuts)):
        raise Refused(f"{fields.where}.cuts: entry ids must rise")
    append_mode, types = fields.flag("appendMode"), fields.object_or_none("types")
    named = {} if types is None else {name: types.text(name) for name in types.members}
    if unknown := named.keys() - set(columns):
        raise Refused(f"{fields.where}.types: {min(unknown)} is none of the columns")
    return SnapshotRegion(fields.number("id", MAX_U64), fields.text("topic"), columns, key, cuts, append_mode, named)


def _cut(fields: Fields) -> Cut:
    files = fields.texts("files")
    for name in files:
        if not _FILE.fullmatch(name):
            raise Refused(f"{fields.where}.files: {name!r} is no relative path of letters, digits and . _ = - /")
        if _PASSED_OVER.search(name):
            raise Refused(f"{fields.where}.files: Spark passes over a file of such a name without a word: {name!r}")
    return Cut(fields.number("entryId"), files, fields.number_or_none("sequence", MAX_U64))


def of_file(path: str, names: Mapping[str, T]) -> T:
    """What belongs to a file: by the end of its URI, which is its name in the snapshot.

    Raises:
        KeyError: it is none of them.
    """
    at = path.find("/")
    while at >= 0:
        if (found := names.get(path[at + 1 :])) is not None:
            return found
        at = path.find("/", at + 1)
    raise KeyError(path)


def value_of_file(value: object) -> object:
    """A value as JSON can have it, as `entry_rows.plain` makes those of the log."""
    return int(value) if isinstance(value, Decimal) else plain(value)  # Spark reads unsigned 64 bits so
