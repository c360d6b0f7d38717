"""What is wrong with a backup, and where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from sparkjob.integrity.findings import Kind as LogKind


class Kind(StrEnum):
    """What is wrong."""

    CHAIN_BROKEN = "ChainBroken"
    """A manifest cannot be read, was changed, or does not follow the one that it names."""
    OBJECT_MISSING = "ObjectMissing"
    """A manifest names an object that is not there."""
    OBJECT_CHANGED = "ObjectChanged"
    """An object is not the one that was written: its size or its SHA-256 is another one."""
    SECTION_UNREADABLE = "SectionUnreadable"
    """A row group is missing, or a page of it is broken."""
    SECTION_CHANGED = "SectionChanged"
    """A row group has other records than those that were written."""
    OFFSETS_MISSING = "OffsetsMissing"
    """Offsets of a topic are in no section, and the log had them."""
    NOT_OURS = "NotOurs"
    """A topic that is restored has something that was not restored: another wrote to it, or made it again."""
    NOT_RESTORED = "NotRestored"
    """A topic that was restored begins or ends elsewhere than planned, or has other records than were backed up."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; `object`, `topic` and `offset` are None where it concerns more than one.

    The kind is one of the above, or of the log's own (`sparkjob.integrity.findings`): the records are those that were
    written, and do not replay.
    """

    kind: Kind | LogKind
    message: str
    object: str | None = None
    topic: str | None = None
    offset: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As it stands in a summary."""
        return asdict(self)
