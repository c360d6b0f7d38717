"""What must stop a topic stops that topic alone, with its reason and offset, and is found again by the next start."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from mirrors import Mirror, Side, clock_at, run_here, side_of
from wal_topics import TIMEOUT

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Refused
from sparkjob.wire.batches import Producer as Identity
from sparkjob.wire.batches import nulls, to_bytes
from sparkjob.wire.connection import Connection
from sparkjob.wire.produce import produce_request
from wal_subscription import copier
from wal_subscription.copier import Copied, Job, Sides
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import Topic, parse_request
from wal_subscription.stops import Reason, Stop
from wal_subscription.target import LogTarget

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
RECORDS = [(b"k", b"%d" % number) for number in range(40)]


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    copier.forget_connections()


def hurried(request: dict[str, Any]) -> MicroBatches:
    """A run for which what must be certain is so at once."""
    return MicroBatches(parse_request(json.dumps(request).encode()), run_here, clock_at())


def stopped_by(mirror: Mirror, name: str, harm: Callable[[], None]) -> Stop:
    """Mirrors two topics, harms one, and returns how it stopped: the other one goes on, and a restart says the same."""
    other = f"{name}-other"
    mirror.make(name, other)
    mirror.source.topics.append({name: RECORDS, other: RECORDS})
    assert mirror.run() == []
    request = mirror.request()  # frozen: what follows changes ids
    harm()
    mirror.source.topics.append({other: RECORDS})
    told = list[list[Stop]]()
    for _ in range(2):
        micro = hurried(request)

        def is_over(micro: MicroBatches = micro) -> bool:
            micro.once()
            return micro.is_over

        wait_until(is_over, f"{name} stops", within=60)
        told.append(micro.stops)
    assert told[0] == told[1]
    (stop,) = told[0]
    assert stop.topic == name
    assert mirror.has_all(other)
    del mirror.starts[name]
    assert mirror.run() == []
    assert mirror.require_equal(other) == 80
    return stop


def test_records_that_are_gone_before_they_were_mirrored(mirror: Mirror) -> None:
    def harm() -> None:
        mirror.source.topics.append({"gap": RECORDS})
        mirror.source.topics.delete_records("gap", 45)

    stop = stopped_by(mirror, "gap", harm)
    assert (stop.reason, stop.offset) == (Reason.SOURCE_GAP, 40)
    assert stop.message == (
        "topic gap begins at offset 45 in the source: records from 40 on are gone before they were mirrored"
    )


def test_a_source_topic_that_was_made_again(mirror: Mirror) -> None:
    def harm() -> None:
        mirror.source.topics.delete("again")
        mirror.source.create("again")
        mirror.source.topics.append({"again": RECORDS * 2})

    stop = stopped_by(mirror, "again", harm)
    assert (stop.reason, stop.offset) == (Reason.IDENTITY_FENCE_BROKEN, 40)
    assert mirror.target.of("again").end == 40


def test_a_source_topic_that_is_gone(mirror: Mirror) -> None:
    stop = stopped_by(mirror, "gone", lambda: mirror.source.topics.delete("gone"))
    assert (stop.reason, stop.offset) == (Reason.IDENTITY_FENCE_BROKEN, 40)


def test_a_target_topic_that_is_gone_is_not_made(mirror: Mirror) -> None:
    stop = stopped_by(mirror, "lost", lambda: mirror.target.topics.delete("lost"))
    assert (stop.reason, stop.offset) == (Reason.TARGET_LOST, None)
    assert mirror.target.state.topics(["lost"]) == {}


def test_a_target_topic_that_was_made_again_gets_nothing(mirror: Mirror) -> None:
    def harm() -> None:
        mirror.target.topics.delete("lost-again")
        mirror.target.create("lost-again")

    stop = stopped_by(mirror, "lost-again", harm)
    assert (stop.reason, stop.offset) == (Reason.TARGET_LOST, None)
    assert mirror.target.of("lost-again").end == 0


def test_a_record_of_somebody_else_in_the_target(mirror: Mirror) -> None:
    def harm() -> None:
        mirror.target.topics.append({"foreign": RECORDS[:2]})
        mirror.source.topics.append({"foreign": RECORDS})

    stop = stopped_by(mirror, "foreign", harm)
    assert (stop.reason, stop.offset) == (Reason.DIVERGED, 40)
    assert mirror.target.of("foreign").end == 42


def test_a_target_topic_that_was_not_empty(mirror: Mirror) -> None:
    name = "not-empty"
    mirror.make(name)
    mirror.source.topics.append({name: RECORDS})
    mirror.target.topics.append({name: [(b"other", b"record")] * 3})
    (stop,) = mirror.run()
    assert (stop.reason, stop.offset) == (Reason.DIVERGED, 0)
    assert mirror.target.of(name).end == 3


def test_a_source_that_lost_its_end(mirror: Mirror, source_kafka: KafkaProcesses) -> None:
    """As power that fails leaves a log whose last records were on no disk yet."""
    name = "cut"
    mirror.make(name)
    log = source_kafka.log_file(0, name)
    mirror.source.topics.append({name: RECORDS[:35]})
    size = log.stat().st_size
    mirror.source.topics.append({name: RECORDS[35:]})
    assert mirror.run() == []
    request = mirror.request()
    running = hurried(request)
    running.once()

    source_kafka.kill(0)
    os.truncate(log, size)
    source_kafka.start(0)
    assert mirror.source.of(name).end == 35
    for micro in (running, hurried(request)):

        def is_over(micro: MicroBatches = micro) -> bool:
            micro.once()
            return micro.is_over

        wait_until(is_over, "it stops", within=60)
        (stop,) = micro.stops
        assert (stop.reason, stop.offset) == (Reason.DIVERGED, 35)
    assert mirror.target.of(name).end == 40


def test_a_source_that_lost_its_end_after_it_was_planned_and_is_longer_when_it_is_copied(
    mirror: Mirror, source_kafka: KafkaProcesses
) -> None:
    """Its last record would be the target's by the next plan; what is between would never be compared."""
    name, planned = "exchanged", list[Job]()
    mirror.make(name)
    log = source_kafka.log_file(0, name)
    mirror.source.topics.append({name: RECORDS[:35]})
    size = log.stat().st_size
    mirror.source.topics.append({name: RECORDS[35:]})

    def exchange(jobs: Sequence[Job], sides: Sides, in_trouble: Callable[[str], bool]) -> list[Copied]:
        if mirror.target.of(name).end == 40 and not planned:
            planned.extend(jobs)
            source_kafka.kill(0)
            os.truncate(log, size)
            source_kafka.start(0)
            mirror.source.topics.append({name: [(b"of", b"another leader")] * 20})
            copier.forget_connections()
        return run_here(jobs, sides, in_trouble)

    micro = MicroBatches(mirror.parsed(), exchange)
    assert mirror.run(micro) == []
    mirror.source.topics.append({name: RECORDS[:2]})
    micro.once()
    assert [(job.end, job.compares) for job in planned] == [(42, False)]
    assert [(stop.reason, stop.offset) for stop in micro.stops] == [(Reason.DIVERGED, 35)]
    assert mirror.target.of(name).end == 40


