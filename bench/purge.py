"""Deleting records of 1,000 topics with three replicas: the port `KafkaLogs` against the bare calls of the client.

Both work on the same brokers in turns, each on records that were written for it. This is the floor of a purge: no
database is asked, nothing is decided, and nothing is remembered.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from raw_kafka import TIMEOUT, RawKafka
from report import Report, Result

from seawall.adapters.kafka import ConfluentKafkaAdmin
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import Deleted, LogOffsets
from seawall_e2e.loopback import KafkaProcesses

BROKERS = 3
REPLICATION_FACTOR = 3
ROUNDS = 5
RECORDS = 10
"""Written to each topic before each turn; half of them are deleted."""
PREFIX = "purge"


class RawPurge:
    """One AdminClient, and how many of its calls it took."""

    def __init__(self, servers: str) -> None:
        self._client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.calls = 0

    def purge(self, topics: Sequence[str]) -> float:
        """Reads both ends of all logs and deletes half of the new records; returns the seconds."""
        started = time.monotonic()
        self._ends(topics, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        ends = self._ends(topics, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        before = [TopicPartition(topic, 0, end - RECORDS // 2) for topic, end in ends.items()]
        self._answers(self._client.delete_records(before, request_timeout=TIMEOUT, operation_timeout=TIMEOUT))
        return time.monotonic() - started

    def _ends(self, topics: Sequence[str], spec: OffsetSpec) -> dict[str, int]:
        asked = {TopicPartition(topic, 0): spec for topic in topics}
        return {
            topic: told.offset
            for topic, told in self._answers(self._client.list_offsets(asked, request_timeout=TIMEOUT)).items()
        }

    def _answers(self, futures: Mapping[TopicPartition, Future[Any]]) -> dict[str, Any]:
        self.calls += 1
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


def write(servers: str, topics: Sequence[str]) -> None:
    """Some records for each topic."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for topic in topics:
        for _ in range(RECORDS):
            producer.produce(topic, b"x" * 100)
    producer.flush(TIMEOUT)


def main() -> None:
    """Measures and reports."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--topics", type=int, default=1_000)
    count = parser.parse_args().topics
    report = Report(
        "purge",
        {"topics": count, "replicationFactor": REPLICATION_FACTOR, "brokers": BROKERS, "rounds": ROUNDS},
    )
    with KafkaProcesses(BROKERS) as brokers:
        servers = ",".join(brokers.bootstrap_servers)
        RawKafka(servers).create(PREFIX, count, REPLICATION_FACTOR, configs={})
        topics = [f"{PREFIX}_{i}" for i in range(count)]
        raw, admin = RawPurge(servers), ConfluentKafkaAdmin(KafkaConnection(brokers.bootstrap_servers))
        raw_seconds, port_seconds = [], []
        for i in range(-1, ROUNDS):
            write(servers, topics)
            raw_seconds.append(raw.purge(topics))
            write(servers, topics)
            port_seconds.append(purge_by_port(admin, topics))
            print(f"{count} topics: raw {raw_seconds[-1]:.2f} s, port {port_seconds[-1]:.2f} s", flush=True)
            if i < 0:  # warms up
                raw_seconds.clear()
                port_seconds.clear()
        calls = raw.calls / (ROUNDS + 1)
    against = "list_offsets twice and delete_records"
    report.results.append(
        Result(f"offsets read and records deleted, {count} topics", "s", port_seconds, against, raw_seconds)
    )
    report.results.append(Result("client calls of the peer", "calls", [calls]))
    print(f"\n{report.table()}\nwritten to {report.write().relative_to(report.write().parents[2])}")


if __name__ == "__main__":
    main()
