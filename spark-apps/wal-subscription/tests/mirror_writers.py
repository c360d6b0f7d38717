"""Mirrors as processes of their own, which are killed and frozen at any moment."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka.protocol.producer import ProduceRequest
from mirrors import run_here

from seawall_e2e.loopback.processes import STARTER
from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.batches import Batch, to_bytes
from sparkjob.wire.batches import Producer as Identity
from sparkjob.wire.connection import Line
from wal_subscription import copier, doubts, target
from wal_subscription.joining import joined
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import parse_request

_PAUSE = 0.02
_MOST_HESITATION = 0.02
_ASLEEP_AT = 4
PRELOADED = (
    "pandas",  # pyarrow brings it when it is first asked for an array
    "wal_subscription.micro_batches",
    "wal_subscription.records.process",
    "wal_subscription.table.process",
)
"""What takes seconds to import: the server of processes does not find modules in the folder of tests."""
CONDITION = "condition"
NO_CONDITION = "no condition"
FALLS_ASLEEP = "falls asleep"


def write(request: str, counts: str, how: str) -> None:
    """Mirrors for ever. Refused appends are counted by a byte each in a file; so are topics that must stop."""
    with pytest.MonkeyPatch.context() as patch:
        if how == NO_CONDITION:
            take_condition_away(patch)
        patch.setattr(doubts, "_PAUSE_SECONDS", 0.01)  # the two shall meet, not make way
        hesitate(patch, falls_asleep=how == FALLS_ASLEEP)
        # Two that cut a log alike are answered alike: what they append shall differ.
        patch.setattr(copier, "joined", lambda fetched: joined(fetched) if random.random() < 0.5 else fetched)  # noqa: S311 - any will do
        honest = target.LogTarget._raise

        def raised(log: target.LogTarget, code: int, said: str, offset: int) -> None:
            if code in target._ELSEWHERE:
                count(counts, b"r")
            honest(log, code, said, offset)

        patch.setattr(target.LogTarget, "_raise", raised)
        is_over = False
        while not is_over:
            try:
                is_over = mirror_until_over(request, counts)
            except (Interrupted, Refused):
                time.sleep(_PAUSE)


def mirror_until_over(request: str, counts: str) -> bool:
    """One start."""
    micro = MicroBatches(parse_request(Path(request).read_bytes()), run_here)
    while not micro.is_over:
        micro.once()
        time.sleep(_PAUSE)
    count(counts, b"s" * len(micro.stops))
    return True


def hesitate(patch: pytest.MonkeyPatch, *, falls_asleep: bool) -> None:
    """Time goes by between what is known of the log's end and what is sent: others come in between.

    Who falls asleep does so once, right before it sends, by SIGSTOP, until somebody wakes it.
    """
    honest, sent, slept = Line.send, [0], list[bool]()

    def send(line: Line, request: Any) -> Any:
        if isinstance(request, ProduceRequest):
            sent[0] += 1
            time.sleep(random.uniform(0.0, _MOST_HESITATION))  # noqa: S311 - any will do
            # Answers that are waited for would run out of time, and close the connection when it wakes.
            if falls_asleep and sent[0] > _ASLEEP_AT and not line._connection.in_flight_requests and not slept:
                slept.append(True)
                os.kill(os.getpid(), signal.SIGSTOP)
        return honest(line, request)

    patch.setattr(Line, "send", send)


def take_condition_away(patch: pytest.MonkeyPatch) -> None:
    """Batches as a plain producer sends them."""

    def plain(batch: Batch, _: Identity, __: int) -> bytes:
        return to_bytes(batch, Identity(-1, -1), -1)

    patch.setattr(target, "to_bytes", plain)
    patch.setattr(target, "require_ours", lambda *_: None)
    patch.setattr(copier.Copier, "_compare", lambda *_: None)


def count(path: str, what: bytes) -> None:
    """One more."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, what)
    finally:
        os.close(file)


@dataclass
class Writers:
    """Two of them, and what was done to them."""

    request: Path
    how: str = CONDITION
    number: int = 2
    target: Callable[[str, str, str], None] = write
    counts: Counter[str] = field(default_factory=Counter)
    _running: list[ForkServerProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*PRELOADED, self.target.__module__])
        self._counted = self.request.with_suffix(".counts")
        self._running = [self._start() for _ in range(self.number)]

    def kill(self, *indexes: int) -> None:
        """Kill -9, and others in their place."""
        for index in indexes:
            self._running[index].kill()
            self._running[index].join()
            self.counts["kills"] += 1
        for index in indexes:
            self._running[index] = self._start()

    def freeze(self, index: int, seconds: float) -> None:
        """SIGSTOP, and SIGCONT."""
        self.stop(index)
        time.sleep(seconds)
        self.go_on(index)

    def stop(self, index: int) -> None:
        """SIGSTOP."""
        os.kill(self.pid(index), signal.SIGSTOP)
        self.counts["freezes"] += 1

    def go_on(self, index: int) -> None:
        """SIGCONT."""
        os.kill(self.pid(index), signal.SIGCONT)

    def pid(self, index: int) -> int:
        """Of a writer."""
        pid = self._running[index].pid
        assert pid is not None
        return pid

    def harm(self, seed: random.Random) -> None:
        """Whatever may happen next."""
        time.sleep(seed.uniform(0.0, 0.4))
        match seed.randrange(5):
            case 0:
                self.kill(*range(self.number))
                self.counts["all killed"] += 1
            case 1 | 2:
                self.kill(seed.randrange(self.number))
            case 3:
                self.freeze(seed.randrange(self.number), seed.uniform(0.2, 0.8))
            case _:
                self.freeze(seed.randrange(self.number), seed.uniform(0.02, 0.2))

    def is_asleep(self, index: int) -> bool:
        """Whether it was stopped."""
        return Path(f"/proc/{self.pid(index)}/stat").read_text().rpartition(") ")[2].startswith("T")

    def start_another(self) -> None:
        """One more, which never falls asleep."""
        self.how = CONDITION
        self._running.append(self._start())

    def total(self) -> dict[str, int]:
        """Everything that was counted."""
        found = self._counted.read_bytes() if self._counted.exists() else b""
        return {**self.counts, "refused": found.count(b"r"), "stopped": found.count(b"s")}

    def close(self) -> None:
        """Ends them."""
        for process in self._running:
            process.kill()
            process.join()

    def _start(self) -> ForkServerProcess:
        process = self._context.Process(target=self.target, args=(str(self.request), str(self._counted), self.how))
        STARTER.submit(process.start).result()
        return process


@contextmanager
def written_to(servers: str, topic: str, pause: float = 0.005) -> Iterator[Counter[str]]:
    """A topic that is written to all the time, in batches of a few records; how many there were."""
    is_over, counted = threading.Event(), Counter[str]()

    def produce() -> None:
        producer = Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "linger.ms": 2})
        while not is_over.is_set():
            for _ in range(10):
                number = counted["records"]
                producer.produce(topic, b"%d" % number * 8, b"%d" % (number % 17), 0)
                counted["records"] += 1
            producer.poll(0)
            is_over.wait(pause)
        assert producer.flush(60) == 0

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield counted
    finally:
        is_over.set()
        thread.join()
