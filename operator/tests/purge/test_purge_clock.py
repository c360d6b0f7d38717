"""The operator's wall clock is wrong for a while: no run waits by it or is cut short, or keeps those behind it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import Stage, WALPurge
from tests.purge.test_purge_run import FULL, NOTHING, message, skipped, until
from tests.purge.test_purge_verified import REQUIRED, flush_all
from tests.worlds.purge_world import NAMESPACE, TOPICS, Calls, World
from tests.worlds.verification_world import VerificationWorld

DAY = timedelta(days=1)
GRACE = timedelta(seconds=70)
"""The longest openGrace; reports are looked at twice after it, and a tick takes up to half a minute."""
SOON = 3 * GRACE + timedelta(minutes=2)
LONELY = (1024 << 32) | 2
"""The one region on datanode 2, of topic wal_0."""


def with_dead_datanode() -> World:
    """One datanode is down, and what it has is of one topic only."""
    world = World()
    for region in [region for region, state in world.data_plane.regions.items() if state.datanode == 2]:
        if region != LONELY:
            world.data_plane.regions[region].datanode = 0
            world.store.put_region(f"wal_{(region >> 32) - 1024}", region, leader=0, checkpoint=None)
    world.data_plane.reports()
    world.data_plane.stopped = {2}
    return world


def write_ahead(world: World, *names: str) -> None:
    """An older version wrote these times by a clock that was ahead."""
    run, ahead = world.run(), world.time.time + DAY
    update: dict[str, Any] = dict.fromkeys(names, ahead)
    if "flush" in names:
        assert run.status.flush is not None
        update["flush"] = run.status.flush.model_copy(update={"start_time": ahead})
    world.kube.replace_status(run, run.status.model_copy(update=update))


def times_of(run: WALPurge) -> list[datetime]:
    """All that is written down of when it was."""
    status = run.status
    asked = None if status.flush is None else status.flush.start_time
    found = (status.start_time, asked, status.verification_time, status.seen_time, status.completion_time)
    return [time for time in found if time is not None]


def test_a_run_that_was_begun_by_a_clock_that_was_ahead_waits_for_no_day() -> None:
    world = with_dead_datanode()
    world.start_run()
    began = world.time.time
    world.time.ahead = DAY
    world.settle(ticks=3)
    assert world.run().status.stage is Stage.PREPARATION
    world.time.ahead = timedelta(0)
    run = world.settle()
    assert world.time.time - began < SOON
    assert (world.log_starts(), skipped(run)) == ({**FULL, "wal_0": 0}, {"wal_0": "RegionStale"})
    assert max(times_of(run)) <= world.time.time


def test_a_start_that_is_to_come_counts_from_now_on_and_is_written_down() -> None:
    world = with_dead_datanode()
    world.start_run()
    world.settle(ticks=3)
    write_ahead(world, "start_time")
    began = world.time.time
    world.settle(ticks=1)
    assert world.run().status.start_time == began
    run = world.settle()
    assert world.time.time - began < SOON
    assert (world.log_starts(), skipped(run)) == ({**FULL, "wal_0": 0}, {"wal_0": "RegionStale"})


def test_a_run_that_cannot_go_on_ends_at_its_deadline_and_the_one_behind_has_its_turn() -> None:
    world, second = World(), Key(NAMESPACE, "second")
    world.start_run()
    world.settle(ticks=3)
    write_ahead(world, "start_time")
    world.start_run(second)
    world.data_plane.is_silent = True
    began = world.time.time
    assert world.settle().status.stage is Stage.FAILED
    assert timedelta(minutes=30) < world.time.time - began < timedelta(hours=1)
    world.data_plane.is_silent = False
    assert world.settle(key=second).status.stage is Stage.COMPLETED
    assert world.log_starts() == FULL


def test_flushes_that_were_asked_for_in_a_time_to_come_are_waited_for_no_longer() -> None:
    world = World()
    world.data_plane.busy = set(world.data_plane.regions)
    world.start_run()
    until(world, "Flushing")
    write_ahead(world, "start_time", "flush")
    began = world.time.time
    world.settle()
    assert timedelta(minutes=10) <= world.time.time - began < timedelta(minutes=10) + SOON


def test_evidence_of_what_was_seen_in_a_time_to_come_is_waited_for_no_longer() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    write_ahead(world, "start_time", "seen_time")
    world.data_plane.stopped = {2}
    began = world.time.time
    run = world.settle()
    assert world.time.time - began < 2 * SOON
    assert (world.log_starts(), skipped(run)) == (NOTHING, dict.fromkeys(TOPICS, "RegionStale"))


def test_a_verification_that_is_waited_for_since_a_time_to_come_is_waited_for_a_quarter_of_an_hour() -> None:
    world = VerificationWorld(slow=10**6)
    flush_all(world)
    world.start()
    world.settle_verification(ticks=30)
    world.start_run(safety=REQUIRED)
    process = world.process()
    world.settle(process, ticks=12)
    assert world.run().status.stage is Stage.VERIFICATION
    write_ahead(world, "start_time", "verification_time")
    began = world.time.time
    assert world.settle(process).status.stage is Stage.COMPLETED
    assert timedelta(minutes=15) <= world.time.time - began < timedelta(minutes=15) + SOON


def test_who_takes_over_with_a_clock_that_is_ahead_waits_no_longer_for_evidence() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    process = world.process(calls)
    while "advance_markers" not in calls.names:
        world.settle(process, ticks=1)
    world.data_plane.stopped = {2}
    world.time.ahead = DAY
    began = world.time.time
    run = world.settle()
    assert (run.status.stage, skipped(run)) == (Stage.COMPLETED, dict.fromkeys(TOPICS, "RegionStale")), message(run)
    assert world.time.time - began < 2 * SOON


@pytest.mark.parametrize("ahead", [DAY, -DAY])
@pytest.mark.parametrize("reason", ["Preparing", "WaitingForEvidence"])
def test_another_operator_whose_clock_is_wrong_cuts_no_run_short(reason: str, ahead: timedelta) -> None:
    world = World()
    world.start_run()
    until(world, reason)
    world.time.ahead = ahead
    run = world.settle()
    assert (run.status.stage, world.log_starts()) == (Stage.COMPLETED, FULL), message(run)
