"""Part "move" of the reassignment bench: a pool grows from one replica to three on real brokers, under load.

Whose throttle it is: each broker sends and fetches so many bytes a second for what is moved. So a move cannot be over
before the busiest broker has sent or fetched its share; the time is compared with that. Latencies are those of one
producer that waits for all in-sync replicas: one replica before, three in the end. So they are compared with those of
one replica, and with those of three at rest once the run is over: what three replicas cost anyway is not the move's.
A throttled move costs a produce up to `replica.fetch.wait.max.ms`: the follower of a partition that has just come into
sync still waits for a fetch without it. Here it is Kafka's default; one partition at a time is what keeps out of it.

A broker looks at its throttle between two fetches, and one brings up to ten megabytes. At a few megabytes a second
that is coarse: brokers wait for each other, and lose a tenth, whoever moves the replicas. The brokers of this bench
fetch as much less at once as their throttle is below the 50 MiB/s that are the default of a WALCluster.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from beds import Beds
from confluent_kafka import KafkaError, Message, Producer
from declared import WALClusters
from report import Result

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import Partition
from seawall_e2e.loopback import OperatorProcess
from seawall_e2e.waiting import wait_until

BROKERS = 3
PREFIX = "bench-moved"
RECORD_BYTES = 10_000
RECORDS_PER_SECOND = 100
"""Of the producer beside the move."""
BOUND = 300.0
SHARE_OF_THROTTLE = 0.9
MEBI = 2**20
DEFAULT_MEBI_PER_SECOND = 50
FETCH_WAIT = {"replica.fetch.wait.max.ms": "500"}
"""Kafka's default; brokers of tests wait longer."""
FETCHED_AT_ONCE = {"replica.fetch.max.bytes": MEBI, "replica.fetch.response.max.bytes": 10 * MEBI}
"""Kafka's defaults: of a partition, and of all in one answer."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is moved how often: both copies together are twice the megabytes; seconds of calm before each move.

    `at_once` is how many partitions are on their way at the same time; the rounds are made again with one.
    """

    megabytes: int
    topics: int
    mebi_per_second: int
    rounds: int
    calm: float
    at_once: int

    @property
    def names(self) -> list[str]:
        """Of the topics."""
        return [f"{PREFIX}_{number}" for number in range(self.topics)]


@dataclass(frozen=True, slots=True)
class Moved:
    """One round: seconds until all replicas were in sync, until the run was over, and what they could have been.

    The latencies are milliseconds: before with one replica, in the move, and after with three.
    """

    in_sync: float
    over: float
    least: float
    calm_p99: float
    moving_p99: float
    settled_p99: float


class Writer:
    """A record of 100 bytes to each topic in turn, a hundred a second, until it is left."""

    def __init__(self, servers: Sequence[str], topics: Sequence[str]) -> None:
        self._producer = Producer(
            {"bootstrap.servers": ",".join(servers), "acks": "all", "linger.ms": 0, "log_level": 0}
        )
        self._topics = topics
        self._answered: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def p99(self, since: float, until: float) -> float:
        """Milliseconds, of what was answered in this time."""
        found = [1000 * took for at, took in list(self._answered) if since <= at < until]
        return statistics.quantiles(found, n=100)[98]

    def _write(self) -> None:
        number, began = 0, time.monotonic()
        while not self._stop.is_set():
            sent = partial(self._on_delivery, time.monotonic())
            self._producer.produce(self._topics[number % len(self._topics)], b"x" * 100, on_delivery=sent)
            number += 1
            # poll() returns at each answer: without a date the records would fill the throttle of what is moved.
            while (left := began + number / RECORDS_PER_SECOND - time.monotonic()) > 0:
                self._producer.poll(left)
            self._producer.poll(0)
        self.failed += self._producer.flush(60)

    def _on_delivery(self, sent: float, error: KafkaError | None, _: Message) -> None:
        now = time.monotonic()
        self.failed += error is not None
        self._answered.append((now, now - sent))


def move(load: Load, beds: Beds) -> list[Result]:
    """Part "move"."""
    scale = load.mebi_per_second / DEFAULT_MEBI_PER_SECOND
    scaled = {key: str(round(value * scale)) for key, value in FETCHED_AT_ONCE.items()}
    with beds.api_server() as server, beds.brokers(BROKERS, scaled | FETCH_WAIT) as brokers:
        clusters = WALClusters(server, brokers.bootstrap_servers)
        scope = clusters.namespace
        with OperatorProcess(server.kubeconfig, namespaces=scope, pod_namespace=scope) as operator:
            wait_until(operator.is_leader, "the operator leads", explain=operator.tail)
            rounds, alone, failed = measure(clusters, brokers.bootstrap_servers, load)
    what = f"rf 1 to 3, {load.megabytes} MB in {load.topics} topics at {load.mebi_per_second} MiB/s"
    least = [each.least for each in rounds]
    peer = "the busiest broker's bytes / throttle"
    return [
        Result(
            f"move: {what}, all in sync",
            "s",
            [each.in_sync for each in rounds],
            peer,
            least,
            max_ratio=round(1 / SHARE_OF_THROTTLE, 3),
        ),
        Result(f"move: {what}, run Completed", "s", [each.over for each in rounds], peer, least),
        _latency("produce p99 while replicas move, acks=all", rounds),
        Result(
            "produce p99 while replicas move, acks=all, of three replicas",
            "ms",
            [each.moving_p99 for each in rounds],
            "after, with three replicas at rest",
            [each.settled_p99 for each in rounds],
        ),
        _latency("produce p99 while replicas move one partition at a time, acks=all", alone),
        Result(
            f"move: {what}, one partition at a time, all in sync",
            "s",
            [each.in_sync for each in alone],
            peer,
            [each.least for each in alone],
        ),
        Result("produces that failed", "", [failed], max_value=0),
    ]


