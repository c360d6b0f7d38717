"""The key of a record: a JSON object in exactly the bytes that the database writes."""

import json
from dataclasses import dataclass
from typing import Any

from walrecord.errors import IdOutOfRange, InvalidKey, UnknownRecordType, UnsupportedVersion

VERSION = 0
MAX_U64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Full:
    """The record holds a whole entry."""


@dataclass(frozen=True, slots=True)
class First:
    """The first part of an entry."""


@dataclass(frozen=True, slots=True)
class Middle:
    """A part between the first and the last; the first of them has number 1."""

    number: int


@dataclass(frozen=True, slots=True)
class Last:
    """The last part of an entry; its offset is the entry's id."""


RecordType = Full | First | Middle | Last

_NAMED: dict[str, RecordType] = {"Full": Full(), "First": First(), "Last": Last()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKey:
    """Which region a record belongs to and which part of an entry it holds.

    `entry_id` and `topic` are 0 and "" in what is written today; old records carry real ones. Readers ignore both.
    """

    region_id: int
    type: RecordType
    entry_id: int = 0
    topic: str = ""
    version: int = VERSION


def encode_key(key: RecordKey) -> bytes:
    """The key's bytes.

    Raises:
        RecordError: It could not be read back.
    """
    _check_u64(key.region_id, "region id", None)
    _check_u64(key.entry_id, "entry id", None)
    if key.version != VERSION:
        raise UnsupportedVersion(f"version {key.version} is not {VERSION}")
    try:
        topic = json.dumps(key.topic, ensure_ascii=False).encode() if key.topic else b'""'
    except UnicodeEncodeError as error:
        raise InvalidKey("the topic is not valid Unicode") from error
    return b'{"version":%d,"tp":%b,"entry_id":%d,"ns":{"region_id":%d,"topic":%b}}' % (
        key.version,
        _encode_type(key.type),
        key.entry_id,
        key.region_id,
        topic,
    )


def decode_key(key: bytes, *, offset: int | None = None) -> RecordKey:
    """Read a key; members that it does not know are ignored.

    Raises:
        RecordError: It is not a key; the error names the offset.
    """
    try:
        fields = json.loads(key.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidKey("the key is not JSON", offset) from error
    version = _member(fields, "version", int, offset)
    if version != VERSION:
        raise UnsupportedVersion(f"version {version} is not {VERSION}", offset)
    namespace = _member(fields, "ns", dict, offset)
    topic = _member(namespace, "topic", str, offset)
    if not topic.isascii() and any("\ud800" <= character <= "\udfff" for character in topic):
        raise InvalidKey("the topic is not valid Unicode", offset)
    return RecordKey(
        region_id=_check_u64(_member(namespace, "region_id", int, offset), "region id", offset),
        type=_decode_type(_member(fields, "tp", None, offset), offset),
        entry_id=_check_u64(_member(fields, "entry_id", int, offset), "entry id", offset),
        topic=topic,
        version=version,
    )


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the database's reader (serde) refuses one that has a member twice, and Python takes the last."""
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a member comes twice")
    return found


def _no_constant(name: str) -> Any:
    """NaN and Infinity, which Python's JSON has and JSON has not."""
    raise ValueError(f"{name} is no JSON")


def _encode_type(record_type: RecordType) -> bytes:
    match record_type:
        case Full():
            return b'"Full"'
        case First():
            return b'"First"'
        case Last():
            return b'"Last"'
        case Middle(number):
            if not 1 <= number <= MAX_U64:
                raise UnknownRecordType(f"Middle has no number {number}")
            return b'{"Middle":%d}' % number


def _decode_type(value: object, offset: int | None) -> RecordType:
    match value:
        case str() if value in _NAMED:
            return _NAMED[value]
        case {"Middle": int(number), **others} if not others and type(number) is int and 1 <= number <= MAX_U64:
            return Middle(number)
        case _:
            raise UnknownRecordType(f"the type {_shown(value)} is none of Full, First, Middle and Last", offset)


def _member(fields: Any, name: str, kind: type | None, offset: int | None) -> Any:
    """A member of a JSON object, exactly of this type: JSON's true is no number."""
    if type(fields) is not dict or name not in fields:
        raise InvalidKey(f"the key has no {name}", offset)
    if kind is not None and type(fields[name]) is not kind:
        raise InvalidKey(f"{name} in the key is {_shown(fields[name])}", offset)
    return fields[name]


def _check_u64(number: int, what: str, offset: int | None) -> int:
    if not 0 <= number <= MAX_U64:
        raise IdOutOfRange(f"the {what} {_shown(number)} does not fit 64 unsigned bits", offset)
    return number


def _shown(value: object) -> str:
    """The start of a value, for a sentence; `ascii`, because a log need not be able to write what came."""
    try:
        return ascii(value)[:40]
    except (ValueError, RecursionError):  # an int with thousands of digits, a list in a list in a list …
        return f"a {type(value).__name__}"
