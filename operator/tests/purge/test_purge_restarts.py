"""Purges beside restarts: from the topics of a datanode that restarts nothing is deleted, and nobody waits for ever."""

from __future__ import annotations

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, RestartedDatanode
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.api.v1alpha1.rollout import DatanodeRow, RestartStatus, RollStage
from tests.support.clock import START
from tests.worlds.purge_world import World

ENTRY = Disruption(
    kind=DisruptionKind.DATANODE_RESTART,
    name="datanode-1",
    uid="uid-1",
    start_time=START,
    budget_seconds=600,
    datanode=RestartedDatanode(id=1),
)


def restarts(world: World, status: RestartStatus | None, entry: Disruption | None = None) -> None:
    """The controller of restarts writes its parts of the status."""
    cluster = world.cluster()
    parts = {"restart": status, "disruption": entry}
    world.kube.replace_status(cluster, cluster.status.model_copy(update=parts))


def flush_all(world: World) -> None:
    for region in list(world.data_plane.regions):
        world.flush(region)


def reported(run: WALPurge) -> str:
    """What the run says, and why topics were left alone."""
    return " ".join([*(found.message for found in run.status.conditions), *(row.reason for row in run.status.skipped)])


def begun(world: World) -> None:
    """A run has written its intents, and has not deleted yet."""
    flush_all(world)
    world.start_run()
    process = world.process()
    for _ in range(200):
        world.settle(process, ticks=1)
        records = world.records()
        if any(record.intent > 0 for record in records.values()) and set(world.log_starts().values()) == {0}:
            return
    raise AssertionError("the run writes no intents")


def test_nothing_is_deleted_while_a_datanode_restarts_and_afterwards_it_is() -> None:
    world = World()
    flush_all(world)
    restarts(world, RestartStatus(stage=RollStage.REPLAYING), ENTRY)
    world.start_run()
    run = world.settle(ticks=30)
    assert set(world.log_starts().values()) == {0}
    assert "DatanodeRestarts" in reported(run)
    restarts(world, RestartStatus(stage=RollStage.COMPLETED))
    if run.status.is_finished:
        world.kube.remove(run.metadata.key, WALPurge)
        world.start_run()
    run = world.settle()
    assert run.status.stage is Stage.COMPLETED
    assert min(world.log_starts().values()) > 0


def test_nothing_is_deleted_while_a_datanode_crashes_again_and_again() -> None:
    world = World()
    flush_all(world)
    row = DatanodeRow(pod="datanode-1", datanode=1, ailment="StartupProbeTooShort")
    restarts(world, RestartStatus(datanodes=(row,)))
    world.start_run()
    run = world.settle(ticks=30)
    assert set(world.log_starts().values()) == {0}
    assert "DatanodeRestarts" in reported(run)


def test_a_restart_of_a_datanode_without_regions_of_a_topic_keeps_no_purge_away() -> None:
    world = World()
    flush_all(world)
    entry = ENTRY.model_copy(update={"name": "datanode-7", "datanode": RestartedDatanode(id=7)})
    restarts(world, RestartStatus(stage=RollStage.REPLAYING), entry)
    world.start_run()
    assert world.settle().status.stage is Stage.COMPLETED
    assert min(world.log_starts().values()) > 0


def test_a_run_that_has_written_its_intents_still_stops_for_a_restart_that_was_written_before_it_looked_again() -> None:
    world = World()
    begun(world)
    restarts(world, RestartStatus(stage=RollStage.RESTARTING, reason="Restarting"), ENTRY)
    world.settle(ticks=20)
    assert set(world.log_starts().values()) == {0}


def test_a_run_that_has_begun_goes_on_while_the_roll_waits_for_it() -> None:
    world = World()
    begun(world)
    restarts(world, RestartStatus(stage=RollStage.RESTARTING, reason="DeleteOngoing"), ENTRY)
    run = world.settle()
    assert run.status.stage is Stage.COMPLETED
    assert min(world.log_starts().values()) > 0


def test_no_run_begins_while_the_roll_waits_for_another() -> None:
    world = World()
    flush_all(world)
    restarts(world, RestartStatus(stage=RollStage.RESTARTING, reason="DeleteOngoing"), ENTRY)
    world.start_run()
    run = world.settle(ticks=30)
    assert set(world.log_starts().values()) == {0}
    assert "DatanodeRestarts" in reported(run)
