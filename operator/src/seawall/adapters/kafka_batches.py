"""How much goes into one request to Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from seawall.domain.kafka import ConfigChange, NewTopic

_ItemT = TypeVar("_ItemT")

WRITE_RECORDS = 5_000
"""Metadata records that one request may cause. The controller refuses a request of more than 10,000 as a whole
("Unable to perform excessively large batch operation"): 1,000 WAL topics with their configs are just too many."""
DELETE_TOPICS = 1_000
DESCRIBE_TOPICS = 500
"""Each answer has all configs, some 40, of every topic."""

DESCRIBE_LOGS = 2_000
"""Ids and offsets are small, but who waits for 10,000 of them wants the others when one broker hangs."""


def batches(
    items: Sequence[_ItemT], limit: int, weigh: Callable[[_ItemT], int] = lambda _: 1
) -> Iterator[list[_ItemT]]:
    """Splits into batches that weigh at most `limit`; an item that is heavier has a batch of its own."""
    batch: list[_ItemT] = []
    weight = 0
    for item in items:
        added = weigh(item)
        if batch and weight + added > limit:
            yield batch
            batch, weight = [], 0
        batch.append(item)
        weight += added
    if batch:
        yield batch


def once(names: Sequence[str]) -> list[str]:
    """Each name once: librdkafka 2.16.0 crashes the process when a DeleteTopics request names a topic twice."""
    return list(dict.fromkeys(names))


def records_of_topic(topic: NewTopic) -> int:
    """The topic, its partition, and each config."""
    return 2 + len(topic.configs)


def records_of_change(change: ConfigChange) -> int:
    """Each config."""
    return len(change.set) + len(change.reset)
