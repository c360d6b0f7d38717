"""The world of purges, holds, verifications and deletions in which an adversary moves: many databases, two clocks."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.purge import WALPurge
from seawall.ports import DataPlanes
from seawall.reconciler import Outcome, Reconciler
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Judge
from tests.adversary.network import Database, Network
from tests.cluster.test_topic_deletion import controller
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, settings
from tests.fakes.kafka import FakeKafka
from tests.ledger.test_ledger_watch import watch
from tests.worlds.backup_world import BackupWorld
from tests.worlds.purge_world import CLUSTER, NAMESPACE, REGIONS, SPEC, TOPICS, WAL, Guard

RUNS = (Key(NAMESPACE, "run"), Key(NAMESPACE, "later"))
WAITS = 30.0
OTHERS = ("staging", "twin", "rival")


@dataclass
class Arena(BackupWorld):
    """All that outlives a process. `store` and `data_plane` are those of the database `prod`.

    Attributes:
        cluster_spec: the spec of the WALCluster, as people edit it.
        annotations: those of the WALCluster.
        yesterday: the metadata and the shards of intents of some time ago.
        backup: the objects and the ConfigMaps of the API server of then, and the annotations.
        beside: what other controllers of the operator do while one waits.
        due: what the world does by itself, and when.
    """

    time: Clocks = field(default_factory=Clocks)
    network: Network = field(default_factory=Network)
    cluster_spec: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    yesterday: tuple[Any, Any] = (None, None)
    backup: tuple[Any, Any, Any] = (None, None, None)
    beside: list[Callable[[], object]] = field(default_factory=list)
    due: list[tuple[datetime, Callable[[Any], object]]] = field(default_factory=list)
    forged_verdict: bool = False
    declared: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.referee = Judge(self)
        self.cluster_spec = copy.deepcopy(CLUSTER)
        self.cluster_spec["dataPlane"]["greptimedb"]["autoPrune"] = self.auto_prune
        super().__post_init__()
        self.kube._now = self.spark.now = self.time.true
        self.data_plane.now = self.time.true
        self.store.database = self.data_plane
        for topic in self.kafka.topics.values():
            topic.log.now = self.time.true
        for name in OTHERS:
            self.network.databases[name] = self._another(name)
        for address, name in [("", "prod"), *((f".{name}", name) for name in OTHERS)]:
            self.network.services |= {f"http://metasrv{address}:4000": name, f"http://frontend{address}:4000": name}
            self.network.stores[f"http://etcd{address}:2379"] = name

    @property
    def prod(self) -> Database:
        """The database of the WALCluster."""
        found = self.network.databases.get("prod")
        if found is None:
            found = Database("prod", self.data_plane, self.store, self.kafka)
            self.network.databases["prod"] = found
        return found

    def _another(self, name: str) -> Database:
        """A database with the same topics' names; only that of the rival writes to this Kafka, and not yet."""
        domain = "" if name == "twin" else f".{name}"  # short names of hosts may be the same in another namespace
        wal = settings(self.auto_prune)
        plane = FakeDataPlane(now=self.time.true, domain=domain, wal=wal)
        store = FakeMetadataStore(domain)
        store.database = plane
        made = Database(name, plane, store, self.kafka if name == "rival" else FakeKafka(cluster_id=name), turn=1)
        for number, topic in enumerate(TOPICS):
            if name != "rival":
                made.kafka.add_topic(topic, replicas=(1, 2, 3))
            store.put_topic(topic, 0)
            for index in range(REGIONS):
                table = {"staging": 2024, "twin": 1024, "rival": 3024}[name] + number
                made.bear(topic, table << 32 | index, datanode=index % 3)
        return made

    # --- what people and databases do

    def add_region(self, topic: str, region_id: int, datanode: int) -> None:
        """A region is born."""
        self.prod.bear(topic, region_id, datanode)

    def write(self, topic: str, count: int) -> None:
        """The database appends rows."""
        self.prod.write(topic, count)

    def annotate(self, **annotations: str | None) -> None:
        """Somebody sets annotations, or takes them off."""
        for name, value in annotations.items():
            key = f"seawall.dev/{name.replace('_', '-')}"
            self.annotations.pop(key, None)
            if value is not None:
                self.annotations[key] = value
        self.edit()

    def edit(self, **spec: Any) -> None:
        """Somebody edits the spec of the WALCluster, if there is one."""
        self.cluster_spec |= spec
        if ("WALCluster", WAL) in self.kube._objects:
            self.kube.apply(WAL, self.cluster_spec, annotations=self.annotations)

    def point(self, **greptimedb: Any) -> None:
        """Somebody edits the addresses of the database."""
        before = self.cluster_spec["dataPlane"].get("greptimedb")
        if before is None:
            return  # somebody took it out
        self.edit(dataPlane={**self.cluster_spec["dataPlane"], "greptimedb": {**before, **greptimedb}})

    def run_of(self, key: Key, **spec: Any) -> None:
        """Somebody makes a run."""
        self.kube.apply(key, {**SPEC, **spec}, kind=WALPurge)

    def overtaken_by(self, name: str) -> None:
        """Another database is as dangerous as can be: its ids are as high as these logs allow."""
        self.network.databases[name].overtake(self.prod, marks=self.auto_prune == "Logical")

    def work(self, rows: int = 12) -> None:
        """All databases write, and flush all regions but one."""
        for database in self.network.databases.values():
            for topic in TOPICS:
                if database.name != "rival" or any(database.rows.values()):
                    database.write(topic, rows)
                    database.flush(topic)
        self.referee.wrote()

    def place(self, key: Key, spec: Mapping[str, Any]) -> None:
        """Somebody places a hold."""
        self.kube.apply(key, spec, kind=WALHold)

    def renew(self, key: Key) -> None:
        """Its owner renews a hold, if it is there."""
        if ("WALHold", key) in self.kube._objects:
            spec = self.kube._objects["WALHold", key]["spec"]
            self.kube.apply(key, {**spec, "renewTime": self.time.true().isoformat()}, kind=WALHold)

    def pin(self) -> None:
        """The WALCluster has met its Kafka."""
        pinned = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
        found = self.cluster()
        self.kube.replace_status(found, WALClusterStatus(kafka=pinned))

    def judge(self, key: Key) -> tuple[str, int]:
        """What a job says; where it really read all that a restart would, that is remembered."""
        text, code = super().judge(key)
        if "backup" in self.request_of(key):
            return text, code
        if self.forged_verdict:
            said = json.loads(text)
            said |= {"outcome": "Passed", "requestDigest": "0" * 64, "topicsNotVerified": [], "findings": []}
            return json.dumps(said), 0
        said = json.loads(text)
        for topic in self.request_of(key)["topics"]:
            is_honest = int(topic["from"]) <= self.prod.reads_from(topic["name"])
            if self.referee.honest is not None and is_honest and topic["name"] not in said["topicsNotVerified"]:
                before = self.referee.honest.get(topic["topicId"], 0)
                self.referee.honest[topic["topicId"]] = max(before, int(topic["from"]))
        return text, code

    def _is_there(self, topic: dict[str, Any]) -> bool:
        return topic["name"] in self.kafka.topics and super()._is_there(topic)

    def request_of(self, key: Key) -> dict[str, Any]:
        """What a job was told."""
        found = self.kube.get_config_map(key)
        assert found is not None
        read: dict[str, Any] = json.loads(gzip.decompress(found.binary_data["request.json.gz"]))
        return read

    # --- the operator

    def open_databases(self, calls: Guard) -> DataPlanes:
        """Whom the addresses lead to."""
        found: DataPlanes = calls.guard(self.network)
        return found

    def check(self, after: str = "") -> None:
        """The referee sees every change by itself."""

    def operate(self) -> None:
        """The other controllers of the operator, which work while one waits."""
        watching: Reconciler[Any, Any, Any, Any] = Reconciler(_watch(self), may_write=lambda: True)
        granting = granter_of(self)
        self.beside = [lambda: tick(watching, WAL), lambda: self._tick_holds(granting)]

    def _tick_holds(self, granting: Reconciler[Any, Any, Any, Any]) -> None:
        for hold in self.kube.list(WALHold, NAMESPACE).items:
            tick(granting, hold.metadata.key)

    def manage(self, ticks: int = 4) -> None:
        """The controller of WALClusters tends the topics."""
        tending: Reconciler[Any, Any, Any, Any] = Reconciler(
            controller(self, self.referee),
            may_write=lambda: True,
        )
        for _ in range(ticks):
            tick(tending, WAL)

    def wait(self, seconds: float = WAITS) -> None:
        """Time passes; databases report, prune what they prune by themselves, and other controllers work."""
        self.time.time += timedelta(seconds=seconds)
        if self.auto_prune == "Logical":
            for database in self.network.databases.values():
                database.prune_logically()
            self.referee.moved()
        self._happen()
        self.run_spark()
        for each in self.beside:
            each()

    def later(self, after: timedelta, make: Callable[[Any], object]) -> None:
        """The world does this by itself when some time has passed."""
        self.due.append((self.time.true() + after, make))

    def _happen(self) -> None:
        """What is due."""
        now = self.time.true()
        due, self.due = [each for each in self.due if each[0] <= now], [each for each in self.due if each[0] > now]
        for _, make in due:
            make(self)
            self.referee.moved()

    def live(self, process: Reconciler[Any, Any, Any, Any], key: Key, until: Callable[[], bool], rounds: int) -> None:
        """Ticks until all is done, or waits as often as told."""
        while rounds:
            ticked = process.tick(key)
            if ticked.outcome in {Outcome.WAITING, Outcome.GONE} and until():
                return
            if ticked.after == 0.0 or ticked.outcome in {Outcome.RECORDED, Outcome.ACTED}:
                self.time.time += timedelta(seconds=0.05)
                rounds -= ticked.outcome is Outcome.CONFLICT
            else:
                rounds -= 1
                self.wait()

    def is_over(self, key: Key) -> bool:
        """Whether a run is finished, or gone."""
        found = self.kube.get(WALPurge, key)
        return found is None or found.status.is_finished

    def remember(self) -> None:
        """This is how it was yesterday."""
        self.yesterday = self.store._now, dict(self.intents._shards)
        kube = self.kube
        self.backup = copy.deepcopy(kube._objects), dict(kube._config_maps), dict(self.annotations)


def _watch(arena: Arena) -> Any:
    """The watch of ledgers, judged."""
    watching = watch(arena)
    return replace(watching, kube=arena.referee.guard(arena.kube), observer=arena.observer(arena.referee))


def granter_of(arena: Arena, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
    """The controller of holds."""
    from tests.hold.test_wal_hold import granter  # noqa: PLC0415 - no cycle, but the name says where it is from

    return granter(arena, calls or arena.referee)


def tick(process: Reconciler[Any, Any, Any, Any], key: Key, most: int = 6) -> None:
    """Ticks until it waits."""
    for _ in range(most):
        if process.tick(key).outcome not in {Outcome.RECORDED, Outcome.ACTED, Outcome.CONFLICT}:
            return
