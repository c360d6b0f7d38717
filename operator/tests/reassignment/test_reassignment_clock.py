"""The clock of an operator's node was ahead, or is: nobody who takes over waits longer, or cuts a wait short."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.partitions import PartitionId
from seawall.domain.times import REASSIGNMENT_LEADERS_WAIT, REASSIGNMENT_RETRY_REFUSED
from tests.fakes.kafka_moves import Target
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.reassignment.test_reassignment_run import of_three, raising
from tests.reassignment.test_rebalance import passes, ticks, waiting_for_leaders
from tests.worlds.reassignment_world import World

DAY, SOON = timedelta(days=1), timedelta(seconds=20)
TIMES = ("start_time", "stage_time", "progress_time", "completion_time")


def write_ahead(world: World, *names: str) -> None:
    """These times, or all that the run has written, it wrote by a clock that was ahead by a day."""
    found, run = world.cluster(), world.run()
    then = {name: at + DAY for name in names or TIMES if (at := getattr(run, name)) is not None}
    world.kube.replace_status(found, found.status.model_copy(update={"reassignment": run.model_copy(update=then)}))


def refused() -> World:
    """A run is over of which Kafka has refused a partition, as it would not again."""

    def refuse(partition: PartitionId, _target: Target) -> str | None:
        return "the moon is wrong" if partition.topic == "wal_3" else None

    world = raising()
    world.kafka.moves.refuse = refuse
    world.settle(until=lambda: world.stage() == "Completed")
    world.kafka.moves.refuse = lambda *_: None
    return world


@pytest.mark.parametrize("names", [TIMES, ("progress_time",)], ids=["all", "the last"])
def test_what_is_said_of_a_run_is_written_although_it_was_written_last_in_a_time_to_come(names: Sequence[str]) -> None:
    world = raising(pace=0)
    world.rounds(5)
    write_ahead(world, *names)
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "no broker answered")
    passes(world, SOON)
    assert world.run().message == "no broker answered"


@pytest.mark.parametrize("name", TIMES)
def test_no_time_to_come_stays_although_nothing_else_changes(name: str) -> None:
    """Alerts count from when a run came on."""
    world = refused() if name == "completion_time" else raising(pace=0)
    world.rounds(5)
    write_ahead(world, name)
    passes(world, SOON)
    assert getattr(world.run(), name) <= world.time.time


def test_what_kafka_refused_is_planned_again_although_the_run_ended_in_a_time_to_come() -> None:
    world = refused()
    digest = world.run().digest
    write_ahead(world)
    passes(world, REASSIGNMENT_RETRY_REFUSED - SOON)
    assert world.run().digest == digest, "when it ended nobody knows: it counts from now on"
    passes(world, 2 * SOON)
    assert world.run().digest != digest
    world.settle()
    assert world.factors() == {3}


def test_leaders_are_waited_for_no_longer_although_the_stage_began_in_a_time_to_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So long a run keeps its turn."""
    monkeypatch.setattr(FakeReassigner, "elect_preferred_leaders", lambda *_: {})
    world = World(of_three)
    world.annotate(rebalance="now")
    world.settle(until=lambda: world.stage() == "Verifying")
    write_ahead(world)
    ticks(world, REASSIGNMENT_LEADERS_WAIT + SOON)
    assert world.stage() == "Completed"
    assert "not led by their preferred leaders yet" in world.run().message


def test_leaders_are_elected_no_longer_although_that_began_in_a_time_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeReassigner, "_elect", lambda *_: None)
    world = waiting_for_leaders()
    write_ahead(world, "election_time")
    ticks(world, REASSIGNMENT_LEADERS_WAIT + SOON)
    assert world.run().rebalanced_for == "now"


def test_a_run_is_called_slow_in_time_although_it_began_in_a_time_to_come() -> None:
    world = raising(pace=0)
    world.rounds(5)
    write_ahead(world)
    passes(world, timedelta(minutes=11))
    assert "it was estimated to take 1 s and takes longer" in world.run().message


def test_who_takes_over_with_a_clock_that_is_ahead_plans_nothing_again_early() -> None:
    world = refused()
    asked = world.kafka.requests["reassign"]
    world.time.ahead = DAY
    passes(world, REASSIGNMENT_RETRY_REFUSED / 2)
    assert world.kafka.requests["reassign"] == asked
    passes(world, REASSIGNMENT_RETRY_REFUSED)
    assert world.kafka.requests["reassign"] > asked


def test_what_a_clock_that_is_ahead_writes_is_of_no_time_to_come() -> None:
    world = raising()
    world.time.ahead = DAY
    world.settle()
    assert all((at := getattr(world.run(), name)) is not None and at <= world.time.time for name in TIMES)
