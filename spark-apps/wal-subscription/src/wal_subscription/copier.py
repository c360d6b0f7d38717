"""Copies a stretch of one topic. Whatever it is told, it appends only where the target's log ends.

So it may run twice, at once, late, or on a machine that slept: of each offset one append is taken, and all others are
refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkjob.wire.batches import Batch, Producer, batches, nulls
from sparkjob.wire.connection import Connection
from sparkjob.wire.reader import UNCOMMITTED, Range, Reader
from wal_subscription.joining import joined
from wal_subscription.log_batches import Damaged, LogBatch
from wal_subscription.outcome import outcome_of
from wal_subscription.overlap import require_same
from wal_subscription.request import Topic
from wal_subscription.source import LogSource, connect
from wal_subscription.stops import Stop, TooLarge, Trouble
from wal_subscription.target import Elsewhere, LogTarget

MOST_SECONDS = 10.0
"""So long one stretch may take: others wait for it."""
PADDING_TIME = 0
"""Below the first record; docs/adr/0033 says why."""
_LEAST_BATCH_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class Sides:
    """How both Kafkas are reached, in the words of librdkafka; and whom the target knows the mirror by."""

    source: Mapping[str, str]
    target: Mapping[str, str]
    producer: Producer


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch that is to be copied: from where the target ends, whatever was planned.

    Attributes:
        end, source_start: of the source's log, as it was planned.
        compares: whether the last record that both have is compared first.
        epoch: of who led the source then: whoever leads since may have another log. None: Kafka did not say.
    """

    topic: Topic
    end: int
    compares: bool
    source_start: int = 0
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """How it went.

    Attributes:
        start, end: the offsets that were appended.
        trouble: why it ended early; it may pass.
        stop: why the topic must not go on.
        refused: Kafka's user lacks a right: nothing goes on.
        compared: whether the last record was compared, and is the same.
    """

    topic: str
    start: int = 0
    end: int = 0
    trouble: str | None = None
    stop: Stop | None = None
    refused: str | None = None
    compared: bool = False


class Copier:
    """One job."""

    def __init__(self, job: Job, sides: Sides, source: Connection, target: Connection) -> None:
        topic = job.topic
        self._job, self._sides = job, sides
        self._source = LogSource(source, topic.name, topic.source_id)
        self._back = LogSource(target, topic.name, topic.target_id)
        self._target = LogTarget(target, topic, sides.producer)
        self._start = 0
        self._compared = False
        self._epoch = job.epoch

    def run(self) -> Copied:
        """Copies, until the planned end or for a while. Never raises what may pass."""
        how = outcome_of(self._copy, Elsewhere, Damaged)
        end = self._target.position
        return Copied(self._job.topic.name, self._start, end, how.trouble, how.stop, how.refused, self._compared)

    def _copy(self) -> None:
        target, topic = self._target, self._job.topic
        target.open()
        self._start = target.position
        last = target.position - 1
        least = max(topic.start, self._job.source_start)
        if last >= least and (self._job.compares or not target.is_known):
            self._compare(least, last)
        self._compared = True
        target.append(nulls(topic.start - target.position, PADDING_TIME))
        give_up = time.monotonic() + MOST_SECONDS
        while target.position < self._job.end and time.monotonic() < give_up:
            fetched = self._source.fetch(target.position)
            if not fetched:
                return
            self._require_same_log(fetched)
            self._append(fetched)

    def _require_same_log(self, fetched: list[LogBatch]) -> None:
        """What a newer leader appended comes after a comparison: the log may have lost its end, and grown again.

        Only what was fetched tells: a job waits for others, and the next plan compares what this one has appended.
        """
        newest, last = max(batch.epoch for batch in fetched), self._target.position - 1
        if self._epoch is not None and newest <= self._epoch:
            return
        least = max(self._job.topic.start, self._source.start)  # as it begins now: the leader is another one
        if last >= least:
            self._compare(least, last)
        self._epoch = newest

    def _append(self, fetched: list[LogBatch]) -> None:
        try:
            self._target.append(self._made(joined(fetched), self._target.position))
        except TooLarge:  # what was joined may be, and each batch is not
            self._target.open()
            self._target.append(self._made(fetched, self._target.position))

    def _compare(self, least: int, last: int) -> None:
        name, sides = self._job.topic.name, self._sides
        require_same(name, last, (self._source.fetch, sides.source), (self._back.fetch, sides.target), least)

    def _made(self, fetched: Iterable[LogBatch], position: int) -> Iterator[Batch]:
        """What is appended from `position` on, so that every record gets its offset."""
        for batch in fetched:
            if batch.end <= position:
                continue
            yield from nulls(batch.base - position, batch.first_timestamp)
            begin = max(batch.base, position)
            if batch.is_empty:
                yield from nulls(batch.end - begin, batch.first_timestamp)
            elif batch.passes and begin == batch.base:
                yield batch.to_batch()
            else:
                yield from self._encoded(batch, begin)
            position = batch.end

    def _encoded(self, batch: LogBatch, begin: int) -> Iterator[Batch]:
        """A batch that cannot pass as it is, from an offset on."""
        most_bytes, position, timestamp = max(batch.size, _LEAST_BATCH_BYTES), begin, batch.first_timestamp
        with Reader(self._sides.source, isolation=UNCOMMITTED) as reader:
            read = list(reader.read(Range(self._job.topic.name, begin, batch.end)))
        if any(epoch > max(batch.epoch, 0) for _, epoch in read):
            raise Trouble(f"topic {self._job.topic.name} of the source has another leader since it was fetched")
        records = [record for record, _ in read]
        for made in batches(records, begin, most_bytes):
            yield made
            position += made.count
        if records:
            timestamp = records[-1].timestamp
        yield from nulls(batch.end - position, timestamp)


_CONNECTIONS: dict[tuple[tuple[str, str], ...], Connection] = {}
"""Of this process, which lives longer than a job: one for each Kafka."""


def copy(job: Job, sides: Sides) -> Copied:
    """Runs a job with the connections that this process has."""
    source, target = (_connection(options) for options in (sides.source, sides.target))
    copied = Copier(job, sides, source, target).run()
    if copied.trouble is not None or copied.refused is not None:
        forget_connections()
    return copied


def forget_connections() -> None:
    """Closes them: what follows asks anew who leads what."""
    for connection in _CONNECTIONS.values():
        connection.close()
    _CONNECTIONS.clear()


def _connection(options: Mapping[str, str]) -> Connection:
    key = tuple(sorted(options.items()))
    if key not in _CONNECTIONS:
        _CONNECTIONS[key] = connect(options)
    return _CONNECTIONS[key]
