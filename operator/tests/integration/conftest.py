"""The operator on test beds of real processes, and a corner of its own for each test.

Most tests share one operator, which serves all namespaces of an API server that nobody else uses. Those that kill their
operator, freeze the API server, or want other settings bring operators of their own, on the session's API server: each
of them serves the namespace of its test only, and has its Lease there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses, OperatorProcess
from tests.support.kube import KubeClient
from tests.support.leftovers import shared_api_server
from tests.support.site import Site, new_site

RESYNC_SECONDS = 3

NewOperator = Callable[..., OperatorProcess]


@pytest.fixture(scope="session")
def kube(beds: str) -> Iterator[KubeClient]:
    """The shared operator's API server, with the CRDs."""
    with shared_api_server() as client:
        client.install_crds()
        yield client


@pytest.fixture(scope="session")
def operator(kube: KubeClient) -> Iterator[OperatorProcess]:
    """The shared operator."""
    with OperatorProcess(kube.server.kubeconfig, resync_seconds=RESYNC_SECONDS) as process:
        yield process


@pytest.fixture
def site(kube: KubeClient, kafka: KafkaProcesses, operator: OperatorProcess) -> Iterator[Site]:
    """A corner of the shared operator's world, with three plaintext brokers."""
    corner = new_site(kube, kafka, operator)
    yield corner
    corner.clear()


@contextmanager
def corner_of_its_own(api_server: ApiServer, kafka: KafkaProcesses) -> Iterator[Site]:
    """A corner of the session's API server: no operator looks at it unless somebody makes one."""
    client = KubeClient(api_server)
    client.install_crds()
    corner = new_site(client, kafka)
    yield corner
    corner.clear()


@contextmanager
def operators_of(site: Site) -> Iterator[NewOperator]:
    """Makes operators of such a corner, not started yet; they end with the context."""
    with ExitStack() as made:

        def new(name: str = "operator", kubeconfig: Path | None = None, **settings: Any) -> OperatorProcess:
            scope = site.namespace
            defaults: dict[str, Any] = {"namespaces": scope, "pod_namespace": scope, "resync_seconds": RESYNC_SECONDS}
            who = kubeconfig or site.kube.server.kubeconfig
            process = OperatorProcess(who, name, **{**defaults, **settings})
            made.callback(process.close)
            site.operators.append(process)
            return process

        yield new


@pytest.fixture
def own_site(api_server: ApiServer, kafka: KafkaProcesses) -> Iterator[Site]:
    """A corner of the session's API server: no operator looks at it unless the test makes one."""
    with corner_of_its_own(api_server, kafka) as corner:
        yield corner


@pytest.fixture
def new_operator(own_site: Site) -> Iterator[NewOperator]:
    """Makes operators of `own_site`, not started yet; they end with the test."""
    with operators_of(own_site) as new:
        yield new


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what tests measured (`record_property`)."""
    measured = [line for report in terminalreporter.getreports("passed") for line in report.user_properties]
    if measured:
        terminalreporter.section("measured")
    for name, value in measured:
        terminalreporter.line(f"{name}: {value}")
