"""Two drivers at once, killed and frozen at any moment: the logs are equal, and without the condition they are not.

The long form (`pytest -m soak`) has three brokers at the target, which are killed, too; both print what they did. What
the long one did is in e2e/soak/results/mirror-writers.json.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mirror_writers import CONDITION, FALLS_ASLEEP, NO_CONDITION, Writers, written_to
from mirrors import Mirror, side_of

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.soak import write_counts
from seawall_e2e.waiting import wait_until
from wal_subscription import copier

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
SHORT = {"kills": 12, "freezes": 6}
LONG = {"kills": 100, "freezes": 30}
BROKER_KILLS = 4
FORGETS_MS = 10_000
FORGETFUL = {"producer.id.expiration.ms": str(FORGETS_MS), "producer.id.expiration.check.interval.ms": "1000"}


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    copier.forget_connections()


def writers_of(mirror: Mirror, folder: Path, how: str = CONDITION, number: int = 2) -> Writers:
    """Of all topics of a mirror."""
    path = folder / "request.json"
    path.write_text(json.dumps(mirror.request()))
    return Writers(path, how, number)


def harmed(mirror: Mirror, name: str, writers: Writers, least: dict[str, int], also: Callable[[int], None]) -> int:
    """Harms two writers until that much was done, then lets them end their work; how many records there were."""
    seed, rounds = random.Random(7), 0  # noqa: S311 - a fixed row of faults
    with written_to(",".join(mirror.source.servers), name) as written:
        while any(writers.total().get(what, 0) < number for what, number in least.items()):
            writers.harm(seed)
            also(rounds)
            rounds += 1
    wait_until(lambda: mirror.has_all(name), "the mirror has all", within=180)
    return written["records"]


def test_two_drivers_that_are_killed_and_frozen_make_one_log(mirror: Mirror, tmp_path: Path) -> None:
    name = "two-drivers"
    mirror.make(name)
    writers = writers_of(mirror, tmp_path)
    try:
        # Kills may come so fast that the two never meet: then it goes on.
        records = harmed(mirror, name, writers, {**SHORT, "refused": 1}, lambda _: None)
    finally:
        writers.close()
    assert mirror.require_equal(name) == records
    total = writers.total()
    print(f"{records} records equal; {total}")  # noqa: T201 - the counts are the evidence
    assert total["stopped"] == 0


def test_without_the_condition_the_same_two_drivers_make_another_log(mirror: Mirror, tmp_path: Path) -> None:
    name = "no-condition"
    mirror.make(name)
    writers = writers_of(mirror, tmp_path, NO_CONDITION)

    def is_another_log() -> bool:
        ours = [(record.key, record.value) for record in mirror.target.log(name)]
        theirs = [(record.key, record.value) for record in mirror.source.log(name)]
        return ours != theirs[: len(ours)]

    try:
        with written_to(",".join(mirror.source.servers), name):
            wait_until(is_another_log, "the two have written twice", within=60)
    finally:
        writers.close()


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_two_drivers_and_brokers_that_are_killed(source_kafka: KafkaProcesses, tmp_path: Path) -> None:
    with KafkaProcesses(3) as target:
        mirror = Mirror(side_of(source_kafka), side_of(target, replicas=3))
        name = "for-long"
        mirror.make(name, target={"min.insync.replicas": "2"})
        writers = writers_of(mirror, tmp_path)
        brokers = 0

        def kill_a_broker(rounds: int) -> None:
            nonlocal brokers
            if rounds % 25 == 10:
                target.kill(brokers % 3)
                time.sleep(1)
                target.start(brokers % 3)
                brokers += 1

        try:
            records = harmed(mirror, name, writers, LONG, kill_a_broker)
        finally:
            writers.close()
        assert mirror.require_equal(name) == records
        total = writers.total()
        print(f"{records} records equal; {brokers} kills of a broker; {total}")  # noqa: T201 - as above
        assert brokers >= BROKER_KILLS
        assert total["stopped"] == 0
        write_counts("mirror-writers", {**total, "brokers killed": brokers, "records equal": records})


@pytest.mark.parametrize("idle_ms", [4_000, 600_000])
def test_a_driver_that_slept_longer_than_kafka_remembers_its_producer_changes_nothing(
    source_kafka: KafkaProcesses, tmp_path: Path, idle_ms: int
) -> None:
    """It wakes with a batch in its hands whose sequence any broker takes by then: but its connection is gone.

    Where connections live longer than producer ids it is not, and the batch is appended: so no target may be like that.
    """
    with KafkaProcesses(1, properties={**FORGETFUL, "connections.max.idle.ms": str(idle_ms)}) as target:
        mirror = Mirror(side_of(source_kafka), side_of(target))
        name = f"slept-{idle_ms}"
        mirror.make(name)
        writers = writers_of(mirror, tmp_path, FALLS_ASLEEP, number=1)
        try:
            with written_to(",".join(mirror.source.servers), name):
                wait_until(lambda: writers.is_asleep(0), "it sleeps with a batch that is not sent", within=60)
                slept_at = mirror.target.of(name).end
            writers.start_another()
            wait_until(lambda: mirror.has_all(name), "another one has copied all", within=60)
            end = mirror.target.of(name).end
            assert end > slept_at, "the batch in its hands is an old one"
            wait_until(lambda: not mirror.known_producers(name), "Kafka has forgotten the producer", within=60)
            writers.go_on(0)
            if idle_ms > FORGETS_MS:
                wait_until(lambda: mirror.target.of(name).end > end, "the old batch is appended")
                wait_until(lambda: writers.total()["stopped"] > 0, "that is told", within=60)
                return
            time.sleep(2.0)
            mirror.source.topics.append({name: [(b"k", b"after it woke")] * 5})
            wait_until(lambda: mirror.has_all(name), "the mirror goes on", within=60)
        finally:
            writers.close()
        assert mirror.require_equal(name) > 0
        assert writers.total()["stopped"] == 0
