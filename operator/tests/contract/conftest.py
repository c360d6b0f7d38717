"""The test bed of the Kube port."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from seawall.adapters.kube import KubeAdapter
from seawall.adapters.kube_api import KubeApi
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.domain.errors import OutsideUnavailable
from seawall_e2e.loopback import ApiServer
from seawall_e2e.waiting import wait_until
from tests.contract.kube_beds import Bed, FakeBed, RealBed

CRDS = Path(__file__).parents[3] / "crds"


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """A namespace of its own."""
    if request.param == "fake":
        yield FakeBed()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    server.kubectl("apply", "-f", str(CRDS))
    server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    namespace = f"kube-contract-{uuid.uuid4().hex[:8]}"
    server.kubectl("create", "namespace", namespace)
    kube = KubeAdapter(KubeApi(connections=2), [namespace])
    wait_until(lambda: all(_is_served(kube, resource) for resource in RESOURCES), "all kinds are served")
    yield RealBed(server, kube, namespace)


def _is_served(kube: KubeAdapter, resource: type[AnyResource]) -> bool:
    """A CRD that is Established answers "storage is (re)initializing" for a moment more."""
    try:
        kube.list(resource)
    except OutsideUnavailable:
        return False
    return True
