"""Columns of a snapshot's files as those of the log: so a table has one type for each, whatever it begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkjob.entry_rows import NotReadable
from sparkjob.errors import Refused
from sparkjob.snapshot import value_of_file
from wal_subscription.records.encoding import float_of
from wal_subscription.records.snapshot import File
from wal_subscription.records.snapshot_rows import type_of
from wal_subscription.table.columns import Column, Kind, json_of, kind_of
from walrecord.pb.wal_pb2 import ColumnSchema

_TYPES: Mapping[str, int] = dict(ColumnSchema.DataType.items())
_UNSIGNED = pa.decimal128(20, 0)
"""As which Spark has unsigned numbers of 64 bits."""


def columns_of_file(file: File, types: Iterable[pa.DataType]) -> tuple[Column, ...]:
    """As the log would have them: of the types that the snapshot says, else of these, of the file.

    Raises:
        Refused: it says a type that this program does not know, or that a file cannot have as it is.
    """
    return tuple(_column(file, name, arrow) for name, arrow in zip(file.columns, types, strict=True))


def array_of(column: Column, array: pa.Array) -> pa.Array:
    """The values of a column that `columns_of_file` has let pass.

    Raises:
        NotReadable: one is none of its type.
    """
    kind = kind_of(column)
    if kind.value is None:
        return pa.array([_text(value) for value in array.to_pylist()], kind.arrow)
    try:
        made = _cast(kind, array)
    except pa.ArrowInvalid:
        made = None
    if made is None or not _is_within(kind, made):
        raise NotReadable(f"has a value in column {column.name} that is none of its type")
    return made if kind.stored is None else made.view(kind.arrow)


def _column(file: File, name: str, arrow: pa.DataType) -> Column:
    called = file.types.get(name) or _called(arrow)
    if called not in _TYPES:
        raise Refused(f"the snapshot calls column {name} {called}, which this program does not know")
    number, is_key = _TYPES[called], name in file.key
    is_time = is_key and called.startswith("TIMESTAMP_")
    semantic = ColumnSchema.TIMESTAMP if is_time else ColumnSchema.TAG if is_key else ColumnSchema.FIELD
    column = Column(name, number, semantic)
    if not _takes(kind_of(column), arrow):
        raise Refused(f"the snapshot calls column {name} {called}, and its files have it as {arrow}")
    return column


def _called(arrow: pa.DataType) -> str:
    return "DECIMAL128" if pa.types.is_decimal(arrow) and arrow != _UNSIGNED else type_of(arrow)


def _takes(kind: Kind, arrow: pa.DataType) -> bool:
    """Whether values of a file's type may be of this one."""
    wanted = kind.stored or kind.arrow
    return kind.value is None or _family(wanted) == _family(arrow) is not None


def _family(arrow: pa.DataType) -> str | None:
    if pa.types.is_integer(arrow) or pa.types.is_decimal(arrow):
        return "integer"
    if pa.types.is_floating(arrow):
        return "floating"
    return str(arrow) if pa.types.is_primitive(arrow) or arrow in (pa.string(), pa.binary()) else None


def _cast(kind: Kind, array: pa.Array) -> pa.Array:
    if kind.factor > 1:
        array = pc.multiply_checked(array.cast(pa.int64()), kind.factor)
    return array.cast(kind.stored or kind.arrow)


def _is_within(kind: Kind, array: pa.Array) -> bool:
    """Whether all of them are what the type may have."""
    if kind.least is None or kind.most is None:
        return True
    found: Any = pc.min_max(array).as_py()
    return found["min"] is None or kind.least <= found["min"] <= found["max"] <= kind.most


def _text(value: object) -> str | None:
    """As the log's values of types that are made of others."""
    if value is None or isinstance(value, str):
        return value
    return json_of(float_of(value) if isinstance(value, float) else value_of_file(value))
