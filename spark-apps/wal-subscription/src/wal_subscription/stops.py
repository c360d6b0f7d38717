"""Why a topic must not go on: a person has to act."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """In a word; the operator knows them."""

    SOURCE_GAP = "SourceGap"
    """Records are gone at the source that the target does not have."""
    IDENTITY_FENCE_BROKEN = "IdentityFenceBroken"
    """The source's topic is gone, or was made again."""
    TARGET_LOST = "TargetLost"
    """The target's topic is gone, or was made again."""
    DIVERGED = "Diverged"
    """The target has something else than the source."""
    TARGET_UNSUITABLE = "TargetUnsuitable"
    """The target does not take records as they are."""
    FENCED = "Fenced"
    """The target knows a newer epoch of the producer, or a newer run."""
    TABLE_UNKNOWN = "TableUnknown"
    """The request does not say which table a region is of."""
    SNAPSHOT_UNUSABLE = "SnapshotUnusable"
    """The request does not have the snapshot that the topic has begun with."""
    UNREADABLE = "Unreadable"
    """The source has a record that gives no rows."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One topic that must not go on.

    Attributes:
        offset: where, if it is known.
    """

    topic: str
    reason: Reason
    offset: int | None
    message: str

    def to_json(self) -> dict[str, Any]:
        """As the summary has it."""
        return {"topic": self.topic, "reason": self.reason.value, "offset": self.offset, "message": self.message}


class MustStop(Exception):  # noqa: N818 - what follows of it
    """A topic must not go on."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class TooLarge(MustStop):
    """The target does not take a batch of this size."""


class Trouble(Exception):  # noqa: N818 - it may pass
    """A topic cannot go on now. The next micro-batch tries again, from what the target has then."""
