"""What the next micro-batch copies, and which topics must not go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.copier import Copied, Job
from wal_subscription.plan import Plan, TopicPlanner, why_other
from wal_subscription.request import Topic
from wal_subscription.stops import Reason, Stop


class Planner(TopicPlanner[Topic, Copied]):
    """Remembers nothing that a start would not find again: only since when something seems to be so."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        super().__init__(topics)
        self._ends: dict[str, int] = {}
        self._compared: dict[str, int | None] = {}
        self._epochs: dict[str, int | None] = {}

    def plan(self, sources: Mapping[str, TopicState], targets: Mapping[str, TopicState], now: float) -> Plan[Job]:
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
                stops += self._settled(stop, now)
                continue
            self._doubts.end(name)
            assert source is not None  # noqa: S101 - else it would have been a stop
            assert target is not None  # noqa: S101 - as above
            self._epochs[name] = source.epoch
            compares = name not in self._compared or self._compared[name] != source.epoch
            has_work = target.end < max(source.end, topic.start) or compares
            if has_work and self._pauses.is_over(name, now):
                jobs.append(Job(topic, source.end, compares, source.start, source.epoch))
        return Plan(tuple(jobs), tuple(stops))

    def _remember(self, copied: Copied) -> None:
        if copied.compared:
            self._compared[copied.topic] = self._epochs.get(copied.topic)


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
        message = why_other(side, name, state, topic_id)
        if message is not None:
            return Stop(name, reason, offset, message)
    return None
