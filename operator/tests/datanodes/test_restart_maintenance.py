"""Maintenance ends where it began: whatever becomes of the spec in the middle of a roll."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import MAINTENANCE_FINALIZER, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.rollout import RollStage
from tests.datanodes.test_restart import ALL, asked, waits
from tests.fakes.dataplane import FakeDataPlane
from tests.worlds.purge_world import Calls
from tests.worlds.restart_world import DATABASE, NAMESPACE, WAL, World

HERE, OTHER, THIRD = DATABASE["metasrv"], "http://other:4000", "http://third:4000"
COMMAND = f"curl -X POST {HERE}/admin/maintenance/disable"
GONE = {"greptimedb": None, "datanodes": None, "walConfig": {"configMapName": "greptimedb-wal"}}
"""What is left of `dataPlane` when the database is nobody's business any more."""


class Switches(Calls):
    """Notes who is turned on and off, and that no pod goes while the database of before is in maintenance."""

    def __init__(self, world: World) -> None:
        super().__init__(world.check, {"set_maintenance"})
        self.world, self.turned = world, list[tuple[str, bool]]()

    def call(self, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if name == "evict":
            declared = self.world.data_plane_spec["greptimedb"]["metasrv"].rstrip("/")
            assert self.world.in_maintenance() == [self.world.databases()[declared]]
        if name == "set_maintenance":
            address = next(each for each, found in self.world.databases().items() if found is function.__self__)
            self.turned.append((address, kwargs["enabled"]))
        return super().call(function, name, *args, **kwargs)


def in_the_middle(stage: RollStage = RollStage.MAINTENANCE) -> World:
    """A roll that is at this stage, with the database in maintenance where that stage has it."""
    world = asked()
    has_it = stage in {RollStage.MAINTENANCE, RollStage.RESTARTING, RollStage.REPLAYING}
    world.settle(until=lambda: world.restart().stage is stage and world.data_plane.maintenance is has_it)
    world.lines.clear()
    return world


def count(world: World, reason: str) -> int:
    """The events with this reason."""
    return len([line for line in world.lines if line.startswith(f"{reason}: ")])


@pytest.mark.parametrize("stage", [RollStage.MAINTENANCE, RollStage.RESTARTING, RollStage.REPLAYING])
def test_the_database_of_before_leaves_maintenance_when_metasrv_is_edited(stage: RollStage) -> None:
    world = in_the_middle(stage)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    switches = Switches(world)
    world.settle(world.process(switches))
    assert world.in_maintenance() == []
    assert switches.turned[0] == (HERE, False)
    assert (HERE, True) not in switches.turned
    assert {address for address, _ in switches.turned} == {HERE, OTHER}
    assert sorted(world.went) == ALL
    assert world.restart().stage is RollStage.COMPLETED
    assert world.cluster().metadata.finalizers == ()
    assert count(world, "MetasrvEdited") == 1


def test_a_metasrv_that_is_edited_before_maintenance_is_taken_only_changes_where() -> None:
    world = in_the_middle(RollStage.FLUSHING)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    switches = Switches(world)
    world.settle(world.process(switches))
    assert {address for address, _ in switches.turned} == {OTHER}
    assert sorted(world.went) == ALL


def test_the_roll_waits_visibly_while_the_database_of_before_is_in_maintenance() -> None:
    world = in_the_middle(RollStage.RESTARTING)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.settle(until=lambda: world.restart().reason == "MetasrvEdited")
    status = world.restart()
    assert HERE in status.message
    assert world.disruption() is not None, "an operator that slept may still evict that pod"
    world.settle(until=lambda: not world.data_plane.maintenance)
    assert world.went == []


def test_a_replay_does_not_keep_the_database_of_before_in_maintenance() -> None:
    world = asked()
    world.crashing |= {0, 1, 2}
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    assert world.data_plane.maintenance
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    waits(world, seconds=60)
    assert world.restart().stage is RollStage.REPLAYING
    assert world.in_maintenance() == []


def test_an_edit_that_is_taken_back_ends_maintenance_and_takes_it_anew() -> None:
    world = in_the_middle()
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.settle(until=lambda: world.restart().reason == "MetasrvEdited")
    world.name_metasrv(f"{HERE}/")
    switches = Switches(world)
    world.settle(world.process(switches))
    assert switches.turned[:2] == [(HERE, False), (HERE, True)]
    assert {address for address, _ in switches.turned} == {HERE}
    assert sorted(world.went) == ALL


def test_of_two_edits_only_the_last_address_is_turned_on_and_only_when_the_first_is_off() -> None:
    world = in_the_middle()
    world.add_database(OTHER)
    world.add_database(THIRD)
    switches = Switches(world)
    process = world.process(switches)
    world.name_metasrv(OTHER)
    world.settle(process, until=lambda: world.restart().reason == "MetasrvEdited")
    world.name_metasrv(THIRD)
    world.settle(process)
    assert [address for address, _ in switches.turned if address == OTHER] == []
    assert switches.turned[0] == (HERE, False)
    assert sorted(world.went) == ALL


def test_another_name_of_the_same_database_is_another_address() -> None:
    world = in_the_middle()
    world.others[OTHER] = world.data_plane
    world.name_metasrv(OTHER)
    world.settle()
    assert world.in_maintenance() == []
    assert sorted(world.went) == ALL


def test_the_database_leaves_maintenance_when_it_is_taken_out_of_the_spec() -> None:
    world = in_the_middle()
    world.apply(**GONE)
    world.settle()
    assert world.in_maintenance() == []
    assert world.cluster().metadata.finalizers == ()
    assert world.restart().maintenance is None


def test_the_database_leaves_maintenance_when_the_spec_becomes_invalid() -> None:
    world = in_the_middle()
    world.name_metasrv("nonsense")
    world.settle(until=lambda: world.cluster().metadata.finalizers == ())
    assert world.in_maintenance() == []
    assert world.went == []
    world.name_metasrv(HERE)
    world.settle()
    assert sorted(world.went) == ALL


def test_the_database_of_before_leaves_maintenance_when_the_edited_wal_cluster_is_deleted() -> None:
    world = in_the_middle()
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.kube.remove(WAL)
    world.settle()
    assert world.kube.get(WALCluster, WAL) is None
    assert world.in_maintenance() == []


def test_a_database_of_before_that_is_silent_is_reported_once_with_the_command_and_nothing_goes_on() -> None:
    world = in_the_middle()
    other = world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.data_plane.is_silent = True
    waits(world, seconds=600)
    health = world.health()
    assert (health.status, health.reason) == ("False", "MaintenanceLeftOn")
    assert COMMAND in health.message
    assert COMMAND in world.restart().message
    assert count(world, "MaintenanceLeftOn") == 1
    assert not other.maintenance
    assert world.went == []
    assert world.cluster().metadata.finalizers == (MAINTENANCE_FINALIZER,)
    world.data_plane.is_silent = False
    world.settle()
    assert world.in_maintenance() == []
    assert sorted(world.went) == ALL
    assert world.health().status == "True"


def test_a_database_that_was_taken_out_of_the_spec_and_is_silent_is_reported_and_asked_for_ever() -> None:
    world = in_the_middle()
    world.apply(**GONE)
    world.data_plane.is_silent = True
    asks = Calls(lambda _: None)
    process = world.process(asks)
    end = world.time.now() + timedelta(hours=1)
    world.settle(process, until=lambda: world.time.now() >= end)
    assert world.health().reason == "MaintenanceLeftOn"
    assert COMMAND in world.health().message
    assert count(world, "MaintenanceLeftOn") == 1
    assert asks.names.count("in_maintenance") >= 60
    world.data_plane.is_silent = False
    world.settle(process)
    assert world.in_maintenance() == []
    assert world.cluster().metadata.finalizers == ()


def test_a_silent_database_is_asked_less_and_less_often() -> None:
    world = in_the_middle()
    world.apply(**GONE)
    world.data_plane.is_silent = True
    process, pauses = world.process(), list[float]()
    for _ in range(100):
        after = process.tick(WAL).after
        assert after is not None
        pauses.append(after)
        world.pass_time(timedelta(seconds=after))
    assert sorted(pauses[3:]) == pauses[3:]
    assert pauses[-1] == 60.0


def test_a_database_that_does_not_leave_maintenance_in_time_is_reported_though_nobody_edited_anything() -> None:
    world = asked()
    world.settle(until=lambda: world.restart().restarted == 3)
    world.data_plane.is_silent = True
    waits(world, seconds=120)
    assert world.health().reason == "MaintenanceLeftOn"
    assert count(world, "MaintenanceLeftOn") == 1


def test_maintenance_that_a_restored_api_server_forgot_is_reported_with_the_command_until_a_person_ends_it() -> None:
    world = asked()
    forgotten = copy.deepcopy(world.kube._objects)
    world.settle(until=lambda: world.data_plane.maintenance)
    forgotten["WALCluster", WAL]["metadata"]["resourceVersion"] = "restored"
    world.kube._objects, world.is_given_up = forgotten, True
    world.annotate(restart=None)
    world.settle()
    assert world.data_plane.maintenance
    assert world.health().reason == "InMaintenance"
    assert COMMAND in (world.health().message or "")
    waits(world, seconds=120)
    assert count(world, "InMaintenance") == 1
    world.data_plane.maintenance = False
    waits(world, seconds=60)
    assert world.health().reason == "Serving"


def test_maintenance_that_a_person_turned_on_is_reported_and_stays_on_after_a_roll() -> None:
    world = World(is_given_up=True)
    world.data_plane.maintenance = True
    waits(world, seconds=60)
    assert (world.health().status, world.health().reason) == ("False", "InMaintenance")
    world.annotate(restart="monday")
    world.settle()
    assert sorted(world.went) == ALL
    assert world.data_plane.maintenance
    assert world.health().reason == "InMaintenance"
    assert count(world, "InMaintenance") == 1


def test_maintenance_of_others_hides_no_datanode_that_is_down() -> None:
    world = World(is_given_up=True)
    world.data_plane.maintenance = True
    waits(world, seconds=60)
    world.crashing.add(1)
    world.datanodes.evict(world.datanodes.running[Key(NAMESPACE, "datanode-1")])
    waits(world, seconds=300)
    assert (world.health().status, world.health().reason) == ("False", "OffsetOutOfRange")
    assert COMMAND in (world.health().message or "")


def test_a_person_lets_restarts_go_on_without_a_database_that_never_answers_again() -> None:
    world = in_the_middle()
    other = world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.data_plane.is_silent = True
    until = (world.time.now() + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"that metasrv is no more@{until}")
    waits(world, seconds=540)
    assert world.went == []
    assert not other.maintenance
    world.is_given_up = True
    world.settle()
    assert sorted(world.went) == ALL
    assert count(world, "MaintenanceGivenUp") == 1
    assert any("that metasrv is no more" in line and COMMAND in line for line in world.lines)
    assert not other.maintenance


def test_a_person_who_lets_restarts_through_ends_no_maintenance_of_a_database_that_stays() -> None:
    world = in_the_middle()
    until = (world.time.now() + timedelta(hours=2)).isoformat()
    world.annotate(override_restart_gate=f"it is urgent@{until}")
    world.data_plane.is_silent = True
    waits(world, seconds=1_500)
    assert world.restart().maintenance is not None
    assert world.health().reason == "MaintenanceLeftOn"


def test_a_deletion_waits_ten_minutes_for_a_database_of_before_and_says_what_to_type() -> None:
    world = in_the_middle()
    world.apply(**GONE)
    world.data_plane.is_silent = True
    waits(world, seconds=1_200)
    assert world.cluster().metadata.finalizers == (MAINTENANCE_FINALIZER,)
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    deleted = world.time.now()
    world.is_given_up = True
    world.settle(until=lambda: world.kube.get(WALCluster, WAL) is None)
    assert timedelta(minutes=10) <= world.time.now() - deleted <= timedelta(minutes=12)
    assert any(line.startswith("FinalizerRemoved: ") and COMMAND in line for line in world.lines)


def test_an_address_that_an_older_version_did_not_write_is_the_one_of_the_spec() -> None:
    world = in_the_middle()
    found = world.cluster()
    assert found.status.restart is not None
    assert found.status.restart.maintenance is not None
    lease = found.status.restart.maintenance.model_copy(update={"metasrv": None})
    restart = found.status.restart.model_copy(update={"maintenance": lease})
    world.kube.replace_status(found, found.status.model_copy(update={"restart": restart}))
    process = world.process()
    process.tick(WAL)
    world.pass_time(timedelta(seconds=30))  # until its datanodes count, if they did not yet
    process.tick(WAL)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    world.settle()
    assert world.in_maintenance() == []
    assert sorted(world.went) == ALL


def test_two_databases_of_a_world_are_two() -> None:
    world = World()
    other: FakeDataPlane = world.add_database(OTHER)
    other.set_maintenance(enabled=True)
    assert not world.data_plane.in_maintenance()
    assert other.epochs is world.data_plane.epochs
