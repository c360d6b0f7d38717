"""With OnDelete Kubernetes replaces no pod: one that a bad template keeps down is made anew when that was corrected."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.rollout.workload import UpdateStrategy
from tests.datanodes.test_restart import ALL, lag, waits
from tests.worlds.restart_world import SET, WAL, World

FIRST = ALL[0]


def stalled(strategy: UpdateStrategy = UpdateStrategy.ON_DELETE) -> World:
    """`kubectl rollout restart` of a template with a bad image; the first datanode does not come back."""
    world = World(strategy=strategy, partition=0 if strategy is UpdateStrategy.ON_DELETE else 3)
    world.settle()
    world.crashing |= {0, 1, 2}
    bad = replace(world.datanodes.statefulsets[SET].template, restarted_at="2026-11-22T10:00:00Z")
    world.datanodes.statefulsets[SET] = replace(world.datanodes.statefulsets[SET], template=bad, observed=False)
    world.settle(until=lambda: world.restart().stage is RollStage.STALLED)
    return world


def correct(world: World) -> None:
    """A person corrects the template."""
    world.crashing.clear()
    world.datanodes.edit_template(SET, world.datanodes.statefulsets[SET].partition)


def test_a_datanode_that_a_template_broke_is_made_anew_when_that_is_corrected() -> None:
    world = stalled()
    correct(world)
    waits(world, seconds=120)
    world.settle()
    assert world.went == [FIRST, *ALL]
    assert world.restart().stage is RollStage.COMPLETED
    revision = world.datanodes.statefulsets[SET].update_revision
    assert {pod.revision for pod in world.datanodes.running.values()} == {revision}


def test_the_one_that_is_made_anew_has_all_of_its_time() -> None:
    world = stalled()
    correct(world)
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    assert world.went == [FIRST, FIRST]
    entry = world.disruption()
    assert entry is not None
    assert entry.gone_time is not None
    assert world.time.now() - entry.gone_time < timedelta(seconds=10)


def test_a_datanode_that_does_not_come_up_is_left_alone_while_nobody_edits_anything() -> None:
    world = stalled()
    waits(world, seconds=120)
    assert world.went == [FIRST]


def unlogged(*, busy: bool) -> World:
    """The first one is not Ready by its broken probe, and its process lives, with rows that no log has."""
    world = stalled()
    world.crashing.clear()
    mine = [region for region, each in world.data_plane.regions.items() if each.datanode == 0]
    world.store.put_unlogged(*mine)
    world.data_plane.unlogged |= set(mine)
    for region in mine:
        world.data_plane.regions[region].memtable_bytes = 1 << 20
    world.data_plane.busy |= set(mine) if busy else set()
    world.data_plane.stopped.discard(0)
    (key,) = (each for each in world.datanodes.running if each.name == FIRST)
    world.datanodes.running[key] = replace(world.datanodes.running[key], ready=False)
    waits(world, seconds=60)
    return world


def test_what_one_that_does_not_come_up_has_in_memory_alone_is_flushed_before_it_is_made_anew() -> None:
    world = unlogged(busy=False)
    correct(world)
    waits(world, seconds=200)
    assert world.went[:2] == [FIRST, FIRST]


def test_one_that_does_not_flush_what_it_has_in_memory_alone_is_not_made_anew() -> None:
    world = unlogged(busy=True)
    correct(world)
    waits(world, seconds=300)
    assert world.went == [FIRST]
    assert world.restart().reason == "UnloggedNotFlushed"


def test_an_edit_mends_nothing_before_kubernetes_has_looked_at_it() -> None:
    """The pod would be made of the edit before, in vain."""
    world = stalled()
    lag(world)
    correct(world)
    process, until = world.process(), world.time.now() + timedelta(seconds=60)
    world.settle(process, until=lambda: world.time.now() >= until)
    lag(world, lags=False)
    correct(world)
    for _ in range(3):
        process.tick(WAL)
    assert [pod.name for pod in world.datanodes.evicted] == [FIRST]


def test_an_edit_waits_for_the_gate_and_the_status_says_so() -> None:
    world = stalled()
    lag(world)
    correct(world)
    waits(world, seconds=60)
    assert world.went == [FIRST]
    assert "It is to be made anew, but A topic that it would replay lacks an in-sync replica" in world.restart().message
    lag(world, lags=False)
    waits(world, seconds=120)
    assert world.went[:2] == [FIRST, FIRST]


def test_maintenance_is_given_back_before_it_is_made_anew() -> None:
    world = stalled()
    assert world.in_maintenance()
    correct(world)
    world.settle(until=lambda: len(world.went) == 2)
    assert world.in_maintenance() == []


def test_a_datanode_that_is_ready_by_then_is_left_to_its_replay() -> None:
    world = stalled()
    world.datanodes.report(SET, 0, ready=True)
    correct(world)
    waits(world, seconds=60)
    assert world.went == [FIRST]


def test_an_edit_while_it_replays_ends_no_replay() -> None:
    world = World()
    world.settle()
    world.annotate(restart="monday")
    process = world.process()
    world.settle(process, until=lambda: world.restart().stage is RollStage.REPLAYING)
    old = world.disruption()
    assert old is not None
    while world.uids()[FIRST] == old.uid:
        world.pass_time(timedelta(seconds=1))
    correct(world)
    world.pass_time(timedelta(seconds=1))
    assert world.down() == [FIRST]
    until = world.time.now() + timedelta(seconds=10)
    world.settle(process, until=lambda: world.restart().restarted == 1 or world.time.now() >= until)
    assert [pod.name for pod in world.datanodes.evicted] == [FIRST]


def test_below_a_partition_a_pod_would_come_back_as_it_was() -> None:
    world = stalled(UpdateStrategy.ROLLING_UPDATE)
    world.crashing.clear()
    world.datanodes.edit_template(SET, 3)
    waits(world, seconds=60)
    assert world.went == [ALL[2]]
