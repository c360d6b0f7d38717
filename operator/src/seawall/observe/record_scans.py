"""Reads the logs of datanodes that crash again and again, a few seconds a look, until it finds the record."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from seawall.api.meta import Key
from seawall.domain.datanodes.facts import BadRecord
from seawall.domain.kafka_log import Scanned, TopicFailure
from seawall.ports import KafkaLogs

AT_ONCE = 2
"""Topics that one look reads."""


@dataclass(frozen=True, slots=True)
class _Scan:
    """Of the log with this id: all was read from `start` to `position`. What was ever found of it stays known."""

    topic_id: str
    start: int
    position: int
    reads: int = 0
    found: Mapping[int, BadRecord] = field(default_factory=dict)

    def is_over(self, start: int) -> bool:
        """Whether the record is known at which a reader ends who begins there."""
        return self.start <= start and any(start <= offset <= self.position for offset in self.found)

    def begun_at(self, start: int) -> _Scan:
        """As it goes on for a reader who begins there; who begins below, or beyond what was read, begins anew."""
        begun = self if self.start <= start <= self.position else replace(self, start=start, position=start)
        return replace(begun, reads=self.reads + 1)

    def with_more(self, topic: str, answer: Scanned | TopicFailure) -> _Scan:
        """With what was read from where it was."""
        if isinstance(answer, TopicFailure):
            return self
        found = dict(self.found)
        if answer.unreadable is not None:
            found[answer.unreadable] = BadRecord(topic, answer.unreadable, answer.what)
        return replace(self, position=answer.position, found=found)


@dataclass(slots=True)
class RecordScans:
    """What was read of each WALCluster's topics, by this process; losing it costs reading it again."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, dict[str, _Scan]] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._known.pop(key, None)

    def scan(self, key: Key, logs: KafkaLogs, starts: Mapping[str, int], topic_ids: Mapping[str, str]) -> None:
        """Goes on reading.

        Args:
            key: the WALCluster.
            logs: of its Kafka.
            starts: by suspicious topic the offset from which it is read.
            topic_ids: by topic the id that it has now.
        """
        known = self._of_these_logs(key, topic_ids)
        asked = {topic: start for topic, start in starts.items() if topic in topic_ids}
        left = [
            topic for topic, start in sorted(asked.items()) if topic not in known or not known[topic].is_over(start)
        ]
        # In turn: a log that ends, or that nobody can read, is asked for no more often than a long one.
        for topic in sorted(left, key=lambda name: 0 if name not in known else known[name].reads)[:AT_ONCE]:
            start = asked[topic]
            begun = known.get(topic, _Scan(topic_ids[topic], start, start)).begun_at(start)
            known[topic] = begun.with_more(topic, logs.find_unreadable(topic, begun.position))
        with self._lock:
            self._known[key] = known

    def found(self, key: Key, topic_ids: Mapping[str, str]) -> tuple[BadRecord, ...]:
        """All that was found so far in the logs that are there now."""
        scans = sorted(self._of_these_logs(key, topic_ids).items())
        return tuple(one.found[offset] for _, one in scans for offset in sorted(one.found))

    def _of_these_logs(self, key: Key, topic_ids: Mapping[str, str]) -> dict[str, _Scan]:
        with self._lock:
            known = self._known.get(key, {})
        return {topic: one for topic, one in known.items() if topic_ids.get(topic) == one.topic_id}
