"""Reads the logs of datanodes that crash again and again, a few seconds a look, until it finds the record."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.domain.datanodes.facts import BadRecord
from seawall.domain.kafka_log import Scanned, TopicFailure
from seawall.ports import KafkaLogs

AT_ONCE = 2
"""Topics that one look reads."""


@dataclass(frozen=True, slots=True)
class _Scan:
    """Of the log with this id."""

    topic_id: str
    scanned: Scanned


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
        left = [topic for topic, start in sorted(asked.items()) if not _is_found(known.get(topic), start)]
        for topic in sorted(left, key=lambda name: 0 if name not in known else known[name].scanned.position)[:AT_ONCE]:
            before = known.get(topic)
            start = asked[topic] if before is None else max(asked[topic], before.scanned.position)
            answer = logs.find_unreadable(topic, start)
            if not isinstance(answer, TopicFailure):
                known[topic] = _Scan(topic_ids[topic], answer)
        with self._lock:
            self._known[key] = known

    def found(self, key: Key, topic_ids: Mapping[str, str]) -> tuple[BadRecord, ...]:
        """All that was found so far in the logs that are there now."""
        return tuple(
            BadRecord(topic, one.scanned.unreadable, one.scanned.what)
            for topic, one in sorted(self._of_these_logs(key, topic_ids).items())
            if one.scanned.unreadable is not None
        )

    def _of_these_logs(self, key: Key, topic_ids: Mapping[str, str]) -> dict[str, _Scan]:
        with self._lock:
            known = self._known.get(key, {})
        return {topic: one for topic, one in known.items() if topic_ids.get(topic) == one.topic_id}


def _is_found(known: _Scan | None, start: int) -> bool:
    """Whether the record is known at which a reader ends who begins there."""
    return known is not None and known.scanned.unreadable is not None and known.scanned.unreadable >= start
