"""Whether Kafka keeps the configs that it took.

Some services answer that a config is set, and keep what they had (Redpanda: `allowlist_topic_noop_confs` in its
`src/v/kafka/server/handlers/topics/types.h`). Taken at its word, such a config would be set again for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.adapters.kafka.errors import named_topics
from seawall.domain.errors import NotSupported
from seawall.domain.kafka import ConfigChange, Configs
from seawall.domain.topics.pool import is_same_value


def not_kept(changes: Iterable[ConfigChange], shown: Mapping[str, Configs]) -> dict[str, tuple[str, ...]]:
    """By topic the keys that were set, and are not shown so; a topic that is not shown is left out."""
    found = {
        change.topic: tuple(key for key, value in change.set.items() if not _has(shown[change.topic], key, value))
        for change in changes
        if change.topic in shown
    }
    return {topic: keys for topic, keys in found.items() if keys}


def refusal_of_unkept(topics: Mapping[str, tuple[str, ...]]) -> NotSupported:
    """The refusal of what was taken and not kept."""
    keys = sorted({key for of_topic in topics.values() for key in of_topic})
    return NotSupported(
        f"Kafka took {', '.join(keys)} of {named_topics(sorted(topics))}, and keeps the value of before"
    )


def _has(configs: Configs, key: str, value: str) -> bool:
    return key in configs and is_same_value(configs[key], value)
