"""Restores onto a real Kafka: topics that are made as the operator will, and what is in them afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from backups import CHAIN, Answer, Bed
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from wal_topics import TIMEOUT, Topics

from seawall_e2e.waiting import wait_until
from sparkjob.kafka import Kafka
from sparkjob.kafka_options import librdkafka_options
from sparkjob.wire.batches import Batch, batches
from sparkjob.wire.kafka_state import KafkaState, TopicState
from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record
from wal_backup.layout import chain_folder
from wal_backup.restore.appender import Appender
from wal_backup.restore.planner import make_plan
from wal_backup.restore.request import PlanRequest, parse_plan
from wal_backup.restore.target import TargetKafka
from wal_backup.restore.task import PADDING_TIME, TopicJob, pad
from wal_backup.store import Store

GUARDED = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
MOST_BYTES = 1_048_588
ASKED = 5
"""Times in a row that Kafka says the same: one of its brokers may not know yet."""


@dataclass
class Restores:
    """Plans and restores of one bed's backups, to its Kafka or to another one."""

    bed: Bed
    servers: str = ""
    cluster_id: str = ""
    config: Mapping[str, str] = field(default_factory=lambda: dict(GUARDED))
    replicas: int = 1

    def __post_init__(self) -> None:
        self.servers = self.servers or self.bed.topics.servers
        self.cluster_id = self.cluster_id or self.bed.cluster_id
        self.topics = Topics(self.servers.split(","))
        self.kafka = KafkaState(self.options)

    @property
    def options(self) -> dict[str, str]:
        """Of clients."""
        return librdkafka_options(Kafka(tuple(self.servers.split(",")), self.cluster_id, None, None))

    def make_anew(self, *names: str) -> None:
        """Empty topics of these names, whether there are some or not; every broker that is asked knows the new ones."""
        before = set(self.ids(*names).values())

        def are_there() -> bool:
            first, *others = [self.ids(*names) for _ in range(ASKED)]
            is_new = set(first) == set(names) and before.isdisjoint(first.values())
            return is_new and all(each == first for each in others)

        for name in names:
            with suppress(KafkaException):
                self.topics.delete(name)
        new = [NewTopic(name, 1, self.replicas, config=dict(self.config)) for name in names]
        admin, give_up = AdminClient(dict[str, str | int | float | bool](self.options)), time.monotonic() + TIMEOUT
        for name, future in admin.create_topics(new, operation_timeout=TIMEOUT).items():
            while True:
                try:
                    future.result(TIMEOUT)
                    break
                except KafkaException:  # the old one is not gone yet
                    assert time.monotonic() < give_up
                    future = admin.create_topics([topic for topic in new if topic.topic == name])[name]  # noqa: PLW2901
        wait_until(are_there, "the topics are there")

    def plan_request(self, *names: str, **other: Any) -> dict[str, Any]:
        """By default all that the chain has of these topics."""
        return {
            "version": 1,
            "storage": self.bed.storage,
            "clusterId": self.bed.cluster_id,
            "chain": CHAIN,
            "backup": None,
            "target": {"latest": True},
            "topics": list(names) or ["*"],
            "padTo": None,
            **other,
        }

    def plan(self, *names: str, **other: Any) -> Answer:
        """Plans."""
        return self.bed.run("plan", self.plan_request(*names, **other))

    def request(self, digest: str, *names: str, **other: Any) -> dict[str, Any]:
        """Of a restore to the topics of these names that there are."""
        kafka = {"bootstrapServers": self.servers.split(","), "clusterId": self.cluster_id, "tls": None, "sasl": None}
        return {
            "version": 1,
            "plan": self.plan_request(*names, **other),
            "planDigest": digest,
            "kafka": kafka,
            "topics": [{"name": name, "topicId": topic_id} for name, topic_id in self.ids(*names).items()],
        }

    def drill(self, into: Mapping[str, str], verify: str | None = "Integrity", **other: Any) -> Answer:
        """Makes other topics anew, and restores into them."""
        self.make_anew(*into.values())
        planned = self.plan(*into, **other)
        request = self.request(planned.summary["plan"]["digest"], *into, **other)
        return self.bed.run("restore", {**request, **self.scratch(into), "verify": verify})

    def scratch(self, into: Mapping[str, str]) -> dict[str, Any]:
        """What a drill's request has beside that of a restore."""
        ids = self.ids(*into.values())
        topics = [{"name": name, "into": target, "topicId": ids[target]} for name, target in into.items()]
        return {"topics": topics, "verify": None, "databaseVersion": "1.1.3"}

    def restore(self, *names: str, **other: Any) -> Answer:
        """Makes the topics anew, plans, and restores what was planned."""
        self.make_anew(*names)
        planned = self.plan(*names, **other)
        assert planned.summary["outcome"] == "Passed", planned.summary
        return self.bed.run("restore", self.request(planned.summary["plan"]["digest"], *names, **other))

    def job(self, name: str, **other: Any) -> TopicJob:
        """What the restore gives to the task of a topic that is made anew."""
        self.make_anew(name)
        request = self.parsed(name, **other)
        (topic,) = make_plan(Store(request.place), request).topics
        return TopicJob(topic, self.ids(name)[name], MOST_BYTES, name)

    def parsed(self, *names: str, **other: Any) -> PlanRequest:
        """The request of a plan."""
        return parse_plan(json.dumps(self.plan_request(*names, **other)).encode())

    @property
    def folder(self) -> str:
        """The chain in the store."""
        return chain_folder(self.bed.cluster_id, CHAIN)

    def ids(self, *names: str) -> dict[str, str]:
        """The topics' ids."""
        return {name: state.topic_id for name, state in self.kafka.topics(names).items()}

    def state(self, name: str) -> TopicState:
        """A topic's id and its offsets."""
        return self.kafka.topics([name])[name]

    def log(self, name: str) -> list[Record]:
        """All that is in it."""
        state = self.state(name)
        with Reader(self.options) as reader:
            return [record for record, _ in reader.read(Range(name, state.start, state.end))]


