"""What the next micro-batch copies, and which topics must not go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.copier import Copied, Job
from wal_subscription.doubts import Doubts, Pauses
from wal_subscription.request import Topic
from wal_subscription.stops import Reason, Stop


@dataclass(frozen=True, slots=True)
class Plan:
    """What is copied next, and what was found to be over since the last plan."""

    jobs: tuple[Job, ...]
    stops: tuple[Stop, ...]


class Planner:
    """Remembers nothing that a start would not find again: only since when something seems to be so."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._doubts, self._pauses = Doubts(), Pauses()
        self._ends: dict[str, int] = {}
        self._compared: dict[str, int | None] = {}
        self._epochs: dict[str, int | None] = {}

    @property
    def names(self) -> list[str]:
        """The topics that go on."""
        return list(self._topics)

    def plan(self, sources: Mapping[str, TopicState], targets: Mapping[str, TopicState], now: float) -> Plan:
        """Plans.

        Args:
            sources: what Kafka said of the topics that there are. It was asked before the target was: else another
                driver's copying, and a purge after it, would look like a gap.
            targets: the same of the target's.
            now: seconds, of any clock that only goes on.
        """
        jobs, stops = list[Job](), list[Stop]()
        for name, topic in list(self._topics.items()):
            source, target = sources.get(name), targets.get(name)
            stop = find_stop(topic, source, target, self._ends.get(name, 0))
            if target is not None:
                self._ends[name] = target.end
            if stop is not None:
                if self._doubts.is_certain(stop, now):
                    stops.append(stop)
                    self.stop(name)
                continue
            self._doubts.end(name)
            assert source is not None  # noqa: S101 - else it would have been a stop
            assert target is not None  # noqa: S101 - as above
            self._epochs[name] = source.epoch
            compares = name not in self._compared or self._compared[name] != source.epoch
            has_work = target.end < max(source.end, topic.start) or compares
            if has_work and self._pauses.is_over(name, now):
                jobs.append(Job(topic, source.end, compares, source.start))
        return Plan(tuple(jobs), tuple(stops))

    def note(self, copied: Copied, now: float) -> None:
        """Remembers how a job went."""
        name = copied.topic
        if copied.stop is not None:
            self.stop(name)
            return
        if copied.compared:
            self._compared[name] = self._epochs.get(name)
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


def find_stop(topic: Topic, source: TopicState | None, target: TopicState | None, mirrored: int) -> Stop | None:
    """Why a topic must not go on; `mirrored` is where the target ended before the source was asked."""
    other = find_other(topic, source, target)
    if other is not None or source is None or target is None:
        return other
    name, first = topic.name, max(target.end, topic.start)
    if source.start > first:
        message = f"topic {name} begins at offset {source.start} in the source: records from {first} on are gone"
        return Stop(name, Reason.SOURCE_GAP, first, f"{message} before they were mirrored")
    if mirrored > max(source.end, topic.start):
        message = f"topic {name} ends at offset {source.end} in the source: it lost records that were mirrored"
        return Stop(name, Reason.DIVERGED, source.end, f"{message}, up to {mirrored}")
    return None


def find_other(topic: Topic, source: TopicState | None, target: TopicState | None) -> Stop | None:
    """A topic that is gone, or another one by now."""
    name, position = topic.name, None if target is None else target.end
    for side, state, topic_id, reason, offset in (
        ("source", source, topic.source_id, Reason.IDENTITY_FENCE_BROKEN, position),
        ("target", target, topic.target_id, Reason.TARGET_LOST, None),
    ):
        if state is None:
            return Stop(name, reason, offset, f"topic {name} of the {side} is gone")
        if state.topic_id != topic_id:
            message = f"topic {name} of the {side} was made again: it is {state.topic_id}, not {topic_id}"
            return Stop(name, reason, offset, message)
    return None
