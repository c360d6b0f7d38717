"""A world for runs of purges, on the in-memory ports: a database whose rows are known, a Kafka, an API server.

After every call that changes something it is checked that no row is lost, that nothing falls that only rises, and
that no hold is overtaken. Time passes only when the operator waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.hold import HoldState, WALHold, WALHoldStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.purge import WALPurgeController
from seawall.domain.dataplane.connection import ClientTLS, DatabaseConnection, HTTPConnection, User, url_of_contract
from seawall.domain.frozen_targets import Target
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import IntentShard, PoolId, UnreadableShard, shards_of
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.reading import read_targets
from seawall.ports import DataPlaneParts, DataPlanes, MaintenanceSwitch
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.dataplane import (
    FakeDataPlane,
    FakeMetadataStore,
    FakeRegion,
    etcd_of,
    meant_by,
    metasrv_of,
    settings,
)
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.support.watched import watched

NAMESPACE = "db"
WAL, RUN = Key(NAMESPACE, "wal"), Key(NAMESPACE, "run")
TOPICS = ("wal_0", "wal_1", "wal_2")
REGIONS = 4
ROWS = 40
WAITS = 30.0
"""Seconds that pass when the operator waits: reports stay fresh (staleAfter is 60 s), and looks are few."""
MAX_TICKS = 300
SAFETY = {"staleAfter": "60s", "openGrace": "70s"}
SPEC: dict[str, Any] = {
    "clusterRef": {"name": "wal"},
    "flush": {"whenBehindEntries": 10, "maxConcurrent": 2, "timeout": "10m"},
    "safety": SAFETY,
}
CLUSTER: dict[str, Any] = {
    "kafka": {"external": {"bootstrapServers": ["kafka:9092"]}},
    "topics": {"prefix": "wal", "count": len(TOPICS)},
    "dataPlane": {
        "greptimedb": {
            "version": "1.1",
            "autoPrune": "Disabled",
            "metasrv": "http://metasrv:4000",
            "frontend": "http://frontend:4000",
            "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
        }
    },
    "verification": {"spark": {"image": "replay-verification:1"}},
}


CHANGES = frozenset(
    {"delete_records", "claim", "advance_markers", "write", "flush_regions", "replace_status", "write_config_map"}
)
"""Calls that change something outside."""


class Guard(Protocol):
    """Stands between a process and its ports."""

    def guard(self, port: Any) -> Any:
        """The same port."""
        ...


class Calls:
    """Sees every call to the outside; `after` is called after each that changes something."""

    def __init__(self, after: Callable[[str], None], changing: Iterable[str] = CHANGES) -> None:
        self.changing = frozenset(changing)
        self.names: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self._after = after

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def make_before(self, number: int, move: Callable[[], object]) -> None:
        """Right before the call of this number, counted from 0, the move is made."""

        def before(_: str) -> None:
            if len(self.names) == number + 1:
                move()

        self.before = before

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        self.names.append(name)
        self.before(name)
        try:
            return function(*args, **kwargs)
        finally:
            if name in self.changing:
                self._after(name)


POOL, SHARDS = PoolId(NAMESPACE, "fake-cluster", "wal"), shards_of(TOPICS)


@lru_cache(maxsize=64)
def _records_in(shards: tuple[tuple[int, IntentShard | UnreadableShard], ...]) -> Mapping[str, FenceRecord]:
    """The records in shards: judges ask after each change, and few changes are of records."""
    return read_shards(dict(shards)).of_topics(TOPICS)


@dataclass(frozen=True)
class Databases:
    """The port DataPlanes: what answers at the addresses of a spec."""

    world: World
    calls: Guard

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:  # noqa: ARG002 - the port has it
        """The metasrv and the frontend of one address, and the metadata store of another."""
        data_plane = self.world.data_planes.get(metasrv_of(connection), self.world.data_plane)
        store = self.world.stores.get(etcd_of(connection), self.world.store)
        parts = meant_by(DataPlaneParts(data_plane, store), connection)
        return DataPlaneParts(self.calls.guard(parts.data_plane), self.calls.guard(parts.metadata_store))

    def maintenance_of(
        self,
        key: Key,  # noqa: ARG002 - the port
        metasrv: str,
        tls: ClientTLS,  # noqa: ARG002
        user: User | None = None,  # noqa: ARG002
        database: str | None = None,
    ) -> MaintenanceSwitch:
        """Of the database at this address."""
        parts = DataPlaneParts(self.world.data_planes.get(metasrv, self.world.data_plane), self.world.store)
        url = url_of_contract(metasrv)
        if url is not None:
            parts = meant_by(parts, HTTPConnection(url, database=database))
        switch: MaintenanceSwitch = self.calls.guard(parts.data_plane)
        return switch

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""


@dataclass
class World:
    """All that outlives a process. `auto_prune` is the database's.

    Attributes:
        data_planes: other databases, by the addresses of their metasrvs.
        stores: other metadata stores, by their endpoints.
    """

    auto_prune: str = "Disabled"
    time: Time = field(default_factory=Time)
    kafka: FakeKafka = field(default_factory=FakeKafka)
    store: FakeMetadataStore = field(default_factory=FakeMetadataStore)
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)
    rows: dict[int, list[int]] = field(default_factory=dict)
    markers: dict[str, int] = field(default_factory=dict)
    deleted_to: dict[str, int] = field(default_factory=dict)
    data_planes: dict[str, FakeDataPlane] = field(default_factory=dict)
    stores: dict[str, FakeMetadataStore] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    """Topics that somebody damaged: what is lost there is not the operator's doing."""

    def __post_init__(self) -> None:
        self.kube = FakeKube(self.time.now)
        self.data_plane = FakeDataPlane(now=self.time.now, wal=settings(self.auto_prune))
        self.kube.apply(WAL, self.spec())
        pinned = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
        database = DataPlaneStatus(identity=self.store.snapshot().store_id)
        self.kube.replace_status(self.cluster(), WALClusterStatus(kafka=pinned, data_plane=database))
        self.make_topics()

    def make_topics(self) -> None:
        """The topics, with their regions and rows."""
        for number, topic in enumerate(TOPICS):
            made = self.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
            made.log.now = self.time.now
            self.store.put_topic(topic, 0)
            for index in range(REGIONS):
                self.add_region(topic, (1024 + number) << 32 | index, datanode=index % 3)
            self.write(topic, ROWS)
            for index in range(REGIONS - 1):  # the last one has flushed nothing: it holds its topic back
                self.flush((1024 + number) << 32 | index)

    @property
    def greptimedb(self) -> dict[str, Any]:
        """The spec of the database."""
        found: dict[str, Any] = CLUSTER["dataPlane"]["greptimedb"]
        return found

    # --- what people and the database do

    def start_run(self, key: Key = RUN, **spec: Any) -> None:
        """Somebody makes a run."""
        self.kube.apply(key, {**SPEC, **spec}, kind=WALPurge)

    def add_region(self, topic: str, region_id: int, datanode: int) -> None:
        """A region is born, at the end of its topic's log."""
        end = self.kafka.topics[topic].log.end
        self.data_plane.regions[region_id] = FakeRegion(datanode, max(0, end - 1), max(0, end - 1))
        self.store.put_region(topic, region_id, leader=datanode, checkpoint=None)
        self.rows[region_id] = []

    def write(self, topic: str, count: int) -> None:
        """The database appends rows, to each region of the topic in turn."""
        regions = [region for (name, region) in self.store.snapshot().region_keys if name == topic]
        log = self.kafka.topics[topic].log
        for number in range(count):
            region = regions[number % len(regions)]
            self.rows[region].append(log.end)
            state = self.data_plane.regions[region]
            state.last, state.memtable_bytes = log.end, state.memtable_bytes + 100
            log.append_of(region)

    def flush(self, region_id: int) -> None:
        """The database flushes a region by itself."""
        self.data_plane.flush_regions([region_id])

    def hold(self, name: str, topics: dict[str, Any], state: HoldState | None = None) -> None:
        """Somebody places a hold; `state`: the operator has looked at it."""
        key = Key(NAMESPACE, name)
        self.kube.apply(key, {"clusterRef": {"name": "wal"}, "topics": topics}, kind=WALHold)
        found = self.kube.get(WALHold, key)
        assert found is not None
        if state is not None:
            self.kube.replace_status(found, WALHoldStatus(state=state, granted=topics))

    def declare_policy(self, name: str = "strict", **spec: Any) -> None:
        """Somebody makes a policy that never runs, with margins."""
        body = {"clusterRef": {"name": "wal"}, "interval": "24h", "suspend": True, **spec}
        self.kube.apply(Key(NAMESPACE, name), body, kind=WALPurgePolicy)

    def annotate(self, **annotations: str) -> None:
        """Somebody annotates the WALCluster."""
        found = {f"seawall.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        self.kube.apply(WAL, self.spec(), annotations=found)

    def spec(self, **greptimedb: Any) -> dict[str, Any]:
        """The spec of the WALCluster, with other addresses."""
        return {**CLUSTER, "dataPlane": {"greptimedb": {**self.greptimedb, "autoPrune": self.auto_prune, **greptimedb}}}

    # --- the operator

    def process(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process, which remembers nothing."""
        calls = calls or Calls(self.check)
        controller = WALPurgeController(
            calls.guard(self.kube), self.observer(calls), self.time, self.time, FakeMeters()
        )
        return Reconciler(controller, may_write=lambda: True)

    def observer(self, calls: Guard | None = None) -> LedgerObserver:
        """The looks of a new process."""
        calls = calls or Calls(self.check)
        kube, clusters = calls.guard(self.kube), calls.guard(FakeKafkaClusters({"kafka:9092": self.kafka}))
        opener = ClusterOpener(kube, clusters, self.open_databases(calls))
        return LedgerObserver(opener, calls.guard(self.intents), self.time, self.time)

    def open_databases(self, calls: Guard) -> DataPlanes:
        """What the addresses of databases lead to."""
        return Databases(self, calls)

    def settle_until(self, process: Reconciler[Any, Any, Any, Any], happened: Callable[[], object]) -> None:
        """Ticks of a run until it has happened; it must, soon."""
        for _ in range(60):
            self.settle(process, ticks=1)
            if happened():
                return
        raise AssertionError(f"it does not happen: {self.run(RUN).status.conditions}")

    def settle(
        self, process: Reconciler[Any, Any, Any, Any] | None = None, ticks: int = MAX_TICKS, key: Key = RUN
    ) -> WALPurge:
        """Ticks until the run is over, or as often as told; time passes while it waits."""
        process = process or self.process()
        for _ in range(ticks):
            ticked = process.tick(key)
            run = self.run(key)
            if run.status.is_finished and ticked.outcome is Outcome.WAITING:
                return run
            self.time.time += timedelta(seconds=WAITS if ticked.after else 0.05)
        if ticks == MAX_TICKS:
            raise AssertionError(f"the run does not end: {self.run(key).status.conditions}")
        return self.run(key)

    # --- what is true

    def run(self, key: Key = RUN) -> WALPurge:
        """The run."""
        found = self.kube.get(WALPurge, key)
        assert found is not None
        return found

    def cluster(self) -> WALCluster:
        """The WALCluster."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        return found

    def log_starts(self) -> dict[str, int]:
        """Where the logs start."""
        return {name: topic.log.log_start for name, topic in sorted(self.kafka.topics.items())}

    def targets(self) -> Mapping[str, Target]:
        """What the run has frozen."""
        return read_targets(self.kube, self.run())

    def records(self) -> dict[str, FenceRecord]:
        """The records with the intents."""
        return dict(_records_in(tuple(self.intents.read(POOL, SHARDS).items())))

    def check(self, after: str = "") -> None:
        """I1 of every row, I2 of markers and intents, and the promises of holds."""
        snapshot, held = self.store.snapshot(), self._held()
        for topic, region_id in snapshot.region_keys:
            if topic in self.foreign or topic not in self.kafka.topics:
                continue
            marker = snapshot.topics[topic].pruned_entry_id or 0
            flushed = self.data_plane.regions[region_id].flushed
            needed = [row for row in self.rows[region_id] if row > flushed]
            if needed:
                assert min(needed) >= self.kafka.topics[topic].log.log_start, f"I1: a row is deleted, after {after}"
                assert min(needed) > marker, f"I1: a restart skips a row, after {after}"
        for topic in set(TOPICS) & self.kafka.topics.keys() - self.foreign:
            marker, start = snapshot.topics[topic].pruned_entry_id or 0, self.kafka.topics[topic].log.log_start
            assert marker >= self.markers.get(topic, 0), f"I2: the marker of {topic} fell"
            self.markers[topic] = marker
            assert start <= held.get(topic, start), f"a hold on {topic} was overtaken, after {after}"
        for topic, record in self.records().items():
            assert record.intent >= self.deleted_to.get(topic, 0), f"I2: the intent of {topic} fell"
            self.deleted_to[topic] = record.intent
            if topic not in self.foreign and topic in self.kafka.topics:
                assert record.intent >= self.kafka.topics[topic].log.log_start, "deleted beyond the intent"

    def _held(self) -> dict[str, int]:
        """Of this Kafka: what was granted on another one is in nobody's hands here."""
        found: dict[str, int] = {}
        for hold in self.kube.list(WALHold, NAMESPACE).items:
            state = hold.status.state
            is_elsewhere = hold.status.granted_cluster_id not in {None, self.kafka.cluster_id}
            if is_elsewhere or (state is not None and state.is_final):
                continue
            for topic, offset in hold.status.granted.items():
                if isinstance(offset, int):
                    found[topic] = min(offset, found.get(topic, offset))
        return found
