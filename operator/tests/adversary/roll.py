"""Rolls of datanodes, and reassignments of replicas, with an adversary."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.data_plane import GreptimeDB
from seawall.api.v1alpha1.rollout import Maintenance, RestartStatus, RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain.conditions import find_condition
from seawall.domain.rollout_reasons import Reason
from seawall.observe.datanodes import DatanodeObserver
from seawall.observe.partitions import PartitionObserver
from seawall.reconciler import Outcome, Reconciler
from tests.adversary.arena import Arena
from tests.adversary.judge import Violation
from tests.adversary.lives import Adversary, Unavoidable
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.workloads import FakeWorkloads
from tests.worlds import restart_world
from tests.worlds.purge_world import TOPICS, WAL, Guard
from tests.worlds.restart_world import SET

ROUNDS = 40
OBSERVERS = 20.0
"""Seconds between two looks."""


@dataclass
class RollArena(Arena):
    """With a StatefulSet, whose pods end and replay."""

    datanodes: FakeWorkloads = field(default_factory=FakeWorkloads)
    crashing: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    went: list[str] = field(default_factory=list)
    unobserved: set[str] = field(default_factory=set)
    """Databases that stay in maintenance because nobody could see who answered."""
    has_forgotten: bool = False
    """The API server was restored from a backup."""
    _lease: Maintenance | None = None
    _phase: dict[int, tuple[str, datetime]] = field(default_factory=dict)

    note: ClassVar[Any] = restart_world.World.note
    down: ClassVar[Any] = restart_world.World.down
    _go_on: ClassVar[Any] = restart_world.World._go_on
    _roll_by_kubernetes: ClassVar[Any] = restart_world.World._roll_by_kubernetes
    pass_time: ClassVar[Any] = restart_world.World.pass_time

    def __post_init__(self) -> None:
        super().__post_init__()
        self.datanodes.apply(SET)
        self.datanodes.observe(SET, "rev-1")
        for number in range(restart_world.DATANODES):
            self.datanodes.make_pod(SET, number, "rev-1")
            self.datanodes.report(SET, number, ready=True)
        self.cluster_spec["dataPlane"]["datanodes"] = {"statefulSetRef": {"name": SET.name}}
        self.edit()
        found = self.cluster()
        intact = Condition(
            type=ConditionType.WAL_INTACT, status="True", reason="Intact", last_transition_time=self.time.true()
        )
        status = found.status.model_copy(update={"conditions": (intact,)})
        self.kube.replace_status(found, WALClusterStatus.model_validate(status))

    def restarter(self, guard: Guard) -> Reconciler[Any, Any, Any, Any]:
        """A new process that restarts datanodes."""
        kube, clusters = guard.guard(self.kube), guard.guard(FakeKafkaClusters({"kafka:9092": self.kafka}))
        datanodes = guard.guard(self.datanodes)
        databases, partitions = self.open_databases(guard), PartitionObserver(kube, clusters)
        recorded = DatanodeObserver(kube, datanodes, databases, self.observer(guard), partitions, self.time)
        return Reconciler(RestartController(kube, datanodes, recorded, self.time, self.meters), may_write=lambda: True)

    def wait(self, seconds: float = OBSERVERS) -> None:
        """Pods go on, too."""
        self.pass_time(timedelta(seconds=seconds))
        super().wait(0.0)

    def is_rolling(self) -> bool:
        """Whether anything is under way."""
        found = self.kube.get(WALCluster, WAL)
        status = (found and found.status.restart) or RestartStatus()
        return status.stage not in {None, RollStage.COMPLETED, RollStage.STALLED} or status.maintenance is not None

    def in_maintenance(self) -> set[str]:
        """The databases that are."""
        return {each.name for each in self.network.databases.values() if each.plane.maintenance}

    def health(self) -> str | None:
        """The reason of DatanodesHealthy."""
        found = self.kube.get(WALCluster, WAL)
        said = None if found is None else find_condition(found.status.conditions, ConditionType.DATANODES_HEALTHY)
        return None if said is None else said.reason

    def is_reported(self) -> bool:
        """Whether people hear that maintenance is left on, and the status has where, unless it was forgotten."""
        found = self.kube.get(WALCluster, WAL)
        if found is None:
            return any(line.startswith("FinalizerRemoved: another database answers") for line in self.lines)
        if found.status.restart is None or found.status.restart.maintenance is None:
            return self.has_forgotten and self.health() == Reason.IN_MAINTENANCE
        return self.health() == Reason.LEFT_ON

    def correct_addresses(self) -> None:
        """People do, in the spec and in what the names lead to."""
        self.network.lead_back()
        if "greptimedb" in self.cluster_spec["dataPlane"]:
            named = {part: f"http://{part}:4000" for part in ("metasrv", "frontend")}
            self.point(**named, metadataStore={"etcd": {"endpoints": ["http://etcd:2379"]}})

    def watch_lease(self, call: str = "") -> None:
        """Nobody can see who answers at an address that the spec no longer names, if its store is another one, too."""
        found = self.kube.get(WALCluster, WAL)
        lease = None if found is None or found.status.restart is None else found.status.restart.maintenance
        before, self._lease = self._lease, lease
        if call != "replace_status" or before is None or lease is not None or found is None:
            return
        spec = None if isinstance(found.spec, InvalidSpec) else found.spec.greptimedb
        if spec is None or (spec.metasrv != before.metasrv and self._store_at(spec) != before.database):
            answered = self.network.databases[self.network.services[before.metasrv or ""]]
            if answered.store.head().store_id != before.database:
                self.unobserved |= self.in_maintenance()

    def _store_at(self, spec: GreptimeDB) -> str:
        assert spec.metadata_store is not None
        etcd = spec.metadata_store.etcd
        assert etcd is not None
        return self.network.databases[self.network.stores[etcd.endpoints[0]]].store.head().store_id

    def check_pods(self, call: str = "") -> None:
        """Never two are down by an eviction."""
        if call == "evict" and len(self.down()) > 1:
            raise Violation(f"R: down at once: {self.down()}")


def rollable() -> RollArena:
    """Somebody asked for a restart of all datanodes."""
    arena = RollArena()
    arena.referee.moved()
    arena.operate()
    for _ in range(3):
        arena.wait()
    arena.remember()
    arena.beside.clear()
    return arena


def roll(arena: RollArena, adversary: Adversary) -> None:
    """A roll; at its end no database is in maintenance."""
    arena.operate()
    arena.beside.insert(0, adversary.between)
    arena.referee.beside = [arena.check_pods, arena.watch_lease]
    arena.annotate(restart="monday")
    process = adversary.acting(arena.restarter(adversary))
    roll_on(arena, process)
    adversary.between()
    del arena.beside[0]
    arena.referee.forbidden.clear()
    arena.annotate(stop_deletes=None, paused=None)
    roll_on(arena, process)
    for topic in TOPICS:
        arena.prod.flush(topic)
    _judge_maintenance(arena, adversary, process)


def _judge_maintenance(arena: RollArena, adversary: Adversary, process: Reconciler[Any, Any, Any, Any]) -> None:
    """What stays on is reported, and ends when people have corrected the addresses."""
    left = arena.in_maintenance()
    unobserved = adversary.unobserved | arena.unobserved
    if left - unobserved and not arena.is_reported():
        raise Violation(f"M: maintenance stays on in {left}, and nobody hears of it")
    if arena.has_forgotten and arena.health() == Reason.IN_MAINTENANCE:
        arena.prod.plane.maintenance = False  # a person types the command that is in the message
        roll_on(arena, process)
        left = arena.in_maintenance()
    if left and arena.kube.get(WALCluster, WAL) is not None:
        arena.correct_addresses()
        roll_on(arena, process)
        left = arena.in_maintenance()
        if left - unobserved:
            raise Violation(f"M: maintenance stays on in {left}")
    if left & unobserved:
        raise Unavoidable(f"M: maintenance stays on in {left}")


def roll_on(arena: RollArena, process: Reconciler[Any, Any, Any, Any]) -> None:
    """Until nothing is under way."""
    quiet = 0
    for _ in range(ROUNDS):
        for _ in range(8):
            ticked = process.tick(WAL)
            arena.note()
            if ticked.outcome not in {Outcome.RECORDED, Outcome.ACTED, Outcome.CONFLICT}:
                break
        quiet = 0 if arena.is_rolling() else quiet + 1
        if quiet > 2:
            return
        arena.wait()
