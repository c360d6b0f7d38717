"""docs/examples/greptimedb-operator is applied as it is to an API server with the real CRDs, and fits together."""

from __future__ import annotations

import json

import pytest
import yaml

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.declared import Database
from seawall.domain.dataplane.greptimedb_cluster import GreptimeDBCluster
from seawall.domain.dataplane.pasted import not_pasted
from seawall.domain.walconfig.render import render_wal_config
from seawall.observe.declared_database import find_database, read_cluster
from tests.integration.test_rbac import install_rights
from tests.support.greptimedb import EXAMPLE, example, install_greptimedb_crds
from tests.support.patient import kube_api
from tests.support.site import Site

pytestmark = pytest.mark.integration


def apply_example(site: Site) -> None:
    install_greptimedb_crds(site.kube)
    kustomization = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text())
    assert {*kustomization["resources"], "kustomization.yaml"} == {path.name for path in EXAMPLE.iterdir()}
    for file in kustomization["resources"]:
        said = example(file.removesuffix(".yaml"))
        site.kube.server.kubectl("apply", "-n", site.namespace, "-f", "-", stdin=json.dumps(said))


def find(site: Site, kube: KubeAdapter) -> tuple[WALCluster, Database | NoDataPlane]:
    cluster = kube.get(WALCluster, Key(site.namespace, "wal"))
    assert cluster is not None
    database = find_database(kube, cluster)
    assert isinstance(database, Database | NoDataPlane)
    return cluster, database


def test_the_example_leads_to_a_database_with_the_configuration_pasted_and_its_restarts_gated(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_example(site)
    monkeypatch.setenv("KUBECONFIG", str(site.kube.server.kubeconfig))
    kube = KubeAdapter(kube_api(), [site.namespace])
    cluster, database = find(site, kube)
    assert isinstance(database, Database), database
    assert database.cluster == "db"
    named = read_cluster(kube, cluster)
    assert isinstance(named, GreptimeDBCluster)
    assert not isinstance(cluster.spec, InvalidSpec)
    assert not_pasted(named, render_wal_config(Key("default", "db"), cluster.spec, database.version)) == ()
    assert all(each.keeps_all for each in database.datanodes)
    assert [each.stateful_set for each in database.datanodes] == ["db-datanode"]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_charts_rights_are_enough_and_without_them_one_sentence_says_which_value_to_set(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, enabled: bool
) -> None:
    apply_example(site)
    account = install_rights(site, greptimedb={"enabled": enabled}, namespaces=[site.namespace])
    monkeypatch.setenv("KUBECONFIG", str(site.kube.server.kubeconfig_of(site.namespace, account)))
    _, database = find(site, KubeAdapter(kube_api(), [site.namespace]))
    if enabled:
        assert isinstance(database, Database)
    else:
        assert isinstance(database, NoDataPlane)
        assert database.message.endswith("set greptimedbOperator.enabled: true in the chart's values")
