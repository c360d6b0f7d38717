"""Record batches of the source's log, as a fetch returns them, and as the target gets them.

Format: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import google_crc32c

from sparkjob.wire.batches import Batch

_HEAD = struct.Struct(">qiibIhiqqqhii")
_LENGTH_ENDS = 12
"""A batch's length is counted from here."""
_CRC_FROM = 21
_MAGIC = 2
_CODEC_BITS, _LOG_APPEND_TIME, _CONTROL, _DELETE_HORIZON = 0x07, 0x08, 0x20, 0x40


class Damaged(Exception):  # noqa: N818 - what it is
    """Bytes are no batch, or not those that were written."""


class LogBatch(NamedTuple):
    """A batch of a log.

    Attributes:
        base, end: its offsets [base, end).
        number: of its records: fewer than offsets, where a log was compacted.
        records: their bytes, as they are compressed.
        epoch: of the leader that appended it.
    """

    base: int
    end: int
    attributes: int
    first_timestamp: int
    most_timestamp: int
    number: int
    records: bytes
    epoch: int

    @property
    def size(self) -> int:
        """Its bytes in the log."""
        return _HEAD.size + len(self.records)

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing that a reader is given: a marker of a transaction, or what compaction left."""
        return bool(self.attributes & _CONTROL) or self.number == 0

    @property
    def passes(self) -> bool:
        """Whether its records can be sent as they are.

        LogAppendTime lives in the attributes, which a producer must not set; its records have the times of their
        producer. A batch that was compacted has fewer records than offsets, and no broker takes one.
        """
        return not self.attributes & (_LOG_APPEND_TIME | _DELETE_HORIZON) and self.number == self.end - self.base

    def to_batch(self) -> Batch:
        """As it is sent: without the bits of the transaction that it was written in."""
        attributes = self.attributes & _CODEC_BITS
        return Batch(self.number, self.first_timestamp, self.most_timestamp, attributes, self.records)


def split(content: bytes) -> Iterator[LogBatch]:
    """The batches of a fetch; the last one may be cut off, and is left out then.

    Raises:
        Damaged: the bytes are not what was written, or of a format before Kafka 0.11.
    """
    at = 0
    while at + _HEAD.size <= len(content):
        base, length, epoch, magic, crc, attributes, delta, first, most, *_, count = _HEAD.unpack_from(content, at)
        end = at + _LENGTH_ENDS + length
        if magic != _MAGIC or length < _HEAD.size - _LENGTH_ENDS:
            raise Damaged(f"the batch at offset {base} has format {magic}, and {_MAGIC} is what this program reads")
        if end > len(content):
            return
        if google_crc32c.value(content[at + _CRC_FROM : end]) != crc:
            raise Damaged(f"the batch at offset {base} has another checksum than its bytes")
        records = content[at + _HEAD.size : end]
        yield LogBatch(base, base + delta + 1, attributes, first, most, count, records, epoch)
        at = end
