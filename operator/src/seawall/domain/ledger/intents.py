"""Intents and the identity fence's records, as they are kept in ConfigMaps.

One record for each topic, in 16 shards, each the binaryData of one ConfigMap, replaced with the resource version as
compare-and-swap. They survive the custom resource. The shard of a topic follows from its name, so that the record of
a topic that was recreated is found and its id compared; the intent counts only for the topic id that it stands
beside.

Layout of a shard, version 3 (big-endian; `varint` is LEB128, unsigned; `zigzag` is a varint of a signed number):

    magic "SWL"   3 bytes
    version       1 byte      2 lacks the flags 32 and 64 and is read, too, as are 3 and 4; all others are refused.
                              4 is written where a record has flag 256 or 512, so that an older Seawall reads all
                              others: one that does not know a flag refuses the shard, and deletes nothing of its topics
    crc32         4 bytes     of all that follows, begun with the version's byte since version 3
    count         varint
    then for each record, sorted by name hash:
    name hash     8 bytes     blake2b of the topic's name
    topic id      16 bytes
    flags         1 byte, since version 4 a varint
                              1 leader epoch known · 2 min flushed known · 4 broken · 8 readopted
                              16 max flushed known · 32 revision known · 64 database known
                              128 it goes with its WALCluster · 256 issued revision known
                              512 time of the readoption known; others are refused
    log start     varint
    end           varint      high watermark less log start
    intent        zigzag      intent less log start
    leader epoch  varint      only with flag 1
    min flushed   zigzag      min flushed less log start; only with flag 2
    max flushed   zigzag      max flushed less log start; only with flag 16
    readopted     4 bytes     crc32 of the last readoption that met the record; only with flag 8
    revision      varint      only with flag 32
    database      8 bytes     blake2b of the metadata store's id; only with flag 64
    going         4 bytes     crc32 of the uid of the WALCluster that it goes with; only with flag 128
    end then      zigzag      where the log ended when that was decided, less log start; only with flag 128
    issued        varint      only with flag 256
    readopted at  varint      only with flag 512
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from seawall.domain.errors import SeawallError
from seawall.domain.kafka import id_text

SHARDS = 16
VERSION = 4
_WITHOUT_ISSUED = 3
_READABLE = (2, _WITHOUT_ISSUED, VERSION)
_WITHOUT_VERSION_IN_CHECKSUM = 2
_MAGIC = b"SWL"
_HEAD = len(_MAGIC) + 1 + 4
_HASH, _ID, _DATABASE_ID = 8, 16, 8
_EPOCH, _MIN_FLUSHED, _BROKEN, _READOPTED, _MAX_FLUSHED, _REVISION, _DATABASE, _GOING, _ISSUED, _READOPTED_AT = (
    1 << bit for bit in range(10)
)
_FLAGS = (1 << 10) - 1
_MAX_VARINT = 10


class UnreadableRecord(SeawallError):  # noqa: N818 - named for what happened
    """A shard is not what this version writes: nothing of its topics may be deleted."""


@dataclass(frozen=True, slots=True)
class Going:
    """That the log goes with a WALCluster, as it was decided when that deletion began."""

    token: int
    """crc32 of the WALCluster's uid: another one, or the same made anew, has decided nothing."""
    end: int
    """Where the log ended then, exclusive."""


