"""A reader of logs in memory, in the place of the one by which Spark applications read a Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

from sparkjob.wire.reader import Range
from sparkjob.wire.records import Record


def reader_of(record: Callable[[str, int], Record], epoch: Callable[[int], int]) -> type:
    """A Kafka that has a record at each offset, by topic and offset, and the epoch of who appended it, by offset."""

    class Reads:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self, wanted: Range) -> Iterator[tuple[Record, int]]:
            """As the log is when each record is asked for."""
            for offset in range(wanted.start, wanted.end):
                yield record(wanted.topic, offset), epoch(offset)

    return Reads
