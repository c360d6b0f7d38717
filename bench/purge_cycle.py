"""A whole purge of many topics by the operator's own controller, on real Kafka, etcd and API server.

The database is what the controller sees of one (`purge_database.py`). Its clock and the operator's jump over the times
that a run waits (staleAfter, openGrace), so that what is left is work.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry
from purge_database import Database

from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.intents import ConfigMapIntentStore
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.controllers.purge import WALPurgeController
from seawall.domain.dataplane.connection import ClientTLS, DatabaseConnection, User
from seawall.domain.kafka import KafkaConnection, KafkaView
from seawall.handlers.metrics.ledger import WALTelemetry
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import DataPlaneParts, MaintenanceSwitch
from seawall.reconciler import Outcome, Reconciler
from seawall_e2e.loopback import ApiServer

JUMP = timedelta(seconds=30)
"""How far the clocks jump when the run waits: less than staleAfter."""
MAX_TICKS = 300
SAFETY = {"staleAfter": "60s", "openGrace": "70s"}


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
        self._counted, self._planes = counted, AllDataPlanes()

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:
        """The counted parts."""
        parts = self._planes.connect(key, connection)
        return DataPlaneParts(self._counted.port(parts.data_plane), self._counted.port(parts.metadata_store))

    def maintenance_of(
        self, key: Key, metasrv: str, tls: ClientTLS, user: User | None = None, database: str | None = None
    ) -> MaintenanceSwitch:
        """The counted switch."""
        found: MaintenanceSwitch = self._counted.port(self._planes.maintenance_of(key, metasrv, tls, user, database))
        return found

    def forget(self, key: Key) -> None:
        """Drops the clients."""
        self._planes.forget(key)


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
        self, server: ApiServer, servers: Sequence[str], prefix: str, database: Database, namespace: str
    ) -> None:
        self._server, self._numbers, self._namespace = server, itertools.count(), namespace
        self.database, self._counted = database, Counted()
        os.environ["KUBECONFIG"] = str(server.kubeconfig)
        api = KubeApi(connections=4)
        self._kube = KubeAdapter(api, (namespace,))
        counted = self._counted.port
        opener = ClusterOpener(counted(self._kube), counted(ConfluentKafkaClusters()), _CountedPlanes(self._counted))
        observer = LedgerObserver(opener, counted(ConfigMapIntentStore(api)), database.clock, database.clock)
        meter = WALTelemetry(CollectorRegistry(), per_topic=False)
        controller = WALPurgeController(counted(self._kube), observer, database.clock, database.clock, meter)
        self._reconciler = Reconciler(controller, may_write=lambda: True)
        self._declare(servers, prefix)

    def purge(self) -> RunCost:
        """One run of all topics."""
        name = f"run-{next(self._numbers)}"
        self._apply("WALPurge", name, {"clusterRef": {"name": "wal"}, "safety": SAFETY})
        key, cost, ticks = Key(self._namespace, name), RunCost(), 0
        while not (run := self._run(key)).status.is_finished:
            if (ticks := ticks + 1) > MAX_TICKS:
                raise RuntimeError(f"the run does not end: {run.status}")
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

    def _declare(self, servers: Sequence[str], prefix: str) -> None:
        """A WALCluster that has met its Kafka and its database."""
        database = self.database
        greptimedb = {
            "version": "1.1",
            "autoPrune": "Disabled",
            "metasrv": database.url,
            "frontend": database.url,
            "metadataStore": {"etcd": {"endpoints": [database.etcd_url], "prefix": database.prefix}},
        }
        spec = {
            "kafka": {"external": {"bootstrapServers": list(servers)}},
            "topics": {"prefix": prefix, "count": len(database.topics), "replicationFactor": 3},
            "dataPlane": {"greptimedb": greptimedb},
        }
        self._apply("WALCluster", "wal", spec)
        cluster = self._kube.get(WALCluster, Key(self._namespace, "wal"))
        if cluster is None:
            raise RuntimeError("the WALCluster is gone")
        view = ConfluentKafkaAdmin(KafkaConnection(tuple(servers))).view()
        if not isinstance(view, KafkaView):
            raise TypeError(view.message)
        met = KafkaStatus(cluster_id=view.cluster_id, brokers=BrokersStatus(total=3, online=3))
        identity = DataPlaneStatus(identity=database.identity())
        self._kube.replace_status(cluster, WALClusterStatus(kafka=met, data_plane=identity))

    def _apply(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        metadata = {"name": name, "namespace": self._namespace}
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
        self._server.kubectl("apply", "-f", "-", stdin=json.dumps(body))
