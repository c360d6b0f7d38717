"""Two Kafkas, topics of one name on both, and a mirror between them that runs in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.producer import InitProducerIdRequest
from wal_topics import TIMEOUT, Topics

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.kafka import Kafka
from sparkjob.kafka_options import librdkafka_options
from sparkjob.wire.batches import Producer
from sparkjob.wire.connection import Connection
from sparkjob.wire.kafka_state import KafkaState, TopicState
from sparkjob.wire.reader import UNCOMMITTED, Range, Reader
from sparkjob.wire.records import Record
from wal_subscription.copier import Copied, Job, Sides, copy
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import Request, parse_request
from wal_subscription.stops import Stop

GUARDED = {
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
_KNOWN = 3
"""Times in a row that Kafka says the same of new topics."""


@dataclass
class Side:
    """One Kafka, as a super user."""

    servers: tuple[str, ...]
    cluster_id: str
    replicas: int = 1
    topics: Topics = field(init=False)
    state: KafkaState = field(init=False)

    def __post_init__(self) -> None:
        self.topics, self.state = Topics(self.servers), KafkaState(self.options)

    @property
    def options(self) -> dict[str, str]:
        """Of a client."""
        return librdkafka_options(Kafka(self.servers, self.cluster_id, None, None))

    def create(self, *names: str, config: Mapping[str, str] | None = None) -> None:
        """Makes topics, and waits until they are known; one of that name may be on its way out."""
        before = {name: found.topic_id for name, found in self.state.topics(names).items()}
        admin = AdminClient(dict[str, str | int | float | bool](self.options))

        def made(name: str) -> bool:
            new = NewTopic(name, 1, self.replicas, config={**GUARDED, **(config or {})})
            try:
                admin.create_topics([new], operation_timeout=TIMEOUT)[name].result(TIMEOUT)
            except KafkaException:
                return False
            return True

        def known() -> bool:
            found = [self.state.topics(names) for _ in range(_KNOWN)]
            return all(name in each and each[name].topic_id != before.get(name) for each in found for name in names)

        for name in names:
            wait_until(lambda name=name: made(name), f"topic {name} can be made")  # type: ignore[misc]
        wait_until(known, "the topics are known")

    def of(self, name: str) -> TopicState:
        """A topic."""
        return self.state.topics([name])[name]

    def log(self, name: str) -> list[Record]:
        """All records, as who reads uncommitted gets them."""
        found = self.of(name)
        with Reader(self.options, isolation=UNCOMMITTED) as reader:
            return [record for record, _ in reader.read(Range(name, found.start, found.end))]

    def to_json(self) -> dict[str, Any]:
        """As a request has it."""
        return {"bootstrapServers": list(self.servers), "clusterId": self.cluster_id, "tls": None, "sasl": None}


def side_of(kafka: KafkaProcesses, replicas: int = 1) -> Side:
    """A Kafka of a test."""
    return Side(kafka.bootstrap_servers, kafka.cluster_id, replicas)


@dataclass
class Mirror:
    """What the operator does before a run, and what it reads after it."""

    source: Side
    target: Side
    starts: dict[str, int] = field(default_factory=dict)
    producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self.producer = new_producer(self.target)

    def make(
        self, *names: str, source: Mapping[str, str] | None = None, target: Mapping[str, str] | None = None
    ) -> None:
        """Topics on both sides, with these configs."""
        self.source.create(*names, config=source)
        self.target.create(*names, config=target)
        self.starts |= dict.fromkeys(names, 0)

    def request(self, **other: Any) -> dict[str, Any]:
        """Of all topics that were made."""
        sources, targets = (side.state.topics(self.starts) for side in (self.source, self.target))
        return {
            "version": 1,
            "object": {"namespace": "db", "name": "dr", "uid": "0d3f8c1e-7a55-4f0b-9d1c-3f1b2c4d5e6f"},
            "run": 1,
            "source": self.source.to_json(),
            "target": self.target.to_json(),
            "producer": {"id": self.producer.id, "epoch": self.producer.epoch},
            "intervalMilliseconds": 100,
            "topics": [
                {
                    "name": name,
                    "sourceTopicId": sources[name].topic_id,
                    "targetTopicId": targets[name].topic_id,
                    "from": start,
                }
                for name, start in self.starts.items()
            ],
            **other,
        }

    def parsed(self, **other: Any) -> Request:
        """The request as the program reads it."""
        return parse_request(json.dumps(self.request(**other)).encode())

    def start(self, **other: Any) -> MicroBatches:
        """A run in this process, with all that a start asks."""
        micro = MicroBatches(self.parsed(**other), run_here)
        micro.require_sides()
        return micro

    def run(self, micro: MicroBatches | None = None) -> list[Stop]:
        """Runs until the target has all, or all that goes on, or it is over."""
        running = micro or self.start()

        def is_done() -> bool:
            running.once()
            gone_on = set(self.starts) - {stop.topic for stop in running.stops}
            return running.is_over or (not running.stops and all(self.has_all(name) for name in gone_on))

        wait_until(is_done, "the mirror has all", within=120)
        return running.stops

    def has_all(self, name: str) -> bool:
        """Whether both end alike."""
        return self.source.of(name).end == self.target.of(name).end

    def known_producers(self, name: str) -> list[int]:
        """The ids of the producers that the target's broker remembers."""
        partition = DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[0])
        with Connection(self.target.options) as connection:
            leader = connection.leader(name, self.target.of(name).topic_id)
            assert isinstance(leader, int)
            answer = connection.ask(DescribeProducersRequest(topics=[partition]), leader)
        return [each.producer_id for each in answer.topics[0].partitions[0].active_producers]

    def require_equal(self, *names: str) -> int:
        """Every record is where it was, nulls are at all other offsets; how many records there are."""
        return sum(require_equal(self.source.log(name), self.target.log(name), self.starts[name]) for name in names)


def require_equal(theirs: Sequence[Record], ours: Sequence[Record], start: int) -> int:
    """Compares two logs; `start` is where the first one began, and there are nulls below."""
    wanted = {record.offset: record for record in theirs}
    assert [record.offset for record in ours] == list(range(len(ours)))
    for record in ours:
        original = wanted.pop(record.offset, None) if record.offset >= start else None
        if original is None:
            assert (record.key, record.value, record.headers) == (None, None, None), record
        else:
            assert record == original._replace(timestamp_type=1), (record, original)
    assert not wanted, f"{len(wanted)} records are missing, from {min(wanted)} on"
    return len(theirs)


def run_here(jobs: Sequence[Job], sides: Sides, _: Callable[[str], bool]) -> list[Copied]:
    """Runs jobs in this process."""
    return [copy(job, sides) for job in jobs]


def new_producer(side: Side) -> Producer:
    """A producer id, as the operator takes one."""
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )

    def taken() -> Producer | None:
        answer = connection.ask(request)
        return None if answer.error_code else Producer(answer.producer_id, answer.producer_epoch)

    with Connection(side.options) as connection:
        return wait_until(taken, "a producer id is given")


def clock_at(step: float = 30.0) -> Callable[[], float]:
    """A clock that jumps ahead each time it is asked: what must be found for long is found so at once."""
    now = [time.monotonic()]

    def clock() -> float:
        now[0] += step
        return now[0]

    return clock
