"""A world for restarts, on the in-memory ports: Kubernetes that makes pods anew, datanodes that replay, a database.

After every call that changes something it is checked that never two datanodes are down, that nothing is evicted while
a replica is missing, and that maintenance which is on, in whichever database, is in the status with its address, under
a finalizer. Time passes only when the operator waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import MAINTENANCE_FINALIZER, Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import contract_address
from seawall.domain.dataplane.declared import DatanodeSet
from seawall.domain.dataplane.greptimedb_cluster import GreptimeDBCluster, Storage
from seawall.domain.ledger.intents import raise_intent
from seawall.domain.ledger.observation import Observation
from seawall.domain.rollout.workload import Template, Termination, UpdateStrategy
from seawall.observe.datanodes import DatanodeObserver
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.partitions import PartitionObserver
from seawall.ports import DataPlaneParts
from seawall.reconciler import Outcome, Reconciler, Ticked
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore, FakeRegion
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.fakes.workloads import FakeWorkloads
from tests.support.clock import Time
from tests.support.worlds import Unwatched, edit_annotations

NAMESPACE = "db"
WAL, SET = Key(NAMESPACE, "wal"), Key(NAMESPACE, "datanode")
START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
TOPICS = ("wal_0", "wal_1", "wal_2")
DATANODES = 3
ENDS, REPLAYS = timedelta(seconds=4), timedelta(seconds=6)
MAX_ROUNDS = 400
CHANGES = frozenset(
    {
        "evict",
        "set_partition",
        "set_config_hash",
        "set_maintenance",
        "flush_regions",
        "replace_status",
        "set_finalizers",
    }
)
DATABASE: dict[str, Any] = {
    "version": "1.1",
    "autoPrune": "Disabled",
    "metasrv": "http://metasrv:4000",
    "frontend": "http://frontend:4000",
    "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
}
DATA_PLANE: dict[str, Any] = {"greptimedb": DATABASE, "datanodes": {"statefulSetRef": {"name": "datanode"}}}
MANAGED: dict[str, Any] = {"greptimedb": {"clusterRef": {"name": "db"}, "autoPrune": "Disabled"}}
MANAGER, NEVER_TOO_LOW = Key(NAMESPACE, "db"), 1_000


def managed_cluster(partition: int = NEVER_TOO_LOW) -> GreptimeDBCluster:
    """The GreptimeDBCluster of the world's StatefulSet."""
    return GreptimeDBCluster(
        MANAGER,
        (DatanodeSet(SET.name, "spec.datanode", DATANODES, partition),),
        tag="v1.1.4",
        meta_config='[wal]\ntopic_name_prefix = "wal"',
        frontend="db-frontend",
        brokers=("kafka:9092",),
        storage=Storage.ETCD,
        etcd_endpoints=("etcd:2379",),
    )


def revision_of(template: Template) -> str:
    """Of a pod template, as the StatefulSet's controller makes it."""
    more = "" if template.startup_seconds is None else f"-{template.startup_seconds}"
    return f"rev-{template.config_hash}-{template.restarted_at}{more}"


