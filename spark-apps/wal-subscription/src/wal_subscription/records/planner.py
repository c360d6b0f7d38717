"""What the next micro-batch hands on, and which topics must not go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.doubts import Doubts, Pauses
from wal_subscription.records.copier import Copied, Job
from wal_subscription.records.request import Output, Topic
from wal_subscription.stops import Reason, Stop


@dataclass(frozen=True, slots=True)
class Place:
    """Where a topic is, as its last job said; `read_from` is what is still needed of the source."""

    position: int
    read_from: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is handed on next, and what was found to be over since the last plan."""

    jobs: tuple[Job, ...]
    stops: tuple[Stop, ...]


class Planner:
    """Remembers nothing that a start would not find again."""

    def __init__(self, topics: Iterable[Topic], outputs: Sequence[Output]) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._outputs = outputs
        self._doubts, self._pauses = Doubts(), Pauses()
        self._places: dict[str, Place] = {}
        self._epochs: dict[str, int | None] = {}

    @property
    def names(self) -> list[str]:
        """The topics that go on."""
        return list(self._topics)

    def plan(self, sources: Mapping[str, TopicState], targets: Mapping[str, TopicState], now: float) -> Plan:
        """Plans. `sources` and `targets` are the topics that there are; `now` in seconds, of any clock."""
        jobs, stops = list[Job](), list[Stop]()
        lost = next(find_lost(self._outputs, targets), None)
        for name, topic in list(self._topics.items()):
            source, place = sources.get(name), self._places.get(name)
            stop = find_stop(topic, source, place)
            if stop is None and lost is not None:
                stop = Stop(name, Reason.TARGET_LOST, None if place is None else place.position, lost)
            if stop is not None:
                if self._doubts.is_certain(stop, now):
                    stops.append(stop)
                    self.stop(name)
                continue
            self._doubts.end(name)
            assert source is not None  # noqa: S101 - else it would have been a stop
            is_other = self._epochs.get(name, source.epoch) != source.epoch
            has_work = place is None or place.position < source.end or is_other
            if has_work and self._pauses.is_over(name, now):
                self._epochs[name] = source.epoch
                jobs.append(Job(topic, source.end, source.start, source.epoch))
        return Plan(tuple(jobs), tuple(stops))

    def note(self, copied: Copied, now: float) -> None:
        """Remembers how a job went."""
        name = copied.topic
        if copied.stop is not None:
            self.stop(name)
            return
        if copied.read_from is not None:
            self._places[name] = Place(copied.end, copied.read_from)
        if copied.trouble is None or copied.end > copied.start:
            self._pauses.end(name)
        else:
            self._pauses.begin(name, now)

    def in_trouble(self, name: str) -> bool:
        """Whether a topic's last job came to nothing."""
        return name in self._pauses

    def stop(self, name: str) -> None:
        """Plans no more of a topic."""
        self._topics.pop(name, None)


def find_stop(topic: Topic, source: TopicState | None, place: Place | None) -> Stop | None:
    """Why a topic must not go on."""
    name, position = topic.name, None if place is None else place.position
    if source is None:
        return Stop(name, Reason.IDENTITY_FENCE_BROKEN, position, f"topic {name} of the source is gone")
    if source.topic_id != topic.source_id:
        message = f"topic {name} of the source was made again: it is {source.topic_id}, not {topic.source_id}"
        return Stop(name, Reason.IDENTITY_FENCE_BROKEN, position, message)
    if place is None:
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
        found = targets.get(output.name)
        if found is None:
            yield f"topic {output.name} of the target is gone"
        elif found.topic_id != output.topic_id:
            yield f"topic {output.name} of the target was made again: it is {found.topic_id}, not {output.topic_id}"