@dataclass(frozen=True, slots=True)
class FenceRecord:
    """What is kept of one topic; ids are inclusive offsets, `high_watermark` is exclusive."""

    topic_id: str
    """As Kafka prints it: 22 characters of URL-safe base64."""
    leader_epoch: int | None
    log_start: int
    high_watermark: int
    intent: int
    """deleteUpTo: the highest exclusive offset that was ever meant to be deleted to. It only rises."""
    min_flushed: int | None = None
    """None also while the start of any region is unknown; the other one is known as soon as any region has one."""
    max_flushed: int | None = None
    """The greatest flushed id or checkpoint of any region; both are None as long as the topic has no region."""
    broken: bool = False
    """The identity fence was found broken by two looks: this stands until somebody readopts the topic."""
    readopted: int | None = None
    """crc32 of the last readoption that met this record, whether it started it or not: it adopts a topic once."""
    revision: int | None = None
    """The metadata store's revision when the ids were read; it only rises. None: written by an older Seawall.
    0: no database had been asked yet (`fence.as_met`)."""
    database: bytes | None = None
    """`database_digest` of the store that they were read from."""
    going: Going | None = None
    """None: no deletion was decided. What an older deletion decided, which was called off, stays and counts no more."""
    issued: int | None = None
    """The greatest revision that any writer of the metadata store may have had then; it only rises. None: as above."""
    readopted_at: int | None = None
    """When a person readopted the log, by which this record began (`in_seconds`). None: nobody did, or an older Seawall
    wrote it."""

    def is_good_for(self, topic_id: str | None) -> bool:
        """Whether it is about the log of this topic id, and its fence was not found broken; None is of no log."""
        return self.topic_id == topic_id and not self.broken

    @property
    def is_of_old_format(self) -> bool:
        """Whether a Seawall of before version 4 can read it."""
        return self.issued is None and self.readopted_at is None

    @property
    def issued_revision(self) -> int | None:
        """`issued`, whether it differs or not."""
        return self.revision if self.issued is None else self.issued


Shard = Mapping[bytes, FenceRecord]
"""By name hash."""


def database_digest(store_id: str) -> bytes:
    """What a record keeps of the id of a metadata store."""
    return blake2b(store_id.encode(), digest_size=_DATABASE_ID).digest()


def in_seconds(readopted: datetime) -> int:
    """As a record keeps it: since 1970, rounded up."""
    return math.ceil(readopted.timestamp())


@lru_cache(maxsize=16_384)
def name_hash(topic: str) -> bytes:
    """The key of a topic in its shard."""
    return blake2b(topic.encode(), digest_size=_HASH).digest()


def shard_of(topic: str) -> int:
    """The number of the shard, 0 to 15."""
    return name_hash(topic)[0] % SHARDS


def raise_intent(record: FenceRecord, delete_up_to: int) -> FenceRecord:
    """The record with an intent that is at least this; it never falls."""
    return replace(record, intent=max(record.intent, delete_up_to))


def encode_shard(shard: Shard) -> bytes:
    """The bytes of a shard.

    Raises:
        ValueError: a topic id is none, or an offset is negative.
    """
    version = _WITHOUT_ISSUED if all(record.is_of_old_format for record in shard.values()) else VERSION
    body = b"".join((_varint(len(shard)), *(key + _encode(shard[key], version) for key in sorted(shard))))
    return _MAGIC + bytes([version]) + _checksum(version, body).to_bytes(4) + body


def decode_shard(data: bytes) -> dict[bytes, FenceRecord]:
    """What `encode_shard` wrote.

    Raises:
        UnreadableRecord: another version, or damaged.
    """
    if len(data) < _HEAD or not data.startswith(_MAGIC):
        raise UnreadableRecord("this is no shard of intents")
    if data[len(_MAGIC)] not in _READABLE:
        raise UnreadableRecord(f"the intents have format {data[len(_MAGIC)]}, this version of Seawall knows {VERSION}")
    reader = _Reader(data, _HEAD)
    if _checksum(data[len(_MAGIC)], data[_HEAD:]) != int.from_bytes(data[_HEAD - 4 : _HEAD]):
        raise UnreadableRecord("the intents are damaged: their checksum is wrong")
    version = data[len(_MAGIC)]
    found = {reader.take(_HASH): _decode(reader, version) for _ in range(reader.varint())}
    if reader.at != len(data):
        raise UnreadableRecord("the intents have bytes beyond their end")
    return found


