"""A topic as a log: append, read from an offset, watermarks. Partition 0, as GreptimeDB does.

Never transactional: markers of transactions would be holes in the offsets. An append that fails may have happened all
the same; nobody was told that its rows are safe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from refdb.errors import RegionFatalError, Unavailable
from refdb.wal.options import WalOptions
from walrecord import Record

APPEND_TIMEOUT = 10.0
CALL_TIMEOUT = 5.0
STALL_TIMEOUT = 30.0
PATIENCE = 15.0
"""Longer than a call: one that nobody answers in time is asked again."""
FRAMING = 1024
"""What a record has around its key and value, generously; librdkafka compares before it compresses."""
_GONE = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}  # noqa: SLF001
)
_OUT_OF_RANGE = frozenset({KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET})  # noqa: SLF001


class Watermarks(NamedTuple):
    """The log holds offsets from `low` to below `high`."""

    low: int
    high: int


class RawRecord(NamedTuple):
    """A record as it was read."""

    offset: int
    key: bytes | None
    value: bytes | None


class TopicStat(NamedTuple):
    """What was appended to a topic from here since the start, as a heartbeat has it: the last entry id, and sums."""

    topic: str
    latest_entry_id: int = 0
    record_size: int = 0
    record_num: int = 0


class WalLog:
    """The topics of one Kafka cluster."""

    def __init__(self, options: WalOptions) -> None:
        self.max_batch_bytes = options.max_batch_bytes
        self._properties = {**options.kafka, "topic.metadata.refresh.interval.ms": 10_000}
        self._producer = Producer(
            {
                **self._properties,
                "acks": "all",
                "compression.type": "lz4",
                "linger.ms": 0,
                "message.timeout.ms": int(APPEND_TIMEOUT * 1000),
                "request.timeout.ms": 4_000,
                "message.max.bytes": options.max_batch_bytes + FRAMING,
                "batch.size": options.max_batch_bytes,
            }
        )
        self._asker = Consumer(self._consumer_properties())
        self._appended: dict[str, TopicStat] = {}
        self._closed = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="wal-producer", daemon=True)
        self._poller.start()

    def close(self) -> None:
        """Lets go of the connections; what is still under way may or may not happen."""
        self._closed.set()
        self._poller.join()
        self._producer.purge()
        self._producer.flush(1)
        self._asker.close()

    def append(self, topic: str, records: Sequence[Record]) -> int:
        """Appends in order and returns the offset of the last one, once all in-sync replicas have them."""
        offset = -1
        for record in records:  # one after another: if a part fails, none that belongs after it is ever sent
            offset = self._append(topic, record.key, record.value)
        return offset

    def activate(self, topic: str) -> Watermarks:
        """An empty topic gets a first record without key and value, so that no entry has offset 0."""
        if self.watermarks(topic).high == 0:
            self._append(topic, None, None)
        return self.watermarks(topic)

    def watermarks(self, topic: str) -> Watermarks:
        """Asks the leader now, for a while: leaders move, and a broker that is behind does not know a topic yet."""
        partition, deadline = TopicPartition(topic, 0), time.monotonic() + PATIENCE
        while True:
            try:
                return Watermarks(*self._asker.get_watermark_offsets(partition, timeout=CALL_TIMEOUT, cached=False))
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise _failure(topic, error.args[0]) from None
            time.sleep(0.2)

    def read(self, topic: str, start: int, end: int) -> Iterator[RawRecord]:
        """The records of offsets from `start` to below `end`, each of which must be there.

        GreptimeDB asks for an offset that is missing again and again, and never opens the region; this ends instead.
        """
        consumer = Consumer(self._consumer_properties())
        try:
            consumer.assign([TopicPartition(topic, 0, start)])
            position = start
            while position < end:
                message = consumer.poll(STALL_TIMEOUT)
                if message is None:
                    raise Unavailable(f"topic {topic} gives no record at offset {position}")
                error, offset = message.error(), int(message.offset() or 0)
                if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    continue  # the library asks for a group that nobody uses; GreptimeDB's has none
                if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise _failure(topic, error, position)
                if position < offset:
                    why = "it is compacted, or was written in transactions"
                    raise RegionFatalError(f"topic {topic} has no record at offset {position}: {why}")
                if error is None:
                    position = offset + 1
                    yield RawRecord(offset, message.key(), message.value())
        finally:
            consumer.close()

    def topic_stats(self) -> list[dict[str, Any]]:
        """What was appended from here, by topic."""
        return [stat._asdict() for _, stat in sorted(self._appended.copy().items())]

    def _append(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        delivered: Future[int] = Future()

        def on_delivery(error: Any, message: Any) -> None:
            if error is not None:
                delivered.set_exception(_failure(topic, error))
                return
            if key is not None and value is not None:
                before = self._appended.get(topic, TopicStat(topic))
                size = before.record_size + len(key) + len(value)
                self._appended[topic] = TopicStat(topic, message.offset(), size, before.record_num + 1)
            delivered.set_result(message.offset())

        try:
            self._producer.produce(topic, value, key, partition=0, on_delivery=on_delivery)
            return delivered.result(APPEND_TIMEOUT * 2)
        except (BufferError, KafkaException, TimeoutError) as error:
            raise Unavailable(f"cannot append to topic {topic}: {error}") from None

    def _poll(self) -> None:
        while not self._closed.is_set():
            self._producer.poll(0.2)

    def _consumer_properties(self) -> dict[str, Any]:
        return {
            **self._properties,
            "group.id": "refdb",  # required by the library; offsets are never committed
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
        }


def _failure(topic: str, error: Any, position: int | None = None) -> Exception:
    if error.code() in _GONE:
        return RegionFatalError(f"topic {topic} does not exist: was it deleted?")
    if error.code() in _OUT_OF_RANGE:
        return RegionFatalError(f"OffsetOutOfRange: topic {topic} has no offset {position} any more")
    return Unavailable(f"Kafka, topic {topic}: {error.str()}")
