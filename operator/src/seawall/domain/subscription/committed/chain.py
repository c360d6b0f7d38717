"""How far the rows of a topic are in a bucket: the newest commit of its chain, as the operator itself reads it.

Each generation of a topic is a chain of its own, so what is in one is about no other. A commit never changes, and has
no gap before it: whoever reads an older one is as safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, ValidationError

from seawall.api.v1alpha1.subscription_status import HandedOn, MirroredTopic, StopReason
from seawall.domain.subscription.committed.progress import Committed, judge, total_of
from seawall.domain.subscription.logs import Halt, LogsNow, Position

_Offset = Annotated[int, Field(ge=0)]
DIGITS = 20
"""Of the number of a commit, in the name of its object."""


class Commit(Committed):
    """A commit (spark-apps/wal-subscription/contract/TABLE.md)."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The newest object of a chain is no commit of this writer about this topic, or is gone again."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A commit that was read is not there any more: the chain was deleted or cut, or another bucket answers."""

    number: int


Newest = Commit | Unreadable | Gone | None
"""None: there is none yet."""


def folder_of(writer: str, row: MirroredTopic) -> str:
    """Where the commits of a topic are."""
    return f"{writer}/chains/{row.name}/{row.source_id}/{row.generation}/log"


def object_name(number: int) -> str:
    """What the commit of this number is called there."""
    return f"{number:0{DIGITS}}.json"


def number_of(name: str) -> int | None:
    """Which commit an object is; None: it is none."""
    digits = name.removesuffix(".json")
    return int(digits) if len(digits) == DIGITS and digits.isascii() and digits.isdigit() and digits != name else None


def parse(content: bytes | None, writer: str, row: MirroredTopic) -> Newest:
    """A commit, if it is what it must be."""
    try:
        found = Commit.model_validate_json(content or b"")
    except ValidationError:
        return Unreadable()
    meant = writer, row.name, row.source_id, row.generation
    is_meant = (found.writer, found.topic, found.source_topic_id, found.generation) == meant
    return found if is_meant and found.read_from <= found.position else Unreadable()


@dataclass(frozen=True, slots=True)
class Chains:
    """What the bucket says, by topic; of those that are left out nobody knows."""

    newest: Mapping[str, Newest]

    def judge(self, row: MirroredTopic, source: LogsNow) -> Position | Halt | None:
        """How far the rows of a topic are, or why they cannot go on; None: that is not known."""
        return judge(row, source, _lost(row, self.newest.get(row.name)), self._progress(row))

    def handed_on(self, rows: Iterable[MirroredTopic]) -> HandedOn | None:
        """What all of them have handed on; None: of some nobody says it."""
        found = [self.newest.get(row.name, Unreadable()) for row in rows]
        if any(isinstance(newest, Unreadable | Gone) for newest in found):
            return None
        return total_of(commit for commit in found if isinstance(commit, Commit))

    def committed(self, rows: Iterable[MirroredTopic]) -> dict[str, Commit]:
        """By topic the newest commit of its chain; a topic that has none is left out."""
        found = {row.name: self.newest.get(row.name) for row in rows}
        return {name: commit for name, commit in found.items() if isinstance(commit, Commit)}

    def _progress(self, row: MirroredTopic) -> tuple[int, int] | None:
        found = self.newest.get(row.name, Unreadable())
        if isinstance(found, Unreadable | Gone):
            return None
        if found is None:
            return row.start, row.start
        return found.position, max(found.read_from, row.start)


def _lost(row: MirroredTopic, newest: Newest) -> Halt | None:
    """Why nothing can be gone on with; None: it can."""
    if not isinstance(newest, Gone):
        return None
    message = f"commit {newest.number} of {row.name} is gone from the bucket: rows that were handed on may be, too"
    return Halt(StopReason.TARGET_LOST, None, message)
