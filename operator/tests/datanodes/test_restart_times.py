"""The API server's clock was ahead for a while, or that of one of several: no roll waits until then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.v1alpha1.rollout import Maintenance, RestartStatus, RollStage
from seawall.domain.datanodes import in_time
from seawall.domain.rollout import machine
from seawall.domain.times import MAINTENANCE_LEASE
from tests.datanodes.test_restart import ALL, asked, waits
from tests.datanodes.test_restart_budget import forbidden
from tests.datanodes.test_restart_maintenance import in_the_middle
from tests.domain.datanodes.builders import NOW
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.restart_world import World

DAY, SOON = timedelta(days=1), timedelta(minutes=5)
TIMES = ("taken_time", "expiry_time", "seen_time", "leaving_time", "start_time", "from_time", "next_time", "gone_time")


def write_ahead(world: World) -> None:
    """All that the roll has written of when something was, it wrote by a clock that was ahead by a day."""
    found = world.cluster()
    restart, entry = world.restart(), world.disruption()

    def shifted(part: Any) -> Any:
        then = {name: at + DAY for name in TIMES if (at := getattr(part, name, None)) is not None}
        return None if part is None else part.model_copy(update=then)

    update = {name: shifted(getattr(restart, name)) for name in ("maintenance", "flush", "forbidden")}
    status = {"restart": restart.model_copy(update=update), "disruption": shifted(entry)}
    world.kube.replace_status(found, found.status.model_copy(update=status))


def leaving() -> World:
    """The last datanode is back, and the database leaves maintenance."""
    world = in_the_middle()
    world.settle(until=lambda: (kept := world.restart().maintenance) is not None and kept.leaving_time is not None)
    return world


def entering() -> World:
    """The database says that it is in maintenance, and has not been for long enough."""
    world = in_the_middle()
    world.settle(until=lambda: (kept := world.restart().maintenance) is not None and kept.seen_time is not None)
    return world


def flushing() -> World:
    """Regions were asked to flush, and one never does."""
    world = in_the_middle(RollStage.FLUSHING)
    world.data_plane.busy = set(world.data_plane.regions)
    return world


@pytest.mark.parametrize("begun", [flushing, entering, partial(in_the_middle, RollStage.REPLAYING), leaving])
def test_a_roll_goes_on_at_once(begun: Callable[[], World]) -> None:
    world = begun()
    write_ahead(world)
    at = world.time.time
    world.settle()
    assert world.time.time - at < (2 * SOON if begun is flushing else SOON)
    assert sorted(world.went) == ALL
    assert world.restart().stage is RollStage.COMPLETED
    assert world.in_maintenance() == []


def test_a_datanode_that_does_not_come_back_is_told_in_time_and_maintenance_is_given_back() -> None:
    world = asked()
    world.crashing, world.late = {0, 1, 2}, 10.0
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING and world.data_plane.maintenance)
    entry = world.disruption()
    assert entry is not None
    write_ahead(world)
    waits(world, seconds=entry.budget_seconds + 120)
    assert world.restart().stage is RollStage.STALLED
    assert not world.data_plane.maintenance


def test_an_eviction_that_was_forbidden_is_tried_again_in_time() -> None:
    world = forbidden()
    write_ahead(world)
    world.datanodes.forbids = None
    at = world.time.time
    world.settle(until=lambda: bool(world.went))
    assert world.time.time - at < 2 * SOON


def test_maintenance_ends_no_later_than_any_that_is_taken() -> None:
    lease = Maintenance(taken_time=NOW, expiry_time=NOW + DAY, was_on=False)
    found = in_time.in_time(RestartStatus(maintenance=lease), None, NOW).maintenance
    assert found is not None
    assert found.expiry_time == NOW + MAINTENANCE_LEASE


GUARDS = [
    ("_flush", "not_to_come(asked.start_time, now)", "asked.start_time", flushing),
    ("_maintenance", "not_to_come(lease.seen_time, now)", "lease.seen_time", entering),
    ("_maintenance", "not_to_come(lease.leaving_time, now)", "lease.leaving_time", leaving),
]


def test_each_guard_is_missed() -> None:
    late = [
        (rewritten(in_time, name, guard, instead), partial(test_a_roll_goes_on_at_once, begun))
        for name, guard, instead, begun in GUARDS
    ]
    stalls = test_a_datanode_that_does_not_come_back_is_told_in_time_and_maintenance_is_given_back
    gone = rewritten(machine, "_in_time", "not_to_come(entry.gone_time, now)", "entry.gone_time")
    kept = rewritten(in_time, "_maintenance", "_not_beyond(lease.expiry_time, now, longest)", "lease.expiry_time")
    tried = rewritten(
        in_time, "_forbidden", "_not_beyond(found.next_time, now, MAINTENANCE_LONGEST_REST)", "found.next_time"
    )
    mutants: list[Mutant] = [
        *late,
        (gone, stalls),
        (kept, test_maintenance_ends_no_later_than_any_that_is_taken),
        (tried, test_an_eviction_that_was_forbidden_is_tried_again_in_time),
    ]
    assert find_survivors(mutants) == []
