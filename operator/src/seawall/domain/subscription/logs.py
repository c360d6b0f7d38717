"""How the logs of source and target compare, topic by topic: how far a copy is, or why it cannot go on.

What is not known is neither: nothing follows from it, and the hold stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from seawall.api.v1alpha1.subscription_status import MirroredTopic, StopReason
from seawall.domain.kafka import Configs
from seawall.domain.kafka_log import DescribedTopic, LogOffsets, TopicFailure, TopicTrouble
from seawall.domain.subscription.brokers import Brokers
from seawall.domain.subscription.written import Written


@dataclass(frozen=True, slots=True)
class LogsNow:
    """Topics of one Kafka as they are right now.

    Attributes:
        online: how many brokers are.
        configs: those of topics that were asked for them.
        brokers: their configs, if they were asked for them.
    """

    cluster_id: str
    online: int
    described: Mapping[str, DescribedTopic | TopicFailure]
    offsets: Mapping[str, LogOffsets | TopicFailure]
    configs: Mapping[str, Configs] = field(default_factory=dict)
    brokers: Brokers | None = None

    def topic_id(self, name: str) -> str | None:
        """The id of a topic; None: there is none, or nobody says."""
        found = self.described.get(name)
        return found.topic_id if isinstance(found, DescribedTopic) else None

    def partitions(self, name: str) -> int:
        """How many partitions a topic has; 0: there is none, or nobody says."""
        found = self.described.get(name)
        return found.topic.partitions if isinstance(found, DescribedTopic) else 0

    def replicas(self, name: str) -> int:
        """How many replicas a topic has; 0: there is none, or nobody says."""
        found = self.described.get(name)
        return len(found.topic.replicas) if isinstance(found, DescribedTopic) else 0

    def is_absent(self, name: str) -> bool:
        """Whether Kafka says that there is no such topic."""
        found = self.described.get(name)
        return isinstance(found, TopicFailure) and found.why is TopicTrouble.UNKNOWN_TOPIC

    def ends(self, name: str) -> LogOffsets | None:
        """Where a log starts and ends; None: nobody says."""
        found = self.offsets.get(name)
        return found if isinstance(found, LogOffsets) else None


@dataclass(frozen=True, slots=True)
class Position:
    """How far a topic is that goes on.

    Attributes:
        applied: the first offset that the target lacks, as far as that is certain.
        source_end: where the source ends.
        doubt: why the target may have more; empty: it has not.
        needed: the first offset that is read again when it goes on: an entry of several parts is not whole yet. None:
            that is `applied`.
    """

    applied: int
    source_end: int
    doubt: str = ""
    needed: int | None = None

    @property
    def keep_from(self) -> int:
        """From where on the source keeps records for it."""
        return self.applied if self.needed is None else self.needed

    @property
    def behind(self) -> int:
        """Offsets that the target lacks."""
        return max(0, self.source_end - self.applied)


FindWritten = Callable[[MirroredTopic, int], Written]
"""How much of a topic of the target that ends at an offset this mirror wrote."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a topic cannot go on."""

    reason: StopReason
    offset: int | None
    message: str


def judge(row: MirroredTopic, source: LogsNow, target: LogsNow, find: FindWritten) -> Position | Halt | None:
    """How far a topic is, or why it cannot go on; None: that is not known.

    The target is read first: a copy is never ahead of a source that is whole. Where it is all the same nothing follows,
    until the application says what is wrong (Diverged). `find` says how much of the target is a copy.
    """
    if row.stopped is not None:
        return Halt(row.stopped, row.offset, row.message)
    missing = missing_source(row, source) or missing_target(row.name, row.target_id, target)
    if missing is not None:
        return missing
    ends, copy = source.ends(row.name), target.ends(row.name)
    is_known = source.topic_id(row.name) is not None and target.topic_id(row.name) is not None
    if not is_known or ends is None or copy is None:
        return None
    applied = max(copy.high_watermark, row.start)
    if applied < ends.log_start:
        message = (
            f"{row.name} starts at {ends.log_start} in the source, and the target lacks it from {applied} on: "
            "records are gone that were not copied"
        )
        return Halt(StopReason.SOURCE_GAP, applied, message)
    written = find(row, copy.high_watermark)
    if copy.high_watermark > ends.high_watermark and not written.doubt:
        return None
    return Position(written.applied, ends.high_watermark, written.doubt)


def missing_source(row: MirroredTopic, source: LogsNow) -> Halt | None:
    """Why the source does not have the log that was meant; None: it has, or nobody says."""
    if source.is_absent(row.name):
        message = f"{row.name} is gone from the source"
        return Halt(StopReason.IDENTITY_FENCE_BROKEN, None, message)
    if source.topic_id(row.name) not in {row.source_id, None}:
        message = f"{row.name} was made again in the source: it is another log"
        return Halt(StopReason.IDENTITY_FENCE_BROKEN, None, message)
    return None


def missing_target(name: str, topic_id: str | None, target: LogsNow) -> Halt | None:
    """Why the target does not have the topic that was used first; None: it has, or nobody says."""
    if target.is_absent(name):
        return Halt(StopReason.TARGET_LOST, None, f"{name} is gone from the target")
    if target.topic_id(name) not in {topic_id, None}:
        return Halt(StopReason.TARGET_LOST, None, f"{name} was made again in the target by somebody else")
    return None


def begin(name: str, start: int, source: LogsNow, target: LogsNow) -> MirroredTopic | None:
    """A topic that was never copied: an empty topic of the target becomes its copy; None: there is none yet.

    One with records is somebody else's, and nothing is written to it.
    """
    source_id, target_id, copy = source.topic_id(name), target.topic_id(name), target.ends(name)
    if source_id is None or target_id is None or copy is None:
        return None
    row = MirroredTopic(name=name, source_id=source_id, target_id=target_id, start=start)
    if target.partitions(name) != 1:
        return _never(row, StopReason.TARGET_UNSUITABLE, f"{name} has more than one partition in the target")
    if copy.high_watermark == 0:
        return row
    message = f"the target has {name} already, with records up to {copy.high_watermark}, and nothing is written to it"
    return _never(row, StopReason.TARGET_NOT_EMPTY, message)


def _never(row: MirroredTopic, reason: StopReason, message: str) -> MirroredTopic:
    """One that is not begun: the topic of the target is not ours."""
    return row.model_copy(update={"target_id": None, "stopped": reason, "message": message})


def resynced(row: MirroredTopic, target: LogsNow) -> MirroredTopic | None:
    """A topic when a person begins anew: None if its copy is gone, or empty; else it goes on, if it can."""
    copy = target.ends(row.name)
    if target.is_absent(row.name) or (copy is not None and copy.high_watermark == 0):
        return None
    if row.target_id is None:
        return row
    return row.model_copy(update={"stopped": None, "offset": None, "message": ""})
