"""Mirrors of a WAL: a task against a plain consume-produce loop, the application against MirrorMaker 2, and its lag."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from beds import Beds
from confluent_kafka import Consumer, Producer, TopicPartition
from mirror_sides import START_SECONDS, TIMEOUT, Sides, ids_of, make, mirror_maker, new_producer, ours
from process_cpu import cpu_of
from report import Report, Result
from sizes import Sizes

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.processes import Process
from seawall_e2e.waiting import wait_until
from wal_subscription.copier import Job, copy, forget_connections
from wal_subscription.copier import Sides as Clients
from wal_subscription.request import Topic

LOOP, MM2 = "confluent-kafka: consume and produce all, idempotent", "MirrorMaker 2, one task"
GOAL_TASK, GOAL_APP, GOAL_SECONDS, GOAL_LAG = 0.25, 0.25, 1 / 3, 2.5
CODECS = ("lz4", "none")
"""GreptimeDB writes its WAL with lz4."""
RECORD_BYTES = 190
_FETCH, _POLL = 10_000, 0.05
_LAG_BATCH_SECONDS = 0.05
Program = Callable[[Sides, Sequence[str], Path], AbstractContextManager[Process]]


@dataclass(frozen=True, slots=True)
class Size:
    """Records of a task and of the application, rounds of each, and the topics, rate and seconds of the lag."""

    records: int = 1_000_000
    app_records: int = 1_000_000
    rounds: int = 5
    lag_topics: int = 8
    lag_rate: int = 2_000
    lag_seconds: float = 30.0


SIZES = Sizes(
    "subscription", __doc__, Size(), Size(2_000, 2_000, rounds=1, lag_topics=2, lag_rate=200, lag_seconds=3.0)
)


@dataclass(slots=True)
class Costs:
    """Of rounds of one program: CPU a record in µs, and seconds of all records."""

    cpu: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Bench:
    """Two Kafkas, and topics with names that nobody else has."""

    def __init__(self, sides: Sides, size: Size, folder: Path) -> None:
        self._sides, self._size, self._folder = sides, size, folder
        self._names = (f"bench-mirror-{number}" for number in itertools.count())

    def tasks(self, codec: str) -> tuple[list[float], list[float]]:
        """CPU µs a record of our task and of the loop, in turns; the first of several warms up."""
        sides, size = self._sides, self._size
        ours_, loop = list[float](), list[float]()
        for number in range(size.rounds + (size.rounds > 1)):
            name = next(self._names)
            make(sides.source, name)
            write(sides.source, name, size.records, codec)
            make(sides.target, name, f"{name}-loop")
            found = self._task(name), self._loop(name, codec)
            if number or size.rounds == 1:
                ours_.append(found[0])
                loop.append(found[1])
        return ours_, loop

    def app(self, program: Program, costs: Costs, *, makes_topics: bool, lags: bool) -> list[float]:
        """One round of a whole program that runs already; the time in which the records are written counts.

        Returns:
            With `lags`, of each record that is then written steadily: seconds from when it was made until it was read
            in the target, rising.
        """
        sides, records, name = self._sides, self._size.app_records, next(self._names)
        steady = [next(self._names) for _ in range(self._size.lag_topics if lags else 0)]
        make(sides.source, name, *steady)
        for each in (name, *steady):
            write(sides.source, each, 1, "lz4")
        if makes_topics:
            make(sides.target, name, *steady)
        with program(sides, [name, *steady], self._folder) as process:
            for each in (name, *steady):
                wait_until(lambda each=each: sides.end(each, process), "it begins", within=START_SECONDS, every=_POLL)  # type: ignore[misc]
            cpu, began = cpu_of(process.pid), time.monotonic()
            write(sides.source, name, records, "lz4")
            wait_until(lambda: sides.end(name, process) > records, "it has all", within=START_SECONDS, every=_POLL)
            costs.cpu.append((cpu_of(process.pid) - cpu) / records * 1e6)
            costs.seconds.append(time.monotonic() - began)
            return self._lags(steady) if lags else []

    def _lags(self, names: Sequence[str]) -> list[float]:
        sides, size = self._sides, self._size
        written = threading.Thread(target=write_steadily, args=(sides.source, names, size.lag_rate, size.lag_seconds))
        written.start()
        found = sorted(read_lags(sides.target, names, int(size.lag_rate * size.lag_seconds)))
        written.join()
        return found

    def _task(self, name: str) -> float:
        sides = self._sides
        topic = Topic(name, ids_of(sides.source, [name])[name], ids_of(sides.target, [name])[name], 0)
        clients = Clients(
            {"bootstrap.servers": sides.source}, {"bootstrap.servers": sides.target}, new_producer(sides.target)
        )
        records, began = self._size.records, time.process_time()
        position = 0
        while position < records:
            copied = copy(Job(topic, records, compares=True), clients)
            if copied.trouble or copied.stop:
                raise RuntimeError(f"the task did not end well: {copied}")
            position = copied.end
        took = time.process_time() - began
        forget_connections()
        return took / records * 1e6

    def _loop(self, name: str, codec: str) -> float:
        sides, records = self._sides, self._size.records
        began = time.process_time()
        consumer = _consumer(sides.source, [name])
        producer = _producer(sides.target, codec)
        read = 0
        while read < records:
            for message in consumer.consume(_FETCH, 1.0):
                producer.produce(f"{name}-loop", message.value(), message.key(), 0, timestamp=message.timestamp()[1])
                read += 1
            producer.poll(0)
        _flush(producer)
        consumer.close()
        return (time.process_time() - began) / records * 1e6


def write(servers: str, topic: str, records: int, codec: str) -> None:
    """Rows of a WAL: keys repeat, and a part of each value compresses."""
    producer = _producer(servers, codec)
    for number in range(records):
        producer.produce(topic, _value(number), b'{"region":4398046511104}', 0)
        if number % _FETCH == 0:
            producer.flush(TIMEOUT)
    _flush(producer)


def write_steadily(servers: str, names: Sequence[str], rate: int, seconds: float) -> None:
    """So many records a second, all topics in turns."""
    producer, topics = _producer(servers, "lz4", linger_ms=5), itertools.cycle(names)
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        producer.produce(next(topics), _value(number), b"k", 0, timestamp=time.time_ns() // 1_000_000)
        ahead = number / rate - (time.monotonic() - began)
        if ahead > _LAG_BATCH_SECONDS:
            producer.poll(ahead)
    _flush(producer)


def read_lags(servers: str, names: Sequence[str], records: int) -> Iterator[float]:
    """The lag of each record but the first one of each topic, which was there before."""
    consumer, read = _consumer(servers, names, start=1), 0
    give_up = time.monotonic() + START_SECONDS
    while read < records:
        for message in consumer.consume(500, 0.02):
            if message.error() is None:
                read += 1
                yield max(0.0, time.time() - message.timestamp()[1] / 1000)
        if time.monotonic() > give_up:
            raise RuntimeError(f"{records - read} records did not arrive")
    consumer.close()


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report({"recordBytes": RECORD_BYTES})
    with beds.brokers(1) as source, KafkaProcesses(1) as target, tempfile.TemporaryDirectory() as folder:
        sides = Sides(
            ",".join(source.bootstrap_servers), source.cluster_id, ",".join(target.bootstrap_servers), target.cluster_id
        )
        measure(report, Bench(sides, run.size, Path(folder)), run.size)
    run.finish(report)


def measure(report: Report, bench: Bench, size: Size) -> None:
    """All lines of the report."""
    for codec in CODECS:
        mine, loop = bench.tasks(codec)
        report.results.append(Result(f"task, CPU a record, {codec}", "µs", mine, LOOP, loop, GOAL_TASK))
    app, maker = Costs(), Costs()
    for left in reversed(range(size.rounds)):
        mine_lag = bench.app(ours, app, makes_topics=True, lags=not left)
        maker_lag = bench.app(mirror_maker, maker, makes_topics=False, lags=not left)
    report.results += [
        Result("application, CPU a record", "µs", app.cpu, MM2, maker.cpu, GOAL_APP),
        Result("application, all records written and mirrored", "s", app.seconds, MM2, maker.seconds, GOAL_SECONDS),
        Result("lag, median", "s", [_part(mine_lag, 0.5)], "MirrorMaker 2", [_part(maker_lag, 0.5)]),
        Result("lag, p99", "s", [_part(mine_lag, 0.99)], max_value=GOAL_LAG),
        Result("lag, p99 of MirrorMaker 2", "s", [_part(maker_lag, 0.99)]),
    ]


def _part(rising: Sequence[float], part: float) -> float:
    return rising[min(len(rising) - 1, int(len(rising) * part))]


def _value(number: int) -> bytes:
    noise = (number * 2_654_435_761) & 0xFFFFFFFF
    return b"host-%04d|%010d|%08x%08x%08x|" % (number % 1000, number, noise, noise ^ number, ~noise & 0xFFFFFFFF) + (
        b"n" * 116
    )


def _producer(servers: str, codec: str, linger_ms: int = 20) -> Producer:
    return Producer(
        {"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "compression.type": codec,
         "linger.ms": linger_ms, "queue.buffering.max.messages": 2_000_000}
    )  # fmt: skip


def _consumer(servers: str, names: Sequence[str], start: int = 0) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(name, 0, start) for name in names])
    return consumer


def _flush(producer: Producer) -> None:
    if producer.flush(TIMEOUT):
        raise RuntimeError("records were not written in time")


if __name__ == "__main__":
    main()
