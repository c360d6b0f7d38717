"""An entry as records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wal_entries import REGION

from walrecord import KEY_RESERVE, First, Full, IdOutOfRange, Last, Middle, Record, RecordType, decode_key, split


def types_of(payload: bytes, max_batch_bytes: int) -> list[RecordType]:
    return [decode_key(record.key).type for record in split(REGION, payload, max_batch_bytes)]


@pytest.mark.parametrize(
    ("length", "types"),
    [
        (0, [Full()]),
        (1, [Full()]),
        (10, [Full()]),
        (11, [First(), Last()]),
        (20, [First(), Last()]),
        (21, [First(), Middle(1), Last()]),
        (31, [First(), Middle(1), Middle(2), Last()]),
    ],
)
def test_the_parts_of_a_payload(length: int, types: list[RecordType]) -> None:
    assert types_of(bytes(length), KEY_RESERVE + 10) == types


def test_an_entry_of_the_default_batch_is_one_record() -> None:
    assert types_of(bytes(2**20 - 256), 2**20) == [Full()]
    assert types_of(bytes(2**20 - 255), 2**20) == [First(), Last()]


def test_the_records_byte_for_byte() -> None:
    assert split(REGION, b"abc", KEY_RESERVE + 2) == [
        Record(b'{"version":0,"tp":"First","entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}', b"ab"),
        Record(b'{"version":0,"tp":"Last","entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}', b"c"),
    ]


@given(st.binary(max_size=200), st.integers(1, 50))
def test_the_parts_join_to_the_payload(payload: bytes, size: int) -> None:
    records = split(REGION, payload, KEY_RESERVE + size)
    assert b"".join(record.value for record in records) == payload
    assert all(len(record.value) <= size for record in records)
    assert all(record.value for record in records) or payload == b""


def test_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 256"):
        split(REGION, b"", KEY_RESERVE)


def test_a_region_id_out_of_range_is_refused() -> None:
    with pytest.raises(IdOutOfRange):
        split(2**64, b"", 1000)
