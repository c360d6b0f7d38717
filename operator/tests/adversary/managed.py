"""A roll of the datanodes of a GreptimeDBCluster, with an adversary: greptimedb-operator and people edit meanwhile.

At its end the gate is as it is declared, and who was edited runs the newest pod template.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster
from seawall.domain.rollout.workload import Template, UpdateStrategy
from tests.adversary import people_moves as people
from tests.adversary import world_moves as world
from tests.adversary.judge import Violation
from tests.adversary.lives import ALL, Adversary, Move
from tests.adversary.moves import CLUSTER, move
from tests.adversary.roll import RollArena, roll, roll_on
from tests.adversary.special_moves import ask_again, pod_goes, second_restarter, take_back
from tests.worlds.purge_world import WAL
from tests.worlds.restart_world import (
    DATANODES,
    MANAGER,
    NEVER_TOO_LOW,
    SET,
    managed_cluster,
    revision_of,
)

MANAGED = "kube:GreptimeDBCluster"


@dataclass
class ManagedArena(RollArena):
    """With a GreptimeDBCluster, which the spec names."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kube.greptimedb_clusters[MANAGER] = managed_cluster()
        self.network.services |= {f"http://db-{part}.{WAL.namespace}.svc:4000": "prod" for part in ("meta", "frontend")}
        self.network.stores[f"http://etcd.{WAL.namespace}.svc:2379"] = "prod"
        controller = managed_cluster().controller
        rolling = UpdateStrategy.ROLLING_UPDATE
        self.datanodes.apply(SET, strategy=rolling, partition=NEVER_TOO_LOW, controller=controller)
        self.datanodes.observe(SET, revision_of(Template()))
        for number in range(DATANODES):
            self.datanodes.make_pod(SET, number, revision_of(Template()))
            self.datanodes.report(SET, number, ready=True)
        named = {"clusterRef": {"name": MANAGER.name}, "autoPrune": self.auto_prune}
        plane = {**self.cluster_spec["dataPlane"], "greptimedb": named}
        plane.pop("datanodes")
        self.edit(dataPlane=plane)

    def write_sets(self, partition: int, *, is_seen: bool = True) -> None:
        """Somebody edits the GreptimeDBCluster, and its operator writes the StatefulSet, if it has looked."""
        if self.kube.greptimedb_clusters[MANAGER] is not Absence.MISSING:
            self.kube.greptimedb_clusters[MANAGER] = managed_cluster(partition)
            if is_seen:
                self.datanodes.edit_template(SET, partition)

    def correct_addresses(self) -> None:
        """The GreptimeDBCluster is there again."""
        if self.kube.greptimedb_clusters[MANAGER] is Absence.MISSING:
            self.kube.greptimedb_clusters[MANAGER] = managed_cluster()

    def watch_lease(self, call: str = "") -> None:
        """Its database is always the same."""

    def check_gate(self) -> None:
        """What is declared is so, for who still names it."""
        declared = self.kube.greptimedb_clusters[MANAGER]
        statefulset, named = self.datanodes.statefulsets[SET], self.kube.get(WALCluster, WAL)
        is_named = named is not None and "clusterRef" in str(self.cluster_spec["dataPlane"])
        if not is_named or not isinstance(declared, GreptimeDBCluster) or not declared.datanodes[0].keeps_all:
            return
        if statefulset.partition != declared.datanodes[0].partition:
            raise Violation(f"G: the gate is open: {statefulset.partition}")
        old = [pod.name for pod in self.datanodes.running.values() if pod.revision != statefulset.update_revision]
        if old and statefulset.observed:
            raise Violation(f"G: {old} were never restarted")


def edited() -> ManagedArena:
    """Somebody edited the GreptimeDBCluster."""
    arena = ManagedArena()
    arena.referee.moved()
    arena.operate()
    for _ in range(3):
        arena.wait()
    arena.write_sets(NEVER_TOO_LOW)
    arena.remember()
    arena.beside.clear()
    return arena


def roll_it_out(arena: ManagedArena, adversary: Adversary) -> None:
    """A roll; at its end no database is in maintenance, and the gate is shut."""
    roll(arena, adversary)
    roll_on(arena, arena.restarter(arena.referee))
    arena.check_gate()


def greptimedb_is_edited(arena: ManagedArena) -> None:
    arena.write_sets(NEVER_TOO_LOW)


def greptimedb_is_opened(arena: ManagedArena) -> None:
    """Kubernetes then restarts by itself."""
    arena.write_sets(0)


def greptimedb_is_opened_unseen(arena: ManagedArena) -> None:
    """Its operator has not looked yet."""
    arena.write_sets(0, is_seen=False)


def partition_is_lowered(arena: ManagedArena) -> None:
    """Of the StatefulSet, by hand."""
    arena.datanodes.set_partition(arena.datanodes.statefulsets[SET], 1)


def greptimedb_is_gone(arena: ManagedArena) -> None:
    arena.kube.greptimedb_clusters[MANAGER] = Absence.MISSING


def its_operator_enters_maintenance(arena: ManagedArena) -> None:
    arena.prod.plane.maintenance = True
    arena.unobserved.add("prod")


def its_operator_leaves_maintenance(arena: ManagedArena) -> None:
    arena.prod.plane.maintenance = False


def managed_move(make: Callable[[ManagedArena], None], *touches: str) -> Move:
    """A move that only a managed arena knows."""
    return Move(make.__name__, frozenset(touches), make)


OF_MANAGED = (
    *(
        managed_move(make, MANAGED, "pods")
        for make in (greptimedb_is_edited, greptimedb_is_opened, greptimedb_is_opened_unseen, greptimedb_is_gone)
    ),
    managed_move(partition_is_lowered, "pods"),
    *(managed_move(make, "database") for make in (its_operator_enters_maintenance, its_operator_leaves_maintenance)),
    *(move(make, CLUSTER) for make in (people.stop_deletes, people.pause, people.edit_spec)),
    *(move(make, CLUSTER) for make in (people.remove_data_plane, people.delete_cluster, ask_again, take_back)),
    *(move(make, "database") for make in (world.datanode_restarts, world.datanode_is_silent)),
    move(pod_goes, "pods"),
    move(second_restarter, ALL),
)
