"""The key of a record: the database's bytes, and nothing but RecordError for what is no key."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wal_entries import REGION, TYPES, U64

from walrecord import (
    First,
    Full,
    IdOutOfRange,
    InvalidKey,
    Last,
    Middle,
    RecordError,
    RecordKey,
    RecordType,
    UnknownRecordType,
    UnsupportedVersion,
    decode_key,
    encode_key,
)

VECTORS: list[tuple[RecordType, bytes]] = [
    (Full(), b'{"version":0,"tp":"Full","entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}'),
    (First(), b'{"version":0,"tp":"First","entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}'),
    (Middle(1), b'{"version":0,"tp":{"Middle":1},"entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}'),
    (Last(), b'{"version":0,"tp":"Last","entry_id":0,"ns":{"region_id":4398046511105,"topic":""}}'),
]
KEYS = st.builds(RecordKey, region_id=U64, type=TYPES, entry_id=U64, topic=st.text(st.characters(codec="utf-8")))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["Full", "Last"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Middle", "topic"]), inner, max_size=1)
    ),
    max_leaves=4,
)


def changed(**members: Any) -> bytes:
    """A good key but for these members."""
    fields = {"version": 0, "tp": "Full", "entry_id": 0, "ns": {"region_id": 1, "topic": ""}, **members}
    return json.dumps(fields).encode()


@pytest.mark.parametrize(("record_type", "key"), VECTORS)
def test_the_bytes_are_the_databases(record_type: RecordType, key: bytes) -> None:
    assert encode_key(RecordKey(region_id=REGION, type=record_type)) == key
    assert decode_key(key) == RecordKey(region_id=REGION, type=record_type)


def test_u64_is_written_in_full() -> None:
    key = encode_key(RecordKey(region_id=2**64 - 1, type=Middle(2**64 - 1)))
    assert key == (
        b'{"version":0,"tp":{"Middle":18446744073709551615},"entry_id":0,'
        b'"ns":{"region_id":18446744073709551615,"topic":""}}'
    )
    assert len(key) < 256


@given(KEYS)
@example(RecordKey(region_id=0, type=Full(), entry_id=2**64 - 1, topic='a "\\\n\x00\x7f\u2028é'))
def test_round_trip(key: RecordKey) -> None:
    assert decode_key(encode_key(key)) == key


def test_strings_are_escaped_as_serde_does() -> None:
    key = RecordKey(region_id=1, type=Full(), topic='"\\\b\f\n\r\t\x00\x1f\x7fé😀/')
    assert b'"topic":"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\x7f' + "é😀/".encode() + b'"' in encode_key(key)


def test_an_old_key_with_an_entry_id_and_a_topic_is_read() -> None:
    key = b'{"version":0,"tp":"Full","entry_id":7,"ns":{"region_id":1,"topic":"wal_3"}}'
    assert decode_key(key) == RecordKey(region_id=1, type=Full(), entry_id=7, topic="wal_3")


def test_order_space_and_unknown_members_do_not_matter() -> None:
    key = b' {"ns": {"topic": "", "region_id": 1, "zone": 2}, "entry_id": 0, "tp": "Last", "version": 0, "more": []}\n'
    assert decode_key(key) == RecordKey(region_id=1, type=Last())


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (b"", InvalidKey),
        (b"\xff", InvalidKey),
        (b"null", InvalidKey),
        (b"[" * 100_000, InvalidKey),
        (b"9" * 5000, InvalidKey),
        (VECTORS[0][1][:-1], InvalidKey),
        (b'{"version":0,' + VECTORS[0][1][1:], InvalidKey),  # serde refuses a member that comes twice
        (b'{"more":NaN,' + VECTORS[0][1][1:], InvalidKey),
        (b'{"version":0}', InvalidKey),
        (changed(version=False), InvalidKey),
        (changed(version=0.0), InvalidKey),
        (changed(version=1), UnsupportedVersion),
        (changed(version=-1), UnsupportedVersion),
        (changed(tp="full"), UnknownRecordType),
        (changed(tp=None), UnknownRecordType),
        (changed(tp={"Middle": 0}), UnknownRecordType),
        (changed(tp={"Middle": True}), UnknownRecordType),
        (changed(tp={"Middle": 2**64}), UnknownRecordType),
        (changed(tp={"Middle": 1, "Last": 2}), UnknownRecordType),
        (changed(tp={"First": 1}), UnknownRecordType),
        (changed(entry_id=2**64), IdOutOfRange),
        (changed(entry_id="0"), InvalidKey),
        (changed(ns=None), InvalidKey),
        (changed(ns={"region_id": 1}), InvalidKey),
        (changed(ns={"region_id": -1, "topic": ""}), IdOutOfRange),
        (changed(ns={"region_id": 2**64, "topic": ""}), IdOutOfRange),
        (changed(ns={"region_id": 1.0, "topic": ""}), InvalidKey),
        (changed(ns={"region_id": 1, "topic": "\ud800"}), InvalidKey),
    ],
)
def test_what_is_no_key_is_named_with_its_offset(key: bytes, error: type[RecordError]) -> None:
    with pytest.raises(RecordError, match=r"^offset 42: ") as raised:
        decode_key(key, offset=42)
    assert type(raised.value) is error
    assert raised.value.offset == 42
    assert len(raised.value.reason) < 120


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (RecordKey(region_id=2**64, type=Full()), IdOutOfRange),
        (RecordKey(region_id=-1, type=Full()), IdOutOfRange),
        (RecordKey(region_id=1, type=Full(), entry_id=-1), IdOutOfRange),
        (RecordKey(region_id=1, type=Middle(0)), UnknownRecordType),
        (RecordKey(region_id=1, type=Middle(2**64)), UnknownRecordType),
        (RecordKey(region_id=1, type=Full(), version=1), UnsupportedVersion),
        (RecordKey(region_id=1, type=Full(), topic="\ud800"), InvalidKey),
    ],
)
def test_what_could_not_be_read_back_is_not_written(key: RecordKey, error: type[RecordError]) -> None:
    with pytest.raises(error) as raised:
        encode_key(key)
    assert raised.value.offset is None


def _decodes_or_says_why(key: bytes) -> None:
    with suppress(RecordError):
        decoded = decode_key(key, offset=1)
        assert decode_key(encode_key(decoded)) == decoded


@given(st.binary())
def test_bytes_give_a_key_or_a_record_error(key: bytes) -> None:
    _decodes_or_says_why(key)


@given(
    st.dictionaries(st.sampled_from(["version", "tp", "entry_id"]), JSON),
    st.dictionaries(st.sampled_from(["region_id", "topic"]), JSON) | JSON,
)
def test_json_gives_a_key_or_a_record_error(members: dict[str, Any], namespace: Any) -> None:
    _decodes_or_says_why(changed(**members))
    _decodes_or_says_why(changed(**members, ns=namespace))


@given(st.sampled_from(VECTORS), st.data())
def test_a_damaged_key_gives_a_key_or_a_record_error(vector: tuple[RecordType, bytes], data: st.DataObject) -> None:
    damaged = bytearray(vector[1])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    _decodes_or_says_why(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    _decodes_or_says_why(bytes(damaged))
