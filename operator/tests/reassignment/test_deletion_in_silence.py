"""A WALCluster is deleted in mid-run: only a Kafka that is silent for ten minutes lets it go with its throttle.

Or a namespace that is being deleted, once the rights in it are gone: then nobody can ever look any more.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.domain.errors import Forbidden
from seawall.domain.kafka import NoKafka, Unreachable
from tests.fakes.kafka_moves import advance
from tests.reassignment.test_reassignment_min_isr import MIN_ISR
from tests.reassignment.test_reassignment_run import raising
from tests.worlds.reassignment_world import WAL, World

MINUTE = 30
"""Rounds of two seconds."""


def deleted() -> World:
    """Replicas are on their way, none arrives, and somebody deletes the WALCluster."""
    world = raising(pace=0)
    world.rounds(5)
    assert len(world.kafka.moves.ongoing) == 2
    world.kube.remove(WAL)
    return world


def deleted_while_new_replicas_are_needed() -> World:
    """The same, and nothing can be cancelled: somebody has raised min.insync.replicas, and nobody lowers it."""
    world = raising(pace=0)
    world.rounds(5)
    assert advance(world.kafka) == 2
    for found in world.kafka.moves.ongoing:
        world.kafka.topics[found.topic].configs[MIN_ISR] = "2"
    world.kafka.refuse = lambda _topic, key, _value: "no" if key == MIN_ISR else None
    world.kube.remove(WAL)
    return world


def hush(world: World, sentence: str = "no broker answered") -> None:
    """Kafka does not answer any more."""
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, sentence)


def ask_once(world: World) -> None:
    """One tick of a process that has just begun."""
    world.process()[1].tick(WAL)
    world._note_events()


def is_kept(world: World) -> bool:
    """Whether the WALCluster still is there, with its finalizer; and nobody says otherwise."""
    run = world.status()
    return run is not None and run.is_active and not any("a throttle may be left" in line for line in world.lines)


def ends_well(world: World) -> bool:
    """Kafka answers, and nothing is in the way: no throttle and no move is left."""
    world.kafka.unreachable = None
    world.kafka.refuse = lambda *_: None
    world.pace = 2
    world.settle()
    return world.status() is None and world.is_unthrottled() and not world.kafka.moves.ongoing


def test_one_failed_answer_after_a_long_wait_lets_nothing_go() -> None:
    world = deleted_while_new_replicas_are_needed()
    world.rounds(12 * MINUTE)
    assert "it waits: min.insync.replicas of wal_0 is 2" in world.run().message
    assert world.run().unanswered is None, "Kafka answers"
    hush(world)
    ask_once(world)
    assert is_kept(world)
    ask_once(world)
    assert is_kept(world)
    assert ends_well(world)


def test_ten_minutes_without_an_answer_let_it_go_and_not_less_whoever_asks() -> None:
    world = deleted()
    hush(world)
    world.rounds(5 * MINUTE)
    world.rounds(4 * MINUTE)  # by another process
    assert is_kept(world)
    world.rounds(2 * MINUTE)
    assert world.status() is None
    assert any("Kafka could not be asked for 10 minutes, a throttle may be left" in line for line in world.lines)


def test_ten_minutes_count_whatever_the_sentences_are() -> None:
    world = deleted()
    for minute in range(11):
        hush(world, f"no broker answered, try {minute}")
        world.rounds(MINUTE)
    assert world.status() is None


def test_an_answer_in_between_begins_them_anew() -> None:
    world = deleted_while_new_replicas_are_needed()
    hush(world)
    world.rounds(9 * MINUTE)
    world.kafka.unreachable = None
    world.rounds(1)
    assert world.run().unanswered is None
    hush(world)
    world.rounds(9 * MINUTE)
    assert is_kept(world)
    assert ends_well(world)


def test_a_time_in_which_nobody_asked_does_not_count() -> None:
    """The operator was away with Kafka, and is back first."""
    world = deleted()
    hush(world)
    ask_once(world)
    world.time.time += timedelta(minutes=30)
    ask_once(world)
    assert is_kept(world)
    assert ends_well(world)


def test_another_operator_whose_clock_is_ahead_lets_nothing_go_early() -> None:
    world = deleted()
    hush(world)
    world.rounds(6 * MINUTE + 15)
    world.time.ahead = timedelta(minutes=4)
    world.rounds(3 * MINUTE - 15)
    assert is_kept(world)
    world.rounds(2 * MINUTE)
    assert world.status() is None


def take_rights(patch: pytest.MonkeyPatch, world: World) -> None:
    """Its Role is gone: what is left are the rights that outlive it (scope.releaseFinalizers)."""

    def forbidden(*_: Any) -> None:
        raise Forbidden('configmaps "wal-reassignment" is forbidden')

    patch.setattr(world.kube, "get_config_map", forbidden)


def test_a_namespace_whose_roles_went_first_does_not_keep_it() -> None:
    world = deleted()
    world.kube.terminating.add(WAL.namespace)
    with pytest.MonkeyPatch.context() as patch:
        take_rights(patch, world)
        ask_once(world)
    assert world.status() is None
    assert any("its namespace is being deleted, a throttle may be left: configmaps" in line for line in world.lines)


def test_rights_that_are_taken_from_somebody_who_stays_let_nothing_go() -> None:
    world = deleted()
    with pytest.MonkeyPatch.context() as patch:
        take_rights(patch, world)
        ask_once(world)
        assert is_kept(world)
    assert ends_well(world)


def test_while_there_are_rights_a_namespace_that_is_deleted_waits_until_no_throttle_is_left() -> None:
    world = deleted()
    world.kube.terminating.add(WAL.namespace)
    ask_once(world)
    assert is_kept(world)
    assert ends_well(world)
