"""The one disruption in the status, on a real API server, which prunes what a CRD does not have."""

from __future__ import annotations

import uuid

import pytest

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import DisruptionKind
from seawall_e2e.loopback import ApiServer
from tests.support.kube import WAL_CLUSTERS, KubeClient
from tests.support.patient import kube_api

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("api-server")]

OLDER = {
    "name": "datanode-1",
    "uid": "uid-1",
    "datanode": 1,
    "epoch": 7,
    "startTime": "2026-11-22T09:00:00Z",
    "goneTime": "2026-11-22T09:00:04Z",
    "entries": 40_000,
    "bytes": 1_000_000,
    "expectedSeconds": 8,
    "budgetSeconds": 720,
}


def test_the_entry_of_an_older_version_is_read_and_written_as_the_one_of_today(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    client, namespace = KubeClient(api_server), f"disruption-{uuid.uuid4().hex[:8]}"
    client.install_crds()
    client.make_namespace(namespace)
    path = WAL_CLUSTERS.format(namespace)
    spec = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"prefix": namespace, "count": 1}}
    meta = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALCluster", "metadata": {"name": "wal"}}
    client.create(path, {**meta, "spec": spec})
    client.merge(f"{path}/wal/status", {"status": {"restart": {"stage": "Replaying", "restarting": OLDER}}})

    adapter = KubeAdapter(kube_api(), (namespace,))
    found = adapter.get(WALCluster, Key(namespace, "wal"))
    assert found is not None
    entry = found.status.disruption
    assert entry is not None
    assert (entry.kind, entry.name, entry.uid) == (DisruptionKind.DATANODE_RESTART, "datanode-1", "uid-1")
    adapter.replace_status(found, found.status)

    stored = client.request("GET", f"{path}/wal")["status"]
    shared = ("name", "uid", "startTime", "goneTime", "budgetSeconds")
    before = {name: OLDER[name] for name in ("epoch", "entries", "bytes", "expectedSeconds")}
    assert stored["disruption"] == {
        "kind": "DatanodeRestart",
        "datanode": {"id": 1, **before},
        **{name: OLDER[name] for name in shared},
    }
    assert "restarting" not in stored["restart"]
