"""Rows ↔ the WalEntry that carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refdb.errors import RegionFatalError
from refdb.schema import ColumnType, Row, Schema
from walrecord import decode_entry, encode_entry
from walrecord.pb import wal_pb2 as pb

_Data = pb.ColumnSchema.DataType
_Semantic = pb.ColumnSchema.SemanticType
_WIRE = {
    ColumnType.STRING: (_Data.STRING, "text"),
    ColumnType.INT32: (_Data.INT32, "i32"),
    ColumnType.INT64: (_Data.INT64, "i64"),
    ColumnType.UINT64: (_Data.UINT64, "u64"),
    ColumnType.FLOAT64: (_Data.FLOAT64, "f64"),
    ColumnType.BOOLEAN: (_Data.BOOLEAN, "boolean"),
    ColumnType.TIMESTAMP: (_Data.TIMESTAMP_MILLISECOND, "ts_ms"),
}


@dataclass(frozen=True, slots=True)
class Put:
    """Rows of one write; the first has this sequence number, the others those after it."""

    sequence: int
    rows: tuple[Row, ...]

    @property
    def next_sequence(self) -> int:
        """The number of the write after it."""
        return self.sequence + len(self.rows)


def encode_put(schema: Schema, put: Put) -> bytes:
    """The payload of an entry with one mutation."""
    fields = [_WIRE[column.type][1] for column in schema.columns]
    rows = [_wire_row(fields, row) for row in put.rows]
    wire = pb.Rows(schema=_wire_schema(schema), rows=rows)
    mutation = pb.Mutation(op_type=pb.Mutation.OpType.PUT, sequence=put.sequence, rows=wire)
    return encode_entry(pb.WalEntry(mutations=[mutation]))


def decode_puts(schema: Schema, payload: bytes, offset: int) -> list[Put]:
    """The writes of an entry; what refdb never writes is refused, because to skip it would be to lose it."""
    entry = decode_entry(payload, offset=offset)
    if entry.bulk_entries:
        raise RegionFatalError(f"offset {offset}: refdb cannot apply bulk entries")
    wire = _wire_schema(schema)
    puts = []
    for mutation in entry.mutations:
        if mutation.op_type != pb.Mutation.OpType.PUT or list(mutation.rows.schema) != wire:
            raise RegionFatalError(f"offset {offset}: not a PUT of this table's columns")
        rows = tuple(_row(row, len(wire), offset) for row in mutation.rows.rows)
        puts.append(Put(mutation.sequence, rows))
    return puts


def _row(row: pb.Row, width: int, offset: int) -> Row:
    if len(row.values) != width:
        raise RegionFatalError(f"offset {offset}: a row of {len(row.values)} values, not {width}")
    return tuple(getattr(value, field) if (field := value.WhichOneof("data")) else None for value in row.values)


def _wire_row(fields: Sequence[str], row: Row) -> pb.Row:
    return pb.Row(values=[pb.Value(**{field: value}) for field, value in zip(fields, row, strict=True)])  # type: ignore[arg-type]


def _wire_schema(schema: Schema) -> list[pb.ColumnSchema]:
    semantic = dict.fromkeys(schema.primary_key, _Semantic.TAG) | {schema.time_index: _Semantic.TIMESTAMP}
    return [
        pb.ColumnSchema(
            column_name=column.name,
            datatype=_WIRE[column.type][0],
            semantic_type=semantic.get(column.name, _Semantic.FIELD),
        )
        for column in schema.columns
    ]
