"""A run over a topic with a dead region: only by an annotation in time, and it stops when the region is back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.domain.ledger.observation import Observation
from seawall.domain.purge.state import RunState
from seawall.reconciler import Reconciler
from tests.ledger.test_ledger_watch import intact, look, watch
from tests.worlds.purge_world import NAMESPACE, ROWS, SPEC, World

AGAIN = Key(NAMESPACE, "again")
TOPIC = "wal_1"
REGION = (1024 + 1) << 32 | 3
"""The one that has flushed nothing."""
TOMORROW = "2026-11-22T11:00:00Z"
SOON = "2026-11-21T12:02:30Z"
SENTENCE = f"region {REGION} is declared dead by annotation until {TOMORROW} (disk lost)"


def orphaned() -> World:
    """A datanode that nobody knows of leads a region, and died."""
    world = World()
    world.data_plane.regions[REGION].datanode = 9
    world.store.put_region(TOPIC, REGION, leader=9, checkpoint=None)
    world.rows[REGION].clear()  # a person gives them up
    return world


def declare(world: World, until: str = TOMORROW, regions: str = str(REGION)) -> None:
    world.annotate(dead_regions=f"{regions}: disk lost@{until}")


def comes_back(world: World) -> None:
    """The datanode was slow, not dead."""
    for node in range(10):
        world.store.put_datanode(node)
    world.data_plane.datanodes = 10


def until_seen(world: World, process: Reconciler[Any, Any, Any, Any]) -> None:
    """Ticks until the run has recorded what it may delete."""
    while world.run().status.frozen is None:
        world.settle(process, ticks=1)
    assert TOPIC in world.targets()


def test_a_topic_with_a_region_that_was_declared_dead_goes_and_the_run_says_by_whose_word() -> None:
    world = orphaned()
    declare(world)
    world.start_run()
    run = world.settle()
    assert 0 < world.log_starts()[TOPIC] < ROWS
    assert {name: target.dead for name, target in world.targets().items()} == {
        "wal_0": None,
        TOPIC: SENTENCE,
        "wal_2": None,
    }
    assert (run.status.planned[0].topic, run.status.planned[0].dead) == (TOPIC, SENTENCE)
    reported = [event.message for event in world.kube.events if event.reason == "DeclaredDead"]
    assert reported == [f"Not every region of topic {TOPIC} counts: {SENTENCE}"]
    line = next(line for line in look(world, watch(world), times=15).lines if line.name == TOPIC)
    assert line.held_by.endswith(f"({SENTENCE})")


def test_without_a_declaration_it_stays() -> None:
    world = orphaned()
    world.start_run()
    run = world.settle()
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "RegionMissing")]


def test_a_declaration_that_expires_during_the_run_deletes_nothing() -> None:
    world = orphaned()
    declare(world, SOON)
    world.start_run()
    process = world.process()
    until_seen(world, process)
    run = world.settle(process)
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "RegionMissing")]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("removes", [False, True])
def test_a_region_that_comes_back_in_the_middle_stops_it(*, restarts: bool, removes: bool) -> None:
    """Also when the operator starts anew, and when the annotation is taken away, as the person was told."""
    world = orphaned()
    declare(world)
    world.start_run()
    process = world.process()
    until_seen(world, process)
    while world.store.snapshot().topics[TOPIC].pruned_entry_id == 0:
        world.settle(process, ticks=1)
    comes_back(world)
    if removes:
        world.annotate()
    run = world.settle(world.process() if restarts else process)
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "DeclarationContradicted")]


def test_the_next_run_leaves_a_region_alone_that_is_back_and_still_declared() -> None:
    """The marker was announced, and goes beyond what the region has flushed."""
    world = World()
    world.rows[REGION].clear()
    world.store.put_topic(TOPIC, ROWS - 4)
    declare(world)
    world.start_run()
    run = world.settle()
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "DeclarationContradicted")]


def test_a_word_of_any_length_keeps_no_run_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by a reader: the status has no room for all that a person says of regions, and the run stayed as it was."""
    monkeypatch.setattr(RunState, "held_by", lambda *_: "region 1 (an incident report " + "and more " * 200)
    world = orphaned()
    world.start_run()
    (row,) = world.settle().status.skipped
    assert (row.topic, len(row.held_by or "")) == (TOPIC, 1024)


def test_the_next_run_leaves_a_region_alone_that_is_back_behind_the_marker_when_the_declaration_is_over() -> None:
    """Found by a review: it deleted what the live region had in memory and in the log alone."""
    world = World()
    world.data_plane.regions[REGION].datanode = 9
    world.store.put_region(TOPIC, REGION, leader=9, checkpoint=None)
    declare(world, "2026-11-21T12:05:00Z")
    world.rows[REGION].clear()  # the marker skips them: only that they are still in the log is asked below
    thresholds = {**SPEC["flush"], "whenBehindEntries": 10_000}
    world.start_run(flush=thresholds)
    process = world.process()
    until_seen(world, process)
    while world.store.snapshot().topics[TOPIC].pruned_entry_id == 0:
        world.settle(process, ticks=1)
    comes_back(world)
    world.settle(process)
    world.time.time += timedelta(minutes=10)
    world.start_run(AGAIN, flush=thresholds)
    run = world.settle(process, key=AGAIN)
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "DeclarationContradicted")]
    assert world.log_starts()[TOPIC] == 0
    page = look(world, watch(world), times=6)
    expired, back = page.problems
    assert expired.endswith("has expired: remove it, once those of its regions that are back have flushed")
    assert f"region {REGION} was declared dead, reports again and has flushed less than the marker: flush it" in back


def test_an_operator_that_starts_takes_nothing_for_dead_before_it_has_watched() -> None:
    """At first every report is missing or was not seen to advance."""
    world = World()
    declare(world)
    observation = world.observer().observe(world.cluster())
    assert isinstance(observation, Observation)
    assert observation.assessment.inputs.freshness.stale.all()
    assert not observation.assessment.inputs.freshness.dead.any()


def test_an_operator_that_restarts_in_the_middle_watches_again_and_goes_on() -> None:
    world = orphaned()
    declare(world)
    world.start_run()
    until_seen(world, world.process())
    world.settle(world.process())
    assert world.log_starts()[TOPIC] > 0


@pytest.mark.parametrize(
    ("regions", "until", "said"),
    [
        (str(REGION), "2027-01-01T00:00:00Z", "the expiry 2027-01-01T00:00:00Z is more than 24 hours ahead"),
        ("17", TOMORROW, "region 17 is in no topic of this pool, nothing is declared by that"),
        (
            str((1024 + 1) << 32),
            TOMORROW,
            f"region {(1024 + 1) << 32} is declared dead and reports: the declaration is ignored",
        ),
    ],
)
def test_what_is_wrong_with_the_annotation_is_said_where_people_look(regions: str, until: str, said: str) -> None:
    world = World()
    declare(world, until, regions)
    watching = watch(world)
    page = look(world, watching, times=12)
    assert page.problems == (f"seawall.dev/dead-regions: {said}",)
    assert said in intact(world, watching).message
    observation = watching.observer.observe(world.cluster())
    assert isinstance(observation, Observation)
    assert not observation.assessment.inputs.freshness.dead.any()
