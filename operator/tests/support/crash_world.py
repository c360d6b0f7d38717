"""A purge over 3 topics of 4 regions each on real parts, as often as one likes side by side, on one database.

Each world has a namespace, a WALCluster, a topic prefix and a table of its own, so worlds do not meet. What dies is the
operator's process: all that it remembers is made anew. Its connections are shared by all worlds: nothing is decided by
what they remember.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from refdb.errors import DatabaseError
from refdb.meta.etcd import Etcd
from refdb.metasrv.server import register_topics
from refdb.metasrv.state import ClusterState
from refdb.metasrv.tables import Tables
from refdb.repeats import until_available
from refdb.sql.statements import CreateTable, parse_statement
from refdb.wal.options import WalOptions
from refdb.wal.topics import require_topics
from refdb.web import Client
from seawall.adapters.clock import MonotonicStopwatch, ServerDates, SystemClock
from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.intents import ConfigMapIntentStore
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.purge import WALPurgeController
from seawall.domain.dataplane.connection import DataPlaneConnection
from seawall.domain.kafka import KafkaConnection, KafkaView
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.observe.connections import resolve_data_plane
from seawall.observe.declared_database import declared_database
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import DataPlaneParts
from seawall.reconciler import Outcome, Reconciler
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import Bound, WaitedInVain, wait_until
from tests.fakes.meters import FakeMeters
from tests.support.kafka import KafkaEyes
from tests.support.kube import OBJECTS, WAL_CLUSTERS, KubeClient, Object
from tests.support.mortal import Deaths, Died
from walrecord.region import region_id

TOPICS, REGIONS_OF_TOPIC, ROUNDS = 3, 4, 3
REGIONS = TOPICS * REGIONS_OF_TOPIC
RUN_SECONDS = 480.0
"""A run waits two graces of 16 s, and two more after a death, beside many others, on a machine that may be slow."""
LONGEST_PAUSE = 1.0
SPEC = {
    "clusterRef": {"name": "wal"},
    "flush": {"whenBehindEntries": 1, "maxConcurrent": 2, "timeout": "60s"},
    "safety": {"staleAfter": "6s", "openGrace": "16s"},
}
TABLE = "CREATE TABLE {} (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k)) PARTITION BY RANGE COLUMNS (k) ({})"


@dataclass
class CrashBed:
    """The real parts that all worlds share. `KUBECONFIG` must name the API server."""

    kube_client: KubeClient
    kafka: KafkaProcesses
    etcd: EtcdProcess
    database: RefDbProcesses
    data_planes: AllDataPlanes = field(default_factory=AllDataPlanes)
    clusters: ConfluentKafkaClusters = field(default_factory=ConfluentKafkaClusters)
    worlds: list[CrashWorld] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dates = ServerDates()
        self.kube = KubeAdapter(KubeApi(32, self.dates), ())
        self.intents = ConfigMapIntentStore(KubeApi(32, self.dates))
        self.eyes = KafkaEyes(self.kafka.bootstrap_servers)
        self.metadata = Etcd(self.etcd.url, f"{self.database.prefix}/")
        self.cluster_id = self._view().cluster_id

    def new_worlds(self, count: int) -> list[CrashWorld]:
        """Worlds with the same history, each with topics, a table and rows of its own."""
        made = [CrashWorld(self, f"w{len(self.worlds) + n}x{unlike_shards()}") for n in range(count)]
        self.worlds += made
        with ThreadPoolExecutor(count) as pool:
            for done in [pool.submit(world.make) for world in made]:
                done.result()
        return made

    def _view(self) -> KafkaView:
        view = self.clusters.connect(Key("bed", "bed"), KafkaConnection(self.kafka.bootstrap_servers)).view()
        assert isinstance(view, KafkaView), view
        return view


def unlike_shards() -> str:
    """A word such that the topics of its world are in shards of their own: then each run writes as many of them."""
    while True:
        word = uuid.uuid4().hex[:6]
        if len(shards_of(f"crash_{word}_{n}" for n in range(TOPICS))) == TOPICS:
            return word


@dataclass
class CrashWorld:
    """All that outlives a process: one WALCluster, its topics, its table and a run."""

    bed: CrashBed
    name: str
    keys: list[str] = field(default_factory=list)
    """The rows that were acknowledged."""
    deaths: int = 0
    table_id: int = 0

    def __post_init__(self) -> None:
        self.namespace = f"crash-{self.name}"
        self.prefix = f"crash_{self.name.rsplit('x', 1)[1]}"
        self.topics = tuple(f"{self.prefix}_{number}" for number in range(TOPICS))
        self.run_key = Key(self.namespace, "run")

    # --- what people and the database do

    def make(self) -> None:
        """Topics, a table whose regions are on them in turn, rows, and a WALCluster that has met its Kafka."""
        bed = self.bed
        options = WalOptions({"bootstrap.servers": ",".join(bed.kafka.bootstrap_servers)}, topics=self.topics)
        until_available(lambda: require_topics(options))  # as the database does
        register_topics(bed.metadata, self.topics)
        bounds = [f"PARTITION p{n} VALUES LESS THAN ('k{n + 1:02}')" for n in range(REGIONS - 1)]
        bounds.append(f"PARTITION p{REGIONS - 1} VALUES LESS THAN (MAXVALUE)")
        statement = parse_statement(TABLE.format(self.name, ", ".join(bounds)))
        assert isinstance(statement, CreateTable)
        state = ClusterState(lease=4.0, dead_after=5.0)  # as a second metasrv that has heard of all datanodes
        for number, address in enumerate(bed.database.addresses):
            state.heartbeat({"stat": {"id": number, "addr": address, "node_epoch": 1}, "terms": [], "version": "1.1.0"})
        tables = Tables(bed.metadata, state, Client(), self.topics)

        def is_made() -> bool:
            try:
                self.table_id = tables.create(statement.table)
            except DatabaseError:  # brokers learn of a new topic one after another
                return False
            return True

        wait_until(is_made, f"table {self.name} is made")
        bed.kube_client.make_namespace(self.namespace)
        self._declare()
        self._write_history()

    def _write_history(self) -> None:
        """Rows in all regions; those of the last region of each topic are not flushed: it holds the topic back."""
        for number in range(ROUNDS):
            self.write_everywhere(number)
        for number in range(REGIONS - TOPICS):
            answer = self.bed.database.sql(f"ADMIN flush_region({region_id(self.table_id, number + 1)})")
            assert "code" not in answer, answer

    def write_everywhere(self, number: int) -> None:
        """One row into each region, one after another."""
        for region in range(REGIONS):
            key = f"k{region:02}-{number}"
            insert = f"INSERT INTO {self.name}(ts, k) VALUES ({number}, '{key}')"  # noqa: S608 - our own words

            def is_taken(insert: str = insert) -> bool:
                return "code" not in self.bed.database.sql(insert)

            wait_until(is_taken, insert)  # a new region gets its lease by the next heartbeat
            self.keys.append(key)

    def start_run(self) -> None:
        """Somebody makes a run."""
        self.bed.kube_client.create(OBJECTS.format(self.namespace, "walpurges"), self._object("WALPurge", "run", SPEC))

    # --- the operator

    def process(self, deaths: Deaths) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process, which remembers nothing."""
        bed, clock, stopwatch = self.bed, SystemClock(self.bed.dates), MonotonicStopwatch()
        kube = deaths.guard(bed.kube)
        opener = ClusterOpener(kube, deaths.guard(bed.clusters), deaths.guard(bed.data_planes))
        observer = LedgerObserver(opener, deaths.guard(bed.intents), clock, stopwatch)
        return Reconciler(WALPurgeController(kube, observer, clock, stopwatch, FakeMeters()), may_write=lambda: True)

    def settle(self, deaths: Deaths) -> None:
        """Ticks until the run is over. A process that dies is followed by one that lives."""
        process = self.process(deaths)
        bound = Bound(RUN_SECONDS)
        while not bound.is_over():
            try:
                ticked = process.tick(self.run_key)
            except Died:
                self.deaths += 1
                process = self.process(Deaths())
                continue
            if ticked.outcome is Outcome.WAITING and self.run().status.is_finished:
                return
            time.sleep(min(LONGEST_PAUSE, LONGEST_PAUSE if ticked.after is None else ticked.after))
        raise WaitedInVain(f"the run of {self.name} does not end: {self.run().status}")

    # --- what is true

    def run(self) -> WALPurge:
        """The run."""
        found = self.bed.kube.get(WALPurge, self.run_key)
        assert found is not None
        return found

    def end_state(self) -> Any:
        """Log starts, markers, intents and what the run says, with topics by their numbers."""
        status = self.run().status
        assert status.topics is not None
        conditions = [(each.type, each.status, each.reason, each.message) for each in status.conditions]
        markers = self._parts().metadata_store.snapshot().topics
        return (
            self._by_number(self.bed.eyes.log_starts(f"{self.prefix}_")),
            self._by_number({name: markers[name].pruned_entry_id for name in self.topics}),
            self._by_number(self.intents()),
            self._by_number({row.topic: (row.log_start, row.purge_to) for row in status.planned}),
            (status.stage, status.entries_deleted, status.topics, status.skipped, conditions),
        )

    def intents(self) -> dict[str, int]:
        """Topic → how far Seawall meant to delete."""
        found = self.bed.intents.read(PoolId(self.namespace, self.bed.cluster_id, self.prefix), shards_of(self.topics))
        return {name: record.intent for name, record in read_shards(found).of_topics(self.topics).items()}

    def missing(self) -> set[str]:
        """Acknowledged rows that the database does not have."""
        return set(self.keys) - {row[0] for row in self.bed.database.rows(f"SELECT k FROM {self.name}")}  # noqa: S608 - same

    def _by_number(self, of_topics: Any) -> list[Any]:
        return [of_topics[name] for name in self.topics]

    def _declare(self) -> None:
        database = self.bed.database
        greptimedb = database.declared(autoPrune="Disabled")
        spec = {
            "kafka": {"external": {"bootstrapServers": list(self.bed.kafka.bootstrap_servers)}},
            "topics": {"prefix": self.prefix, "count": TOPICS, "replicationFactor": 1},
            "dataPlane": {"greptimedb": greptimedb},
        }
        self.bed.kube_client.create(WAL_CLUSTERS.format(self.namespace), self._object("WALCluster", "wal", spec))
        store_id = self._parts().metadata_store.head().store_id
        met = KafkaStatus(cluster_id=self.bed.cluster_id, brokers=BrokersStatus(total=3, online=3))
        self.bed.kube.replace_status(
            self._cluster(), WALClusterStatus(kafka=met, data_plane=DataPlaneStatus(identity=store_id))
        )

    def _cluster(self) -> WALCluster:
        found = self.bed.kube.get(WALCluster, Key(self.namespace, "wal"))
        assert found is not None
        return found

    def _parts(self) -> DataPlaneParts:
        spec = self._cluster().spec
        assert not isinstance(spec, InvalidSpec)
        assert spec.greptimedb is not None
        connection = resolve_data_plane(declared_database(spec.greptimedb), lambda _: None)
        assert isinstance(connection, DataPlaneConnection)
        return self.bed.data_planes.connect(Key(self.namespace, "wal"), connection)

    def _object(self, kind: str, name: str, spec: Object) -> Object:
        return {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def settle_all(worlds: Sequence[CrashWorld], deaths: Sequence[Deaths]) -> None:
    """All runs at once, each to its end: they mostly wait."""
    with ThreadPoolExecutor(len(worlds)) as pool:
        for world in worlds:
            world.start_run()
        for done in [pool.submit(world.settle, death) for world, death in zip(worlds, deaths, strict=True)]:
            done.result()