def _latency(metric: str, rounds: Sequence[Moved]) -> Result:
    moving, calm = [each.moving_p99 for each in rounds], [each.calm_p99 for each in rounds]
    return Result(metric, "ms", moving, "before, with one replica", calm, max_ratio=3)


def measure(clusters: WALClusters, servers: Sequence[str], load: Load) -> tuple[list[Moved], list[Moved], int]:
    """The rounds, those with one partition at a time, and how many produces failed."""
    clusters.apply(PREFIX, load.topics, 1)
    fill(servers, load.names, load.megabytes)
    with Writer(servers, load.names) as writer:
        rounds, alone = (_rounds(clusters, servers, writer, load, at_once) for at_once in (load.at_once, 1))
    return rounds, alone, writer.failed


def _rounds(clusters: WALClusters, servers: Sequence[str], writer: Writer, load: Load, at_once: int) -> list[Moved]:
    rate = f"{load.mebi_per_second}Mi"
    spec = {"reassignment": {"throttleBytesPerSecond": rate, "maxConcurrentPartitions": at_once}}
    clusters.patch(PREFIX, {"spec": spec})
    return [one_round(clusters, servers, writer, load) for _ in range(load.rounds)]


def fill(servers: Sequence[str], topics: Sequence[str], megabytes: int) -> None:
    """As much in each topic."""
    producer = Producer({"bootstrap.servers": ",".join(servers), "acks": "all", "linger.ms": 20, "log_level": 0})
    for _ in range(megabytes * 10**6 // RECORD_BYTES // len(topics)):
        for topic in topics:
            producer.produce(topic, b"x" * RECORD_BYTES)
        producer.poll(0)
    if producer.flush(BOUND):
        raise RuntimeError("not all records were written")


def one_round(clusters: WALClusters, servers: Sequence[str], writer: Writer, load: Load) -> Moved:
    """Calm, then up to three replicas, then back to one."""
    admin = ConfluentKafkaAdmin(KafkaConnection(tuple(servers)))
    calm_since = time.monotonic()
    time.sleep(load.calm)
    least = least_seconds(admin, load)
    began_at = time.monotonic()
    clusters.patch(PREFIX, {"spec": {"topics": {"replicationFactor": BROKERS}}})
    ongoing = clusters.wait(lambda found: stage_of(found) == "Ongoing", PREFIX, BOUND)
    wait_until(lambda: is_in_sync(admin, load), "all replicas are in sync", within=BOUND)
    in_sync = time.monotonic()
    over = clusters.wait(lambda found: stage_of(found) == "Completed", PREFIX, BOUND)
    time.sleep(load.calm)
    moved = Moved(
        in_sync - ongoing,
        over - ongoing,
        least,
        writer.p99(calm_since, began_at),
        writer.p99(ongoing, in_sync),
        writer.p99(over, over + load.calm),
    )
    print(f"in sync after {moved.in_sync:.1f} s, at least {least:.1f} s; p99 {moved.calm_p99:.0f} before, "
          f"{moved.moving_p99:.0f} in it, {moved.settled_p99:.0f} ms after", flush=True)  # fmt: skip
    clusters.patch(PREFIX, {"spec": {"topics": {"replicationFactor": 1}}})
    clusters.wait(lambda found: stage_of(found) == "Ongoing", PREFIX, BOUND)
    clusters.wait(lambda found: stage_of(found) == "Completed", PREFIX, BOUND)
    return moved


def least_seconds(admin: ConfluentKafkaAdmin, load: Load) -> float:
    """How long the busiest broker sends, or fetches, when every broker gets everything."""
    sizes = admin.reassigner.sizes(load.names).by_partition
    sent: Counter[int] = Counter()
    fetched: Counter[int] = Counter()
    for partition in partitions(admin, load):
        size = max(sizes[partition.id].values())
        (source,) = partition.replicas
        sent[source] += size * (BROKERS - 1)
        fetched.update({broker: size for broker in range(1, BROKERS + 1) if broker != source})
    return max(*sent.values(), *fetched.values()) / (load.mebi_per_second * MEBI)


def is_in_sync(admin: ConfluentKafkaAdmin, load: Load) -> bool:
    """Whether every topic has all its replicas."""
    return all(len(partition.isr) == BROKERS for partition in partitions(admin, load))


def partitions(admin: ConfluentKafkaAdmin, load: Load) -> list[Partition]:
    """Of the pool."""
    reported = admin.reassigner.partitions(load.names)
    return [found for each in reported.values() if not isinstance(each, TopicFailure) for found in each]


def stage_of(found: dict[str, Any]) -> str | None:
    """Where the run is."""
    stage: str | None = found.get("status", {}).get("reassignment", {}).get("stage")
    return stage