def test_other_content_at_the_last_offset_that_both_have(mirror: Mirror) -> None:
    name = "other-content"
    mirror.make(name)
    mirror.source.topics.append({name: RECORDS})
    with Connection(mirror.target.options) as connection:
        topic = Topic(name, "", mirror.target.of(name).topic_id, 0)
        log = LogTarget(connection, topic, mirror.producer)
        log.open()
        log.append(nulls(30, 0))
    (stop,) = mirror.run()
    assert (stop.reason, stop.offset) == (Reason.DIVERGED, 0)
    assert mirror.target.of(name).end == 30


def set_config(mirror: Mirror, name: str, key: str, value: str) -> None:
    """Of a topic of the target."""
    admin = AdminClient(dict[str, str | int | float | bool](mirror.target.options))
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT)

    def is_known() -> bool:
        asked = ConfigResource(ConfigResource.Type.TOPIC, name)
        return bool(admin.describe_configs([asked])[asked].result(TIMEOUT)[key].value == value)

    wait_until(is_known, "the config is known")


def test_a_target_that_does_not_take_large_batches(mirror: Mirror) -> None:
    def harm() -> None:
        set_config(mirror, "small", "max.message.bytes", "500")
        mirror.source.topics.append({"small": [(b"k", b"v" * 5_000)]})

    stop = stopped_by(mirror, "small", harm)
    assert (stop.reason, stop.offset) == (Reason.TARGET_UNSUITABLE, 40)


