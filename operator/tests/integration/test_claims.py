"""Rival claims are found whatever the CRD can pick objects by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus, WALStatus
from seawall.domain.errors import Refused
from seawall_e2e.loopback import ApiServer
from seawall_e2e.waiting import wait_until
from tests.support.kube import CRDS, WAL_CLUSTERS, KubeClient, Object, Refusal, repository_crd
from tests.support.patient import kube_api

pytestmark = pytest.mark.integration

DEFAULT = "greptimedb_wal_topic"
NAMESPACES = ("one", "two")


@pytest.fixture(scope="module")
def bare_kube() -> Iterator[KubeClient]:
    """An API server whose CRD the test may change."""
    with ApiServer() as server:
        client = KubeClient(server)
        for namespace in NAMESPACES:
            client.make_namespace(namespace)
        yield client


def old_crd() -> Object:
    """A CRD that can pick by nothing and gives the prefix no default."""
    crd = repository_crd("walclusters")
    (version,) = crd["spec"]["versions"]
    del version["selectableFields"]
    topics = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["topics"]
    del topics["properties"]["prefix"]["default"]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["wal"]
    return crd


def is_picked(kube: KubeClient) -> bool:
    """Whether the API server picks by prefix: it takes up a changed CRD after a moment."""
    try:
        kube.request("GET", f"{WAL_CLUSTERS.format('one')}?fieldSelector=spec.topics.prefix%3Dx")
    except Refusal as refusal:
        if refusal.status == 400:
            return False
        raise
    return True


def declare(kube: KubeClient, namespace: str, name: str, **topics: object) -> None:
    spec = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"count": 2, **topics}}
    body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALCluster", "metadata": {"name": name}, "spec": spec}
    kube.create(WAL_CLUSTERS.format(namespace), body)


def claims(adapter: KubeAdapter, prefix: str) -> set[str]:
    found = adapter.list_claims(prefix)
    assert found.complete
    return {str(each.metadata.key) for each in found.items}


def assert_nothing_is_dropped(adapter: KubeAdapter) -> None:
    """A status field that the CRD does not have yet: the API server would drop it, and say that all is well."""
    found = adapter.get(WALCluster, Key("one", "mine"))
    assert found is not None
    status = WALClusterStatus(wal=WALStatus(topics=0, purgeable=0, held_back=0, record_shards=(1,)))
    with pytest.raises(Refused, match=r'unknown field "status.wal"'):
        adapter.replace_status(found, status)
    after = adapter.get(WALCluster, Key("one", "mine"))
    assert after == found


def test_an_older_crd_and_a_newer_one_show_the_same_claims(
    bare_kube: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(bare_kube.server.kubeconfig))
    everywhere = KubeAdapter(kube_api(), ())
    by_namespace = KubeAdapter(kube_api(), NAMESPACES)
    with pytest.raises(Refused):
        everywhere.require_served(WALCluster)

    bare_kube.install_crd(old_crd())
    assert not is_picked(bare_kube)
    declare(bare_kube, "one", "no-prefix")
    declare(bare_kube, "one", "mine", prefix="wal")
    declare(bare_kube, "two", "theirs", prefix="wal")
    declare(bare_kube, "two", "other", prefix="wal2")

    def assert_claims() -> None:
        for adapter in (everywhere, by_namespace):
            adapter.require_served(WALCluster)
            assert claims(adapter, "wal") == {"one/mine", "two/theirs"}
            assert claims(adapter, DEFAULT) == {"one/no-prefix"}
            assert claims(adapter, "nobody's") == set()

    assert_claims()
    assert_nothing_is_dropped(by_namespace)
    bare_kube.server.kubectl("replace", "-f", str(CRDS / "walclusters.yaml"))
    wait_until(lambda: is_picked(bare_kube), "the API server picks by prefix")
    assert_claims()
