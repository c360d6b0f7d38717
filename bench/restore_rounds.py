"""Restores in one warm session, and the plain loop, in turns: `restore_rounds.py <file with a Work as JSON>`.

The last line of stdout is JSON: `Samples`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from wal_load import TIMEOUT, flush, send
from warm_session import run_job

from sparkjob.session import open_session
from sparkjob.wire.kafka_state import KafkaState
from wal_backup.restore.appender import Appender
from wal_backup.restore.task import PADDING_TIME, pad

GUARDED = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
MOST_BYTES = 1_048_588
CHAIN = "full"
_FETCH = 20_000


@dataclass(frozen=True, slots=True)
class Work:
    """Topics of a log with so many records each, which is backed up to a folder, and how often it comes back."""

    servers: str
    cluster_id: str
    topics: tuple[str, ...]
    each: int
    folder: str
    rounds: int
    padding: int
    paddings: int


@dataclass(slots=True)
class Samples:
    """Wall seconds of each round."""

    ours: list[float] = field(default_factory=list)
    loop: list[float] = field(default_factory=list)
    padding: list[float] = field(default_factory=list)
    nulls: list[float] = field(default_factory=list)


class Rounds:
    """Both sides."""

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark = work, spark
        self._admin = AdminClient({"bootstrap.servers": work.servers})
        self._names = (f"bench-plain_{number}" for number in count())
        self._records = {name: self._read(name, work.each) for name in work.topics}

    def run(self) -> Samples:
        """The backup, and then all in turns; the first of each warms up, where there are several."""
        work, samples = self._work, Samples()
        self._back_up()
        for number in range(work.rounds + (work.rounds > 1)):
            ours, loop = self._restore(), self._loop()
            if number or work.rounds == 1:
                samples.ours.append(ours)
                samples.loop.append(loop)
        for _ in range(work.paddings):
            samples.padding.append(self._pad())
            samples.nulls.append(self._nulls())
        return samples

    def _back_up(self) -> None:
        ids, work = KafkaState({"bootstrap.servers": self._work.servers}).topics(self._work.topics), self._work
        topics = [
            {"name": name, "topicId": ids[name].topic_id, "logStart": 0, "from": 0, "to": work.each, "config": {},
             "regions": []}
            for name in work.topics
        ]  # fmt: skip
        about = {"version": 1, "backup": {"name": CHAIN, "attempt": 1}, "chain": CHAIN, "parent": None}
        self._job("backup", {**about, "verify": "None", "kafka": self._kafka, "storage": self._storage,
                             "topics": topics})  # fmt: skip

    def _restore(self) -> float:
        for name in self._work.topics:
            self._make_anew(name)
        plan = {"version": 1, "storage": self._storage, "clusterId": self._work.cluster_id, "chain": CHAIN,
                "backup": None, "target": {"latest": True}, "topics": ["*"], "padTo": None}  # fmt: skip
        digest = self._job("plan", plan)["plan"]["digest"]
        state = KafkaState({"bootstrap.servers": self._work.servers})
        while (ids := state.topics(self._work.topics)).keys() < set(self._work.topics):
            time.sleep(0.1)  # brokers hear of new topics one after another
        made = [{"name": name, "topicId": ids[name].topic_id} for name in self._work.topics]
        request = {"version": 1, "plan": plan, "planDigest": digest, "kafka": self._kafka, "topics": made}
        return _timed(lambda: self._job("restore", request))

    def _loop(self) -> float:
        names = {name: self._make_anew(next(self._names)) for name in self._work.topics}

        def both() -> None:
            producer = self._producer()
            for name, other in names.items():
                for key, value in self._records[name]:
                    send(producer, other, key, value)
            flush(producer)
            for other in names.values():
                self._read(other, self._work.each)

        return _timed(both)

    def _pad(self) -> float:
        name = self._make_anew(next(self._names))
        state = KafkaState({"bootstrap.servers": self._work.servers}).topics([name])[name]
        with Appender({"bootstrap.servers": self._work.servers}, name, state.topic_id) as log:
            return _timed(lambda: pad(log, self._work.padding, PADDING_TIME, MOST_BYTES))

    def _nulls(self) -> float:
        name = self._make_anew(next(self._names))

        def produce() -> None:
            producer = self._producer()
            for _ in range(self._work.padding):
                send(producer, name, None, None)
            flush(producer)

        return _timed(produce)

    @property
    def _kafka(self) -> dict[str, Any]:
        return {"bootstrapServers": self._work.servers.split(","), "clusterId": self._work.cluster_id}

    @property
    def _storage(self) -> dict[str, Any]:
        return {"folder": {"path": f"{self._work.folder}/store"}}

    def _producer(self) -> Producer:
        return Producer(
            {"bootstrap.servers": self._work.servers, "acks": "all", "enable.idempotence": True, "linger.ms": 20,
             "compression.type": "lz4", "queue.buffering.max.messages": 500_000}
        )  # fmt: skip

    def _read(self, topic: str, records: int) -> list[tuple[bytes | None, bytes | None]]:
        settings = {"bootstrap.servers": self._work.servers, "group.id": "bench", "enable.auto.commit": False}
        consumer = Consumer(settings | {"fetch.queue.backoff.ms": 5})
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = list[tuple[bytes | None, bytes | None]]()
        while len(found) < records:
            messages = consumer.consume(min(_FETCH, records - len(found)), TIMEOUT)
            if not messages:
                raise RuntimeError(f"topic {topic} gave no record in time")
            found += [(message.key(), message.value()) for message in messages]
        consumer.close()
        return found

    def _make_anew(self, name: str) -> str:
        state = KafkaState({"bootstrap.servers": self._work.servers})
        before = state.topics([name]).get(name)
        if before is not None:
            for future in self._admin.delete_topics([name]).values():
                future.result(TIMEOUT)
            _wait(lambda: name not in state.topics([name]))
        for future in self._admin.create_topics([NewTopic(name, 1, 1, config=GUARDED)]).values():
            future.result(TIMEOUT)
        _wait(lambda: name in state.topics([name]))
        return name

    def _job(self, command: str, request: dict[str, Any]) -> dict[str, Any]:
        return run_job(command, request, self._work.folder, self._spark)


def _timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _wait(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + TIMEOUT
    while not is_so():
        if time.monotonic() > give_up:
            raise RuntimeError("Kafka did not make or delete a topic in time")
        time.sleep(0.1)


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    session = open_session("restore")
    found_ = Rounds(Work(**{**given, "topics": tuple(given["topics"])}), session).run()
    print(json.dumps(asdict(found_)))
