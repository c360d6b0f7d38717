"""Subscriptions to records for stories: each with topics of its own, on two Kafkas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handed_on import Handed
from mirrors import Side, clock_at
from record_logs import Written

from wal_subscription.records import process
from wal_subscription.records.copier import Copier
from wal_subscription.records.jobs import Job, Sides
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.source import connect


class RecordBed:
    """What stories begin with."""

    def __init__(self, source: Side, target: Side, folder: Path) -> None:
        self._source, self._target, self._folder = source, target, folder
        self._connections = connect(source.options), connect(target.options)

    def close(self) -> None:
        process.forget_all()
        for connection in self._connections:
            connection.close()

    def _made(self, count: int = 1, **other: Any) -> tuple[Handed, Written]:
        process.forget_all()
        handed = Handed(self._source, self._target, **other)
        handed.make(count)
        return handed, Written()

    def _sides(self, handed: Handed) -> Sides:
        return Sides(handed.source.options, handed.target.options, handed.parsed())

    def _job(self, handed: Handed, end: int | None = None) -> Job:
        (topic,) = handed.parsed().topics
        source = handed.source.of(topic.name)
        return Job(topic, source.end if end is None else end, 0, source.epoch)

    def _copier(self, handed: Handed) -> Copier:
        (topic,) = handed.parsed().topics
        return Copier(topic, self._sides(handed), *self._connections)

    def _jumping(self, handed: Handed) -> RecordsBatches:
        return handed.start(clock_at())
