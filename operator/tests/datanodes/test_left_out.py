"""A datanode that is scaled away, or named no more, while the journal has it: its restart is over when it is gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.dataplane.declared import DatanodeSet
from seawall.domain.errors import Forbidden
from seawall.domain.rollout.workload import UpdateStrategy
from seawall.domain.rollout_reasons import Reason
from seawall.reconciler import Reconciler
from tests.datanodes.test_restart import lag, waits
from tests.support.watched import watched
from tests.worlds.restart_world import (
    DATANODES,
    MANAGER,
    NAMESPACE,
    NEVER_TOO_LOW,
    SET,
    WAL,
    World,
    managed_cluster,
)

LAST = "datanode-2"
OVER = "its restart is over"
OTHERS = ["datanode-0", "datanode-1"]
STORE = Key(NAMESPACE, "store")


@dataclass
class Refusing:
    """The operator may not read some StatefulSets, by name, or a pod."""

    names: tuple[str, ...]

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def call(self, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if args and name in {"get", "has_pod"} and isinstance(args[0], Key) and args[0].name in self.names:
            raise Forbidden(f"reading {args[0]}: 403")
        return function(*args, **kwargs)


def asked(world: World | None = None) -> World:
    """A person asks for a restart of the last datanode."""
    world = world or World()
    world.settle()
    pod = Key(NAMESPACE, LAST)
    world.datanodes.running[pod] = replace(world.datanodes.running[pod], restart="please")
    return world


def restarting() -> tuple[World, Reconciler[Any, Any, Any, Any]]:
    """The last datanode was evicted, and is not back; and the process that restarts it."""
    world = asked()
    world.crashing.add(2)
    process = world.process()
    world.settle(process, until=lambda: world.restart().stage is RollStage.REPLAYING)
    return world, process


def scale(world: World, replicas: int) -> None:
    """Somebody scales the StatefulSet; pods beyond that are gone."""
    world.datanodes.scale(SET, replicas)
    for number in range(replicas, DATANODES):
        world._phase.pop(number, None)


def add_store(world: World) -> None:
    """The datanodes run in another StatefulSet, too."""
    world.datanodes.apply(STORE, strategy=UpdateStrategy.ON_DELETE)
    world.datanodes.observe(STORE, "rev-1")
    for number in range(DATANODES):
        world.datanodes.make_pod(STORE, number, "rev-1")
        world.datanodes.report(STORE, number, ready=True)


def name_store(world: World) -> None:
    """Somebody names the other StatefulSet."""
    add_store(world)
    world.apply(datanodes={"statefulSetRef": {"name": STORE.name}})


def lines(world: World, reason: Reason) -> list[str]:
    return [line for line in world.lines if line.startswith(reason)]


def test_a_datanode_that_is_scaled_away_in_mid_roll_ends_its_restart_and_the_others_go_on() -> None:
    world, _ = restarting()
    assert world.in_maintenance()
    scale(world, 2)
    world.annotate(restart="monday")
    world.settle()
    assert (world.went, world.disruption()) == ([LAST, *OTHERS], None)
    assert world.restart().done_request == "monday"
    assert world.in_maintenance() == []
    assert lines(world, Reason.LEFT_OUT) == [
        f"DatanodeLeftOut: {LAST} is no more one of the datanodes that are named, and gone for good: {OVER}"
    ]


def test_maintenance_ends_before_another_datanode_goes() -> None:
    """Nothing fails over in it, and nobody else will serve what the one that is gone has led."""
    world, _ = restarting()
    scale(world, 2)
    world.annotate(restart="monday")
    world.settle(until=lambda: world.disruption() is None)
    world.settle(until=lambda: not world.in_maintenance())
    assert world.went == [LAST]


def test_a_datanode_that_is_scaled_away_behind_a_shut_gate_holds_nobody_up() -> None:
    world = asked()
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    lag(world)
    world.settle(until=lambda: world.restart().reason == "NotFullyInSync")
    scale(world, 2)
    world.settle(until=lambda: world.disruption() is None)
    assert world.went == []
    lag(world, lags=False)
    world.annotate(restart="monday")
    world.settle()
    assert world.went == OTHERS


def test_a_datanode_that_is_scaled_up_again_is_down_for_all_others() -> None:
    world, _ = restarting()
    scale(world, 2)
    world.settle(until=lambda: world.disruption() is None)
    scale(world, DATANODES)
    world.annotate(restart="monday")
    waits(world)
    assert set(world.went) == {LAST}, "which is asked for, too"
    assert LAST in world.down()


def test_the_restart_is_not_over_before_kubernetes_has_looked_at_what_was_scaled() -> None:
    world, process = restarting()
    scale(world, 2)
    assert not world.datanodes.statefulsets[SET].observed
    for _ in range(3):
        process.tick(WAL)
    assert world.disruption() is not None
    assert "has not looked" in world.restart().message


def test_the_restart_is_not_over_while_the_pod_of_the_statefulset_of_before_is_there() -> None:
    world, process = restarting()
    name_store(world)
    waits(world, seconds=60)
    found = world.disruption()
    assert found is not None
    assert found.name == LAST
    assert (world.restart().stage, world.restart().reason) == (RollStage.STALLED, Reason.NOT_NAMED)
    assert "its pod is there: scale down or delete" in world.restart().message
    assert len(lines(world, Reason.NOT_NAMED)) == 1
    assert world.in_maintenance() == []
    scale(world, 0)
    del world.datanodes.statefulsets[SET]
    process.tick(WAL)
    world.note()
    assert world.disruption() is None
    assert len(lines(world, Reason.LEFT_OUT)) == 1


def test_the_restart_is_not_over_while_the_statefulset_of_before_makes_the_pod() -> None:
    world, _ = restarting()
    world._phase.pop(2, None)
    world.datanodes.remove_pod(SET, 2)
    name_store(world)
    waits(world, seconds=30)
    assert world.disruption() is not None
    assert "its StatefulSet makes it" in world.restart().message
    scale(world, 2)
    world.settle(until=lambda: world.disruption() is None)


def test_the_restart_is_not_over_while_the_statefulset_of_before_may_not_be_read() -> None:
    world, _ = restarting()
    name_store(world)
    scale(world, 0)
    process = world.process(Refusing((SET.name,)))
    for _ in range(5):
        process.tick(WAL)
        world.pass_time(timedelta(seconds=5))
    assert world.disruption() is not None
    assert "cannot be read" in world.restart().message


def test_a_datanode_whose_statefulset_is_named_again_goes_on_where_it_was() -> None:
    """Behind a shut gate its pod did not go: what was seen of another StatefulSet says nothing of it."""
    world = asked()
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    lag(world)
    world.settle(until=lambda: world.restart().reason == "NotFullyInSync")
    name_store(world)
    world.settle(until=lambda: world.restart().reason == Reason.NOT_NAMED)
    world.apply(datanodes={"statefulSetRef": {"name": SET.name}})
    lag(world, lags=False)
    world.settle()
    assert (world.went, world.disruption()) == ([LAST], None)


def test_the_restart_is_not_over_while_one_of_the_named_statefulsets_cannot_be_read() -> None:
    """A group is added, and the operator may read that one only."""
    world = World(is_managed=True)
    world.settle()
    world.crashing.add(2)
    world.edit_greptimedb()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    add_store(world)
    world.datanodes.statefulsets[STORE] = replace(
        world.datanodes.statefulsets[STORE], controller=managed_cluster().controller
    )
    both = tuple(DatanodeSet(key.name, "spec.datanode", DATANODES, NEVER_TOO_LOW) for key in (SET, STORE))
    world.kube.greptimedb_clusters[MANAGER] = replace(managed_cluster(), datanodes=both)
    del world.datanodes.running[Key(NAMESPACE, LAST)]
    process = world.process(Refusing((SET.name,)))
    for _ in range(5):
        process.tick(WAL)
    assert world.restart().reason == Reason.NO_STATEFUL_SET
    assert world.disruption() is not None
