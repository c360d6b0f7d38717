"""What looks share of topics for some seconds, because to ask for it is most of what a look would ask of Kafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from seawall.domain.kafka import Configs
from seawall.domain.kafka_log import LogSizes, TopicFailure
from seawall.domain.times import TOPICS_CONFIGS_FRESH_FOR_MS, TOPICS_SIZES_FRESH_FOR_MS
from seawall.ports import KafkaAdmin, KafkaLogs

_FoundT = TypeVar("_FoundT")


@dataclass(slots=True)
class _Recent(Generic[_FoundT]):
    """What was found by topic id, all read at one moment. A recreated topic has a new id."""

    fresh_for_ms: int
    read_at: int = 0
    by_id: dict[str, _FoundT] = field(default_factory=dict)

    def read(
        self, ask: Callable[[list[str]], Mapping[str, _FoundT]], ids: Mapping[str, str], now: int
    ) -> dict[str, _FoundT]:
        """By name; `ask` is called for all topics, or not at all."""
        if now - self.read_at >= self.fresh_for_ms or not self.by_id.keys() >= set(ids.values()):
            reported = ask(list(ids)) if ids else {}
            self.by_id = {ids[name]: found for name, found in reported.items()}
            self.read_at = now
        return {name: self.by_id[topic_id] for name, topic_id in ids.items() if topic_id in self.by_id}


@dataclass(slots=True)
class RecentTopics:
    """Configs and sizes of a pool's topics, as old as CONFIGS_FRESH_FOR_MS and SIZES_FRESH_FOR_MS allow.

    What is that old does no harm. From configs the ledger takes how many replicas must be in sync (how many are, it
    reads anew), and that a topic is compacted, from which Kafka itself refuses to delete. Sizes begin runs and end
    holds that keep too much, and people read them; how far a delete goes, no size decides.

    The ids are those of topics by their names, `now` is the stopwatch's milliseconds.
    """

    _configs: _Recent[Configs] = field(default_factory=lambda: _Recent(TOPICS_CONFIGS_FRESH_FOR_MS))
    _sizes: _Recent[LogSizes] = field(default_factory=lambda: _Recent(TOPICS_SIZES_FRESH_FOR_MS))

    def copy(self) -> RecentTopics:
        """The same, for a look beside the others: what it reads is its own."""
        return RecentTopics(replace(self._configs), replace(self._sizes))

    def configs(self, admin: KafkaAdmin, ids: Mapping[str, str], now: int) -> dict[str, Configs]:
        """The configs of topics by name. Raises as `KafkaAdmin.describe_configs`."""
        return self._configs.read(admin.describe_configs, ids, now)

    def sizes(self, logs: KafkaLogs, ids: Mapping[str, str], now: int) -> dict[str, LogSizes]:
        """Bytes on disk of topics by name, of those that Kafka told. Raises as `KafkaLogs.describe_sizes`."""
        return self._sizes.read(lambda topics: _reported(logs.describe_sizes(topics)), ids, now)


def _reported(answers: Mapping[str, LogSizes | TopicFailure]) -> dict[str, LogSizes]:
    return {name: answer for name, answer in answers.items() if isinstance(answer, LogSizes)}
