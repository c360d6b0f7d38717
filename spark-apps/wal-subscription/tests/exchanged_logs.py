"""Two logs in memory, and a mirror between them: a leader who was elected meanwhile may have cut one of them off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sparkjob.wire.batches import Batch, Producer
from sparkjob.wire.kafka_state import TopicState
from sparkjob.wire.records import Record
from tests.support.log_readers import reader_of
from wal_subscription import copier, overlap
from wal_subscription.copier import Copied, Copier, Job, Sides
from wal_subscription.log_batches import LogBatch
from wal_subscription.planner import Planner
from wal_subscription.request import Topic
from wal_subscription.stops import Trouble

TOPIC = Topic("wal_0", "source", "target", 0)
SIDES = Sides({"side": "source"}, {"side": "target"}, Producer(7, 1))
OLD = 3
"""The leader epoch that a story begins with."""
OWN_TIME = 0x08
_LARGE, _FEW = 3_000, 5
"""Bytes of a batch that is not joined with others, and batches of one fetch."""


@dataclass
class Log:
    """A log whose batches have one record each."""

    batches: list[LogBatch] = field(default_factory=list)
    start: int = 0

    @property
    def end(self) -> int:
        """Where the next record goes."""
        return self.start + len(self.batches)

    def write(self, to: int, epoch: int, attributes: int = 0) -> None:
        """Records up to an offset, which differ from those that another leader appends."""
        for offset in range(self.end, to):
            content = b"%d under %d" % (offset, epoch)
            self.batches.append(
                LogBatch(offset, offset + 1, attributes, offset, offset, 1, content.ljust(_LARGE), epoch)
            )

    def cut(self, end: int) -> None:
        """Loses its tail, and has what there was before its start again if it must."""
        if end <= self.start:
            self.batches, self.start = [], 0
            self.write(end, OLD)
        del self.batches[end - self.start :]

    def purge(self, start: int) -> None:
        """Begins later."""
        del self.batches[: start - self.start]
        self.start = start

    def record(self, offset: int) -> Record | None:
        """What a client of its own reads."""
        found = self.batches[offset - self.start] if self.start <= offset < self.end else None
        return None if found is None else Record(offset, found.first_timestamp, 1, None, found.records, None)


class Side:
    """One log as who reads it in batches, or appends to it, has it: in the place of `LogSource` and of `LogTarget`."""

    def __init__(self, log: Any, *_: object) -> None:
        self.log: Log = log
        self.start = self.position = 0
        self.is_known = True

    def open(self) -> None:
        """As of a target."""
        self.position = self.log.end

    def append(self, batches: Iterable[Batch]) -> None:
        """As of a target."""
        for made in batches:
            times = made.first_timestamp, made.most_timestamp
            end = self.position + made.count
            self.log.batches.append(LogBatch(self.position, end, made.attributes, *times, made.count, made.records, 0))
            self.position = end

    def fetch(self, offset: int) -> list[LogBatch]:
        """As of a source."""
        if not self.log.start <= offset <= self.log.end:
            raise Trouble(f"there is no offset {offset}")
        self.start, at = self.log.start, offset - self.log.start
        return self.log.batches[at : at + _FEW]


@dataclass
class Exchanged:
    """A mirror that has all up to offset 100, and its source, which has more.

    Attributes:
        epoch: what the source says of its leader.
        to: where the source ends.
        compared: the offsets that were, after the first job.
    """

    epoch: int | None = OLD
    to: int = 105
    source: Log = field(default_factory=Log)
    target: Log = field(default_factory=Log)
    compared: list[int] = field(default_factory=list)
    _planner: Planner = field(default_factory=lambda: Planner([TOPIC]))

    def __post_init__(self) -> None:
        self.source.write(100, OLD)
        copied = self.run(self.plan())
        assert (copied.end, copied.stop) == (100, None)
        self.compared.clear()
        self.source.write(self.to, OLD)

    def plan(self) -> Job:
        """The next job: asks where both logs end."""
        source = TopicState(TOPIC.source_id, self.source.start, self.source.end, self.epoch)
        target = TopicState(TOPIC.target_id, self.target.start, self.target.end)
        (job,) = self._planner.plan({TOPIC.name: source}, {TOPIC.name: target}, 0.0).jobs
        return job

    def elect(self, to: int, epoch: int, cut: int | None = None) -> None:
        """Another leader, who may have a shorter log, appends up to an offset."""
        if cut is not None:
            self.source.cut(cut)
        self.source.write(to, epoch)

    def run(self, job: Job, reader: object = None) -> Copied:
        """Runs a job, and notes how it went."""
        with self._in_memory(reader):
            made: Any = Copier
            copied: Copied = made(job, SIDES, self.source, self.target).run()
        self._planner.note(copied, 0.0)
        return copied

    @contextmanager
    def _in_memory(self, reader: object) -> Iterator[None]:
        honest = overlap.require_same

        def require_same(topic: str, last: int, *sides: Any) -> None:
            self.compared.append(last)
            honest(topic, last, *sides)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(copier, "LogSource", Side)
            patch.setattr(copier, "LogTarget", Side)
            patch.setattr(copier, "Reader", reader)
            patch.setattr(copier, "require_same", require_same)
            patch.setattr(overlap, "record_at", self._record_at)
            yield

    def _record_at(self, _: str, offset: int, options: Any) -> Record | None:
        return (self.source if options == SIDES.source else self.target).record(offset)


def reads_under(epoch: int) -> Callable[..., Any]:
    """A reader all of whose records were appended by this leader."""
    return reader_of(lambda _, offset: Record(offset, 0, 1, None, b"of somebody", None), lambda _: epoch)