@pytest.mark.soak
# kafka-python leaves the socket of a connection that is refused to the garbage collector (kafka/net/inet.py).
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_a_target_that_lacks_replicas_takes_nothing_and_stops_nothing(source_kafka: KafkaProcesses) -> None:
    """As one whose brokers are down, or whose disks are full."""
    name = "replicas"
    with KafkaProcesses(3) as target:
        mirror = Mirror(side_of(source_kafka), side_of(target, replicas=2))
        mirror.make(name, target={"min.insync.replicas": "2"})
        mirror.source.topics.append({name: RECORDS})
        request, (leader, follower) = mirror.request(), replicas_of(mirror.target, name)
        target.stop(follower - 1)
        wait_until(lambda: replicas_of(mirror.target, name, in_sync=True) == [leader], "one is out of sync")
        micro = hurried(request)
        for _ in range(5):
            micro.once()
        target.start(follower - 1)
        assert (micro.stops, micro.is_over, mirror.target.of(name).end) == ([], False, 0)
        assert mirror.run(micro) == []
        assert mirror.require_equal(name) == 40


def replicas_of(side: Side, name: str, *, in_sync: bool = False) -> list[int]:
    """The brokers that have a topic, its leader first."""
    admin = AdminClient(dict[str, str | int | float | bool](side.options))
    partition = admin.list_topics(name, TIMEOUT).topics[name].partitions[0]
    return sorted(partition.isrs if in_sync else partition.replicas, key=lambda each: each != partition.leader)


def test_a_target_that_gives_its_own_time(mirror: Mirror) -> None:
    name = "own-time"
    mirror.make(name, target={"message.timestamp.type": "LogAppendTime"})
    mirror.source.topics.append({name: RECORDS})
    (stop,) = mirror.run()
    assert (stop.reason, stop.offset) == (Reason.TARGET_UNSUITABLE, 0)


def test_a_mirror_that_was_promoted(mirror: Mirror) -> None:
    def harm() -> None:
        (null,) = nulls(1, 0)
        newer = Identity(mirror.producer.id, mirror.producer.epoch + 1)
        records = to_bytes(null, newer, 0)  # a new epoch begins with sequence 0
        topic_id = mirror.target.of("fenced").topic_id
        with Connection(mirror.target.options) as connection:
            leader = connection.leader("fenced", topic_id)
            assert isinstance(leader, int)
            answer = connection.ask(produce_request("fenced", topic_id, records), leader)
        assert answer.responses[0].partition_responses[0].base_offset == 40
        mirror.source.topics.append({"fenced": RECORDS})

    stop = stopped_by(mirror, "fenced", harm)
    assert (stop.reason, stop.offset) == (Reason.FENCED, 41)
    assert mirror.target.of("fenced").end == 41


def test_topics_that_stop_together_are_told_together(mirror: Mirror) -> None:
    names = ["together-0", "together-1", "together-2"]
    mirror.make(*names)
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    assert mirror.run() == []
    request = mirror.request()
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    for name in names[:2]:
        mirror.source.topics.delete_records(name, 50)
    micro = hurried(request)
    while not micro.is_over:
        micro.once()
    assert sorted(stop.topic for stop in micro.stops) == names[:2]


def test_another_kafka_at_the_address_is_refused(mirror: Mirror) -> None:
    mirror.make("whose")
    wrong = {**mirror.request()["target"], "clusterId": "q1Sh-9_ISia_zwGINzRvyQ"}
    with pytest.raises(Refused, match=rf"the Kafka cluster at \S+ is {mirror.target.cluster_id}, not q1Sh"):
        mirror.start(target=wrong)


def test_a_kafka_that_is_not_there_is_waited_for(mirror: Mirror) -> None:
    mirror.make("waits")
    micro = mirror.start()
    micro._target = type(micro._target)({"bootstrap.servers": "127.0.0.1:9"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparkjob.wire.kafka_state.SECONDS", 1.0)
        patch.setattr("sparkjob.wire.kafka_state.ASK_SECONDS", 1.0)
        micro.once()
    assert micro.stops == []
    assert not micro.is_over
