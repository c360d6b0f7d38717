"""The log of one partition in memory: records are counted, not kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.fakes.ids import new_topic_id

RECORD_BYTES = 100


@dataclass
class FakeLog:
    """A log, and the epochs of its leaders; tests may change what they like.

    Attributes:
        topic_id: what Kafka made up when the topic was created.
        log_start: the first offset that can be read.
        end: the next offset, which is also the high watermark.
        segments_start: where the oldest segment on disk starts: segments go later than records.
        epochs: each leader's epoch and the offset where it began, oldest first.
        leader: the broker that leads, as far as anybody looked.
        now: the clock of those who write.
        keys: of those records whose key is none of the database's, by offset; None: without a key.
        owners: of records that a region wrote, by offset its id.
        times: offsets from which on records have a timestamp, oldest first.
    """

    topic_id: str = field(default_factory=new_topic_id)
    log_start: int = 0
    end: int = 0
    segments_start: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    leader: int | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    keys: dict[int, bytes | None] = field(default_factory=dict)
    times: list[tuple[int, datetime]] = field(default_factory=list)
    owners: dict[int, int] = field(default_factory=dict)
    producers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By producer its epoch and its last sequence."""

    @property
    def epoch(self) -> int:
        """The leader's."""
        return self.epochs[-1][0]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return (self.end - self.segments_start) * RECORD_BYTES

    def append(self, records: int, at: datetime | None = None) -> None:
        """Somebody writes records, of now or of another time; all replicas have them."""
        self.times.append((self.end, at or self.now()))
        self.end += records

    def append_as(self, producer_id: int, epoch: int, sequence: int, records: int) -> str | None:
        """An idempotent producer writes records; why they are refused, in Kafka's words."""
        known, last = self.producers.get(producer_id, (epoch, sequence - 1))
        if epoch < known:
            return "Broker: Producer attempted an operation with an old epoch"
        if (epoch > known and sequence != 0) or (epoch == known and sequence != last + 1):
            return "Broker: Broker received an out of order sequence number"
        self.append(records)
        self.producers[producer_id] = epoch, sequence + records - 1
        return None

    def append_of(self, region_id: int) -> None:
        """A region writes a record."""
        self.owners[self.end] = region_id
        self.append(1)

    def key_of(self, offset: int) -> bytes | None:
        """The key of a record."""
        if offset in self.owners:
            return json.dumps({"version": 0, "ns": {"region_id": self.owners[offset], "topic": ""}}).encode()
        return self.keys.get(offset, b"{}")

    def append_with_key(self, records: int, key: bytes | None) -> None:
        """The same, with this key, or without any."""
        self.keys |= dict.fromkeys(range(self.end, self.end + records), key)
        self.append(records)

    def first_since(self, since: datetime) -> int | None:
        """The first record whose timestamp is at or after this; None when there is none."""
        young = (max(start, self.log_start) for start, at in self.times if at >= since)
        return next((offset for offset in young if offset < self.end), None)

    def lead(self, broker: int) -> None:
        """A broker leads; another one than before does so in a new epoch."""
        if self.leader not in {None, broker}:
            self.epochs.append((self.epoch + 1, self.end))
        self.leader = broker

    def truncate(self, end: int) -> None:
        """An unclean election: a replica that lacks the last records leads, and they are gone."""
        last = self.epoch
        self.end = end
        self.owners = {offset: region for offset, region in self.owners.items() if offset < end}
        self.times = [(start, at) for start, at in self.times if start < end]
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < end or epoch == 0]
        self.epochs.append((last + 1, end))

    def delete_before(self, offset: int) -> None:
        """Moves the log start."""
        self.log_start = max(self.log_start, offset)
        gone = [epoch for epoch in self.epochs if epoch[1] <= self.log_start]
        self.epochs = [(gone[-1][0], self.log_start), *self.epochs[len(gone) :]] if gone else self.epochs

    def close_segments(self) -> None:
        """Kafka removes the segments below the log start."""
        self.segments_start = self.log_start

    def end_of(self, asked: int) -> tuple[int, int] | None:
        """The newest epoch up to the one asked for, and its end; None when there never was one that new."""
        if asked == self.epoch:
            return asked, self.end
        newer = [start for epoch, start in self.epochs if epoch > asked]
        if not newer:
            return None
        older = [epoch for epoch, _ in self.epochs if epoch <= asked]
        return (older[-1] if older else asked), newer[0]
