"""Leaders that move while a run is under way: what the next one needs stays, and the run ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from seawall.api.meta import Key
from tests.purge.test_purge_run import FULL, skipped
from tests.worlds.contract_world import ALL, ContractWorld
from tests.worlds.purge_world import NAMESPACE, REGIONS, ROWS, SAFETY, Calls, World

TOPIC = "wal_1"
REGION = 1025 << 32
RUN_AFTER = Key(NAMESPACE, "after")


def promote(world: World, behind: int) -> None:
    """Its standby, which lags, takes a region over from where it is itself."""
    state = world.data_plane.regions[REGION]
    world.data_plane.followers.clear()
    world.data_plane.former[REGION, state.datanode] = state.last
    state.datanode, state.flushed, state.memtable_bytes = 2, state.flushed - behind, 100
    world.store.put_route(REGION, 2)


def followed(behind: int, **safety: bool) -> World:
    """A run of a database in which a region has a standby that lags."""
    world = ContractWorld()
    world.data_plane.followers[REGION, 2] = world.data_plane.regions[REGION].flushed - behind
    world.store.put_followers(REGION, 2)
    world.start_run(safety={**SAFETY, **safety})
    return world


@pytest.mark.parametrize("ticks", [0, 3, 6, 9, 12, 30])
def test_a_standby_that_lags_and_takes_over_stops_nobody(ticks: int) -> None:
    """Its ids are lower than its leader's were; what it needs was kept, so this is no older copy."""
    world = followed(12)
    process = world.process()
    world.settle(process, ticks=ticks)
    promote(world, 12)
    assert skipped(world.settle(process)) == {}
    assert 0 < world.log_starts()[TOPIC] <= FULL[TOPIC]


def test_after_a_restart_of_the_operator_too() -> None:
    """The record of the log remembers the lowest position of all, too."""
    world = followed(12)
    world.flush(REGION | REGIONS - 1)
    world.settle(ticks=30)
    promote(world, 12)
    world.write(TOPIC, ROWS)
    for index in range(1, REGIONS):
        world.flush(REGION | index)
    world.start_run(RUN_AFTER, flush={"whenBehindEntries": 10 * ROWS, "timeout": "1m"})
    assert skipped(world.settle(key=RUN_AFTER)) == {}


@pytest.mark.parametrize("then_silent", [False, True])
def test_a_leader_that_opens_where_no_standby_was_is_an_older_copy(*, then_silent: bool) -> None:
    world = followed(3)
    process = world.process()
    world.settle(process, ticks=9)
    world.data_plane.silent_followers = then_silent
    world.settle(process, ticks=3)
    promote(world, 12)
    assert skipped(world.settle(process))[TOPIC] == "IdentityFenceBroken"


def test_a_standby_that_does_not_count_is_an_older_copy_when_it_takes_over() -> None:
    """By a person's word what it lacked may be gone."""
    world = followed(12, countFollowers=False)
    process = world.process()
    world.settle(process, ticks=9)
    promote(world, 12)
    assert skipped(world.settle(process))[TOPIC] == "IdentityFenceBroken"


def test_a_former_leader_whose_last_report_stays_stops_no_announcement() -> None:
    """It said so when it was decided, too."""
    world = ContractWorld(capabilities=ALL)
    state = world.data_plane.regions[REGION]
    world.data_plane.former[REGION, state.datanode + 1] = state.last + 99
    world.start_run()
    assert skipped(world.settle()) == {}
    assert world.log_starts() == FULL


def test_who_says_to_lead_since_it_was_decided_stops_the_announcement() -> None:
    """Not for good: the next observation knows of it."""
    world, calls = ContractWorld(capabilities=ALL), Calls(lambda _: None)
    state = world.data_plane.regions[REGION]

    def claim(name: str) -> None:
        if name == "reports" and "claim" in calls.names:
            asked.append(calls.names.count("advance_markers"))
            if len(asked) == 2:  # the observation, then the announcement
                world.data_plane.former[REGION, state.datanode + 1] = 0

    asked: list[int] = []
    calls.before = claim
    world.start_run()
    assert skipped(world.settle(world.process(calls))) == {}
    assert asked[:3] == [0, 0, 0], "it was decided again"
    assert world.log_starts() == FULL


def dropped(world: World, node: int = 3) -> None:
    """A standby's datanode dies, and the route drops it: its last report stays."""
    world.data_plane.datanodes = node + 1
    world.store.put_datanode(node)
    world.data_plane.followers[REGION, node] = 5
    world.store.put_followers(REGION, node)
    world.data_plane.reports()
    world.data_plane.stopped.add(node)
    world.store.put_followers(REGION)


@pytest.mark.parametrize("make", [World, partial(ContractWorld, capabilities=ALL)])
def test_a_former_follower_whose_last_report_stays_stops_no_announcement(make: Callable[[], World]) -> None:
    """No route names it, so it needs nothing; it said so when it was decided, too."""
    world = make()
    dropped(world)
    world.start_run()
    assert skipped(world.settle()) == {}
    assert world.log_starts() == FULL


def test_a_candidate_that_was_given_up_and_goes_on_to_report_stops_no_announcement() -> None:
    world = World()
    world.data_plane.followers[REGION, 1] = 0
    world.start_run()
    assert skipped(world.settle()) == {}
    assert world.log_starts() == FULL


def at_the_announcement(world: World, happens: Callable[[], object]) -> Calls:
    """Once, when the reports are read that the announcement asks for."""
    calls, asked = Calls(world.check), [0]

    def before(name: str) -> None:
        if name == "reports" and "claim" in calls.names:
            asked[0] += 1
            if asked[0] == 2:  # the observation, then the announcement
                happens()

    calls.before = before
    return calls


def test_who_follows_since_it_was_decided_stops_the_announcement() -> None:
    """It reports only since then, and the route names it."""
    world = World()
    world.start_run()

    def is_listed() -> None:
        world.data_plane.followers[REGION, 2] = 0
        world.store.put_followers(REGION, 2)

    world.settle(world.process(at_the_announcement(world, is_listed)))
    assert (world.store.snapshot().topics[TOPIC].pruned_entry_id, world.log_starts()[TOPIC]) == (0, 0)
    assert {**world.log_starts(), TOPIC: FULL[TOPIC]} == FULL, "the other topics go in the same run"


def test_a_candidate_that_the_route_names_since_it_was_decided_stops_the_announcement() -> None:
    """It reported before, and nobody counted it: from now on what it lacks has to stay."""
    world = World()
    world.data_plane.followers[REGION, 2] = 0
    world.start_run()
    calls = at_the_announcement(world, lambda: world.store.put_followers(REGION, 2))
    world.settle(world.process(calls))
    assert (world.store.snapshot().topics[TOPIC].pruned_entry_id, world.log_starts()[TOPIC]) == (0, 0)
    assert {**world.log_starts(), TOPIC: FULL[TOPIC]} == FULL, "the other topics go in the same run"
