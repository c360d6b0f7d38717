"""How far the rows of a topic are: what the target's topic of progress says, as the operator itself reads it.

A hold follows `readFrom` of the newest committed progress, and nothing that a driver says. An older one is as safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.subscription_status import HandedOn, MirroredTopic, RecordsTopics, StopReason
from seawall.domain.kafka_log import NewestRecord, TopicFailure, TopicTrouble
from seawall.domain.subscription.logs import Halt, LogsNow, Position, missing_source, missing_target

Newest = Mapping[int, NewestRecord | TopicFailure | None]
"""By partition of the topic of progress its last committed record."""
_Offset = Annotated[int, Field(ge=0)]
_Run = Annotated[int, Field(ge=0, lt=2**31)]
_SILENT = TopicFailure(TopicTrouble.UNANSWERED, "nobody asked")


class Committed(StatusModel):
    """What a transaction, or a commit, says of a topic, version 1; all else is its readers' affair."""

    version: Literal[1]
    writer: str
    run: _Run
    """That of the application which wrote it. Whoever has a lower one ends when it finds this (`Fenced`)."""
    generation: _Offset
    topic: str
    source_topic_id: str
    position: _Offset
    read_from: _Offset
    rows: _Offset
    dead_letters: _Offset


class Progress(Committed):
    """A record of progress (spark-apps/wal-subscription/contract/RECORDS.md)."""


def total_of(found: Iterable[Committed]) -> HandedOn:
    """What all of them have handed on."""
    counts = [(each.rows, each.dead_letters) for each in found]
    return HandedOn(rows=sum(rows for rows, _ in counts), dead_letters=sum(letters for _, letters in counts))


@dataclass(frozen=True, slots=True)
class Reader:
    """What is known of the target, for all topics of a subscription.

    Attributes:
        writer: who signs the progress.
        topics: of the target, as they were first used; None: they are not made yet.
    """

    writer: str
    topics: RecordsTopics | None
    newest: Newest

    def judge(self, row: MirroredTopic, source: LogsNow, target: LogsNow) -> Position | Halt | None:
        """How far the rows of a topic are, or why they cannot go on; None: that is not known."""
        lost = None if self.topics is None else find_lost(self.topics, target)
        return judge(row, source, lost, self._progress(row, target))

    def handed_on(self, rows: Iterable[MirroredTopic]) -> HandedOn | None:
        """What all of them have handed on; None: of some nobody says it."""
        if self.topics is None:
            return None
        listed = tuple(rows)
        if any(isinstance(self._newest(row), TopicFailure) for row in listed):
            return None
        return total_of(self.committed(listed).values())

    def committed(self, rows: Iterable[MirroredTopic]) -> dict[str, Progress]:
        """By topic the newest progress of this writer, of whatever generation; a topic that has none is left out."""
        found = {row.name: (row, self._newest(row)) for row in rows}
        parsed = {name: self._parse(row, said) for name, (row, said) in found.items() if isinstance(said, NewestRecord)}
        return {name: progress for name, progress in parsed.items() if progress is not None}

    def _progress(self, row: MirroredTopic, target: LogsNow) -> tuple[int, int] | None:
        """The next offset, and the first that is still needed."""
        if self.topics is None or target.topic_id(self.topics.progress.name) is None:
            return None
        found = self._newest(row)
        if isinstance(found, TopicFailure):
            return None
        if found is None:
            return row.start, row.start
        return self._read(row, found)

    def _newest(self, row: MirroredTopic) -> NewestRecord | TopicFailure | None:
        """What its partition says last."""
        return _SILENT if row.progress_partition is None else self.newest.get(row.progress_partition, _SILENT)

    def _read(self, row: MirroredTopic, found: NewestRecord) -> tuple[int, int] | None:
        """Of an older generation it counts for nothing; what makes no sense says nothing."""
        progress = self._parse(row, found)
        if progress is None or progress.generation > row.generation:
            return None
        if progress.generation < row.generation:
            return row.start, row.start
        if progress.source_topic_id != row.source_id or progress.read_from > progress.position:
            return None
        return progress.position, max(progress.read_from, row.start)

    def _parse(self, row: MirroredTopic, found: NewestRecord) -> Progress | None:
        """What is the writer's, about this topic."""
        try:
            progress = Progress.model_validate_json(found.value or b"")
        except ValidationError:
            return None
        return progress if (progress.writer, progress.topic) == (self.writer, row.name) else None


def judge(
    row: MirroredTopic, source: LogsNow, lost: Halt | None, progress: tuple[int, int] | None
) -> Position | Halt | None:
    """How far the rows of a topic are, or why they cannot go on; None: that is not known.

    Args:
        row: the topic.
        source: read after the progress.
        lost: why nothing can be gone on with at the target.
        progress: the next offset, and the first that is still needed; None: nobody says.
    """
    if row.stopped is not None:
        return Halt(row.stopped, row.offset, row.message)
    halt, ends = missing_source(row, source) or lost, source.ends(row.name)
    if halt is not None or source.topic_id(row.name) is None or ends is None or progress is None:
        return halt
    position, read_from = progress
    if read_from < ends.log_start:
        message = (
            f"{row.name} starts at {ends.log_start} in the source, and its rows are handed on up to {read_from}: "
            "records are gone that were not"
        )
        return Halt(StopReason.SOURCE_GAP, read_from, message)
    # A source that ends below is one that was cut: its application finds out whether what it has is another log.
    if position > ends.high_watermark:
        return None
    return Position(position, ends.high_watermark, needed=read_from)


def find_lost(topics: RecordsTopics, target: LogsNow) -> Halt | None:
    """Why nothing of the target can be gone on with: what it had is gone."""
    lost = (missing_target(topic.name, topic.id, target) for topic in (topics.rows, topics.progress))
    return next((halt for halt in lost if halt is not None), None)
