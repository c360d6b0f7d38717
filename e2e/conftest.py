"""Fixtures of the e2e tests: the cluster, the operator's image, and for each test a place of its own."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.acked_rows import build_checker_image
from seawall_e2e.backups import build_backup_image
from seawall_e2e.cluster import REPOSITORY, build_operator_image, install_crds, make_namespace
from seawall_e2e.commands import asked, kubectl, run
from seawall_e2e.object_store import build_s3_image
from seawall_e2e.objects import items
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import WAL_CONFIG_MAP, RefDb, RefDbImages, build_refdb_images, in_sight
from seawall_e2e.site import Site
from seawall_e2e.subscriptions import build_subscription_image
from seawall_e2e.toolbox import Toolbox, toolbox_shell
from seawall_e2e.verifications import build_verification_image, install_spark_operator
from seawall_e2e.waiting import wait_until

HERE = Path(__file__).parent


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks what is e2e here, and what is soak; not the tests of the distributions below."""
    marker = {HERE: pytest.mark.e2e, HERE / "soak": pytest.mark.soak}.get(item.path.parent)
    if marker is not None and item.get_closest_marker("soak") is None:
        item.add_marker(marker)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, beds: str) -> Iterator[None]:  # noqa: ARG001 - as long as its group lasts
    """The local cluster, which all e2e tests share. With SEAWALL_CLUSTER_ONCE it ends with them, unless one failed.

    An idle cluster takes a tenth of the machine from the tests that still run.
    """
    if "KUBECONFIG" not in os.environ:
        pytest.fail("The e2e tests need the local cluster: run them by `make e2e`, which starts it.", pytrace=False)
    yield
    if "SEAWALL_CLUSTER_ONCE" in os.environ and not request.session.testsfailed:
        run(str(REPOSITORY / "e2e/platform/cluster"), "down", timeout=120)


@pytest.fixture(scope="session")
def image(cluster: None) -> str:  # noqa: ARG001 - it is up
    """The operator's image, in a cluster that is up and has the CRDs."""
    reference = build_operator_image()
    install_crds()
    return reference


@pytest.fixture(scope="session")
def refdb_images(image: str) -> RefDbImages:  # noqa: ARG001 - the cluster is up
    """The images of the reference database, in the cluster."""
    return build_refdb_images()


@pytest.fixture(scope="session")
def checker_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of the checker of acknowledged rows, in the cluster."""
    return build_checker_image()


@pytest.fixture(scope="session")
def verification_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of the replay verification, in the cluster, on which the Spark Operator is."""
    install_spark_operator()
    return build_verification_image()


@pytest.fixture(scope="session")
def backup_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of the backups, in the cluster, on which the Spark Operator is."""
    install_spark_operator()
    return build_backup_image()


@pytest.fixture(scope="session")
def subscription_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of subscriptions, in the cluster, on which the Spark Operator is."""
    install_spark_operator()
    return build_subscription_image()


@pytest.fixture(scope="session")
def s3_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of the object store, in the cluster."""
    return build_s3_image()


@pytest.fixture
def database(request: pytest.FixtureRequest, site: Site, refdb_images: RefDbImages) -> RefDb:
    """A reference database with failover, on four topics of the site, with the `[wal]` that a WALCluster rendered."""
    _install(request, site)
    return _start_database(site, refdb_images, {"walConfig": {"configMapName": WAL_CONFIG_MAP}})


@pytest.fixture
def database_in_sight(request: pytest.FixtureRequest, site: Site, refdb_images: RefDbImages) -> RefDb:
    """The same, and the operator looks at the database and its regions."""
    _install(request, site)
    return _start_database(site, refdb_images, in_sight(site.namespace))


@pytest.fixture
def purges(site: Site, database_in_sight: RefDb) -> Purges:  # noqa: ARG001 - it is what is purged
    """What purges the site's WALCluster."""
    return Purges(site.wal_cluster(), site.operator)


def _install(request: pytest.FixtureRequest, site: Site) -> None:
    """Once, with all that the test needs: another upgrade would wait for a new pod and its Lease."""
    marked = request.node.get_closest_marker("helm_values")
    site.install(*(marked.args if marked else ()))


def _start_database(site: Site, images: RefDbImages, data_plane: dict[str, Any]) -> RefDb:
    wal = site.wal_cluster()
    # Batches are small, so that entries of several records need little data.
    wal.apply(site.pool(4, maxMessageBytes="16Ki"), dataPlane=data_plane)
    wal.wait("Ready")
    made = RefDb(site.namespace, images, region_failover=True)
    made.start()
    return made


@pytest.fixture(scope="session")
def run_id() -> str:
    """A part of every name that this run makes."""
    return secrets.token_hex(3)


@pytest.fixture(scope="session")
def toolbox(image: str, run_id: str) -> Iterator[Toolbox]:
    """A pod for Kafka clients; at its end all that the run made is gone from Kubernetes."""
    namespace = f"e2e-{run_id}-toolbox"
    box = Toolbox(namespace, image, toolbox_shell(namespace))
    make_namespace(namespace)
    try:
        box.start()
        yield box
    finally:
        try:  # operators, which would make topics anew, go first
            wait_until(
                lambda: _namespaces(run_id) == [box.namespace], "the run's other namespaces are gone", within=180
            )
        finally:
            box.delete_topics(f"e2e-{run_id}-")
            box.shell.close()
            kubectl("delete", "namespace", box.namespace, timeout=180)


@pytest.fixture
def site(request: pytest.FixtureRequest, image: str, run_id: str, toolbox: Toolbox) -> Iterator[Site]:
    """A namespace for the operator, one for its WALClusters, and a topic prefix."""
    with _new_site(request, image, run_id, toolbox) as made:
        yield made


@pytest.fixture(scope="module")
def shared_site(request: pytest.FixtureRequest, image: str, run_id: str, toolbox: Toolbox) -> Iterator[Site]:
    """The same for the tests of a file, which leave to each other what each looks at."""
    with _new_site(request, image, run_id, toolbox) as made:
        yield made


@contextmanager
def _new_site(request: pytest.FixtureRequest, image: str, run_id: str, toolbox: Toolbox) -> Iterator[Site]:
    module = re.sub("[^a-z]+", "-", request.path.stem.removeprefix("test_"))[:30].strip("-")
    made = Site(f"e2e-{run_id}-{secrets.token_hex(2)}-{module}", image, toolbox)
    try:
        make_namespace(made.operator.namespace)
        make_namespace(made.namespace)
        yield made
    finally:
        print(asked(made.operator.log))
        made.clear()


def _namespaces(run_id: str) -> list[str]:
    names = (str(each["metadata"]["name"]) for each in items(None, "namespaces"))
    return [name for name in names if name.startswith(f"e2e-{run_id}-")]
