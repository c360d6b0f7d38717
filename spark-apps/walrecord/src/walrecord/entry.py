"""The payload of an entry: a WalEntry in protobuf."""

from google.protobuf.message import DecodeError

from walrecord.errors import InvalidEntry
from walrecord.pb.wal_pb2 import WalEntry

_VARINT, _I64, _LENGTH, _I32 = 0, 1, 2, 5  # wire types
_FIXED_SIZE = {_I64: 8, _I32: 4}
_MAX_VARINT = 10


def encode_entry(entry: WalEntry) -> bytes:
    """The payload of an entry."""
    return entry.SerializeToString()


def decode_entry(payload: bytes, *, offset: int | None = None) -> WalEntry:
    """Read a payload.

    Raises:
        RecordError: It is truncated or no WalEntry; the error names the offset.
    """
    try:
        return WalEntry.FromString(payload)
    except DecodeError as error:
        raise InvalidEntry("the value is not a whole WalEntry", offset) from error


def is_framed(payload: bytes) -> bool:
    """Whether the outermost fields end exactly where the payload ends.

    Much cheaper than decoding: it reads a few bytes of each mutation and skips the rest.
    """
    at = 0
    while at < len(payload):
        tag, at = _varint(payload, at)
        wire_type = tag & 7
        if wire_type == _LENGTH:
            length, at = _varint(payload, at)
            at += length
        elif wire_type == _VARINT:
            _, at = _varint(payload, at)
        else:
            at += _FIXED_SIZE.get(wire_type, len(payload) + 1)
        if tag >> 3 == 0:
            return False
    return at == len(payload)


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """The number that starts at an index, and the index after it, which is beyond the end if there is no number."""
    value = 0
    for position, byte in enumerate(payload[at : at + _MAX_VARINT]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:  # noqa: PLR2004 - the bit that says: more follows
            return value, at + position + 1
    return value, len(payload) + 1
