"""GreptimeDBClusters by the Kube port: the same from an API server with the real CRDs, and from the fake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Key
from seawall.domain.dataplane.declared import DatanodeSet
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster, Storage
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed, FakeBed
from tests.fakes.kube import FakeKube
from tests.support.greptimedb import GreptimeDBRole, install_greptimedb_crds
from tests.support.kube import KubeClient
from tests.support.patient import kube_api

pytestmark = pytest.mark.xdist_group("api-server")

ETCD = {"backendStorage": {"etcd": {"endpoints": ["etcd:2379"], "storeKeyPrefix": "p/"}}}
FOUND_ETCD: dict[str, Any] = {"storage": Storage.ETCD, "etcd_endpoints": ("etcd:2379",), "etcd_prefix": "p/"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as greptimedb-operator's quick start has it": (
        {
            "base": {"main": {"image": "docker.io/greptime/greptimedb:v1.1.4"}},
            "frontend": {"replicas": 1},
            "meta": {"replicas": 1, **ETCD},
            "datanode": {"replicas": 3},
        },
        {
            "datanodes": (DatanodeSet("db-datanode", "spec.datanode", 3, 0),),
            "tag": "v1.1.4",
            "frontend": "db-frontend",
            **FOUND_ETCD,
        },
    ),
    "with Kafka, texts, ports and a partition": (
        {
            "base": {"main": {"image": "registry:5000/greptimedb:v1.1.4"}},
            "httpPort": 5000,
            "frontend": {},
            "meta": {"httpPort": 5001, "config": "[wal]", **ETCD},
            "datanode": {
                "httpPort": 5002,
                "config": "[wal]\nmax_batch_bytes = '1MB'",
                "rollingUpdate": {"partition": 1000},
                "template": {"main": {"image": "greptimedb:v1.2.0"}},
            },
            "wal": {"kafka": {"brokerEndpoints": ["kafka:9092"]}},
        },
        {
            "datanodes": (
                DatanodeSet("db-datanode", "spec.datanode", 1, 1000, "[wal]\nmax_batch_bytes = '1MB'", 5002),
            ),
            "tag": "v1.2.0",
            "meta_config": "[wal]",
            "meta_port": 5001,
            "frontend": "db-frontend",
            "frontend_port": 5000,
            "brokers": ("kafka:9092",),
            **FOUND_ETCD,
        },
    ),
    "with groups": (
        {
            "meta": {
                "backendStorage": {
                    "postgresql": {"host": "pg", "port": 5432, "credentialsSecretName": "pg", "database": "m"}
                }
            },
            "frontendGroups": [{"name": "read"}, {"name": "write"}],
            "datanodeGroups": [
                {"name": "a", "replicas": 2, "rollingUpdate": {"partition": 2}},
                {"name": "b", "template": {"main": {"image": "greptimedb:v1.1.0"}}},
            ],
        },
        {
            "datanodes": (
                DatanodeSet("db-datanode-a", "spec.datanodeGroups[0]", 2, 2),
                DatanodeSet("db-datanode-b", "spec.datanodeGroups[1]", 1, 0),
            ),
            "frontend": "db-frontend-read",
            "storage": Storage.POSTGRESQL,
        },
    ),
    "with names and no groups": (
        {"meta": ETCD, "frontend": {"name": "read"}, "datanode": {"name": "hot", "replicas": 2}},
        {
            "datanodes": (DatanodeSet("db-datanode-hot", "spec.datanode", 2, 0),),
            "frontend": "db-frontend-read",
            **FOUND_ETCD,
        },
    ),
    "with MySQL, and without a frontend": (
        {
            "meta": {"backendStorage": {"mysql": {"host": "my", "port": 3306, "credentialsSecretName": "my"}}},
            "datanode": {"replicas": 0},
        },
        {"datanodes": (DatanodeSet("db-datanode", "spec.datanode", 0, 0),), "storage": Storage.MYSQL},
    ),
}


class Maker(Protocol):
    """Makes what is read."""

    def put(self, key: Key, spec: dict[str, Any], plural: str = "greptimedbclusters") -> None: ...


@dataclass(frozen=True, slots=True)
class FakeMaker:
    """Puts what is expected: the fake has values, and no JSON."""

    kube: FakeKube
    expected: GreptimeDBCluster | Absence

    def put(self, key: Key, spec: dict[str, Any], plural: str = "greptimedbclusters") -> None:  # noqa: ARG002
        self.kube.greptimedb_clusters[key] = self.expected


@pytest.fixture
def maker(bed: Bed, request: pytest.FixtureRequest) -> Iterator[Any]:
    """By what is expected, who makes it, where greptimedb-operator is installed."""
    if isinstance(bed, FakeBed):
        yield lambda expected: FakeMaker(bed.kube, expected)
        return
    server: ApiServer = request.getfixturevalue("api_server")
    client = KubeClient(server)
    install_greptimedb_crds(client)
    yield lambda _: GreptimeDBRole(client)


@pytest.mark.parametrize("case", CASES)
def test_what_is_declared_is_read(bed: Bed, maker: Any, case: str) -> None:
    spec, found = CASES[case]
    key = Key(bed.namespace, "db")
    expected = GreptimeDBCluster(key, **found)
    maker(expected).put(key, spec)
    assert bed.kube.get_greptimedb_cluster(key) == expected


def test_where_none_is_none_is_read(bed: Bed, maker: Any) -> None:
    maker(Absence.MISSING)
    assert bed.kube.get_greptimedb_cluster(Key(bed.namespace, "nobody")) is Absence.MISSING


def test_a_standalone_is_told_from_a_cluster(bed: Bed, maker: Any) -> None:
    key = Key(bed.namespace, "alone")
    maker(Absence.STANDALONE).put(key, {"base": {"main": {"image": "greptimedb:v1.1.4"}}}, "greptimedbstandalones")
    assert bed.kube.get_greptimedb_cluster(key) is Absence.STANDALONE


@pytest.mark.integration
def test_without_its_crds_people_are_told_to_install_it(beds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ApiServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        kube = KubeAdapter(kube_api(), [])
        assert kube.get_greptimedb_cluster(Key("default", "db")) is Absence.NO_CRD
