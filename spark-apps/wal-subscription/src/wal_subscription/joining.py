"""Small batches that follow each other become one: a request costs about the same for one record as for thousands.

Only where a record stands in its batch is written anew (the deltas of offset and timestamp); key, value and headers are
copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sparkjob.wire.batches import batch_of, varint
from wal_subscription.log_batches import LogBatch

MOST_SMALL_BYTES = 2_048
"""A larger batch is sent as it is."""
MOST_JOINED_BYTES = 256 << 10
"""Of the batches that become one, as they are in the log."""
_CODEC_BITS = 0x07
_CODECS = {1: "gzip", 3: "lz4", 4: "zstd"}
"""Those that need no more than their name. Kafka puts snappy into a frame of its own: such batches are not joined."""
_MORE, _SEVEN = 0x80, 0x7F


def joined(batches: Iterable[LogBatch]) -> Iterator[LogBatch]:
    """The same records at the same offsets, in fewer batches where there are small ones."""
    group, size = list[LogBatch](), 0
    for batch in batches:
        is_next = not group or (group[-1].end == batch.base and size + batch.size <= MOST_JOINED_BYTES)
        if not (is_small(batch) and is_next):
            yield from _one(group)
            group, size = [], 0
        if is_small(batch):
            group.append(batch)
            size += batch.size
        else:
            yield batch
    yield from _one(group)


def is_small(batch: LogBatch) -> bool:
    """Whether it may be joined with others."""
    codec = batch.attributes & _CODEC_BITS
    passes = batch.passes and not batch.is_empty
    return passes and batch.size <= MOST_SMALL_BYTES and (codec == 0 or codec in _CODECS)


def _one(group: Sequence[LogBatch]) -> Iterator[LogBatch]:
    if len(group) < 2:  # noqa: PLR2004 - nothing to join
        yield from group
        return
    first, records, number = group[0].first_timestamp, bytearray(), 0
    epoch = max(batch.epoch for batch in group)
    for batch in group:
        number = _copy(batch, first, records, number)
    most = max(batch.most_timestamp for batch in group)
    made = batch_of(number, first, most, bytes(records))
    yield LogBatch(group[0].base, group[-1].end, made.attributes, first, most, number, made.records, epoch)


def _copy(batch: LogBatch, first: int, records: bytearray, number: int) -> int:
    """Appends a batch's records; the number of all that there are then."""
    plain, at, later = _plain(batch), 0, batch.first_timestamp - first
    for _ in range(batch.number):
        length, begin = _number_at(plain, at)
        delta, after = _number_at(plain, begin + 1)  # behind the attributes, of which there are none
        _, content = _number_at(plain, after)
        at = begin + length
        head = b"\x00" + varint(delta + later) + varint(number)
        records += varint(len(head) + at - content) + head + plain[content:at]
        number += 1
    return number


def _plain(batch: LogBatch) -> bytes:
    codec = _CODECS.get(batch.attributes & _CODEC_BITS)
    if codec is None:
        return batch.records
    with pa.CompressedInputStream(pa.BufferReader(batch.records), codec) as stream:
        return bytes(stream.read())


def _number_at(content: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    found = shift = 0
    while (byte := content[at]) & _MORE:
        found |= (byte & _SEVEN) << shift
        shift += 7
        at += 1
    found |= byte << shift
    return (found >> 1) ^ -(found & 1), at + 1
