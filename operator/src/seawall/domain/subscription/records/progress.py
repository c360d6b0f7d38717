"""How far the rows of a topic are: what the target's topic of progress says, as the operator itself reads it.

A hold follows `readFrom` of the newest committed progress, and nothing that a driver says. An older one is as safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.subscription_status import MirroredTopic, RecordsTopics, StopReason
from seawall.domain.kafka_log import NewestRecord, TopicFailure
from seawall.domain.subscription.logs import Halt, LogsNow, Position, missing_source

Newest = Mapping[int, NewestRecord | TopicFailure | None]
"""By partition of the topic of progress its last committed record."""
_Offset = Annotated[int, Field(ge=0)]


class Progress(StatusModel):
    """A record of progress, version 1 (spark-apps/wal-subscription/contract/RECORDS.md)."""

    version: Literal[1]
    writer: str
    generation: _Offset
    topic: str
    source_topic_id: str
    position: _Offset
    read_from: _Offset


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
        if row.stopped is not None:
            return Halt(row.stopped, row.offset, row.message)
        lost = None if self.topics is None else find_lost(self.topics, target)
        return missing_source(row, source) or lost or self._position(row, source, target)

    def _position(self, row: MirroredTopic, source: LogsNow, target: LogsNow) -> Position | Halt | None:
        ends, progress = source.ends(row.name), self._progress(row, target)
        if source.topic_id(row.name) is None or ends is None or progress is None:
            return None
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

    def _progress(self, row: MirroredTopic, target: LogsNow) -> tuple[int, int] | None:
        """The next offset, and the first that is still needed."""
        if self.topics is None or target.topic_id(self.topics.progress.name) is None:
            return None
        if row.progress_partition is None or row.progress_partition not in self.newest:
            return None
        found = self.newest[row.progress_partition]
        if isinstance(found, TopicFailure):
            return None
        if found is None:
            return row.start, row.start
        return self._read(row, found)

    def _read(self, row: MirroredTopic, found: NewestRecord) -> tuple[int, int] | None:
        """Of an older generation it counts for nothing; what makes no sense says nothing."""
        try:
            progress = Progress.model_validate_json(found.value or b"")
        except ValidationError:
            return None
        if progress.writer != self.writer or progress.topic != row.name or progress.generation > row.generation:
            return None
        if progress.generation < row.generation:
            return row.start, row.start
        if progress.source_topic_id != row.source_id or progress.read_from > progress.position:
            return None
        return progress.position, max(progress.read_from, row.start)


def find_lost(topics: RecordsTopics, target: LogsNow) -> Halt | None:
    """Why nothing of the target can be gone on with: what it had is gone."""
    for topic in (topics.rows, topics.progress):
        if target.is_absent(topic.name):
            return Halt(StopReason.TARGET_LOST, None, f"{topic.name} is gone from the target")
        if target.topic_id(topic.name) not in {topic.id, None}:
            return Halt(StopReason.TARGET_LOST, None, f"{topic.name} was made again in the target by somebody else")
    return None
