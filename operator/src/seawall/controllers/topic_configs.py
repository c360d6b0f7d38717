"""The configs of topics as looks need them: to describe them is most of what a look would ask of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.domain.kafka import Configs
from seawall.ports import KafkaAdmin

FRESH_FOR_MS = 30_000
"""A broker takes a second for the configs of 1,000 topics, and a run looks seven times and more."""


@dataclass(slots=True)
class RecentConfigs:
    """The configs of a pool's topics by topic id, all read at one moment that is less than FRESH_FOR_MS ago.

    What is that old does no harm. The ledger takes from it how many replicas must be in sync (how many are, it reads
    anew), and that a topic is compacted, from which Kafka itself refuses to delete. A recreated topic has a new id.
    """

    _read_at: int = 0
    _by_id: dict[str, Configs] = field(default_factory=dict)

    def read(self, admin: KafkaAdmin, ids: Mapping[str, str], now: int) -> dict[str, Configs]:
        """The configs of topics by name; Kafka is asked about all of them, or about none.

        Args:
            admin: who is asked.
            ids: the topics' ids by their names.
            now: the stopwatch's milliseconds.

        Raises:
            OutsideUnavailable, Refused: as `KafkaAdmin.describe_configs`.
        """
        if now - self._read_at >= FRESH_FOR_MS or not self._by_id.keys() >= set(ids.values()):
            told = admin.describe_configs(list(ids)) if ids else {}
            self._by_id = {ids[name]: configs for name, configs in told.items()}
            self._read_at = now
        return {name: self._by_id[topic_id] for name, topic_id in ids.items() if topic_id in self._by_id}
