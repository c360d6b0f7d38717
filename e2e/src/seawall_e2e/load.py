"""A database that writes all the time: numbered records, acknowledged by all in-sync replicas.

As a program, which is given to `python -c` in the toolbox pod and so stands alone: arguments are the topics and how
many records each of them has from the beginning; it says `writing`, writes until a line comes, and says what became of
it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PREFIX = b"load-"
PAUSE_SECONDS = 0.02
FILLER = b"x" * 1_000
FLUSH_SECONDS = 60.0
POLL_SECONDS = 10.0
BATCH_SECONDS = 0.5
"""A batch that is not full by then is taken as it is."""


class Load:
    """Writes to each topic in turn until it is left; then all that was sent is acknowledged, or has failed.

    Attributes:
        acknowledged: topic → the numbers of its acknowledged records.
        failed: what the client gave up, with its errors.
    """

    def __init__(self, servers: Sequence[str], topics: Sequence[str]) -> None:
        self.acknowledged: dict[str, set[int]] = {topic: set() for topic in topics}
        self.failed: list[KafkaError] = []
        self._servers = ",".join(servers)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def fill(self, records: int) -> None:
        """Appends so many records of a kilobyte to each topic, and waits until they are acknowledged."""
        once = {"acks": "all", "enable.idempotence": True, "log_level": 0, "linger.ms": 5}
        producer = Producer({"bootstrap.servers": self._servers, **once})
        for topic in self.acknowledged:
            for _ in range(records):
                producer.produce(topic, FILLER, partition=0, on_delivery=self._filled)
                producer.poll(0)
        _flush(producer)

    def missing(self) -> dict[str, set[int]]:
        """Acknowledged records that cannot be read any more, of the topics where there are any."""
        found = {topic: self._read(topic) for topic in self.acknowledged}
        return {topic: lost for topic, told in self.acknowledged.items() if (lost := told - found[topic])}

    def _write(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
                "topic.metadata.refresh.interval.ms": 5000,
            }
        )
        number = 0
        while not self._stop.is_set():
            for topic in self.acknowledged:
                value = PREFIX + str(number).encode()
                producer.produce(topic, value, partition=0, on_delivery=self._delivered)
            number += 1
            producer.poll(0)
            time.sleep(PAUSE_SECONDS)
        _flush(producer)

    def _filled(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.failed.append(error)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        topic, value = message.topic(), message.value()
        if error is not None:
            self.failed.append(error)
        elif topic is not None and value is not None:
            self.acknowledged[topic].add(int(value.removeprefix(PREFIX)))

    def _read(self, topic: str) -> set[int]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "load",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=POLL_SECONDS)
            consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
            numbers, at = set(), 0
            while at < end:
                for message in consumer.consume(1_000, timeout=BATCH_SECONDS):
                    if message.error() is not None:
                        raise KafkaException(message.error())
                    at, value = (message.offset() or 0) + 1, message.value() or b""
                    if value.startswith(PREFIX):
                        numbers.add(int(value.removeprefix(PREFIX)))
            return numbers
        finally:
            consumer.close()


def _flush(producer: Producer) -> None:
    if producer.flush(FLUSH_SECONDS):
        raise TimeoutError("not all records were answered")


def main() -> None:
    """Writes to the topics that are named, and reads back what was acknowledged."""
    *topics, records = sys.argv[1:]
    load = Load(os.environ["BOOTSTRAP_SERVERS"].split(","), topics)
    load.fill(int(records))
    with load:
        print("writing", flush=True)
        sys.stdin.readline()
    told = {
        "acknowledged": sum(map(len, load.acknowledged.values())),
        "failed": [str(error) for error in load.failed],
        "lost": sum(map(len, load.missing().values())),
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
