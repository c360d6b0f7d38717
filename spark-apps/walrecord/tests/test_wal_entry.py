"""The payload: the format's field numbers as bytes written by hand, and 64-bit extremes."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wal_entries import U64, make_payload

from walrecord import InvalidEntry, RecordError, decode_entry, encode_entry, is_framed
from walrecord.pb.wal_pb2 import (
    ArrowIpc,
    BulkMutation,
    ColumnSchema,
    Decimal128,
    Mutation,
    Row,
    Rows,
    Value,
    WalEntry,
    WriteHint,
)

I64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), -1, 2**63 - 1])
VALUES: list[st.SearchStrategy[Value]] = [
    st.just(Value()),
    st.builds(lambda n: Value(u64=n), U64),
    st.builds(lambda n: Value(i64=n), I64),
    st.builds(lambda n: Value(ts_ns=n), I64),
    st.builds(lambda n: Value(f64=n), st.floats(allow_nan=False)),
    st.builds(lambda text: Value(text=text), st.text(st.characters(codec="utf-8"))),
    st.builds(lambda data: Value(binary=data), st.binary()),
    st.builds(lambda hi, lo: Value(decimal128=Decimal128(hi=hi, lo=lo)), I64, I64),
]
ROWS = st.builds(
    lambda name, rows: Rows(
        schema=[ColumnSchema(column_name=name, datatype=ColumnSchema.UINT64, semantic_type=ColumnSchema.TIMESTAMP)],
        rows=[Row(values=values) for values in rows],
    ),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.lists(st.lists(st.one_of(VALUES), max_size=3), max_size=3),
)
MUTATIONS = st.builds(
    lambda op, sequence, rows: Mutation(
        op_type=op, sequence=sequence, rows=rows, write_hint=WriteHint(primary_key_encoding=WriteHint.SPARSE)
    ),
    st.sampled_from([Mutation.PUT, Mutation.DELETE]),
    U64,
    ROWS,
)
BULKS = st.builds(
    lambda sequence, max_ts, min_ts, payload: BulkMutation(
        sequence=sequence, max_ts=max_ts, min_ts=min_ts, timestamp_index=1, arrow_ipc=ArrowIpc(payload=payload)
    ),
    U64,
    I64,
    I64,
    st.binary(),
)
ENTRIES = st.builds(
    lambda mutations, bulks: WalEntry(mutations=mutations, bulk_entries=bulks),
    st.lists(MUTATIONS, max_size=3),
    st.lists(BULKS, max_size=2),
)

BY_HAND = bytes.fromhex(
    "0a 29"  # 1: a mutation of 41 bytes
    " 08 01"  # 1: PUT
    " 10 ff ff ff ff ff ff ff ff ff 01"  # 2: sequence 2^64 - 1
    " 1a 16"  # 3: rows of 22 bytes
    " 0a 07 0a 01 61 10 08 18 01"  # 1: a column named "a", UINT64, FIELD
    " 12 0b 0a 09 40 80 80 80 80 80 80 80 01"  # 2: a row: one value of 9 bytes, u64 = 2^49
    " 22 02 08 01"  # 4: write hint SPARSE
)


def test_bytes_written_by_hand() -> None:
    entry = decode_entry(BY_HAND)
    assert entry == WalEntry(
        mutations=[
            Mutation(
                op_type=Mutation.PUT,
                sequence=2**64 - 1,
                rows=Rows(
                    schema=[
                        ColumnSchema(column_name="a", datatype=ColumnSchema.UINT64, semantic_type=ColumnSchema.FIELD)
                    ],
                    rows=[Row(values=[Value(u64=2**49)])],
                ),
                write_hint=WriteHint(primary_key_encoding=WriteHint.SPARSE),
            )
        ]
    )
    assert encode_entry(entry) == BY_HAND


def test_a_bulk_entry_written_by_hand() -> None:
    payload = bytes.fromhex("12 14 08 05 10 09 18 07 20 02 2a 0a 0a 02 00 01 12 00 1a 02 fe ff")
    entry = decode_entry(payload)
    assert [bulk.sequence for bulk in entry.bulk_entries] == [5]
    bulk = entry.bulk_entries[0]
    assert (bulk.max_ts, bulk.min_ts, bulk.timestamp_index) == (9, 7, 2)
    assert (bulk.arrow_ipc.schema, bulk.arrow_ipc.payload) == (b"\x00\x01", b"\xfe\xff")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (Value(i8=1), 1),
        (Value(i16=1), 2),
        (Value(i32=1), 3),
        (Value(i64=1), 4),
        (Value(u8=1), 5),
        (Value(u16=1), 6),
        (Value(u32=1), 7),
        (Value(u64=1), 8),
        (Value(f32=1), 9),
        (Value(f64=1), 10),
        (Value(boolean=True), 11),
        (Value(binary=b"1"), 12),
        (Value(text="1"), 13),
        (Value(date=1), 14),
        (Value(datetime=1), 15),
        (Value(ts_s=1), 16),
        (Value(ts_ms=1), 17),
        (Value(ts_us=1), 18),
        (Value(ts_ns=1), 19),
        (Value(time_s=1), 20),
        (Value(time_ns=1), 23),
        (Value(interval_year_month=1), 24),
        (Value(decimal128=Decimal128(hi=1)), 31),
    ],
)
def test_the_field_number_of_a_value(value: Value, number: int) -> None:
    encoded = value.SerializeToString()
    tag = encoded[0] if encoded[0] < 0x80 else encoded[0] & 0x7F | encoded[1] << 7
    assert tag >> 3 == number


@given(ENTRIES)
def test_round_trip(entry: WalEntry) -> None:
    payload = encode_entry(entry)
    assert decode_entry(payload) == entry
    assert is_framed(payload)


def test_unknown_fields_survive() -> None:
    payload = BY_HAND + bytes.fromhex("fa 06 02 68 69")  # 111: "hi"
    assert encode_entry(decode_entry(payload)) == payload
    assert is_framed(payload)


@pytest.mark.parametrize("read", [decode_entry, is_framed])
def test_every_truncation_is_seen(read: Callable[[bytes], object]) -> None:
    for end in range(1, len(BY_HAND)):
        try:
            assert read(BY_HAND[:end]) is False
        except InvalidEntry:
            assert read is decode_entry


def test_a_truncated_entry_is_named_with_its_offset() -> None:
    with pytest.raises(InvalidEntry, match=r"^offset 7: "):
        decode_entry(make_payload(parts=3)[:-1], offset=7)


@pytest.mark.parametrize("payload", [b"\x00", b"\x02\x00", b"\x0b", b"\x0f", b"\x80" * 11, b"\x09\x00", b"\x0a\x80"])
def test_what_is_not_framed(payload: bytes) -> None:
    assert not is_framed(payload)


@pytest.mark.parametrize("payload", [b"", b"\x09" + bytes(8), b"\x0d" + bytes(4), b"\x08\x80\x01"])
def test_what_is_framed(payload: bytes) -> None:
    assert is_framed(payload)


@given(st.binary())
def test_bytes_give_an_entry_or_a_record_error(payload: bytes) -> None:
    is_framed(payload)
    with suppress(RecordError):
        decode_entry(payload, offset=1)
