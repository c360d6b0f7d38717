"""Reads a log in search of a record that the database cannot read. The operator reads records nowhere else."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from seawall.adapters.kafka.connection import reader_config
from seawall.adapters.kafka.topic_answers import failure_of, unanswered
from seawall.adapters.times import KAFKA_SCAN_SECONDS
from seawall.domain.datanodes.scans import describe_unreadable
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import Scanned, TopicFailure

AT_ONCE = 1_000

_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - the public name of the constant


def find_unreadable(connection: KafkaConnection, topic: str, start: int, timeout: float) -> Scanned | TopicFailure:
    """Reads for a while; `timeout` bounds how long Kafka may be silent before the first answer."""
    try:
        consumer = Consumer(reader_config(connection))
    except KafkaException as failure:
        return failure_of(topic, failure.args[0])
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        return _read(consumer, topic, start, time.monotonic() + timeout)
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: str, start: int, deadline: float) -> Scanned | TopicFailure:
    position, has_begun = start, False
    while time.monotonic() < deadline:
        for message in consumer.consume(AT_ONCE, timeout=min(1.0, max(0.0, deadline - time.monotonic()))):
            error = message.error()
            if error is not None and error.code() != _EOF:
                return failure_of(topic, error)
            if not has_begun:
                has_begun, deadline = True, min(deadline, time.monotonic() + KAFKA_SCAN_SECONDS)
            if error is not None:
                return Scanned(max(position, message.offset() or 0))
            found = _observe_record(message)
            if found.unreadable is not None:
                return found
            position = found.position
    return Scanned(position) if has_begun else unanswered(topic, "its leader gave no record in time")


def _observe_record(message: Message) -> Scanned:
    offset, key = int(message.offset() or 0), message.key()
    text = key.encode() if isinstance(key, str) else key
    what = describe_unreadable(text, has_value=message.value() is not None)
    return Scanned(offset + 1) if what is None else Scanned(offset, offset, what)
