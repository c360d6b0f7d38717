"""The one disruption in the status: as an older version wrote it, as a newer one did, and when it cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import UNREADABLE, Disruption, DisruptionKind
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.ledger.restarts import pod_that_restarts
from tests.datanodes.test_restart_maintenance import GONE
from tests.worlds.restart_world import WAL, World

ALL = ["datanode-0", "datanode-1", "datanode-2"]
MANY = 400
NEWER = {
    "kind": "KafkaNodeRestart",
    "name": "wal-2",
    "uid": "uid-2",
    "startTime": "2026-11-22T09:00:00Z",
    "budgetSeconds": 600,
    "kafkaNode": {"id": 2},
}


def asked() -> World:
    """Somebody asks for a restart of all datanodes."""
    world = World()
    world.settle()
    world.annotate(restart="monday")
    return world


def write(world: World, **parts: Any) -> None:
    """Another version writes parts of the status."""
    status = {**world.kube.raw_status(WAL, WALCluster), **parts}
    found = {name: part for name, part in status.items() if part is not None}
    world.kube.write_raw_status(WAL, WALCluster, found)


def as_older(status: Mapping[str, Any]) -> dict[str, Any]:
    """What an older version wrote instead."""
    entry = {name: value for name, value in status["disruption"].items() if name not in {"kind", "datanode"}}
    before = dict(status["disruption"].get("datanode") or {})
    if before:
        entry |= {"datanode": before.pop("id"), **before}
    return {"disruption": None, "restart": {**status["restart"], "restarting": entry}}


def test_a_roll_goes_on_wherever_an_older_version_was() -> None:
    """Whatever was written of a datanode that restarts is, before the next tick, as the older version wrote it."""
    world, upgrades = asked(), 0
    process, stages = world.process(), set[str | None]()
    for _ in range(MANY):
        if world.restart().done_request == "monday":
            break
        status, before = world.kube.raw_status(WAL, WALCluster), world.disruption()
        if before is not None and "disruption" in status:
            write(world, **as_older(status))
            assert world.disruption() == before
            process, upgrades = world.process(), upgrades + 1
            stages.add(world.restart().stage)
        ticked = process.tick(WAL)
        world.note()
        world.check()
        world.pass_time(timedelta(seconds=ticked.after or 0))
    assert (world.went, world.restart().restarted) == (ALL, 3)
    assert world.in_maintenance() == []
    assert stages == {RollStage.RESTARTING, RollStage.REPLAYING}
    assert upgrades > 6
    print(f"ticks that began with a status of an older version: {upgrades}")  # noqa: T201 - the evidence


def test_what_an_older_version_wrote_is_written_no_more() -> None:
    world = asked()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    write(world, **as_older(world.kube.raw_status(WAL, WALCluster)))
    cluster = world.cluster()
    assert pod_that_restarts(cluster.status) == "datanode-0"
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"wal": None}))
    stored = world.kube.raw_status(WAL, WALCluster)
    assert (stored["disruption"]["name"], stored["restart"].get("restarting")) == ("datanode-0", None)


def test_replicas_may_move_while_a_node_is_taken_out_that_somebody_put_one_on() -> None:
    world = asked()
    leaves = Disruption(
        kind=DisruptionKind.KAFKA_NODE_REMOVAL, name="wal-3-0", uid="", start_time=world.time.now(), budget_seconds=600
    )
    status = world.cluster().status.model_copy(update={"disruption": leaves, "restart": None})
    assert pod_that_restarts(status) is None


def test_nothing_is_begun_beside_a_disruption_of_another_kind_which_stays_as_it_was_written() -> None:
    world = asked()
    write(world, disruption=NEWER)
    world.lines.clear()
    with pytest.raises(AssertionError, match="it does not settle"):
        world.settle()
    assert world.went == []
    assert world.kube.raw_status(WAL, WALCluster)["disruption"] == NEWER
    assert world.restart().reason == "SlotTaken"
    assert "KafkaNodeRestart of wal-2" in world.restart().message
    assert len([line for line in world.lines if line.startswith("SlotTaken")]) == 1
    write(world, disruption=None)
    world.settle()
    assert world.went == ALL


def test_a_disruption_of_another_kind_stays_when_the_spec_names_no_datanodes_any_more() -> None:
    world = asked()
    write(world, disruption=NEWER)
    world.apply(**GONE)
    world.settle()
    assert world.cluster().status.restart is None or world.restart().stage is None
    assert world.kube.raw_status(WAL, WALCluster)["disruption"] == NEWER


def test_maintenance_is_given_back_while_another_disruption_stands() -> None:
    world = asked()
    world.settle(until=lambda: bool(world.in_maintenance()))
    write(world, disruption=NEWER)
    world.settle(until=lambda: world.restart().maintenance is None)
    assert world.in_maintenance() == []
    assert world.went == []


@pytest.mark.parametrize("broken", [{"kind": "VoterChange"}, "text", {**NEWER, "budgetSeconds": "soon"}])
def test_a_disruption_that_cannot_be_read_is_somebodys(broken: Any) -> None:
    world = asked()
    write(world, disruption=broken)
    found = world.disruption()
    assert found is not None
    assert found.kind == UNREADABLE
    with pytest.raises(AssertionError, match="it does not settle"):
        world.settle()
    assert world.went == []
    assert world.restart().reason == "SlotTaken"


def test_a_datanode_that_goes_is_remembered_although_another_part_of_the_status_does_not_fit() -> None:
    world = asked()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    before = world.disruption()
    assert before is not None
    write(world, topics="text")
    assert world.disruption() == before
    assert before.kind == DisruptionKind.DATANODE_RESTART
