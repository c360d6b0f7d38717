"""Whole programs that mirror topics to another Kafka: ours, and MirrorMaker 2 with one task and its defaults."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic
from kafka.protocol.producer import InitProducerIdRequest

from seawall_e2e.loopback.java import DOWNLOAD_TIMEOUT
from seawall_e2e.loopback.processes import Process, platform_folder
from seawall_e2e.waiting import wait_until
from sparkjob.wire.batches import Producer
from sparkjob.wire.connection import Connection
from sparkjob.wire.kafka_state import KafkaState

TIMEOUT = 60.0
START_SECONDS = 300.0
INTERVAL_MS = 500
_GUARDED = {"retention.ms": "-1", "message.timestamp.before.max.ms": str(2**63 - 1)}
_MM2 = {
    "clusters": "source, target",
    "source->target.enabled": "true",
    "target->source.enabled": "false",
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "tasks.max": "1",
    "replication.factor": "1",
    **{f"{kind}.topic.replication.factor": "1" for kind in ("checkpoints", "heartbeats", "offset-syncs")},
    **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status", "config")},
}


@dataclass(frozen=True, slots=True)
class Sides:
    """A source and a target, by their servers and ids."""

    source: str
    source_id: str
    target: str
    target_id: str

    def end(self, topic: str, process: Process) -> int:
        """Where a topic of the target ends; 0 where there is none.

        Raises:
            RuntimeError: the program that mirrors has ended.
        """
        if not process.is_running():
            raise RuntimeError(f"{process.name} ended: {process.log.read_text()[-3000:]}")
        found = KafkaState({"bootstrap.servers": self.target}).topics([topic])
        return found[topic].end if topic in found else 0


def make(servers: str, *names: str) -> None:
    """Topics of one replica; none of their names may be there."""
    admin = AdminClient({"bootstrap.servers": servers})
    new = [NewTopic(name, 1, 1, config=dict(_GUARDED)) for name in names]
    for future in admin.create_topics(new, operation_timeout=TIMEOUT).values():
        future.result(TIMEOUT)
    state = KafkaState({"bootstrap.servers": servers})
    wait_until(lambda: len(state.topics(names)) == len(names), "the topics are known")


def ids_of(servers: str, names: Sequence[str]) -> dict[str, str]:
    """The topics' ids."""
    return {name: found.topic_id for name, found in KafkaState({"bootstrap.servers": servers}).topics(names).items()}


def new_producer(servers: str) -> Producer:
    """As the operator takes one."""
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )

    def taken() -> Producer | None:
        answer = connection.ask(request)
        return None if answer.error_code else Producer(answer.producer_id, answer.producer_epoch)

    with Connection({"bootstrap.servers": servers}) as connection:
        return wait_until(taken, "a producer id is given")


@contextmanager
def ours(sides: Sides, names: Sequence[str], folder: Path) -> Iterator[Process]:
    """The application in a Spark of one core, mirroring topics that are there on both sides."""
    source_ids, target_ids, producer = (
        ids_of(sides.source, names),
        ids_of(sides.target, names),
        new_producer(sides.target),
    )
    request = {
        "version": 1,
        "object": {"namespace": "bench", "name": "mirror", "uid": "bench"},
        "run": 1,
        "source": _kafka(sides.source, sides.source_id),
        "target": _kafka(sides.target, sides.target_id),
        "producer": producer._asdict(),
        "intervalMilliseconds": INTERVAL_MS,
        "topics": [
            {"name": name, "sourceTopicId": source_ids[name], "targetTopicId": target_ids[name], "from": 0}
            for name in names
        ],
    }
    path = folder / "request.json"
    path.write_text(json.dumps(request))
    command = [sys.executable, "-m", "wal_subscription", "--request", str(path), "--summary", "-"]
    variables = {"SPARK_MASTER": "local[1]", "SPARK_LOCAL_DIRS": str(folder), "PYSPARK_PYTHON": sys.executable}
    with _running("ours", command, folder, variables) as process:
        yield process


@contextmanager
def mirror_maker(sides: Sides, names: Sequence[str], folder: Path) -> Iterator[Process]:
    """MirrorMaker 2; it makes the topics of the target itself, by their own names."""
    given = {
        **_MM2,
        "source.bootstrap.servers": sides.source,
        "target.bootstrap.servers": sides.target,
        "source->target.topics": ",".join(names),
    }
    path = folder / "mm2.properties"
    path.write_text("".join(f"{key} = {value}\n" for key, value in given.items()))
    jars = platform_folder("mirror-maker/jars.sh", DOWNLOAD_TIMEOUT)
    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    with _running("mirror-maker", ["java", "-Xmx512m", "-cp", f"{jars}/*", main, str(path)], folder, {}) as process:
        yield process


@contextmanager
def _running(name: str, command: Sequence[str], folder: Path, variables: dict[str, str]) -> Iterator[Process]:
    process = Process(name, command, folder, {**os.environ, **variables})
    process.start()
    try:
        yield process
    finally:
        process.kill()


def _kafka(servers: str, cluster_id: str) -> dict[str, Any]:
    return {"bootstrapServers": servers.split(","), "clusterId": cluster_id, "tls": None, "sasl": None}
