"""Reads exact ranges of a log with confluent-kafka: every offset comes, or is known to be none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from sparkjob.errors import Denied, Interrupted
from sparkjob.wire.records import Record
from sparkjob.wire.trouble import Trouble

PATIENCE_SECONDS = 30.0
"""So long nothing new may come."""
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
"""The latter as the database reads: what was aborted, too."""
_POLL_SECONDS = 0.1
"""What a range costs at most that ends in a gap; one that does not is answered at once."""
_MOST_MESSAGES, _FIRST_MESSAGES = 2_000, 16
"""That are taken at once: at first few, because nobody knows yet how large they are."""
_MOST_BYTES = 16 << 20
"""Of their values, about: they are in memory more than once."""
_OPTIONS: dict[str, Any] = {
    "group.id": "seawall",  # librdkafka wants one; nothing is committed to it
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 5,  # with the default of a second, a fast reader waits when the queue was full
    "queued.max.messages.kbytes": 16_384,
    # What is fetched is decompressed as a whole, to up to 255 times as much with lz4.
    "fetch.message.max.bytes": 256 << 10,
    "check.crcs": True,
}


_DAMAGE = frozenset(
    {
        KafkaError._BAD_MSG,  # noqa: SLF001 - confluent-kafka calls them so
        KafkaError._BAD_COMPRESSION,  # noqa: SLF001 - as above
        KafkaError._NOT_IMPLEMENTED,  # noqa: SLF001 - as above
        KafkaError.INVALID_MSG,
        KafkaError.MSG_SIZE_TOO_LARGE,
    }
)
"""Of a batch whose checksum is wrong, that cannot be unpacked, or of a format to come."""


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
        self, options: Mapping[str, str], patience: float = PATIENCE_SECONDS, isolation: str = COMMITTED
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
            Refused: Kafka does not let its user read the topic, or does not let it in.
            Interrupted: Kafka does not answer, or gives what cannot be read, or a transaction is open before the end.
        """
        self._close()
        trouble, at_once, place = Trouble(), _FIRST_MESSAGES, _Place(wanted)
        consumer = self._consumer = Consumer({**self._options, "error_cb": trouble})
        consumer.assign([TopicPartition(wanted.topic, 0, wanted.start)])
        waits_until = time.monotonic() + self._patience
        while not place.is_over:
            # No more than there may be: it waits until it has as many.
            found = place.take(consumer.consume(min(at_once, wanted.end - place.expected), _POLL_SECONDS))
            if found:
                yield found
                at_once = _fitting(found)
                waits_until = time.monotonic() + self._patience
            elif not place.is_over and (trouble.is_final or time.monotonic() > waits_until):
                raise place.explained(trouble)

    def _close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _fitting(found: list[Message]) -> int:
    """How many more of such a size may be taken at once."""
    size = sum(len(message.value() or b"") for message in found)
    return max(1, min(_MOST_MESSAGES, _MOST_BYTES * len(found) // max(1, size)))


class _Place:
    """How far a range was read.

    Attributes:
        expected: the next offset.
        is_over: nothing of the range comes any more.
    """

    def __init__(self, wanted: Range) -> None:
        self._wanted, self.expected = wanted, wanted.start
        self.is_over = wanted.start >= wanted.end
        self._said: KafkaError | None = None

    def take(self, messages: Iterable[Message]) -> list[Message]:
        """The records among them.

        Raises:
            RangeGone, Refused, Interrupted: as `Reader.messages`.
        """
        found = []  # by a loop: `if message` would ask for the length of its value, and drop what has none
        for message in messages:
            error, offset = message.error(), message.offset() or 0
            if error is not None:
                self._hear(message, error, offset)
            elif offset >= self._wanted.end:
                self._end()
            else:
                self._go_to(offset)
                self.expected, self._said = offset + 1, None
                self.is_over = self.expected >= self._wanted.end
                found.append(message)
        return found

    def explained(self, trouble: Trouble) -> Exception:
        """Why nothing comes."""
        if self._said is not None:
            return self._unreadable(self._said)
        return trouble.explained(
            f"topic {self._wanted.topic} gave no record from offset {self.expected} to {self._wanted.end} in time",
            "nothing should write to a WAL topic in transactions: one that is open hides what follows",
        )

    def _hear(self, message: Message, error: KafkaError, offset: int) -> None:
        """What is said of the group passes: nothing is asked of it."""
        topic, code = self._wanted.topic, error.code()
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise Denied(f"the user of Kafka may not read topic {topic}: it needs Read and Describe")
        if code in {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}:  # noqa: SLF001 - confluent-kafka calls them so
            raise RangeGone(f"topic {topic} does not have offset {self._wanted.start} any more")
        if code in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION}:  # noqa: SLF001 - as above
            raise RangeGone(f"topic {topic} is gone")
        if code in _DAMAGE:
            raise self._unreadable(error)
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
            if offset >= self._wanted.end:
                self._end()
        elif message.topic() is not None and self._said is None:
            self._said = error

    def _go_to(self, offset: int) -> None:
        """What is passed over is a gap of the log, unless the client said that it cannot read it.

        librdkafka says once of a batch that its checksum is wrong, or that it cannot unpack it, and goes on behind it
        (rdkafka_msgset_reader.c, 2.16).
        """
        if offset < self.expected:
            raise Interrupted(f"topic {self._wanted.topic} gave offset {offset} after {self.expected - 1}")
        if offset > self.expected and self._said is not None:
            raise self._unreadable(self._said)

    def _end(self) -> None:
        self._go_to(self._wanted.end)
        self.is_over = True

    def _unreadable(self, error: KafkaError) -> Interrupted:
        return Interrupted(f"topic {self._wanted.topic} cannot be read at offset {self.expected}: {error.str()}")


def _record(message: Message) -> Record:
    kind, timestamp = message.timestamp()
    headers: Any = message.headers()  # a list of names and bytes when it was read, whatever may be produced
    return Record(message.offset() or 0, timestamp, kind, message.key(), message.value(), headers or None)
