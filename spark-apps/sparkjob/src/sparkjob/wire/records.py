"""A record of a log, and the digest by which two stretches of records are the same.

The digest is SHA-256 over each record's offset, timestamp, timestamp type, key, value and headers, every part with its
length before it (-1: null): so null differs from empty, and no part can end where another one begins.
"""

from __future__ import annotations

import gc
import hashlib
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

Headers = list[tuple[str, bytes | None]] | None
NULL = -1
_HEAD, _LENGTH = struct.Struct("<qqbi"), struct.Struct("<q")


class Record(NamedTuple):
    """One record.

    Attributes:
        timestamp: milliseconds since 1970; -1: the record has none.
        timestamp_type: 0: none, 1: CreateTime, 2: LogAppendTime, as librdkafka numbers them.
        headers: in their order, a key may come again; None: there are none.
    """

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def digest_of(records: Iterable[Record]) -> str:
    """The digest of records, in this order."""
    sha = hashlib.sha256()
    for record in records:
        sha.update(encode(record))
    return sha.hexdigest()


def encode(record: Record) -> bytes:
    """The bytes of a record that its digest is made of."""
    offset, timestamp, timestamp_type, key, value, headers = record
    own = (
        _HEAD.pack(offset, timestamp, timestamp_type, NULL if headers is None else len(headers)),
        _LENGTH.pack(NULL if key is None else len(key)),
        key or b"",
        _LENGTH.pack(NULL if value is None else len(value)),
        value or b"",
    )
    if headers is None:
        return b"".join(own)
    parts = list(own)
    for name, content in headers:
        encoded = name.encode()
        parts += [_LENGTH.pack(len(encoded)), encoded]
        parts += [_LENGTH.pack(NULL if content is None else len(content)), content or b""]
    return b"".join(parts)


def size_of(record: Record) -> int:
    """Bytes of keys, values and headers."""
    _, _, _, key, value, headers = record
    own = (0 if key is None else len(key)) + (0 if value is None else len(value))
    if headers is None:  # each record passes here, and few have headers
        return own
    return own + sum(len(name) + len(content or b"") for name, content in headers)


def most_in_batch(record: Record, size: int) -> int:
    """Bytes that a batch with this record alone has at most, of which a handful may be too many; `size` is its own.

    A batch has 61 bytes and a record 16 at most beside its content; a header has 8 of lengths.
    """
    return size + 77 + (8 * len(record.headers) if record.headers else 0)


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Records refer to nothing that refers to them: to search them for cycles took a third of a task's CPU."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
