"""Restarts of the datanodes of a GreptimeDBCluster: an edit waits for the gate, and the partition is put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.dataplane.greptimedb_cluster import Absence
from seawall.domain.rollout_reasons import Blocker, Reason
from tests.support.watched import watched
from tests.worlds.restart_world import DATANODES, MANAGER, NEVER_TOO_LOW, SET, World, managed_cluster

ALL = [f"datanode-{number}" for number in reversed(range(DATANODES))]


@dataclass
class Before:
    """Something happens right before a call of a name, so many calls after a moment.

    Attributes:
        is_lowered: the partition was set before it happened.
    """

    name: str
    make: Callable[[], None]
    is_time: Callable[[], bool]
    calls_before: int = 0
    is_made: bool = False
    is_lowered: bool = False

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if name == self.name and not self.is_made and self.is_time():
            self.is_made = self.calls_before == 0
            self.calls_before -= 1
            if self.is_made:
                self.make()
        self.is_lowered |= name == "set_partition" and not self.is_made
        return function(*args, **kwargs)


def managed() -> World:
    """A GreptimeDBCluster runs, and nobody has edited it."""
    world = World(is_managed=True)
    world.settle()
    return world


def edited() -> World:
    """Somebody edited it, and its operator wrote the StatefulSet."""
    world = managed()
    world.edit_greptimedb()
    return world


def partition(world: World) -> int:
    return world.datanodes.statefulsets[SET].partition


def test_nothing_is_restarted_as_long_as_nobody_edits_it() -> None:
    world = managed()
    assert world.went == []
    assert world.restart().reason == Reason.NOTHING_TO_DO
    assert world.health().reason == "Serving"


def test_an_edit_restarts_one_after_the_other_from_the_highest_and_the_partition_is_put_back() -> None:
    world = edited()
    world.settle()
    assert world.went == ALL
    assert partition(world) == NEVER_TOO_LOW, "as the GreptimeDBCluster declares it, not the number of datanodes"
    status = world.restart()
    assert (status.stage, status.restarted, status.drives_partition) == (RollStage.COMPLETED, DATANODES, False)
    assert len({pod.revision for pod in world.datanodes.running.values()}) == 1
    assert not world.data_plane.maintenance


def test_an_edit_waits_while_the_gate_is_shut() -> None:
    world = managed()
    world.kafka.offline.add(3)
    world.edit_greptimedb()
    world.settle(until=lambda: world.restart().reason == Blocker.NOT_FULLY_IN_SYNC)
    world.pass_time(timedelta(minutes=5))
    assert (world.went, partition(world)) == ([], NEVER_TOO_LOW)


def test_an_edit_in_mid_roll_is_rolled_out_too_and_shuts_the_gate_first() -> None:
    world = edited()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    world.edit_greptimedb()
    world.settle()
    assert world.went == [ALL[0], *ALL]
    assert partition(world) == NEVER_TOO_LOW
    assert len({pod.revision for pod in world.datanodes.running.values()}) == 1


def test_a_partition_that_somebody_lowered_is_put_back() -> None:
    world = managed()
    world.datanodes.set_partition(world.datanodes.statefulsets[SET], 1)
    world.settle(until=lambda: partition(world) == NEVER_TOO_LOW)
    assert world.went == []


def test_who_restarts_pods_past_the_gate_is_reported_and_the_gate_is_shut_at_once() -> None:
    """`kubectl` sets the partition of the StatefulSet, and its pod template."""
    world = managed()
    world.datanodes.edit_template(SET, 0)
    world.settle(until=lambda: partition(world) == NEVER_TOO_LOW)
    assert any(line.startswith("RestartedByKubernetes") for line in world.lines) or len(world.went) <= 1
    world.settle()
    assert sorted(world.went) == sorted(ALL), "the others by the gate"


def test_with_an_open_partition_kubernetes_restarts_and_seawall_says_so_and_touches_nothing() -> None:
    world = managed()
    world.edit_greptimedb(partition=0)
    world.settle(until=lambda: world.restart().reason == Reason.RESTARTED_BY_OTHERS)
    world.settle(until=lambda: len(world.went) == DATANODES)
    assert partition(world) == 0


def test_a_partition_below_the_pods_that_are_left_is_not_seawalls() -> None:
    """A staged rollout of somebody else: what it keeps back stays back."""
    world = managed()
    world.edit_greptimedb(partition=2)
    world.settle(until=lambda: len(world.went) == 1)
    world.settle()
    assert (world.went, partition(world)) == (["datanode-2"], 2)


def test_the_partition_is_not_lowered_when_the_greptimedbcluster_was_edited_since() -> None:
    """Before any of the reads of the tick that lowers it. Its operator has not looked yet."""
    reads = next(read for read in range(20) if _lowers_although_it_was_edited(read))
    assert reads >= 5, "the observation reads it, and so does who acts"


def _lowers_although_it_was_edited(read: int) -> bool:
    """Whether the partition was set before so many reads were over."""
    world = edited()

    def edit() -> None:
        world.edit_greptimedb(partition=0, is_seen=False)

    def is_time() -> bool:
        return world.restart().drives_partition

    guard = Before("get_greptimedb_cluster", edit, is_time, read)
    world.settle(world.process(guard), until=lambda: guard.is_made)
    if guard.is_lowered:
        return True
    world.settle()
    assert partition(world) == NEVER_TOO_LOW, f"edited before read {read}"
    assert world.went in ([], ["datanode-2"]), "in the status already: it is evicted, and comes back as it was"
    return False


def test_a_greptimedbcluster_that_is_gone_in_mid_roll_gives_maintenance_back() -> None:
    world = edited()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.kube.greptimedb_clusters[MANAGER] = Absence.MISSING
    world.settle(until=lambda: not world.data_plane.maintenance)
    assert world.restart().reason in {Reason.NO_STATEFUL_SET, Reason.LEAVING_MAINTENANCE}
    world.kube.greptimedb_clusters[MANAGER] = managed_cluster()
    world.settle()
    assert world.went == ALL


def test_maintenance_that_its_operator_turned_on_stays_on() -> None:
    """greptimedb-operator turns it on for an edit, and off when its StatefulSet is ready."""
    world = managed()
    world.is_given_up = True
    world.edit_greptimedb()
    world.data_plane.maintenance = True
    world.settle(until=lambda: len(world.went) == 1)
    lease = world.restart().maintenance
    assert lease is not None
    assert lease.was_on
    world.settle()
    assert (world.went, world.data_plane.maintenance) == (ALL, True)


def test_maintenance_that_its_operator_turns_off_in_mid_roll_is_turned_on_again() -> None:
    world = managed()
    world.is_given_up = True
    world.edit_greptimedb()
    world.data_plane.maintenance = True
    world.settle(until=lambda: len(world.went) == 1)
    world.data_plane.maintenance = False
    world.settle(until=lambda: len(world.went) == 2)
    assert world.data_plane.maintenance
    world.settle()
    assert (world.went, world.data_plane.maintenance) == (ALL, False)


def test_a_statefulset_that_another_operator_made_is_never_gated() -> None:
    world = managed()
    world.datanodes.apply(SET, strategy=world.strategy, partition=NEVER_TOO_LOW, controller="GreptimeDBCluster other")
    world.datanodes.edit_template(SET, NEVER_TOO_LOW)
    world.datanodes.observe(SET, "rev-2")
    world.settle()
    assert (world.went, partition(world)) == ([], NEVER_TOO_LOW)


def test_of_two_wal_clusters_that_name_it_the_older_one_restarts() -> None:
    world = managed()
    spec = {**world.spec(), "topics": {"prefix": "wal", "count": 1}}
    younger = Key(MANAGER.namespace, "younger")
    world.kube.apply(younger, spec)
    process = world.process()
    process.tick(younger)
    found = world.kube.get(type(world.cluster()), younger)
    assert found is not None
    assert found.status.restart is not None
    assert "the older WALCluster wal names GreptimeDBCluster db" in found.status.restart.message


@pytest.mark.parametrize("partition_declared", [DATANODES, NEVER_TOO_LOW])
def test_a_partition_of_all_replicas_is_enough(partition_declared: int) -> None:
    world = managed()
    world.edit_greptimedb(partition_declared)
    world.settle()
    assert (world.went, partition(world)) == (ALL, partition_declared)
