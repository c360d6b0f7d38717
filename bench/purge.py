"""Purging 1,000 topics with three replicas and ten regions each, against the bare calls of the client.

Three ways, in turns on the same brokers, each on records that were written for it: the client's own calls, the port
`KafkaLogs`, and a whole run of the operator's controller (`purge_cycle.py`), which also asks the database, decides,
announces, remembers, asks for holds, and looks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from beds import Beds, new_namespace
from confluent_kafka import KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from jumping_clock import JumpingClock
from purge_cycle import Purges
from purge_database import REGIONS, Database
from raw_kafka import TIMEOUT, RawKafka
from report import Result
from sizes import Sizes

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import Deleted, LogOffsets
from seawall_e2e.waiting import wait_until

BROKERS = 3
REPLICATION_FACTOR = 3
RECORDS = 2 * REGIONS
"""Written to each topic before each turn, of each region in turn two; half of them are deleted."""
PREFIX, RAW_PREFIX = "bench-purge", "bench-raw-purge"
"""Of the runs and of the bare deletes: to a run, those of somebody else are a reason to stop."""
WRITE_TIMEOUT = 300.0
"""Brokers open the logs of new topics while the first records come in."""


@dataclass(frozen=True, slots=True)
class Size:
    """Topics, and rounds of the three ways."""

    topics: int = 1_000
    rounds: int = 5


SIZES = Sizes("purge", __doc__, Size(), Size(6, 1))


class RawPurge:
    """One AdminClient."""

    def __init__(self, servers: str) -> None:
        self._client = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def purge(self, topics: Sequence[str]) -> float:
        """Reads both ends of all logs and deletes half of the new records; returns the seconds."""
        started = time.monotonic()
        self._listed(topics, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        ends = self.ends(topics)
        before = {topic: end - RECORDS // 2 for topic, end in ends.items()}
        starts = self.delete(before)
        seconds = time.monotonic() - started
        if starts != before:
            raise RuntimeError("the peer did not delete what it meant to")
        return seconds

    def delete(self, before: Mapping[str, int]) -> dict[str, int]:
        """Deletes by topic all records before an offset; where the logs begin then."""
        asked = [TopicPartition(topic, 0, offset) for topic, offset in before.items()]
        futures = self._client.delete_records(asked, request_timeout=TIMEOUT, operation_timeout=TIMEOUT)
        return {topic: deleted.low_watermark for topic, deleted in self._answers(futures).items()}

    def ends(self, topics: Sequence[str]) -> dict[str, int]:
        """The end of each log."""
        return self._listed(topics, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def wait_in_sync(self, topics: Sequence[str]) -> None:
        """Until all replicas of these topics are."""
        wait_until(lambda: not self._behind(topics), "all replicas are in sync", within=TIMEOUT)

    def _behind(self, topics: Sequence[str]) -> list[str]:
        found = self._client.list_topics(timeout=TIMEOUT).topics
        partitions = ((topic, each) for topic in topics for each in found[topic].partitions.values())
        return [topic for topic, each in partitions if len(each.isrs) < len(each.replicas)]

    def _listed(self, topics: Sequence[str], spec: OffsetSpec) -> dict[str, int]:
        asked = {TopicPartition(topic, 0): spec for topic in topics}
        return {
            topic: reported.offset
            for topic, reported in self._answers(self._client.list_offsets(asked, request_timeout=TIMEOUT)).items()
        }

    def _answers(self, futures: Mapping[TopicPartition, Future[Any]]) -> dict[str, Any]:
        return {partition.topic: future.result(TIMEOUT) for partition, future in futures.items()}


def purge_by_port(admin: ConfluentKafkaAdmin, topics: Sequence[str]) -> float:
    """The same by the port; returns the seconds."""
    started = time.monotonic()
    offsets = admin.logs.describe_offsets(topics)
    before = {
        topic: ends.high_watermark - RECORDS // 2 for topic, ends in offsets.items() if isinstance(ends, LogOffsets)
    }
    outcomes = admin.logs.delete_records(before)
    if [topic for topic in topics if not isinstance(outcomes.get(topic), Deleted)]:
        raise RuntimeError("not all records were deleted")
    return time.monotonic() - started


class Writer:
    """One producer."""

    def __init__(self, servers: str) -> None:
        # A retry without it lands behind later records: those of a region are then where another one's should be, and
        # the ledger rightly leaves the topic alone (RecordsOfOthers).
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "enable.idempotence": True})
        self._failed: list[KafkaError] = []

    def write(self, topics: Sequence[str], keys: Callable[[str], Sequence[bytes | None]]) -> None:
        """Some records for each topic, with these keys in turn."""
        for topic in topics:
            of_regions = keys(topic)
            for number in range(RECORDS):
                key = of_regions[number % len(of_regions)]
                self._producer.produce(topic, b"x" * 100, key, on_delivery=self._on_delivery)
            self._producer.poll(0)
        if self._producer.flush(WRITE_TIMEOUT) or self._failed:
            raise RuntimeError(f"not all records were written: {self._failed[:1]}")

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    count = run.size.topics
    facts = {"regions": REGIONS * count, "replicationFactor": REPLICATION_FACTOR, "brokers": BROKERS}
    report = run.report({**facts, "run": "its ticks; the clocks jump over what it waits"})
    with beds.brokers(BROKERS) as brokers, beds.api_server() as server, beds.etcd() as etcd:
        kafka = RawKafka(",".join(brokers.bootstrap_servers))
        for prefix in (PREFIX, RAW_PREFIX):
            kafka.create(prefix, count, REPLICATION_FACTOR, configs={"min.insync.replicas": "2"})
        with Database(etcd, [f"{PREFIX}_{i}" for i in range(count)], JumpingClock()) as database:
            purges = Purges(server, brokers.bootstrap_servers, PREFIX, database, new_namespace(server))
            raw_topics = [f"{RAW_PREFIX}_{i}" for i in range(count)]
            report.results += measure(brokers.bootstrap_servers, raw_topics, purges, run.size.rounds)
    run.finish(report)


def measure(servers: Sequence[str], raw_topics: Sequence[str], purges: Purges, rounds: int) -> list[Result]:
    """The three ways in turns, after one round that warms up."""
    raw, admin = RawPurge(",".join(servers)), ConfluentKafkaAdmin(KafkaConnection(tuple(servers)))
    writer, database = Writer(",".join(servers)), purges.database
    by_client, by_port, runs = [], [], []
    for _ in range(rounds + 1):
        writer.write(raw_topics, lambda _: [None])
        by_client.append(raw.purge(raw_topics))
        writer.write(raw_topics, lambda _: [None])
        by_port.append(purge_by_port(admin, raw_topics))
        writer.write(database.topics, database.keys)
        # Each region has flushed the second of its two new records, so the log says who it is.
        database.flushed.update({topic: end - REGIONS for topic, end in raw.ends(database.topics).items()})
        raw.wait_in_sync(database.topics)  # a purge leaves alone what is not, as after a stall of the disk
        runs.append(purges.purge())
        print(f"raw {by_client[-1]:.2f} s, port {by_port[-1]:.2f} s, {runs[-1]}", flush=True)
    against, what = "list_offsets twice and delete_records", f"{len(database.topics)} topics"
    peer = by_client[1:]
    return [
        Result(f"offsets read and records deleted, {what}", "s", by_port[1:], against, peer),
        Result(f"a whole run but its waits, {what}", "s", [run.worked for run in runs[1:]], against, peer, 2.0),
        Result(f"looks while it waits, {what}", "s", [run.waited for run in runs[1:]]),
        Result("ticks of a run that did something", "ticks", [run.ticks for run in runs[1:]]),
        Result("calls of ports in a run but its waits", "calls", [run.calls.total() for run in runs[1:]]),
    ]


if __name__ == "__main__":
    main()
