"""A whole purge of many topics by the operator's own controller, on real Kafka, etcd and API server.

The database is what the controller sees of one: its keys in etcd, and heartbeats by HTTP from this process, in
GreptimeDB's forms. Its clock and the operator's jump over the times that a run waits (staleAfter, openGrace), so that
what is left is work.
"""

from __future__ import annotations

import http.server
import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from prometheus_client import CollectorRegistry
from report import ROOT

from seawall.adapters.dataplane.etcd import MAX_OPERATIONS, Etcd
from seawall.adapters.dataplane.parts import GreptimeDataPlanes
from seawall.adapters.kafka import ConfluentKafkaAdmin
from seawall.adapters.kafka_clusters import ConfluentKafkaClusters
from seawall.adapters.kube import KubeAdapter
from seawall.adapters.kube_api import KubeApi
from seawall.adapters.kube_intents import ConfigMapIntentStore
from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import BrokersStatus, KafkaStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.wal_purge import Stage, WALPurge
from seawall.controllers.ledger_look import LedgerLooks
from seawall.controllers.opened_cluster import ClusterOpener
from seawall.controllers.wal_purge import WALPurgeController
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.dataplane.connection import DataPlaneConnection, EtcdConnection
from seawall.domain.kafka import KafkaConnection, KafkaView
from seawall.handlers.wal_telemetry import WALTelemetry
from seawall.ports import DataPlaneParts, MaintenanceSwitch
from seawall.reconciler import Outcome, Reconciler
from seawall_e2e.loopback import ApiServer
from seawall_e2e.loopback.etcd import EtcdProcess

NAMESPACE = "default"
DATANODES = 3
REGIONS = 10
"""Of each topic; they are one table's."""
FIRST_TABLE = 1024
JUMP = timedelta(seconds=30)
"""How far the clocks jump when the run waits: less than staleAfter."""
SAFETY = {"staleAfter": "60s", "openGrace": "70s"}


@dataclass
class JumpingClock:
    """Both clocks of the operator, and the database's."""

    ahead: timedelta = timedelta(0)

    def now(self) -> datetime:
        """The wall clock."""
        return datetime.now(UTC) + self.ahead

    def trusted(self) -> TrustedTime:
        """The API server's clock jumps as well."""
        now = self.now()
        return TrustedTime(now, ServerTime(now, timedelta(0), timedelta(0)))

    def milliseconds(self) -> int:
        """The monotonic clock."""
        return time.monotonic_ns() // 1_000_000 + self.ahead // timedelta(milliseconds=1)


@dataclass
class Counted:
    """Counts the calls of ports by their names."""

    calls: Counter[str] = field(default_factory=Counter)

    def port(self, port: Any) -> Any:
        """The same port, with its calls counted, and those of the ports that it gives."""
        return _CountedPort(self, port)


class _CountedPort:
    def __init__(self, counted: Counted, port: Any) -> None:
        self._counted, self._port = counted, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if name not in {"connect", "logs"}:
                self._counted.calls[name] += 1
            answer = found(*args, **kwargs)
            return _CountedPort(self._counted, answer) if name in {"connect", "logs"} else answer

        return call


class _CountedPlanes:
    """The DataPlanes port; the parts that it gives are counted."""

    def __init__(self, counted: Counted) -> None:
        self._counted, self._planes = counted, GreptimeDataPlanes()

    def connect(self, key: Key, connection: DataPlaneConnection) -> DataPlaneParts:
        """The counted parts."""
        parts = self._planes.connect(key, connection)
        return DataPlaneParts(self._counted.port(parts.data_plane), self._counted.port(parts.metadata_store))

    def maintenance_of(self, key: Key, metasrv: str) -> MaintenanceSwitch:
        """The counted switch."""
        found: MaintenanceSwitch = self._counted.port(self._planes.maintenance_of(key, metasrv))
        return found

    def forget(self, key: Key) -> None:
        """Drops the clients."""
        self._planes.forget(key)


class Database:
    """Topics, tables and datanodes in etcd, and a metasrv that tells of its datanodes' heartbeats.

    Attributes:
        flushed: what every region of a topic has flushed, by topic.
        clock: whose time the heartbeats have.
    """

    def __init__(self, etcd: EtcdProcess, topics: Sequence[str], clock: JumpingClock) -> None:
        self.flushed = dict.fromkeys(topics, 0)
        self.clock, self._topics = clock, list(topics)
        self._fill(Etcd(EtcdConnection((etcd.url,))))
        database = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = database.heartbeats()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:  # a line for each request would be noise
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def heartbeats(self) -> bytes:
        """The newest heartbeat of each datanode: of now."""
        now = int(self.clock.now().timestamp() * 1000)
        return json.dumps([[self._heartbeat(node, now)] for node in range(DATANODES)]).encode()

    def _heartbeat(self, node: int, now: int) -> dict[str, Any]:
        regions = [
            {
                "id": region,
                "engine": "mito",
                "role": "Leader",
                "region_manifest": {"Mito": {"manifest_version": 1, "flushed_entry_id": self.flushed[topic]}},
                "memtable_size": 0,
            }
            for table, topic in enumerate(self._topics)
            if table % DATANODES == node
            for region in _regions(table)
        ]
        return {"timestamp_millis": now, "id": node, "addr": "a", "node_epoch": 1, "region_stats": regions}

    def _fill(self, etcd: Etcd) -> None:
        keys: dict[str, str] = {
            f"__node_address/0/{node}": json.dumps({"peer": {"id": node, "addr": "a"}}) for node in range(DATANODES)
        }
        for table, topic in enumerate(self._topics):
            keys |= _table_keys(table, topic)
        pairs = iter(keys.items())
        while page := dict(itertools.islice(pairs, MAX_OPERATIONS)):
            etcd.write(page, [])


