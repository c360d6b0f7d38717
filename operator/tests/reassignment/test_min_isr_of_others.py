"""A run that gives some topics more replicas leaves min.insync.replicas of all others as it is declared.

Were it lowered on a healthy topic, writes would be acknowledged that one replica has, for as long as an abort waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from seawall.controllers import cluster as wal_cluster
from seawall.domain.min_isr import Limits, limit_of
from seawall.domain.reassignment import limits
from seawall.domain.reassignment.journal import journal_key
from seawall.observe import reassignment_journal
from tests.reassignment.test_reassignment_min_isr import MIN_ISR
from tests.reassignment.test_reassignment_run import of_three
from tests.support.deaths import WorldsLeft
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.reassignment_world import CHANGES, TOPICS, WAL, World

GROWS = "wal_5"
OFFSETS = "__consumer_offsets"


@dataclass
class Kept(World):
    """A pool of three replicas each; after every change it is checked that topics of no run need two in sync."""

    others: frozenset[str] = frozenset()

    def check(self, after: str = "") -> None:
        """As of all worlds, and that."""
        super().check(after)
        lowered = {name for name in self.others if self.min_isr_of(name) != "2"}
        assert not lowered, f"min.insync.replicas of {sorted(lowered)} is not 2, after {after}"

    def min_isr_of(self, name: str) -> str | None:
        """What is set on a topic."""
        return self.kafka.topics[name].configs.get(MIN_ISR)


def one_of_the_pool() -> Kept:
    """Of one topic somebody has taken all replicas but one."""
    world = Kept(of_three)
    world.kafka.topics[GROWS].configs[MIN_ISR] = "1"
    world.move_by_hand(GROWS, (3,))
    world.others = frozenset(TOPICS) - {GROWS}
    return world


def one_of_kafka() -> Kept:
    """A topic of Kafka's own has one replica, and is to be repaired."""
    world = Kept(of_three, internal_topics={"repair": True})
    world.kafka.add_topic(OFFSETS, replicas=(1,), configs={MIN_ISR: "1"})
    world.others = frozenset(TOPICS)
    return world


def arrived(begin: Callable[[], Kept]) -> Kept:
    """Its new replicas have arrived, and the run is not over."""
    world = begin()
    world.settle(until=lambda: world.stage() == "Verifying")
    assert world.run().most_min_in_sync_replicas == 1
    assert {len(replicas) for replicas in world.placed().values()} == {3}
    return world


def waits_in_an_abort(begin: Callable[[], Kept]) -> Kept:
    """A person aborts, and it waits, as two brokers are down."""
    world = arrived(begin)
    world.kafka.offline = {2, 3}
    world.annotate(abort_reassignment="")
    world.rounds(6)
    assert world.stage() == "Aborting"
    assert "under min.insync.replicas" in world.run().message
    return world


@pytest.mark.parametrize("begin", [one_of_the_pool, one_of_kafka], ids=lambda begin: begin.__name__)
def test_an_abort_that_waits_lowers_no_topic_that_keeps_its_replicas(begin: Callable[[], Kept]) -> None:
    world = waits_in_an_abort(begin)
    world.kafka.offline = set()
    world.settle()
    assert world.stage() == "Aborted"
    grown = GROWS if begin is one_of_the_pool else OFFSETS
    assert {name for name, replicas in world.placed().items() if len(replicas) == 1} == {grown}


def test_an_abort_lowers_the_topic_whose_original_replicas_need_it() -> None:
    """Somebody has raised it by hand meanwhile: with 2 its one original replica would take no writes."""
    world = arrived(one_of_the_pool)
    world.kafka.topics[GROWS].configs[MIN_ISR] = "2"
    world.annotate(abort_reassignment="")
    world.settle()
    assert (world.stage(), world.min_isr_of(GROWS)) == ("Aborted", "1")
    assert world.placed()[GROWS] == (3,)


def test_drift_of_others_is_repaired_while_a_run_goes_on() -> None:
    world = one_of_the_pool()
    world.pace = 0
    world.settle(until=lambda: bool(world.kafka.moves.ongoing))
    world.others -= {"wal_0"}
    world.kafka.topics["wal_0"].configs[MIN_ISR] = "1"
    world.rounds(3)
    assert world.stage() == "Ongoing"
    assert (world.min_isr_of("wal_0"), world.min_isr_of(GROWS)) == ("2", "1")


def test_without_its_journal_an_abort_lowers_nothing_and_nobody_raises() -> None:
    """The other controller has not heard of the loss yet."""
    world = arrived(one_of_the_pool)
    world.annotate(abort_reassignment="")
    world.settle(until=lambda: world.stage() == "Aborting")
    manages = world.process()[0]
    world.kube.remove_config_map(journal_key(WAL))
    for _ in range(4):
        manages.tick(WAL)
        world.check("a tick without the journal")
    assert world.min_isr_of(GROWS) == "1"


def test_a_death_at_any_call_of_such_an_abort_lowers_nothing_either() -> None:
    world = arrived(one_of_the_pool)
    world.annotate(abort_reassignment="")
    left = WorldsLeft[Kept](world, CHANGES)
    world.settle(world.process(left))
    for each in left.worlds.values():
        each.settle()
        assert (each.stage(), each.placed()) == ("Aborted", world.placed())
    assert len(left.worlds) > 8


def every_topic_of_the_pool(patch: pytest.MonkeyPatch) -> None:
    """The lowest number of the run is for all."""

    def widest(_kube: Any, cluster: Any) -> Limits:
        return Limits(others=limit_of(cluster.status.reassignment))

    patch.setattr(wal_cluster, "observe_limits", widest)


MUTANTS: tuple[Mutant, ...] = (
    (
        every_topic_of_the_pool,
        lambda: test_an_abort_that_waits_lowers_no_topic_that_keeps_its_replicas(one_of_the_pool),
    ),
    (every_topic_of_the_pool, lambda: test_an_abort_that_waits_lowers_no_topic_that_keeps_its_replicas(one_of_kafka)),
    (every_topic_of_the_pool, test_drift_of_others_is_repaired_while_a_run_goes_on),
    (every_topic_of_the_pool, test_without_its_journal_an_abort_lowers_nothing_and_nobody_raises),
    (
        rewritten(
            limits, "limits_of", "Limits(others=replace(widest, is_lowered=False))", "NO_LIMITS", reassignment_journal
        ),
        test_without_its_journal_an_abort_lowers_nothing_and_nobody_raises,
    ),
)


def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
