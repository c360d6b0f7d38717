"""What the next micro-batch writes, and which topics must not go on.

A topic is read when its commit is due, from its last one on, and not before: between two commits nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.plan import Plan
from wal_subscription.records.planner import RowsPlanner, find_stop
from wal_subscription.stops import Stop
from wal_subscription.table.jobs import Copied, Job
from wal_subscription.table.request import Topic


class Planner(RowsPlanner[Topic, Copied]):
    """Remembers nothing that a start would not find again, but that there was a commit of some number."""

    def __init__(self, topics: Iterable[Topic], seconds: float) -> None:
        super().__init__(topics)
        self._seconds = seconds
        self._known: dict[str, int] = {}
        self._begun: dict[str, tuple[float, int]] = {}
        self._due: dict[str, float] = {}

    def plan(self, sources: Mapping[str, TopicState], now: float) -> Plan[Job]:
        """Plans. `sources` are the topics that there are; `now` in seconds, of any clock."""
        jobs, stops = list[Job](), list[Stop]()
        for name, topic in list(self._topics.items()):
            source = sources.get(name)
            place = self._place_of(name, source)
            stop = find_stop(topic, source, place)
            if stop is not None:
                stops += self._settled(stop, now)
                continue
            self._doubts.end(name)
            assert source is not None  # noqa: S101 - else it would have been a stop
            is_other = self._epochs.get(name, source.epoch) != source.epoch
            is_due = place is None or (place.position < source.end and now >= self._due.get(name, now))
            base, files = self._base_of(name, place), self._files_of(name, place)
            if (is_due or is_other or bool(files)) and self._pauses.is_over(name, now):
                self._epochs[name] = source.epoch
                self._begun[name] = now, source.end
                jobs.append(Job(topic, source.end, source.start, self._known.get(name), base, files, source.epoch))
        return Plan(tuple(jobs), tuple(stops))

    def _remember(self, copied: Copied) -> None:
        """A job that did not come to its end, or came to nothing, is due at once."""
        name = copied.topic
        if copied.known is not None:
            self._known[name] = copied.known
        super()._remember(copied)
        if copied.read_from is None:
            return
        begun, end = self._begun[name]
        self._due[name] = begun + self._seconds if copied.end >= end else begun
