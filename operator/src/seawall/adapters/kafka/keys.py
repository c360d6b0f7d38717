"""Reads the keys of a few records of many logs: what a log says of who wrote it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from seawall.adapters.kafka.connection import reader_config
from seawall.adapters.kafka.topic_answers import failure_of
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import Keys, TopicFailure

AT_ONCE = 1_000
_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - the public name of the constant


def read_keys(
    connection: KafkaConnection, ranges: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, Keys | TopicFailure]:
    """By topic the keys of the records in each range (first offset, first offset beyond), as far as there was time."""
    try:
        consumer = Consumer(reader_config(connection))
    except KafkaException as failure:
        return {topic: failure_of(topic, failure.args[0]) for topic in ranges}
    try:
        consumer.assign([TopicPartition(topic, 0, start) for topic, (start, _) in ranges.items()])
        return _read(consumer, ranges, time.monotonic() + seconds)
    finally:
        consumer.close()


def _read(consumer: Consumer, ranges: Mapping[str, tuple[int, int]], deadline: float) -> dict[str, Keys | TopicFailure]:
    keys: dict[str, dict[int, bytes | None]] = {topic: {} for topic in ranges}
    failures: dict[str, TopicFailure] = {}
    open_topics = {topic for topic, (start, end) in ranges.items() if start < end}
    while open_topics and (left := deadline - time.monotonic()) > 0:
        for message in consumer.consume(AT_ONCE, timeout=min(1.0, left)):
            topic, error = str(message.topic()), message.error()
            if topic not in open_topics:
                continue
            if error is not None and error.code() != _EOF:
                failures[topic] = failure_of(topic, error)
                open_topics.discard(topic)
            elif error is not None or _take(message, keys[topic], ranges[topic][1]):
                open_topics.discard(topic)
                consumer.pause([TopicPartition(topic, 0)])
    return {topic: failures.get(topic) or Keys(keys[topic]) for topic in ranges}


def _take(message: Message, keys: dict[int, bytes | None], end: int) -> bool:
    """Keeps a record's key; whether the range ends with it, or before."""
    offset, key = int(message.offset() or 0), message.key()
    if offset < end:
        keys[offset] = key.encode() if isinstance(key, str) else key
    return offset >= end - 1
