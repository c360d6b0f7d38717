"""What a process is asked to write, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from sparkjob.s3 import S3
from wal_subscription.outcome import Outcome
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.snapshot import Base
from wal_subscription.records.snapshot import File as SnapshotFile
from wal_subscription.stops import Stop
from wal_subscription.table.commit import File
from wal_subscription.table.request import TableRequest, Topic


@dataclass(frozen=True, slots=True)
class Sides:
    """How the source is reached, in the words of librdkafka; the bucket; and what is written."""

    source: Mapping[str, str]
    place: S3
    request: TableRequest


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch: from the end of the chain to `end`.

    Attributes:
        source_start: where the source's log begins.
        known: the number of a commit that there was; None: none is known.
        base: what the topic begins with; None: it is not known, or matters no more.
        files: what is written of it instead of the log.
        epoch: of who led the source when it was planned; None: Kafka did not say.
    """

    topic: Topic
    end: int
    source_start: int
    known: int | None = None
    base: Base | None = None
    files: tuple[SnapshotFile, ...] = ()
    epoch: int | None = None

    def with_files(self, files: tuple[SnapshotFile, ...]) -> Self:
        """With others of them."""
        return replace(self, files=files)


@dataclass(frozen=True, slots=True)
class Made:
    """What one task made of some rows of a topic's snapshot: no commit names it yet.

    Attributes:
        found: number of a file of the snapshot → how many rows of it there were, and the highest of their numbers.
        how: if it did not come to its end, what it made is nothing.
    """

    topic: str
    files: tuple[File, ...] = ()
    found: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    how: Outcome = field(default_factory=Outcome)


@dataclass(frozen=True, slots=True)
class Copied:
    """How it went.

    Attributes:
        start, end: the offsets that are committed now, and were not before.
        read_from: what is still needed of the source; None: it is not known.
        known: the number of the last commit.
        rows: those that were committed.
        trouble, stop, refused: as of a mirror.
        snapshot: where it is in its snapshot; None: beyond it.
        needs_snapshot: whether nothing was done, because it begins with one that the job did not have.
    """

    topic: str
    start: int = 0
    end: int = 0
    read_from: int | None = None
    known: int | None = None
    rows: int = 0
    trouble: str | None = None
    stop: Stop | None = None
    refused: str | None = None
    snapshot: FilePlace | None = None
    needs_snapshot: bool = False
