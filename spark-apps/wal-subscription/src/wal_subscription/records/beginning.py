"""Where a topic is in the snapshot that it begins with, whatever its sink: only progress keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from wal_subscription.asked import OfRun, OfTopic
from wal_subscription.records.checks import require_base, require_snapshot
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.snapshot import Base


class NeedsSnapshot(Exception):  # noqa: N818 - what is the matter
    """The topic begins with a snapshot, and the job does not have it."""


class OfBase(OfTopic, Protocol):
    """A job."""

    @property
    def base(self) -> Base | None:
        """What the topic begins with; None: it is not known, or matters no more."""
        ...


@dataclass(slots=True)
class Beginning:
    """Of one topic.

    Attributes:
        base: None: nothing of a snapshot matters to it, or any more.
        at: the next file and row.
    """

    base: Base | None = None
    at: tuple[int, int] = (0, 0)

    @property
    def has_files(self) -> bool:
        """Whether there are files to be handed on before the log."""
        return self.base is not None and self.at[0] < len(self.base.files)

    @property
    def cuts(self) -> Mapping[int, int] | None:
        """Region → the entry id up to which its rows are in the files."""
        return None if self.base is None else self.base.cuts

    def place_at(self, position: int) -> FilePlace | None:
        """What progress says of it, at that offset of the log."""
        if self.base is None or self.base.is_over(self.at[0], position):
            return None
        return FilePlace(self.base.digest, *self.at)


def first_place(request: OfRun, job: OfBase) -> FilePlace | None:
    """Where a topic begins in its snapshot; None: it begins with the log.

    Raises:
        NeedsSnapshot: as it says.
        MustStop: the log does not go on from the snapshot.
    """
    if request.snapshot_uri is None:
        return None
    if job.base is None:
        raise NeedsSnapshot
    require_base(job.base, request.selection, job.topic, job.end)
    return FilePlace(job.base.digest, 0, 0)


def beginning_at(place: FilePlace | None, request: OfRun, job: OfBase) -> Beginning:
    """Goes on from where progress says that a topic is.

    Raises:
        NeedsSnapshot: as it says.
        MustStop: it has begun with another snapshot.
    """
    require_snapshot(place, job.base, request, job.topic)
    if place is None:
        return Beginning()
    if job.base is None:
        raise NeedsSnapshot
    return Beginning(job.base, (place.file, place.row))