def _regions(table: int) -> list[int]:
    return [(FIRST_TABLE + table) << 32 | number for number in range(REGIONS)]


def _table_keys(table: int, topic: str) -> dict[str, str]:
    """The keys of one table, all of whose regions write to one topic."""
    node, identifier = table % DATANODES, FIRST_TABLE + table
    option = json.dumps({"wal.provider": "kafka", "wal.kafka.topic": topic})
    options = {str(number): option for number in range(REGIONS)}
    datanode_table = {"table_id": identifier, "regions": list(range(REGIONS)), "region_wal_options": options}
    leader = {"id": node, "addr": "a"}
    routes = [{"region": {"id": region, "name": ""}, "leader_peer": leader} for region in _regions(table)]
    return {
        f"__topic_name/kafka/{topic}": '{"pruned_entry_id":0}',
        f"__dn_table/{node}/{identifier}": json.dumps(datanode_table),
        f"__table_route/{identifier}": json.dumps({"type": "physical", "region_routes": routes, "version": 0}),
        **{f"__topic_region/{topic}/{region}": "" for region in _regions(table)},
    }


@dataclass
class RunCost:
    """What the ticks of a run took: those that did something, and those that looked and had to wait, in seconds."""

    worked: float = 0.0
    waited: float = 0.0
    ticks: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    """Of the ports, by those ticks that did something."""

    def add(self, outcome: Outcome, seconds: float, calls: Counter[str]) -> None:
        """One tick."""
        if outcome is Outcome.WAITING:
            self.waited += seconds
            return
        self.worked, self.ticks = self.worked + seconds, self.ticks + 1
        self.calls += calls

    def __str__(self) -> str:
        return (
            f"run {self.worked:.2f} s in {self.ticks} ticks and {self.waited:.2f} s; {dict(sorted(self.calls.items()))}"
        )


class Purges:
    """Runs of one WALCluster, one after another, by a controller that runs in this process."""

    def __init__(
        self, server: ApiServer, servers: Sequence[str], prefix: str, database: Database, etcd: EtcdProcess
    ) -> None:
        self._server, self._numbers = server, itertools.count()
        self.database, self._counted = database, Counted()
        os.environ["KUBECONFIG"] = str(server.kubeconfig)
        server.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        api = KubeApi(connections=4)
        self._kube = KubeAdapter(api, (NAMESPACE,))
        counted = self._counted.port
        opener = ClusterOpener(counted(self._kube), counted(ConfluentKafkaClusters()), _CountedPlanes(self._counted))
        looks = LedgerLooks(opener, counted(ConfigMapIntentStore(api)), database.clock, database.clock)
        meter = WALTelemetry(CollectorRegistry(), per_topic=False)
        controller = WALPurgeController(counted(self._kube), looks, database.clock, database.clock, meter)
        self._reconciler = Reconciler(controller, may_write=lambda: True)
        self._declare(servers, prefix, len(database.flushed), database.url, etcd.url)

    def purge(self) -> RunCost:
        """One run of all topics."""
        name = f"run-{next(self._numbers)}"
        self._apply("WALPurge", name, {"clusterRef": {"name": "wal"}, "safety": SAFETY})
        key, cost = Key(NAMESPACE, name), RunCost()
        while not (run := self._run(key)).status.is_finished:
            self._counted.calls.clear()
            started = time.monotonic()
            ticked = self._reconciler.tick(key)
            cost.add(ticked.outcome, time.monotonic() - started, self._counted.calls)
            if ticked.after:
                self.database.clock.ahead += JUMP
        topics = run.status.topics
        if run.status.stage is not Stage.COMPLETED or topics is None or topics.purged != topics.total:
            raise RuntimeError(f"not all topics were purged: {run.status}")
        return cost

    def _run(self, key: Key) -> WALPurge:
        run = self._kube.get(WALPurge, key)
        if run is None:
            raise RuntimeError(f"there is no run {key}")
        return run

    def _declare(self, servers: Sequence[str], prefix: str, count: int, metasrv: str, etcd: str) -> None:
        greptimedb = {
            "version": "1.1",
            "autoPrune": "Disabled",
            "metasrv": metasrv,
            "frontend": metasrv,
            "metadataStore": {"etcd": {"endpoints": [etcd]}},
        }
        spec = {
            "kafka": {"external": {"bootstrapServers": list(servers)}},
            "topics": {"prefix": prefix, "count": count, "replicationFactor": 3},
            "dataPlane": {"greptimedb": greptimedb},
        }
        self._apply("WALCluster", "wal", spec)
        cluster = self._kube.get(WALCluster, Key(NAMESPACE, "wal"))
        if cluster is None:
            raise RuntimeError("the WALCluster is gone")
        view = ConfluentKafkaAdmin(KafkaConnection(tuple(servers))).view()
        if not isinstance(view, KafkaView):
            raise TypeError(view.message)
        met = KafkaStatus(cluster_id=view.cluster_id, brokers=BrokersStatus(total=3, online=3))
        self._kube.replace_status(cluster, WALClusterStatus(kafka=met))

    def _apply(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
        self._server.kubectl("apply", "-f", "-", stdin=json.dumps(body))
