"""Kafka's record batches, version 2, as a producer sends them: what Kafka's own clients do not let one say.

librdkafka takes timestamp 0 for "now", needs a call for each record of a padding, and calls topics by their names. A
batch that is made here carries any timestamp, and the producer's sequence: sent twice, it is appended once.
Format: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import google_crc32c
import pyarrow as pa

from sparkjob.wire.records import Headers, Record

MOST_NULLS = 100_000
"""Records of one batch of padding: 59 KB."""
MOST_BYTES = 1 << 20
"""Of one batch before it is compressed, unless one record has more: what is in memory once more while it is sent."""
MOST_FILLED = 1_000
"""A longer hole between two records is batches of its own."""
_BEFORE_CRC, _AFTER_CRC = struct.Struct(">qiibI"), struct.Struct(">hiqqqhii")
_LEADER_EPOCH, _MAGIC, _ZSTD = 0, 2, 4
_HEAD_BYTES = _BEFORE_CRC.size + _AFTER_CRC.size
_BEFORE_LENGTH_ENDS = 12
"""A batch's length is counted from here."""
_CODEC = pa.Codec("zstd", compression_level=1)
"""A batch of records is no smaller with a higher level, and takes longer."""
_CODEC_OF_NULLS = pa.Codec("zstd", compression_level=3)
"""Of levels 1 to 19 it makes the smallest padding: 0.6 bytes a record, and 0.8 with each other one."""
_NULL, _NO_HEADERS = b"\x01", b"\x00"


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that are appended together.

    Attributes:
        count: how many they are.
        first_timestamp, most_timestamp: of the first record, and the latest of all; ms.
        attributes: how the records are compressed, in Kafka's bits.
        records: their bytes.
    """

    count: int
    first_timestamp: int
    most_timestamp: int
    attributes: int
    records: bytes

    @property
    def size(self) -> int:
        """Bytes of the batch as it is sent, which `max.message.bytes` is compared with."""
        return _HEAD_BYTES + len(self.records)


class Producer(NamedTuple):
    """Whom Kafka takes a sequence of batches from."""

    id: int
    epoch: int


def to_bytes(batch: Batch, producer: Producer, sequence: int) -> bytes:
    """The batch as it is sent; `sequence` is the number of records that this producer sent before it."""
    head = _AFTER_CRC.pack(
        batch.attributes,
        batch.count - 1,
        batch.first_timestamp,
        batch.most_timestamp,
        producer.id,
        producer.epoch,
        sequence & 0x7FFFFFFF,  # after the highest number comes 0
        batch.count,
    )
    crc = google_crc32c.extend(google_crc32c.value(head), batch.records)
    length = _HEAD_BYTES - _BEFORE_LENGTH_ENDS + len(batch.records)
    return _BEFORE_CRC.pack(0, length, _LEADER_EPOCH, _MAGIC, crc) + head + batch.records


def nulls(count: int, timestamp: int, most_bytes: int = MOST_BYTES) -> Iterator[Batch]:
    """Batches of so many records without key and value, which readers of a WAL skip."""
    most = MOST_NULLS
    while count > 0:
        size = min(count, most)
        batch = Batch(size, timestamp, timestamp, _ZSTD, _null_records(size))
        if batch.size > most_bytes and size > 1:
            most = size // 2
            continue
        yield batch
        count -= size


def batches(records: Iterable[Record], position: int, most_bytes: int) -> Iterator[Batch]:
    """Records as batches that follow each other without a hole; where offsets are missing come records of null.

    Args:
        records: of rising offsets, none before `position`.
        position: the offset of the first record of the first batch.
        most_bytes: of one batch, if it has several records.

    Raises:
        ValueError: a record belongs before `position`.
    """
    made = _OpenBatch(min(most_bytes, MOST_BYTES) - _HEAD_BYTES)
    timestamp = 0
    for record in records:
        hole = record.offset - position
        if hole < 0:
            raise ValueError(f"offset {record.offset} comes where {position} must be")
        if hole > MOST_FILLED:
            yield from made.close()
            yield from nulls(hole, timestamp, most_bytes)
            hole = 0
        for _ in range(hole):
            if not made.add(timestamp, None, None, None):
                yield from made.close()
                made.add(timestamp, None, None, None)
        timestamp = record.timestamp
        if not made.add(timestamp, record.key, record.value, record.headers):
            yield from made.close()
            made.add(timestamp, record.key, record.value, record.headers)
        position = record.offset + 1
    yield from made.close()


def batch_of(count: int, first_timestamp: int, most_timestamp: int, plain: bytes) -> Batch:
    """A batch of records that are encoded; compressed, if that makes them smaller."""
    compressed = _CODEC.compress(plain, asbytes=True)
    is_smaller = len(compressed) < len(plain)
    attributes, records = (_ZSTD, compressed) if is_smaller else (0, plain)
    return Batch(count, first_timestamp, most_timestamp, attributes, records)


class _OpenBatch:
    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._parts: list[bytes] = []
        self._bytes = self._first = self._most = 0

    def add(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
        """Takes a record; False: the batch is full without it."""
        parts = self._parts
        if not parts:
            self._first = self._most = timestamp
        record = _record(timestamp - self._first, len(parts), key, value, headers)
        size = self._bytes + len(record)
        if size > self._most_bytes and parts:
            return False
        parts.append(record)
        self._bytes = size
        self._most = max(self._most, timestamp)
        return True

    def close(self) -> Iterator[Batch]:
        """What is left."""
        if self._parts:
            yield batch_of(len(self._parts), self._first, self._most, b"".join(self._parts))
        self._parts, self._bytes = [], 0


def _record(delta: int, number: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    body = b"".join(
        (
            b"\x00",  # attributes, of which there are none
            varint(delta),
            varint(number),
            _NULL if key is None else varint(len(key)) + key,
            _NULL if value is None else varint(len(value)) + value,
            _NO_HEADERS if headers is None else _headers(headers),
        )
    )
    return varint(len(body)) + body


def _headers(headers: list[tuple[str, bytes | None]]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += [varint(len(encoded)), encoded, _NULL if value is None else varint(len(value)) + value]
    return b"".join(parts)


@lru_cache(maxsize=4)
def _null_records(count: int) -> bytes:
    plain = b"".join(_record(0, number, None, None, None) for number in range(count))
    return bytes(_CODEC_OF_NULLS.compress(plain, asbytes=True))


def _encode_varint(number: int) -> bytes:
    left, encoded = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:  # noqa: PLR2004 - seven bits a byte
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


_SMALL = tuple(_encode_varint(number) for number in range(16_384))
"""Encoding costs more than all else of a record."""


def varint(number: int) -> bytes:
    """A number as Kafka has it within records: zigzag, seven bits a byte, the lowest first."""
    return _SMALL[number] if 0 <= number < len(_SMALL) else _encode_varint(number)