def _checksum(version: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(bytes([version])) if version > _WITHOUT_VERSION_IN_CHECKSUM else 0)


def _encode(record: FenceRecord, version: int) -> bytes:
    flags, tail = _BROKEN if record.broken else 0, b""
    optional = (
        (_EPOCH, record.leader_epoch, _varint),
        (_MIN_FLUSHED, record.min_flushed, lambda number: _zigzag(number - record.log_start)),
        (_MAX_FLUSHED, record.max_flushed, lambda number: _zigzag(number - record.log_start)),
        (_READOPTED, record.readopted, lambda number: number.to_bytes(4)),
        (_REVISION, record.revision, _varint),
    )
    for flag, number, encode in optional:
        if number is not None:
            flags, tail = flags | flag, tail + encode(number)
    if record.database is not None:
        flags, tail = flags | _DATABASE, tail + record.database
    if record.going is not None:
        end = _zigzag(record.going.end - record.log_start)
        flags, tail = flags | _GOING, tail + record.going.token.to_bytes(4) + end
    if record.issued is not None:
        flags, tail = flags | _ISSUED, tail + _varint(record.issued)
    if record.readopted_at is not None:
        flags, tail = flags | _READOPTED_AT, tail + _varint(record.readopted_at)
    shown = _varint(flags) if version == VERSION else bytes([flags])
    offsets = _varint(record.log_start) + _varint(record.high_watermark - record.log_start)
    return _id_bytes(record.topic_id) + shown + offsets + _zigzag(record.intent - record.log_start) + tail


def _decode(reader: _Reader, version: int) -> FenceRecord:
    topic_id = id_text(reader.take(_ID))
    flags = reader.varint() if version == VERSION else reader.take(1)[0]
    if flags & ~_FLAGS:
        raise UnreadableRecord("an intent has a flag that this version of Seawall does not know")
    log_start = reader.varint()
    return FenceRecord(
        topic_id=topic_id,
        log_start=log_start,
        high_watermark=log_start + reader.varint(),
        intent=log_start + reader.zigzag(),
        leader_epoch=reader.varint() if flags & _EPOCH else None,
        min_flushed=log_start + reader.zigzag() if flags & _MIN_FLUSHED else None,
        max_flushed=log_start + reader.zigzag() if flags & _MAX_FLUSHED else None,
        readopted=int.from_bytes(reader.take(4)) if flags & _READOPTED else None,
        revision=reader.varint() if flags & _REVISION else None,
        database=reader.take(_DATABASE_ID) if flags & _DATABASE else None,
        going=Going(int.from_bytes(reader.take(4)), log_start + reader.zigzag()) if flags & _GOING else None,
        issued=reader.varint() if flags & _ISSUED else None,
        readopted_at=reader.varint() if flags & _READOPTED_AT else None,
        broken=bool(flags & _BROKEN),
    )


def _id_bytes(topic_id: str) -> bytes:
    try:
        found = base64.urlsafe_b64decode(topic_id + "==")
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != _ID:
        raise ValueError(f"{topic_id!r} is no topic id")
    return found


def _varint(number: int) -> bytes:
    if number < 0:
        raise ValueError(f"{number} is negative")
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _zigzag(number: int) -> bytes:
    return _varint(number * 2 if number >= 0 else -number * 2 - 1)


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int

    def take(self, count: int) -> bytes:
        """The next bytes."""
        found = self.data[self.at : self.at + count]
        if len(found) != count:
            raise UnreadableRecord("the intents end too early")
        self.at += count
        return found

    def varint(self) -> int:
        """The next unsigned number."""
        number = 0
        for position in range(_MAX_VARINT):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << (7 * position)
            if not byte & 0x80:
                return number
        raise UnreadableRecord("the intents have a number that is too great")

    def zigzag(self) -> int:
        """The next signed number."""
        number = self.varint()
        return number // 2 if number % 2 == 0 else -(number + 1) // 2