@dataclass
class World:
    """All that outlives a process.

    Attributes:
        others: databases at other addresses of a metasrv than that of `data_plane`.
        stores: those of these databases that have one of their own.
        crashing: datanodes that never come up again once they were restarted.
        lines: the events, as people see them.
        is_managed: greptimedb-operator makes the StatefulSet of a GreptimeDBCluster, which the spec names.
        is_given_up: a database that is silent may be left in maintenance, as an event says.
        lets_two_go: a person lets one go while another is down.
        late: seconds after which the operator looks again at the earliest, however soon it wants to.
    """

    strategy: UpdateStrategy = UpdateStrategy.ON_DELETE
    partition: int = 0
    time: Time = field(default_factory=lambda: Time(START))
    kafka: FakeKafka = field(default_factory=FakeKafka)
    store: FakeMetadataStore = field(default_factory=FakeMetadataStore)
    datanodes: FakeWorkloads = field(default_factory=FakeWorkloads)
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)
    meters: FakeMeters = field(default_factory=FakeMeters)
    annotations: dict[str, str] = field(default_factory=dict)
    data_plane_spec: dict[str, Any] = field(default_factory=lambda: dict(DATA_PLANE))
    others: dict[str, FakeDataPlane] = field(default_factory=dict)
    stores: dict[str, FakeMetadataStore] = field(default_factory=dict)
    crashing: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    is_managed: bool = False
    is_given_up: bool = False
    lets_two_go: bool = False
    late: float = 0.0
    went: list[str] = field(default_factory=list)
    _phase: dict[int, tuple[str, datetime]] = field(default_factory=dict)
    _is_reached: bool = False

    def __post_init__(self) -> None:
        self.kube = FakeKube(self.time.now)
        self.data_plane = FakeDataPlane(now=self.time.now)
        self.datanodes.now = self.time.now
        self.store.database = self.data_plane
        http = self.data_plane_spec.get("http")
        declared = DATABASE["metasrv"] if http is None else contract_address(http["url"])
        self._first = "http://db-meta.db.svc:4000" if self.is_managed else declared
        if self.is_managed:
            self.strategy, self.partition, self.data_plane_spec = UpdateStrategy.ROLLING_UPDATE, NEVER_TOO_LOW, MANAGED
            self.kube.greptimedb_clusters[MANAGER] = managed_cluster()
        controller = managed_cluster().controller if self.is_managed else None
        self.datanodes.apply(SET, strategy=self.strategy, partition=self.partition, controller=controller)
        revision = revision_of(Template()) if self.is_managed else "rev-1"
        self.datanodes.observe(SET, revision)
        for number in range(DATANODES):
            self.datanodes.make_pod(SET, number, revision)
            self.datanodes.report(SET, number, ready=True)
        for number, topic in enumerate(TOPICS):
            made = self.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
            made.log.now = self.time.now
            made.log.append(100)
            self.store.put_topic(topic, 0)
            self._add_region(topic, (1024 + number) << 32, number)
            self._add_region(topic, (1024 + number) << 32 | 1, (number + 1) % DATANODES)
        self.apply()
        pinned = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
        database = DataPlaneStatus(identity=self.store.head().store_id)
        intact = Condition(
            type=ConditionType.WAL_INTACT, status="True", reason="Intact", last_transition_time=self.time.now()
        )
        self.kube.replace_status(
            self.cluster(), WALClusterStatus(kafka=pinned, data_plane=database, conditions=(intact,))
        )

    def _add_region(self, topic: str, region_id: int, datanode: int) -> None:
        self.data_plane.regions[region_id] = FakeRegion(datanode, flushed=0, last=99, memtable_bytes=1_000)
        self.store.put_region(topic, region_id, leader=datanode, checkpoint=None)

    # --- what people do

    def apply(self, **data_plane: Any) -> None:
        """Somebody edits the spec."""
        self.data_plane_spec |= data_plane
        self.kube.apply(WAL, self.spec(), annotations=self.annotations)

    def spec(self) -> dict[str, Any]:
        """The spec of the WALCluster."""
        return {
            "kafka": {"external": {"bootstrapServers": ["kafka:9092"]}},
            "topics": {"prefix": "wal", "count": len(TOPICS)},
            "dataPlane": {name: value for name, value in self.data_plane_spec.items() if value is not None},
        }

    def add_database(self, metasrv: str) -> FakeDataPlane:
        """Another database, at another address, whose datanodes are in the same pods."""
        regions = {region: replace(found) for region, found in self.data_plane.regions.items()}
        found = replace(self.data_plane, regions=regions, maintenance=False, is_silent=False)
        self.others[metasrv] = found
        store = self.stores[metasrv] = FakeMetadataStore()
        store._now, store.database = replace(self.store._now, store_id=store._now.store_id), found
        return found

    def name_metasrv(self, metasrv: str) -> None:
        """Somebody edits the address of the metasrv, and says that its database is the right one."""
        self.apply(greptimedb={**DATABASE, "metasrv": metasrv})
        self.adopt(self.stores.get(metasrv.rstrip("/"), self.store))

    def adopt(self, store: FakeMetadataStore) -> None:
        """Another database is pinned, as seawall.dev/readopt says."""
        found = self.kube.get(WALCluster, WAL)
        if found is not None:
            database = DataPlaneStatus(identity=store.head().store_id)
            self.kube.replace_status(found, found.status.model_copy(update={"data_plane": database}))

    def annotate(self, **annotations: str | None) -> None:
        """Somebody sets annotations, or takes them off."""
        edit_annotations(self.annotations, annotations)
        self.apply()

    def edit_greptimedb(self, partition: int = NEVER_TOO_LOW, *, is_seen: bool = True) -> None:
        """Somebody edits the GreptimeDBCluster, and its operator writes the StatefulSet, if it has looked."""
        self.kube.greptimedb_clusters[MANAGER] = managed_cluster(partition)
        if is_seen:
            self.datanodes.edit_template(SET, partition)

    def end_pod(self, number: int) -> None:
        """A pod goes, by whomever."""
        self.datanodes.evict(self.datanodes.running[Key(NAMESPACE, f"datanode-{number}")])

    def intend(self, offset: int) -> None:
        """A run writes intents for all topics; records are first written by whoever looked first."""
        observer = LedgerObserver(
            ClusterOpener(
                self.kube,
                FakeKafkaClusters({"kafka:9092": self.kafka}),
                FakeDataPlanes(DataPlaneParts(self.data_plane, self.store)),
            ),
            self.intents,
            self.time,
            self.time,
        )
        for _ in range(2):
            observation = observer.observe(self.cluster())
            assert isinstance(observation, Observation)
            records = {**observation.urgent_records(), **observation.read.records}
            raised = {name: raise_intent(record, offset) for name, record in records.items()}
            observer.write_shards(observation.pool, observation.shards.changed(raised))

    # --- the operator

    def process(self, guard: Any = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process, which remembers nothing."""
        guard = guard or Unwatched()
        kube, clusters = guard.guard(self.kube), guard.guard(FakeKafkaClusters({"kafka:9092": self.kafka}))
        parts = DataPlaneParts(guard.guard(self.data_plane), guard.guard(self.store))
        others = {
            metasrv: DataPlaneParts(guard.guard(database), guard.guard(self.stores.get(metasrv, self.store)))
            for metasrv, database in self.others.items()
        }
        opener = ClusterOpener(kube, clusters, FakeDataPlanes(parts, others))
        observer = LedgerObserver(opener, guard.guard(self.intents), self.time, self.time)
        datanodes = guard.guard(self.datanodes)
        partitions = PartitionObserver(kube, clusters)
        recorded = DatanodeObserver(kube, datanodes, opener.data_planes, observer, partitions, self.time)
        controller = RestartController(kube, datanodes, recorded, self.time, self.meters)
        return Reconciler(controller, may_write=lambda: True)

    def settle(
        self, process: Reconciler[Any, Any, Any, Any] | None = None, until: Callable[[], bool] | None = None
    ) -> None:
        """Ticks, and lets time pass whenever the operator waits, until nothing is under way or as told."""
        process, quiet = process or self.process(), 0
        for _ in range(MAX_ROUNDS):
            ticked = self._tick_until_it_waits(process, until)
            if until is not None and (self._is_reached or until()):
                self._is_reached = False
                return
            self.pass_time(timedelta(seconds=max(self.late, min(ticked.after or 15.0, 15.0))))
            self.check()
            quiet = 0 if self._is_busy() else quiet + 1
            if until is None and (quiet > 2 or ticked.outcome is Outcome.GONE):
                return
        raise AssertionError(f"it does not settle: {self.restart()}")

    def _is_busy(self) -> bool:
        found = self.kube.get(WALCluster, WAL)
        if found is None:
            return False
        status = found.status.restart or RestartStatus()
        return (
            status.stage not in {None, RollStage.COMPLETED, RollStage.STALLED}
            or status.maintenance is not None
            or MAINTENANCE_FINALIZER in found.metadata.finalizers
            or bool(self._phase)
        )

    def _tick_until_it_waits(self, process: Reconciler[Any, Any, Any, Any], until: Callable[[], bool] | None) -> Ticked:
        for _ in range(60):
            if self._is_reached:
                return Ticked(Outcome.WAITING, None)
            ticked = process.tick(WAL)
            self.note()
            self.check()
            self._is_reached = until is not None and until()
            if ticked.after != 0.0:
                return ticked
        raise AssertionError(f"it never waits: {self.restart()}")

    # --- what Kubernetes and the database do

    def pass_time(self, time: timedelta) -> None:
        """They go on, a second at a time."""
        end = self.time.time + time
        while self.time.time < end:
            self.time.time += timedelta(seconds=1)
            self.note()
            for number in range(DATANODES):
                self._go_on(number)
            self._roll_by_kubernetes()

    def note(self) -> None:
        """Pods that were told to go, and events."""
        for number in range(DATANODES):
            pod = self.datanodes.running.get(Key(NAMESPACE, f"datanode-{number}"))
            if pod is not None and pod.is_terminating and number not in self._phase:
                self._phase[number] = "ends", self.time.time + ENDS
                self.went.append(pod.name)
                self.data_plane.stopped.add(number)
        self.lines += [f"{event.reason}: {event.message}" for event in self.kube.events]
        self.kube.events.clear()

    def _go_on(self, number: int) -> None:
        phase, at = self._phase.get(number, ("", self.time.time))
        if not phase or self.time.time < at:
            return
        if phase == "ends":
            statefulset = self.datanodes.statefulsets[SET]
            before = self.datanodes.running[Key(NAMESPACE, f"datanode-{number}")].revision
            self.datanodes.remove_pod(SET, number)
            is_kept = statefulset.strategy is UpdateStrategy.ROLLING_UPDATE and number < statefulset.partition
            revision = before if is_kept else statefulset.update_revision
            self.datanodes.make_pod(SET, number, revision)
            self._phase[number] = "replays", self.time.time + REPLAYS
            if number in self.crashing:
                last = Termination("Error", "OffsetOutOfRange: 0 of wal_0", 1)
                self.datanodes.report(SET, number, ready=False, restarts=3, waiting="CrashLoopBackOff", last=last)
                del self._phase[number]
        else:
            self.datanodes.report(SET, number, ready=True)
            self.data_plane.epochs[number] = self.data_plane.epochs.get(number, 1) + 1
            self.data_plane.stopped.discard(number)
            del self._phase[number]

    def _roll_by_kubernetes(self) -> None:
        """The StatefulSet's controller: outdated pods from the highest ordinal down to the partition, one by one."""
        statefulset = self.datanodes.statefulsets[SET]
        if not statefulset.observed:
            template = statefulset.template
            self.datanodes.observe(SET, revision_of(template))
            statefulset = self.datanodes.statefulsets[SET]
        if statefulset.strategy is UpdateStrategy.ON_DELETE or self._phase:
            return
        for number in reversed(range(statefulset.partition, DATANODES)):
            pod = self.datanodes.running[Key(NAMESPACE, f"datanode-{number}")]
            if pod.revision != statefulset.update_revision:
                self.datanodes.evict(pod)
                return

    # --- what is true

    def cluster(self) -> WALCluster:
        """The WALCluster."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        return found

    def restart(self) -> RestartStatus:
        """What its status says of restarts."""
        found = self.kube.get(WALCluster, WAL)
        return RestartStatus() if found is None or found.status.restart is None else found.status.restart

    def disruption(self) -> Disruption | None:
        """What its status says is disrupted."""
        return self.cluster().status.disruption

    def health(self) -> Condition:
        """DatanodesHealthy."""
        found = find_condition(self.cluster().status.conditions, ConditionType.DATANODES_HEALTHY)
        assert found is not None
        return found

    def uids(self) -> dict[str, str]:
        """Of the pods."""
        return {pod.name: pod.uid for pod in self.datanodes.running.values()}

    def down(self) -> list[str]:
        """The pods that do not serve."""
        return [pod.name for pod in self.datanodes.running.values() if not pod.ready or pod.is_terminating]

    def check(self, after: str = "") -> None:
        """What must hold at every moment."""
        down = self.down()
        assert len(down) <= 1 or self.lets_two_go, f"down at once, after {after}: {down}"
        found = self.kube.get(WALCluster, WAL)
        for database in [] if self.is_given_up else self.in_maintenance():
            assert found is not None, "maintenance is left on"
            lease = self.restart().maintenance
            assert lease is not None, "maintenance is on, and nobody knows that"
            assert lease.metasrv is not None, "maintenance is on, and nobody knows where"
            assert self.databases()[lease.metasrv] is database, "another database is in maintenance"
            assert MAINTENANCE_FINALIZER in found.metadata.finalizers, "maintenance may outlive the WALCluster"

    def databases(self) -> dict[str, FakeDataPlane]:
        """By the addresses of their metasrvs."""
        return {self._first: self.data_plane, **self.others}

    def in_maintenance(self) -> list[FakeDataPlane]:
        """The databases that are."""
        return [database for database in self.databases().values() if database.maintenance]
