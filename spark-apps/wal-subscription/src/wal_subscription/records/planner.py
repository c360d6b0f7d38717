"""What the next micro-batch hands on, and which topics must not go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.asked import SourceTopic
from wal_subscription.plan import Plan, Ran, TopicPlanner, TopicT, why_other
from wal_subscription.records.jobs import Copied, Job
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.request import Output, Topic
from wal_subscription.records.snapshot import Base, File, Snapshot
from wal_subscription.stops import Reason, Stop


@dataclass(frozen=True, slots=True)
class Place:
    """Where a topic is, as its last job said.

    Attributes:
        read_from: what is still needed of the source.
        snapshot: None: nothing of one matters any more.
    """

    position: int
    read_from: int
    snapshot: FilePlace | None = None


class OfRows(Ran, Protocol):
    """How a job went of which rows come."""

    @property
    def read_from(self) -> int | None:
        """What is still needed of the source; None: it is not known."""
        ...

    @property
    def snapshot(self) -> FilePlace | None:
        """Where the topic is in its snapshot; None: beyond it."""
        ...

    @property
    def needs_snapshot(self) -> bool:
        """Whether nothing was done, because the job did not have the snapshot that the topic begins with."""
        ...


OfRowsT = TypeVar("OfRowsT", bound=OfRows)


class RowsPlanner(TopicPlanner[TopicT, OfRowsT]):
    """Where topics are, in their logs and in what they begin with.

    Attributes:
        snapshot: what topics begin with, once it was read.
    """

    def __init__(self, topics: Iterable[TopicT]) -> None:
        super().__init__(topics)
        self._places: dict[str, Place] = {}
        self._epochs: dict[str, int | None] = {}
        self._needing: set[str] = set()
        self._gaps: set[str] = set()
        self.snapshot: Snapshot | None = None

    @property
    def needs_snapshot(self) -> bool:
        """Whether a topic begins with one, and it was not given yet."""
        return self.snapshot is None and bool(self._needing)

    def _place_of(self, name: str, source: TopicState | None) -> Place | None:
        """Where a topic is; None: a job is to say so.

        What its last one said may be old: a commit whose answer was lost is in the target all the same, and what it
        needs no more may go from the source. So there is no gap until a job has said where the topic is since it was
        seen.
        """
        place = self._places.get(name)
        if place is None or source is None:
            return place
        if source.start <= place.read_from:
            self._gaps.discard(name)
        elif name not in self._gaps:
            self._gaps.add(name)
            del self._places[name]
            return None
        return place

    def _base_of(self, name: str, place: Place | None) -> Base | None:
        is_needed = name in self._needing if place is None else place.snapshot is not None
        return self.snapshot.of(name) if self.snapshot is not None and is_needed else None

    def _files_of(self, name: str, place: Place | None) -> tuple[File, ...]:
        """Those that are to be handed on before the log."""
        base, at = self._base_of(name, place), None if place is None else place.snapshot
        return () if base is None or at is None else base.files[at.file :]

    def _remember(self, copied: OfRowsT) -> None:
        if copied.needs_snapshot:
            self._needing.add(copied.topic)
        if copied.read_from is not None:
            self._places[copied.topic] = Place(copied.end, copied.read_from, copied.snapshot)


class Planner(RowsPlanner[Topic, Copied]):
    """Remembers nothing that a start would not find again."""

    def __init__(self, topics: Iterable[Topic], outputs: Sequence[Output]) -> None:
        super().__init__(topics)
        self._outputs = outputs

    def plan(self, sources: Mapping[str, TopicState], targets: Mapping[str, TopicState], now: float) -> Plan[Job]:
        """Plans. `sources` and `targets` are the topics that there are; `now` in seconds, of any clock."""
        jobs, stops = list[Job](), list[Stop]()
        lost = next(find_lost(self._outputs, targets), None)
        for name, topic in list(self._topics.items()):
            source = sources.get(name)
            place = self._place_of(name, source)
            stop = find_stop(topic, source, place)
            if stop is None and lost is not None:
                stop = Stop(name, Reason.TARGET_LOST, None if place is None else place.position, lost)
            if stop is not None:
                stops += self._settled(stop, now)
                continue
            self._doubts.end(name)
            assert source is not None  # noqa: S101 - else it would have been a stop
            is_other = self._epochs.get(name, source.epoch) != source.epoch
            is_behind = place is None or place.position < source.end
            has_work = is_behind or is_other or bool(self._files_of(name, place))
            if has_work and self._pauses.is_over(name, now):
                self._epochs[name] = source.epoch
                jobs.append(self._job(topic, source, place))
        return Plan(tuple(jobs), tuple(stops))

    def _job(self, topic: Topic, source: TopicState, place: Place | None) -> Job:
        at, base = None if place is None else place.snapshot, self._base_of(topic.name, place)
        from_file = (0, 0) if at is None else (at.file, at.row)
        files = self._files_of(topic.name, place)
        return Job(topic, source.end, source.start, source.epoch, base, files, from_file)


def find_stop(topic: SourceTopic, source: TopicState | None, place: Place | None) -> Stop | None:
    """Why a topic must not go on."""
    name, position = topic.name, None if place is None else place.position
    other = why_other("source", name, source, topic.source_id)
    if other is not None:
        return Stop(name, Reason.IDENTITY_FENCE_BROKEN, position, other)
    if source is None or place is None:
        return None
    if source.start > place.read_from:
        message = f"topic {name} begins at offset {source.start} in the source: records from {place.read_from} on"
        return Stop(name, Reason.SOURCE_GAP, place.read_from, f"{message} are gone before they were handed on")
    if source.end < place.position:
        message = f"topic {name} ends at offset {source.end} in the source: it lost records that were handed on"
        return Stop(name, Reason.DIVERGED, source.end, f"{message}, up to {place.position}")
    return None


def find_lost(outputs: Iterable[Output], targets: Mapping[str, TopicState]) -> Iterator[str]:
    """Topics of the target that are gone, or others by now."""
    for output in outputs:
        other = why_other("target", output.name, targets.get(output.name), output.topic_id)
        if other is not None:
            yield other
