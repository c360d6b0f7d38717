"""Reads exact ranges of a log with confluent-kafka: every offset comes, or is known to be none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from sparkjob.errors import Denied, Interrupted
from sparkjob.wire.records import Record

PATIENCE_SECONDS = 30.0
"""So long nothing new may come."""
_POLL_SECONDS = 0.1
"""What a range costs at most that ends in a gap; one that does not is answered at once."""
_BATCH = 2_000
_OPTIONS: dict[str, Any] = {
    "group.id": "seawall",  # librdkafka wants one; nothing is committed to it
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 5,  # with the default of a second, a fast reader waits when the queue was full
    "queued.max.messages.kbytes": 65_536,
    "check.crcs": True,
}


class Range(NamedTuple):
    """Offsets [start, end) of a topic's partition 0."""

    topic: str
    start: int
    end: int


class RangeGone(Exception):  # noqa: N818 - the outcome's name
    """The log has no longer what is asked for."""


class Reader:
    """One range after the other, each with a consumer of its own.

    librdkafka 2.16 takes a second, with nothing to do, to begin with another partition; a new consumer takes 10 ms.
    """

    def __init__(
        self, options: Mapping[str, str], patience: float = PATIENCE_SECONDS, isolation: str = "read_committed"
    ) -> None:
        self._options = {**_OPTIONS, "isolation.level": isolation, **options}
        self._patience = patience
        self._consumer: Consumer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def read(self, wanted: Range) -> Iterator[tuple[Record, int]]:
        """The records of a range and their leader epochs; offsets between them are gaps of the log.

        Raises:
            RangeGone, Refused, Interrupted: as `messages`.
        """
        for messages in self.messages(wanted):
            for message in messages:
                yield _record(message), message.leader_epoch() or 0

    def records(self, wanted: Range) -> Iterator[list[tuple[int, bytes | None, bytes | None]]]:
        """Offsets, keys and values alone, many at once.

        Raises:
            RangeGone, Refused, Interrupted: as `messages`.
        """
        for messages in self.messages(wanted):
            yield [(message.offset() or 0, message.key(), message.value()) for message in messages]

    def messages(self, wanted: Range) -> Iterator[list[Message]]:
        """The same as they come from the client, many at once.

        Raises:
            RangeGone: the log begins later, or the topic is gone.
            Refused: Kafka does not let its user read the topic.
            Interrupted: Kafka does not answer, or a transaction is open before the range's end.
        """
        self._close()
        consumer = self._consumer = Consumer(self._options)
        consumer.assign([TopicPartition(wanted.topic, 0, wanted.start)])
        expected, waits_until = wanted.start, time.monotonic() + self._patience
        while expected < wanted.end:
            found, is_over = list[Message](), False
            # No more than there may be: it waits until it has as many. `if message` would ask for the length of its
            # value, and drop what has none.
            for message in consumer.consume(min(_BATCH, wanted.end - expected), _POLL_SECONDS):
                error, offset = message.error(), message.offset() or 0
                if error is not None:
                    is_over |= _is_end(error, wanted) and offset >= wanted.end
                elif offset >= wanted.end:
                    is_over = True
                elif offset < expected:
                    raise Interrupted(f"topic {wanted.topic} gave offset {offset} after {expected - 1}")
                else:
                    expected = offset + 1
                    found.append(message)
            if found:
                yield found
            if is_over:
                return
            if found:
                waits_until = time.monotonic() + self._patience
            elif time.monotonic() > waits_until:
                raise Interrupted(
                    f"topic {wanted.topic} gave no record from offset {expected} to {wanted.end} in time"
                    " (nothing should write to a WAL topic in transactions: one that is open hides what follows)"
                )

    def _close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _is_end(error: KafkaError, wanted: Range) -> bool:
    """Whether it says that the log ends; other errors pass, or are told when nothing comes for too long."""
    code = error.code()
    if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise Denied(f"the user of Kafka may not read topic {wanted.topic}: it needs Read and Describe")
    if code in {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}:  # noqa: SLF001 - confluent-kafka calls them so
        raise RangeGone(f"topic {wanted.topic} does not have offset {wanted.start} any more")
    if code in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION}:  # noqa: SLF001 - as above
        raise RangeGone(f"topic {wanted.topic} is gone")
    return bool(code == KafkaError._PARTITION_EOF)  # noqa: SLF001 - as above


def _record(message: Message) -> Record:
    kind, timestamp = message.timestamp()
    headers: Any = message.headers()  # a list of names and bytes when it was read, whatever may be produced
    return Record(message.offset() or 0, timestamp, kind, message.key(), message.value(), headers or None)
