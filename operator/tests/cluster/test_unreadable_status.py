"""A status of which a leaf does not fit, as of a newer version that was rolled back: the rest is not forgotten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import READOPT_ANNOTATION, REASSIGNMENT_FINALIZER
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.events import EventReason
from seawall.domain.step import EventType
from tests.domain.two_clocks import agreed
from tests.reassignment.test_reassignment_run import raising, reason_of
from tests.worlds.reassignment_world import WAL, World

TIME = "2026-11-28T08:00:00Z"
NODE = {"id": 0, "pool": "brokers", "roles": ["broker"], "state": "Hibernating"}
MAINTENANCE = {"takenTime": TIME, "expiryTime": TIME, "wasOn": False}
MANAGED = {"clusterId": "made-for-it", "nodes": [NODE], "removed": [3, 4]}
REASSIGNMENT = {"stage": "Ongoing", "digest": "0123456789abcdef"}


def parsed(**status: Any) -> WALCluster:
    """A WALCluster with such a status."""
    return annotated({}, status)


def annotated(annotations: Mapping[str, str], status: Mapping[str, Any]) -> WALCluster:
    """A WALCluster with such annotations and such a status."""
    metadata = {
        "name": WAL.name,
        "namespace": WAL.namespace,
        "uid": "uid",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": TIME,
        "annotations": dict(annotations),
    }
    spec = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}}
    return WALCluster.parse({"metadata": metadata, "spec": spec, "status": status})


def test_what_fits_stays_beside_a_leaf_that_does_not() -> None:
    found = parsed(managedKafka=MANAGED, reassignment=REASSIGNMENT).status
    assert found.reassignment is not None
    assert found.reassignment.stage is ReassignmentStage.ONGOING
    assert found.managed_kafka is not None
    assert (found.managed_kafka.cluster_id, found.managed_kafka.removed) == ("made-for-it", (3, 4))
    assert found.managed_kafka.nodes == ()


def test_ids_that_were_used_are_known_although_one_of_them_is_none() -> None:
    found = parsed(managedKafka={**MANAGED, "clusterId": 7, "removed": [3, "four", 5]}).status.managed_kafka
    assert found is not None
    assert (found.cluster_id, found.removed) == ("7", (3, 5))


PINNED = {"identity": "etcd/1/x", "claimed": True, "readopted": 7, "version": "1.1.0", "followerLag": "much"}


def test_what_is_pinned_of_the_database_stays_beside_a_leaf_that_does_not_fit() -> None:
    found = parsed(dataPlane=PINNED).status.data_plane
    assert found is not None
    assert (found.identity, found.claimed, found.readopted) == ("etcd/1/x", True, 7)
    assert (found.version, found.follower_lag) == ("1.1.0", None)
    other = parsed(dataPlane={**PINNED, "identity": ["etcd/1/x"]}).status.data_plane
    assert other is not None
    assert (other.identity, other.readopted) == ("['etcd/1/x']", 7), "no store has such an id"


@pytest.mark.parametrize("mark", ["much", -1, ["7"]], ids=str)
def test_a_readoption_that_may_have_been_met_is_not_met_again(mark: object) -> None:
    now = datetime.fromisoformat(TIME)
    annotation = {READOPT_ANNOTATION: f"checked by hand@{(now + timedelta(hours=2)).isoformat()}"}
    found = annotated(annotation, {"dataPlane": {**PINNED, "readopted": mark}})
    assert read_readoption(found, agreed(now)).unused is None
    written = annotated(annotation, found.written(found.status))
    assert read_readoption(written, agreed(now)).unused is None, "also when the status was written again"
    assert read_readoption(annotated(annotation, {"dataPlane": PINNED}), agreed(now)).unused is not None


@pytest.mark.parametrize("broken", ["stage", "datanodes"])
def test_maintenance_is_known_although_something_else_of_the_roll_does_not_fit(broken: str) -> None:
    found = parsed(restart={"maintenance": MAINTENANCE, broken: ["Levitating"]}).status.restart
    assert found is not None
    assert found.maintenance is not None


@pytest.mark.parametrize("part", ["kafka", "managedKafka", "dataPlane", "wal", "restart", "disruption", "deletion"])
def test_a_part_that_is_none_hides_nothing_of_the_others(part: str) -> None:
    found = parsed(**{"reassignment": REASSIGNMENT, "topics": "many", part: "text"})
    assert found.status.reassignment is not None
    assert found.unreadable.keys() == {part, "topics"}


# --- a run that cannot be read


def rewrite(world: World, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    world.kube.write_raw_status(WAL, WALCluster, change(world.kube.raw_status(WAL, WALCluster)))


def of_another_version(world: World) -> None:
    rewrite(world, lambda status: {**status, "reassignment": {**status["reassignment"], "stage": "Levitating"}})


def running() -> World:
    """A run is under way, with a throttle."""
    world = raising()
    world.settle(until=lambda: (run := world.status()) is not None and run.stage is ReassignmentStage.ONGOING)
    world.rounds(1)
    return world


def test_a_run_that_cannot_be_read_stays_as_it_is_until_it_can() -> None:
    world = running()
    of_another_version(world)
    before = world.kube.raw_status(WAL, WALCluster)["reassignment"]
    world.rounds(20)
    assert world.kube.raw_status(WAL, WALCluster)["reassignment"] == before
    assert REASSIGNMENT_FINALIZER in world.cluster().metadata.finalizers
    assert reason_of(world)[0] == "ReassignmentUnreadable"
    stage = {"stage": ReassignmentStage.ONGOING.value}
    rewrite(world, lambda status: {**status, "reassignment": {**status["reassignment"], **stage}})
    world.settle()
    found = world.status()
    assert found is not None
    assert found.stage is ReassignmentStage.COMPLETED
    assert world.is_unthrottled()


def test_a_walcluster_goes_although_its_run_cannot_be_read() -> None:
    world = running()
    of_another_version(world)
    world.kube.remove(WAL)
    world.process()[1].tick(WAL)
    reported = [each for each in world.kube.events if each.reason == EventReason.FINALIZER_REMOVED]
    world.settle()
    assert world.kube.get(WALCluster, WAL) is None
    assert not world.is_unthrottled(), "nobody knows what stood before"
    message = "its run was written by another version of Seawall and cannot be read, a throttle may be left"
    assert [(each.type, each.message) for each in reported] == [
        (EventType.WARNING, f"Removed {REASSIGNMENT_FINALIZER}: {message}")
    ]


def test_a_walcluster_whose_finalizer_is_gone_is_not_let_go_twice() -> None:
    """Others may keep it, as what tends its topics."""
    world = running()
    of_another_version(world)
    world.kube.set_finalizers(world.cluster(), ["seawall.dev/other", REASSIGNMENT_FINALIZER])
    world.kube.remove(WAL)
    world.rounds(8)
    assert world.cluster().metadata.finalizers == ("seawall.dev/other",)
    assert len(world.reported(EventReason.FINALIZER_REMOVED)) == 1
