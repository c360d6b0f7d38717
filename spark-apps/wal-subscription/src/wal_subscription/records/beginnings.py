"""What a micro-batch does of the snapshot that topics begin with, whatever the sink of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from sparkjob.snapshot import NAME
from wal_subscription.batches import Run, SidesT
from wal_subscription.plan import RanT
from wal_subscription.records.planner import RowsPlanner
from wal_subscription.records.snapshot import File, read_snapshot

MOST_FILES = 64
"""Of a snapshot in a micro-batch: each of other columns is a branch of Spark's plan, and others wait for it."""


class OfFiles(Protocol):
    """A job."""

    @property
    def files(self) -> tuple[File, ...]:
        """What is handed on of a snapshot, instead of the log."""
        ...

    def with_files(self, files: tuple[File, ...]) -> Self:
        """With others of them."""
        ...


OfFilesT = TypeVar("OfFilesT", bound=OfFiles)
_JobT_contra = TypeVar("_JobT_contra", contravariant=True)
_SidesT_contra = TypeVar("_SidesT_contra", contravariant=True)
_RanT_co = TypeVar("_RanT_co", covariant=True)


class Snapshots(Protocol[_JobT_contra, _SidesT_contra, _RanT_co]):
    """Who reads snapshots."""

    def read(self, uri: str) -> bytes:
        """A small file; raises Refused: it cannot be read."""
        ...

    def hand_on(self, jobs: Sequence[_JobT_contra], sides: _SidesT_contra) -> Sequence[_RanT_co]:
        """The files of jobs, each of which has some; raises Refused: one cannot be read."""
        ...


class Beginnings(Generic[OfFilesT, SidesT, RanT]):
    """Of one run. Who has no snapshots must have a request without one."""

    def __init__(
        self,
        folder: str | None,
        snapshots: Snapshots[OfFilesT, SidesT, RanT] | None,
        copy: Run[OfFilesT, SidesT, RanT],
    ) -> None:
        """`copy` runs jobs that are about a log."""
        self._folder, self._snapshots, self._copy = folder, snapshots, copy

    def give(self, planner: RowsPlanner[Any, Any]) -> None:
        """Gives a planner what it needs.

        Raises:
            Refused: it cannot be read.
        """
        if not planner.needs_snapshot:
            return
        assert self._folder is not None  # noqa: S101 - else no topic would need it
        assert self._snapshots is not None  # noqa: S101 - as above
        uri = f"{self._folder}/{NAME}"
        planner.snapshot = read_snapshot(self._snapshots.read(uri), self._folder, uri)

    def run(self, jobs: Sequence[OfFilesT], sides: SidesT, in_trouble: Callable[[str], bool]) -> list[RanT]:
        """Logs first: files take longer, and of all topics only so many at once."""
        logs = [job for job in jobs if not job.files]
        copied = self._copy(logs, sides, in_trouble) if logs else []
        files = first_files([job for job in jobs if job.files])
        if not files:
            return copied
        assert self._snapshots is not None  # noqa: S101 - who reads files has read what files there are
        return [*copied, *self._snapshots.hand_on(files, sides)]


def first_files(jobs: Sequence[OfFilesT]) -> list[OfFilesT]:
    """As many jobs, and of each as many files, as one micro-batch hands on."""
    chosen = jobs[:MOST_FILES]
    return [job.with_files(job.files[: MOST_FILES // len(chosen)]) for job in chosen]