def same(restored: Sequence[Record], records: Sequence[Record], start: int, end: int) -> bool:
    """Whether a log has exactly these records, and nulls at all other offsets from `start` to `end`."""
    assert [record.offset for record in restored] == list(range(start, end))
    wanted = {record.offset: record for record in records}
    for record in restored:
        original = wanted.get(record.offset)
        if original is None:
            assert (record.key, record.value, record.headers) == (None, None, None), record
        else:
            assert record == original._replace(timestamp_type=1)
    return True


def write_raw(bed: Bed, name: str, records: Sequence[tuple[Any, ...]]) -> None:
    """Appends key, value, headers and time, whatever the time is: librdkafka takes 0 for now."""
    begin = bed.topics.end(name)
    made = [
        Record(begin + number, timestamp, 1, key, value, headers or None)
        for number, (key, value, headers, timestamp) in enumerate(records)
    ]
    with open_appender(bed, name) as log:
        log.position = begin
        for batch in batches(made, begin, MOST_BYTES):
            log.append(batch)


def open_appender(bed: Bed, name: str) -> Appender:
    """To a topic that may have been made just now."""
    options = {"bootstrap.servers": bed.topics.servers}
    found = wait_until(lambda: KafkaState(options).topics([name]).get(name), f"topic {name} is there")
    return Appender(options, name, found.topic_id)


def begin_at(bed: Bed, name: str, start: int) -> None:
    """Lets an empty log begin there."""
    with open_appender(bed, name) as log:
        pad(log, start, PADDING_TIME, MOST_BYTES)
    target = TargetKafka({"bootstrap.servers": bed.topics.servers})
    target.delete_records(name, target.find_topics([name])[name].topic_id, start)


@contextmanager
def before_batch(number: int, act: Callable[[], None]) -> Iterator[None]:
    """Something happens before the nth batch of what is written inside."""
    honest, calls = Appender.append, [0]

    def append(log: Appender, batch: Batch) -> None:
        calls[0] += 1
        if calls[0] == number:
            act()
        honest(log, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Appender, "append", append)
        yield
