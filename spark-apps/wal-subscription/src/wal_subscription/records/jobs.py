"""What a process is asked to hand on, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from wal_subscription.records.progress import FilePlace
from wal_subscription.records.request import RecordsRequest, Topic
from wal_subscription.records.snapshot import Base, File
from wal_subscription.stops import Stop


@dataclass(frozen=True, slots=True)
class Sides:
    """How both Kafkas are reached, in the words of librdkafka, and what is handed on."""

    source: Mapping[str, str]
    target: Mapping[str, str]
    request: RecordsRequest


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch: from where the target's progress is, to `end`.

    Attributes:
        source_start: where the source's log begins.
        epoch: of who leads it: another one may have another log.
        base: what the topic begins with; None: it is not known, or matters no more.
        files: what is handed on of it instead of the log.
        from_file: the next file and row.
    """

    topic: Topic
    end: int
    source_start: int
    epoch: int | None = None
    base: Base | None = None
    files: tuple[File, ...] = ()
    from_file: tuple[int, int] = (0, 0)

    def with_files(self, files: tuple[File, ...]) -> Self:
        """With others of them."""
        return replace(self, files=files)


@dataclass(frozen=True, slots=True)
class Copied:
    """How it went.

    Attributes:
        start, end: the offsets that are in the target now, and were not before.
        read_from: what is still needed of the source; None: it was not asked.
        rows: those that were committed.
        snapshot: where it is in its snapshot; None: beyond it.
        needs_snapshot: whether nothing was done, because it begins with one that the job did not have.
        trouble, stop, refused: as of a mirror.
    """

    topic: str
    start: int = 0
    end: int = 0
    read_from: int | None = None
    rows: int = 0
    snapshot: FilePlace | None = None
    needs_snapshot: bool = False
    trouble: str | None = None
    stop: Stop | None = None
    refused: str | None = None
