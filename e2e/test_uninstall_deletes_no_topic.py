"""Whatever is uninstalled or upgraded: CRDs, objects and topics stay, and nobody waits for an operator that is gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.cluster import CHARTS, CRDS, REPOSITORY, WAL_CLUSTER_CRD, WALCluster, install_crds
from seawall_e2e.commands import helm, kubectl, run
from seawall_e2e.objects import find, get
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

CRD = "customresourcedefinitions"


def ready(site: Site, name: str = "wal", **more: Any) -> WALCluster:
    """A pool of two topics that is Ready."""
    made = site.wal_cluster(name)
    made.apply(site.pool(2, **more))
    made.wait("Ready")
    return made


@pytest.fixture(scope="module")
def wal(shared_site: Site) -> WALCluster:
    """One whose operator stays."""
    shared_site.install()
    return ready(shared_site)


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


@pytest.mark.usefixtures("_crds_as_before")
def test_crds_are_upgraded_and_stay_without_their_release_and_so_do_their_objects(
    shared_site: Site, wal: WALCluster, tmp_path: Path
) -> None:
    before = identity(wal)
    chart = tmp_path / "seawall-crds"
    shutil.copytree(CHARTS / "seawall-crds", chart)
    template = chart / "templates/walclusters.yaml"
    template.write_text(template.read_text().replace("Whether all is as declared", "Whether all is well"))

    install_crds(chart)

    columns = get(None, CRD, WAL_CLUSTER_CRD)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert columns[0]["description"] == "Whether all is well"
    assert identity(wal) == before
    wal.apply(shared_site.pool(3))
    wal.wait("Ready")
    shared_site.wait_for_topics(3)
    before = identity(wal)

    helm("uninstall", "seawall-crds", "--namespace", "default", "--wait")

    for crd in CRDS:
        assert "deletionTimestamp" not in get(None, CRD, crd)["metadata"]
    assert identity(wal) == before
    assert len(shared_site.topics()) == 3
    wal.apply(shared_site.pool(4))
    wal.wait("Ready")
    shared_site.wait_for_topics(4)


def test_a_deleting_walcluster_deletes_its_topics_and_no_others(shared_site: Site, wal: WALCluster) -> None:
    before = shared_site.topics()
    other = ready(shared_site, "other", prefix=f"{shared_site.prefix}_other", deletionPolicy="Delete")
    shared_site.wait_for_topics(len(before) + 2)

    other.delete()

    assert shared_site.wait_for_topics(len(before)) == before
    identity(wal)


def documented_patch(namespace: str, name: str) -> str:
    """The command of docs/install.md that takes the finalizer off, for another object."""
    guide = (REPOSITORY / "docs/install.md").read_text()
    found = re.search(r"^kubectl -n databases patch walcluster wal .*?\n```", guide, re.MULTILINE | re.DOTALL)
    assert found is not None
    command = found[0].removesuffix("```")
    return command.replace("-n databases", f"-n {namespace}").replace("walcluster wal", f"walcluster {name}")


def test_without_operator_objects_and_topics_stay_and_whoever_is_deleted_goes(site: Site) -> None:
    """One that retains its topics goes at once, and one that would delete them by the documented patch."""
    site.install()
    retaining, deleting = ready(site), ready(site, "deleting", prefix=f"{site.prefix}_2", deletionPolicy="Delete")
    before = [identity(wal) for wal in (retaining, deleting)]
    site.wait_for_topics(4)

    site.operator.uninstall()

    assert [identity(wal) for wal in (retaining, deleting)] == before
    assert len(site.topics()) == 4
    retaining.delete(within=10)
    kubectl("-n", site.namespace, "delete", "walc", deleting.name, "--wait=false")
    held = deleting.find()
    assert held is not None
    assert held["metadata"]["finalizers"] == ["seawall.dev/topics"]

    run("bash", "-c", documented_patch(site.namespace, deleting.name))

    assert deleting.find() is None
    assert len(site.topics()) == 4


def test_a_namespace_with_a_deleting_walcluster_can_be_deleted_and_the_operator_serves_on(site: Site) -> None:
    """The event of the release is in the operator's log only: a terminating namespace takes no new object."""
    site.install("scope.releaseFinalizers=true", f"scope.namespaces={{{site.namespace},{site.operator.namespace}}}")
    wal = site.wal_cluster()
    wal.apply(site.pool(2, deletionPolicy="Delete"))
    wal.wait("Ready")
    site.wait_for_topics(2)
    (pod,) = site.operator.pods()

    kubectl("delete", "namespace", site.namespace, "--wait=false")

    wait_until(
        lambda: find(None, "namespaces", site.namespace) is None,
        "the namespace is gone",
        within=180,
        explain=site.operator.log,
    )
    assert "the topics stay, because the namespace is being deleted" in site.operator.log(400)
    assert len(site.topics()) == 2
    there = WALCluster(site.operator.namespace, "there")
    there.apply(site.pool(3))
    there.wait("Ready")
    assert site.operator.pods() == [pod]
