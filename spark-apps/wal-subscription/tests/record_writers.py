"""Drivers of the sink of records as processes of their own, which are killed and frozen at any moment."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from handed_on import run_here
from mirror_writers import CONDITION, NO_CONDITION, count
from record_logs import CPU, MEM, NET, Written

from sparkjob.errors import Interrupted, Refused
from wal_subscription import doubts
from wal_subscription.records import copier, process, request, sink
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.records.request import parse_records_request

_PAUSE = 0.02
_MOST_HESITATION = 0.02


def hand_on(path: str, counts: str, how: str) -> None:
    """Hands on for ever. Who is overtaken by another driver is counted by a byte in a file; so are topics that stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doubts, "_PAUSE_SECONDS", 0.01)  # the two shall meet, not make way
        patch.setattr(copier, "COMMIT_SECONDS", 0.05)
        hesitate(patch)
        if how == NO_CONDITION:
            patch.setattr(request.Sink, "transactional_id", lambda _, topic: f"{topic}.{os.getpid()}")
        meaning = sink.Writer._meaning

        def counted(writer: sink.Writer, error: Any) -> Any:
            if error.code() in sink._FENCED:
                count(counts, b"r")
            return meaning(writer, error)

        patch.setattr(sink.Writer, "_meaning", counted)
        micro: RecordsBatches | None = None
        while micro is None or not micro.is_over:
            try:
                micro = micro or RecordsBatches(parse_records_request(Path(path).read_bytes()), run_here)
                micro.once()
                if random.random() < 0.2:  # noqa: S311 - any will do
                    process.forget_all()  # as a task that lands on another worker
            except (Interrupted, Refused):
                micro = None
            time.sleep(_PAUSE)
        count(counts, b"s" * len(micro.stops))


def hesitate(patch: pytest.MonkeyPatch) -> None:
    """Time goes by before all that the target is asked: others come in between."""

    class Hesitating(Producer):
        def init_transactions(self, *arguments: Any) -> None:
            _pause()
            super().init_transactions(*arguments)
            _pause()

        def commit_transaction(self, *arguments: Any) -> None:
            _pause()
            super().commit_transaction(*arguments)

    patch.setattr(sink, "Producer", Hesitating)


def _pause() -> None:
    time.sleep(random.uniform(0.0, _MOST_HESITATION))  # noqa: S311 - any will do


class Database:
    """Writes entries of three tables to a topic all the time, some of them in parts between those of others."""

    def __init__(self, topic: str, options: Mapping[str, str]) -> None:
        self.log = Written()
        self._topic, self._options = topic, options
        self._seed = random.Random(11)  # noqa: S311 - a fixed log

    @contextmanager
    def writes(self, pause: float = 0.02) -> Iterator[None]:
        """For as long as this is open."""
        is_over = threading.Event()

        def produce() -> None:
            producer = Producer({**self._options, "acks": "all", "enable.idempotence": True, "linger.ms": 2})
            while not is_over.is_set():
                self._write()
                for key, value in self.log.take():
                    producer.produce(self._topic, value, key, 0)
                producer.poll(0)
                is_over.wait(pause)
            for key, value in self.log.take():
                producer.produce(self._topic, value, key, 0)
            assert producer.flush(60) == 0

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _write(self) -> None:
        large = self.log.begin(CPU, self._seed.randrange(3, 7))
        while large.parts:
            self.log.write(large, self._seed.randrange(1, 4))
            self.log.entry(self._seed.choice((MEM, NET)), self._seed.randrange(1, 3))


__all__ = ["CONDITION", "NO_CONDITION", "Database", "hand_on"]
