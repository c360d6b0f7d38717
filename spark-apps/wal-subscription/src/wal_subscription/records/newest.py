"""The newest progress of a topic: the last committed record of its partition.

Whoever asks has to have fenced the writers before it (`init_transactions`): then all that they committed lies below the
high watermark that is asked for afterwards, and the answer is read up to there, and not to where readers of committed
records are let (the last stable offset): below that one, what was committed last may be missing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from sparkjob.errors import Refused
from wal_subscription.records.progress import Progress, parse_progress
from wal_subscription.records.request import Output, Topic
from wal_subscription.stops import MustStop, Reason, Stop, Trouble

SECONDS = 15.0
_POLL_SECONDS = 0.2
_REACH, _FURTHER = 64, 16
"""Offsets before the end: an aborted transaction leaves some without a record."""
_OPTIONS = {
    "group.id": "seawall",  # librdkafka wants one; nothing is committed to it
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "check.crcs": True,
    "fetch.wait.max.ms": 10,  # with the default, that the end is reached is told half a second later
}


def newest_progress(options: Mapping[str, str], output: Output, topic: Topic) -> Progress | None:
    """What it is; None: nothing was ever committed.

    Raises:
        MustStop: records of it were deleted, and none is left; or the last one is somebody else's.
        Trouble: Kafka does not answer, or something has a transaction open there.
        Refused: a right is missing.
    """
    try:
        start, end = _offsets(options, output, topic)
        reach = _REACH
        while True:
            first = max(start, end - reach)
            found = _last(options, TopicPartition(output.name, topic.partition, first), end)
            if found is not None or first == start:
                break
            reach *= _FURTHER
    except KafkaException as error:
        raise trouble_of(error, output.name, "Read and Describe") from error
    if found is None and start > 0:
        raise _stop(topic, f"topic {output.name} has lost the progress of topic {topic.name}: {start} records are gone")
    if found is None:
        return None
    key, value = found
    progress = parse_progress(value)
    if key != topic.name.encode() or progress is None:
        raise _stop(topic, f"topic {output.name} has something else than progress of topic {topic.name} at its end")
    return progress


def trouble_of(error: KafkaException, topic: str, right: str) -> Trouble | Refused:
    """What an error of Kafka comes to."""
    found: KafkaError = error.args[0]
    if found.code() in {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}:
        return Refused(f"the user of Kafka lacks a right on topic {topic} of the target: it needs {right}")
    return Trouble(f"topic {topic} of the target does not answer: {found.str()}")


def _stop(topic: Topic, message: str) -> MustStop:
    return MustStop(Stop(topic.name, Reason.TARGET_LOST, None, message))


def _offsets(options: Mapping[str, str], output: Output, topic: Topic) -> tuple[int, int]:
    """The partition's offsets [start, end): by a client that reads all, whose end is the high watermark."""
    consumer = Consumer({**_OPTIONS, "isolation.level": "read_uncommitted", **options})
    try:
        found = consumer.get_watermark_offsets(TopicPartition(output.name, topic.partition), SECONDS, cached=False)
    finally:
        consumer.close()
    if found is None:
        raise Trouble(f"topic {output.name} of the target does not say where it ends")
    return int(found[0]), int(found[1])


def _last(options: Mapping[str, str], start: TopicPartition, end: int) -> tuple[bytes | None, bytes | None] | None:
    """Key and value of the last committed record in [start, end)."""
    found, reached, give_up = None, start.offset, time.monotonic() + SECONDS
    consumer = Consumer({**_OPTIONS, "isolation.level": "read_committed", **options})
    try:
        consumer.assign([start])
        while reached < end:
            if time.monotonic() > give_up:
                raise Trouble(f"topic {start.topic} of the target has a transaction open at offset {reached}")
            message = consumer.poll(_POLL_SECONDS)  # `consume` would wait for more
            if message is None:
                continue
            error, offset = message.error(), message.offset() or 0
            if error is None:
                reached = offset + 1
                found = found if offset >= end else (message.key(), message.value())
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - confluent-kafka calls it so
                reached = max(reached, offset)
            elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED or message.topic() is not None:
                raise KafkaException(error)  # a batch that cannot be read is told once, and passed over
    finally:
        consumer.close()
    return found
