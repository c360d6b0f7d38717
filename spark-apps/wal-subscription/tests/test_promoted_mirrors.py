"""What a driver sends that slept through the promotion of its mirror: refused by its epoch, and later by its rights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, AdminClient
from mirrors import Mirror, Side, side_of
from test_rights_of_a_mirror import AUTHORIZER, USER, as_user, forget, let

from seawall_e2e import kafka_users
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Refused
from sparkjob.wire.batches import Producer, nulls, to_bytes
from sparkjob.wire.connection import Connection
from sparkjob.wire.produce import produce_request
from wal_subscription import copier
from wal_subscription.micro_batches import TARGET_RIGHTS
from wal_subscription.stops import MustStop, Reason
from wal_subscription.target import LogTarget

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
FORGETFUL = {
    **AUTHORIZER,
    "producer.id.expiration.ms": "15000",  # what is sent meanwhile finds the fence, on a busy machine, too
    "producer.id.expiration.check.interval.ms": "1000",
    "connections.max.idle.ms": "600000",  # the worst: what the driver asked on is open for ever
}
RECORDS = [(b"k", b"%d" % number) for number in range(40)]


@pytest.fixture
def target(beds: str) -> Iterator[KafkaProcesses]:
    """One that forgets producers soon, and connections never."""
    with KafkaProcesses(1, sasl_ssl=True, properties=FORGETFUL) as kafka:
        yield kafka
    copier.forget_connections()


def promote(mirror: Mirror, name: str) -> None:
    """As the operator does: a record of null of the next epoch, and of now: by its timestamp it is forgotten."""
    (null,) = nulls(1, time.time_ns() // 1_000_000)
    state = mirror.target.of(name)
    records = to_bytes(null, Producer(mirror.producer.id, mirror.producer.epoch + 1), 0)
    with Connection(mirror.target.options) as connection:
        leader = connection.leader(name, state.topic_id)
        assert isinstance(leader, int)
        answer = connection.ask(produce_request(name, state.topic_id, records), leader)
    assert answer.responses[0].partition_responses[0].base_offset == state.end


def asleep(mirror: Mirror, name: str, connection: Connection) -> LogTarget:
    """A driver that knows where the log ends, and is about to send."""
    (topic,) = [topic for topic in mirror.parsed().topics if topic.name == name]
    log = LogTarget(connection, topic, mirror.producer)
    log.open()
    assert log.position == len(RECORDS)
    return log


def wakes_and_sends(log: LogTarget) -> None:
    """What it has in its hands."""
    log.append(nulls(3, 0))


def test_who_slept_through_a_promotion_is_refused_by_the_epoch_and_once_that_is_forgotten_by_the_right_to_write(
    source_kafka: KafkaProcesses, target: KafkaProcesses, tmp_path: Path
) -> None:
    mirror, names = Mirror(side_of(source_kafka), side_of(target)), ("sleeper", "control")
    mirror.make(*names)
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    for name in names:
        let(mirror.target, target, name, TARGET_RIGHTS)
    micro = mirror.start(target=as_user(target, tmp_path / "target"))
    assert mirror.run(micro) == []
    with Connection(micro._sides.target) as connection, Connection(micro._sides.target) as other:
        drivers = [asleep(mirror, name, line) for name, line in zip(names, (connection, other), strict=True)]
        for name in names:
            promote(mirror, name)
        for driver in drivers:
            with pytest.raises(MustStop) as stop:
                wakes_and_sends(driver)
            assert stop.value.stop.reason is Reason.FENCED
        for name in names:
            wait_until(lambda name=name: not mirror.known_producers(name), "it is forgotten", within=60)  # type: ignore[misc]

        with pytest.raises(MustStop) as stop:
            wakes_and_sends(drivers[1])
        assert stop.value.stop.reason is Reason.DIVERGED, "whoever may still write does: the epoch is forgotten"
        assert mirror.target.of(names[1]).end == len(RECORDS) + 4

        take_write_away(mirror.target, names[0])
        with pytest.raises(Refused, match="may not write to topic sleeper of the target: it needs Write"):
            wakes_and_sends(drivers[0])
        assert mirror.target.of(names[0]).end == len(RECORDS) + 1
    forget(mirror.target)


def take_write_away(side: Side, name: str) -> None:
    """A person does, as docs/subscription.md says; connections that are open stay so."""
    boss = AdminClient({"bootstrap.servers": ",".join(side.servers)})
    kafka_users.forbid(boss, USER, name, AclOperation.WRITE)
    wait_until(lambda: not kafka_users.rights(boss, USER, name, AclOperation.WRITE), "the broker knows it")
