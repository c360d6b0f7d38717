"""The last committed record of each of many partitions of one topic: how far those who write there are."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from seawall.adapters.kafka.connection import reader_config
from seawall.adapters.kafka.errors import wait_for
from seawall.adapters.kafka.topic_answers import EARLIEST, LATEST, failure_of, refused_names, unanswered
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import NewestRecord, TopicFailure

REACH, FURTHER = 8, 32
"""Offsets before the end: its last ones are a marker, and those of aborted transactions have no record for readers."""
AT_ONCE = 1_000
_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - the public name of the constant

Newest = dict[int, NewestRecord | TopicFailure | None]
Ends = Mapping[int, tuple[int, int]]


def read_newest(
    client: AdminClient, connection: KafkaConnection, topic: str, partitions: Collection[int], seconds: float
) -> Newest:
    """By partition its last committed record; None: it has none.

    Up to the last stable offset, as readers of committed records are let: whoever reads beyond somebody's open
    transaction would have to wait. What was committed behind that one is found a little later.
    """
    impossible = refused_names([topic])
    if impossible:
        return dict.fromkeys(partitions, impossible[topic])
    deadline = time.monotonic() + seconds
    ends, found = _ends(client, topic, partitions, seconds / 2)
    reach = REACH
    left = {partition: bounds for partition, bounds in ends.items() if bounds[0] < bounds[1]}
    found |= dict.fromkeys(ends.keys() - left.keys())
    while left:
        read = _read(connection, topic, left, reach, deadline)
        found |= read
        # Nothing but what was aborted, so near the end; where that is the whole log there never was anything else.
        left = {
            partition: (start, end)
            for partition, (start, end) in left.items()
            if read[partition] is None and end - reach > start
        }
        reach *= FURTHER
    return found


def _ends(client: AdminClient, topic: str, partitions: Collection[int], seconds: float) -> tuple[Ends, Newest]:
    """By partition its offsets [start, end) for readers of committed records; and of which nobody says them."""
    starts, failed = _offsets(client, topic, partitions, EARLIEST, seconds / 2)
    ends, silent = _offsets(client, topic, partitions, LATEST, seconds / 2)
    failures: Newest = {**silent, **failed}
    return {partition: (start, ends[partition]) for partition, start in starts.items() if partition in ends}, failures


def _offsets(
    client: AdminClient, topic: str, partitions: Collection[int], spec: OffsetSpec, seconds: float
) -> tuple[dict[int, int], dict[int, TopicFailure]]:
    asked = {TopicPartition(topic, partition): spec for partition in partitions}
    if not asked:
        return {}, {}
    try:
        futures = client.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=seconds)
        values, errors = wait_for({str(each.partition): future for each, future in futures.items()}, seconds)
    except KafkaException as failure:
        return {}, dict.fromkeys(partitions, failure_of(topic, failure.args[0]))
    except OutsideUnavailable as silence:
        return {}, dict.fromkeys(partitions, unanswered(topic, str(silence)))
    offsets = {int(partition): int(value.offset) for partition, value in values.items()}
    failures = {int(partition): failure_of(topic, error) for partition, error in errors.items()}
    # librdkafka's answer for a broker that died is the offset -1001, and no error.
    mute = [partition for partition, offset in offsets.items() if offset < 0]
    failures |= {partition: unanswered(topic, "its leader told no offset") for partition in mute}
    return {partition: offset for partition, offset in offsets.items() if offset >= 0}, failures


@dataclass(slots=True)
class _Reading:
    """What a consumer has found so far."""

    topic: str
    ends: Mapping[int, int]
    open: set[int]
    found: Newest = field(default_factory=dict)

    def take(self, message: Message) -> int | None:
        """Keeps a record; the partition that has just been read to its end, if one has."""
        partition, error, offset = int(message.partition() or 0), message.error(), int(message.offset() or 0)
        if partition not in self.open:
            return None
        if error is not None and error.code() != _EOF:
            self.found[partition] = failure_of(self.topic, error)
        elif error is None and offset < self.ends[partition]:
            self.found[partition] = NewestRecord(_bytes(message.key()), _bytes(message.value()))
            if offset < self.ends[partition] - 1:
                return None
        self.open.discard(partition)
        return partition


def _read(connection: KafkaConnection, topic: str, ends: Ends, reach: int, deadline: float) -> Newest:
    """The last record of each partition that is no further before its end; None: there is none so near."""
    try:
        consumer = Consumer({**reader_config(connection), "isolation.level": "read_committed"})
    except KafkaException as failure:
        return dict.fromkeys(ends, failure_of(topic, failure.args[0]))
    reading = _Reading(topic, {partition: end for partition, (_, end) in ends.items()}, set(ends))
    try:
        consumer.assign(
            [TopicPartition(topic, partition, max(start, end - reach)) for partition, (start, end) in ends.items()]
        )
        while reading.open and (left := deadline - time.monotonic()) > 0:
            for message in consumer.consume(AT_ONCE, timeout=min(0.2, left)):
                over = reading.take(message)
                if over is not None:
                    consumer.pause([TopicPartition(topic, over)])
    finally:
        consumer.close()
    late = dict.fromkeys(reading.open, unanswered(topic, "there was no time left to read"))
    return {**dict.fromkeys(ends), **reading.found, **late}


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
