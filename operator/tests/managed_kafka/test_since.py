"""A time in which nobody looked shows nothing: what is decided by looks for a while is not decided by a fresh one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.controllers.since import Since
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.times import (
    MANAGED_KAFKA_CLEARED_BREAK,
    MANAGED_KAFKA_CLEARED_MS,
    MANAGED_KAFKA_IDLE_SECONDS,
    MANAGED_KAFKA_IN_SYNC_SECONDS,
    MANAGED_KAFKA_LONGEST_BREAK,
    MANAGED_KAFKA_LOST_SECONDS,
    MANAGED_KAFKA_POLL_SECONDS,
    MANAGED_KAFKA_STALE_MS,
    REFUSED_SECONDS,
    UNANSWERED_SECONDS,
)
from seawall.reconciler import Outcome, Reconciler
from tests.worlds.managed_world import WAL, ManagedWorld

KEY = Key("db", "wal")
SECOND = 1_000
DWELL = timedelta(milliseconds=MANAGED_KAFKA_CLEARED_MS)
BUDGET = (ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers"))


@pytest.fixture
def world() -> ManagedWorld:
    return ManagedWorld().bring_up()


def noted(since: Since[str], *looks: tuple[float, float]) -> timedelta:
    """For how long the last of these looks, by the seconds in which each begins and ends, finds the same."""
    found = timedelta()
    for begun, ended in looks:
        found = since.note(KEY, ["a"], int(begun * SECOND), int(ended * SECOND))["a"]
    return found


def test_looks_one_after_another_add_up() -> None:
    assert noted(Since(timedelta(seconds=10)), (0, 1), (11, 11), (21, 22)) == timedelta(seconds=21)


def test_what_a_look_does_not_find_begins_anew() -> None:
    since: Since[str] = Since()
    since.note(KEY, ["a", "b"], 0, 0)
    assert since.note(KEY, ["b"], SECOND, SECOND) == {"b": timedelta(seconds=1)}
    assert noted(since, (2, 2)) == timedelta()


def test_a_break_is_no_time_of_looks() -> None:
    since: Since[str] = Since(timedelta(seconds=10))
    assert noted(since, (0, 0), (600, 600)) == timedelta()
    assert noted(since, (602, 602)) == timedelta(seconds=2), "and from there on it counts again"
    assert noted(since, (612.001, 612.001)) == timedelta()


def test_each_object_has_breaks_of_its_own() -> None:
    since: Since[str] = Since(timedelta(seconds=10))
    noted(since, (0, 0))
    since.note(Key("db", "other"), ["a"], 599 * SECOND, 599 * SECOND)
    assert noted(since, (600, 600)) == timedelta()


def test_a_slow_look_is_no_break() -> None:
    """A broker that hangs costs seconds in each request: such looks count, or nothing would be decided beside it."""
    assert noted(Since(timedelta(seconds=10)), (0, 25), (27, 52)) == timedelta(seconds=27)


def test_a_look_in_which_the_process_was_frozen_is_none() -> None:
    assert noted(Since(timedelta(seconds=10)), (0, 0), (2, 602)) == timedelta()


def test_no_cadence_is_a_break() -> None:
    """One that is longer than what is allowed would begin anew each time, and nothing would ever be decided."""
    strict, usual = (each.total_seconds() for each in (MANAGED_KAFKA_CLEARED_BREAK, MANAGED_KAFKA_LONGEST_BREAK))
    while_lost = (MANAGED_KAFKA_POLL_SECONDS, MANAGED_KAFKA_LOST_SECONDS, UNANSWERED_SECONDS)
    assert max(while_lost) * 2 <= strict, "also if the queue is late"
    assert MANAGED_KAFKA_STALE_MS < strict * SECOND < MANAGED_KAFKA_CLEARED_MS, "no dwell is made of two looks"
    others = (*while_lost, MANAGED_KAFKA_IN_SYNC_SECONDS, MANAGED_KAFKA_IDLE_SECONDS, REFUSED_SECONDS)
    assert max(others) * 2 <= usual


def settled(process: Reconciler[Any, Any, Any, Any]) -> None:
    """One look, with all that is done at once."""
    for _ in range(10):
        if process.tick(WAL).after != 0:
            return


def test_what_was_found_before_an_outage_of_the_api_server_formats_nothing(world: ManagedWorld) -> None:
    """The broker that vouches for all records has just died, and nobody has fenced it: one look shows it as before."""
    process = world.process()
    world.lose_disk(0)
    world.go_on()
    settled(process)

    def unanswered(_: Key) -> None:
        raise OutsideUnavailable("no answer")

    with pytest.MonkeyPatch.context() as outage:
        outage.setattr(world.objects, "find", unanswered)
        for _ in range(10):
            world.time.time += timedelta(seconds=30)
            assert process.tick(WAL).outcome is Outcome.ERROR
    world.held.add(1)
    world.kill(1)  # Kafka does not know yet
    back = world.time.time
    while not world.tokens():
        settled(process)
        if world.time.time - back < DWELL:
            assert world.tokens() == {}
        world.time.time += timedelta(seconds=MANAGED_KAFKA_POLL_SECONDS)
        if world.time.time - back > timedelta(milliseconds=MANAGED_KAFKA_STALE_MS):
            world.go_on()
        assert world.time.time - back < 2 * DWELL, "never so"
    assert set(world.tokens()) == {"node-0"}


def test_what_is_refused_makes_no_break_while_a_volume_is_lost(world: ManagedWorld) -> None:
    """A refusal of something else is tried again after half a minute: looks so far apart would never format it."""
    process = world.process()
    world.objects.refuses[BUDGET[1].name] = "exceeded quota"
    world.objects.remove(*BUDGET)
    world.lose_disk(0)
    world.go_on()
    began = world.time.time
    while not world.tokens():
        ticked = process.tick(WAL)
        assert ticked.after is not None
        world.time.time += timedelta(seconds=ticked.after)
        assert world.time.time - began < 4 * DWELL, "never so"
    assert world.time.time - began >= DWELL


def test_without_a_loss_what_is_refused_waits_as_long_as_ever(world: ManagedWorld) -> None:
    process = world.process()
    world.objects.refuses[BUDGET[1].name] = "exceeded quota"
    world.objects.remove(*BUDGET)
    for _ in range(5):
        ticked = process.tick(WAL)
    assert (ticked.outcome, ticked.after) == (Outcome.FAILED, REFUSED_SECONDS)
