"""Whatever is uninstalled or upgraded: CRDs, objects and topics stay, and nobody waits for an operator that is gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seawall_e2e.cluster import CHARTS, CRDS, REPOSITORY, WAL_CLUSTER_CRD, WALCluster, install_crds
from seawall_e2e.commands import helm, kubectl, run
from seawall_e2e.objects import find, get
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

CRD = "customresourcedefinitions"


@pytest.fixture
def wal(site: Site) -> WALCluster:
    """A pool of two topics that is Ready."""
    site.install()
    made = site.wal_cluster()
    made.apply(site.pool(2))
    made.wait("Ready")
    return made


@pytest.fixture
def _crds_as_before() -> Iterator[None]:
    """Puts the CRDs' release back, which the demo has, too."""
    yield
    install_crds()


def identity(wal: WALCluster) -> tuple[str, object]:
    found = wal.find()
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]
    return found["metadata"]["uid"], found["spec"]


def test_without_operator_topics_stay_and_a_retaining_walcluster_goes_at_once(site: Site, wal: WALCluster) -> None:
    before = identity(wal)

    site.operator.uninstall()

    assert identity(wal) == before
    assert len(site.topics()) == 2
    wal.delete(within=10)
    assert len(site.topics()) == 2


@pytest.mark.usefixtures("_crds_as_before")
def test_without_the_crds_release_the_crds_and_their_objects_stay(site: Site, wal: WALCluster) -> None:
    before = identity(wal)

    helm("uninstall", "seawall-crds", "--namespace", "default", "--wait")

    for crd in CRDS:
        assert "deletionTimestamp" not in get(None, CRD, crd)["metadata"]
    assert identity(wal) == before
    assert len(site.topics()) == 2
    wal.apply(site.pool(3))
    wal.wait("Ready")


@pytest.mark.usefixtures("_crds_as_before")
def test_helm_upgrades_the_crds_and_leaves_the_objects_as_they_are(site: Site, wal: WALCluster, tmp_path: Path) -> None:
    before = identity(wal)
    chart = tmp_path / "seawall-crds"
    shutil.copytree(CHARTS / "seawall-crds", chart)
    template = chart / "templates/walclusters.yaml"
    template.write_text(template.read_text().replace("Whether all is as declared", "Whether all is well"))

    install_crds(chart)

    columns = get(None, CRD, WAL_CLUSTER_CRD)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert columns[0]["description"] == "Whether all is well"
    assert identity(wal) == before
    wal.apply(site.pool(3))
    wal.wait("Ready")
    assert len(site.topics()) == 3


def test_a_deleting_walcluster_deletes_its_topics_and_no_others(site: Site, wal: WALCluster) -> None:
    other = site.wal_cluster("other")
    other.apply({**site.pool(2, deletionPolicy="Delete"), "prefix": f"{site.prefix}_2"})
    other.wait("Ready")
    assert len(site.topics()) == 4

    other.delete()

    assert sorted(site.topics()) == [f"{site.prefix}_0", f"{site.prefix}_1"]
    identity(wal)


def documented_patch(namespace: str, name: str) -> str:
    """The command of docs/install.md that takes the finalizer off, for another object."""
    guide = (REPOSITORY / "docs/install.md").read_text()
    found = re.search(r"^kubectl -n databases patch walcluster wal .*?\n```", guide, re.MULTILINE | re.DOTALL)
    assert found is not None
    command = found[0].removesuffix("```")
    return command.replace("-n databases", f"-n {namespace}").replace("walcluster wal", f"walcluster {name}")


def test_the_documented_patch_frees_a_walcluster_whose_operator_is_gone(site: Site, wal: WALCluster) -> None:
    wal.apply(site.pool(2, deletionPolicy="Delete"))
    wal.wait_event("FinalizerAdded")
    site.operator.uninstall()
    kubectl("-n", site.namespace, "delete", "walc", wal.name, "--wait=false")
    held = wal.find()
    assert held is not None
    assert held["metadata"]["finalizers"] == ["seawall.dev/topics"]

    run("bash", "-c", documented_patch(site.namespace, wal.name))

    assert wal.find() is None
    assert len(site.topics()) == 2


def test_a_namespace_with_a_deleting_walcluster_can_be_deleted_and_the_operator_serves_on(site: Site) -> None:
    """The event of the release is in the operator's log only: a terminating namespace takes no new object."""
    site.install("scope.releaseFinalizers=true", f"scope.namespaces={{{site.namespace},{site.operator.namespace}}}")
    wal = site.wal_cluster()
    wal.apply(site.pool(2, deletionPolicy="Delete"))
    wal.wait("Ready")
    (pod,) = site.operator.pods()

    kubectl("delete", "namespace", site.namespace, "--wait=false")

    wait_until(
        lambda: find(None, "namespaces", site.namespace) is None,
        "the namespace is gone",
        within=60,
        explain=site.operator.log,
    )
    assert "the topics stay, because the namespace is being deleted" in site.operator.log(400)
    assert len(site.topics()) == 2
    there = WALCluster(site.operator.namespace, "there")
    there.apply(site.pool(3))
    there.wait("Ready")
    assert site.operator.pods() == [pod]
