"""How long a replay takes, how far it is, and what a probe has to allow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.v1alpha1.disruption import RestartedDatanode
from seawall.api.v1alpha1.rollout import MeasuredReplay, RollStage
from seawall.domain.datanodes.facts import Limits
from seawall.domain.datanodes.replay import Progress, measure, progress, replay_seconds, restart_budget, startup_seconds
from tests.domain.datanodes.builders import MI, make_datanode, make_facts, with_region
from tests.domain.datanodes.world import World

MEASURED = MeasuredReplay(entries=10_000, bytes=400 * MI, seconds=10)


def test_the_last_measure_says_how_fast_bytes_are_read() -> None:
    assert replay_seconds(make_datanode(0, size_bytes=800 * MI), MEASURED) == 20


def test_before_the_first_measure_it_is_a_cautious_guess() -> None:
    assert replay_seconds(make_datanode(0, size_bytes=200 * MI), None) == 10


def restarted(**counts: int | None) -> RestartedDatanode:
    return RestartedDatanode(id=0, **counts)


def test_a_restart_that_read_enough_is_a_measure() -> None:
    found = measure(restarted(entries=10_000, bytes=400 * MI), timedelta(seconds=9.5))
    assert found == MEASURED
    assert measure(restarted(entries=100_000, bytes=None), timedelta(seconds=10)) is not None


@pytest.mark.parametrize(("entries", "size"), [(None, None), (None, 400 * MI), (20, MI), (20, None), (0, 0)])
def test_a_restart_that_read_little_or_nobody_knows_how_much_is_none(entries: int | None, size: int | None) -> None:
    assert measure(restarted(entries=entries, bytes=size), timedelta(seconds=10)) is None


def test_a_measure_without_sizes_does_not_say_how_fast_bytes_are_read() -> None:
    entries_only = MEASURED.model_copy(update={"bytes": 0})
    assert replay_seconds(make_datanode(0, size_bytes=200 * MI), entries_only) == 10


@pytest.mark.parametrize(("measured", "seconds"), [(None, 4), (MEASURED, 20)])
def test_entries_do_where_no_size_is_known(measured: MeasuredReplay | None, seconds: int) -> None:
    assert replay_seconds(make_datanode(0, size_bytes=None, entries=20_000), measured) == seconds


def test_nothing_known_is_no_estimate() -> None:
    assert replay_seconds(make_datanode(0, size_bytes=None, entries=None), MEASURED) is None


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_probe_allows_more_for_more_and_more_than_the_estimate(one: int, other: int) -> None:
    assert startup_seconds(one) > one
    assert (startup_seconds(one) <= startup_seconds(other)) or one > other


def test_a_restart_that_a_person_let_through_may_take_as_long_as_was_expected() -> None:
    limit = timedelta(minutes=10)
    assert restart_budget(limit, 60) == timedelta(minutes=12)
    assert restart_budget(limit, None) == timedelta(minutes=12)
    assert restart_budget(limit, 3_600) == timedelta(seconds=3_600 * 1.5 + 30 + 120)


def test_while_the_datanode_is_silent_time_alone_tells() -> None:
    assert progress(5_000, 60, timedelta(seconds=20), None) == Progress(0, 5_000, 40)
    assert progress(5_000, 60, timedelta(seconds=80), None) == Progress(0, 5_000, 0)
    assert progress(5_000, None, timedelta(seconds=80), None) == Progress(0, 5_000, None)


def test_regions_that_lead_again_tell_how_far_it_is() -> None:
    half = with_region(make_facts(), 0, leads=False).datanodes["datanode-0"]
    assert progress(5_000, 60, timedelta(seconds=20), half) == Progress(2_500, 5_000, 20)
    assert progress(5_000, 60, timedelta(seconds=20), make_datanode(0)) == Progress(5_000, 5_000, 0)
    assert progress(0, 0, timedelta(0), replace(half, regions=())) == Progress(0, 0, 0)


@pytest.mark.parametrize(("away", "is_measured"), [(timedelta(minutes=2), True), (timedelta(hours=3), False)])
def test_a_datanode_that_was_back_for_hours_before_anybody_looked_is_no_measure(
    away: timedelta, *, is_measured: bool
) -> None:
    """Or all others would take hours, and none could be restarted any more."""
    world = World(facts=replace(make_facts(), limits=Limits(flush_first=False)))
    world.request("monday")
    world.run(600, until_stage=RollStage.REPLAYING)
    for _ in range(30):
        world.pass_time(timedelta(seconds=2))
    world.pass_time(away)
    world.run(60, until_stage=RollStage.WAITING)
    assert (world.status.last_replay is not None) is is_measured
    world.run(600, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3
