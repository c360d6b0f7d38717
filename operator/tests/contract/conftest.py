"""The test bed of the Kube port."""

import uuid

import pytest

from seawall.adapters.kube.objects import KubeAdapter
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed, FakeBed, RealBed
from tests.support.kube import KubeClient
from tests.support.patient import kube_api


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bed:
    """A namespace of its own."""
    if request.param == "fake":
        return FakeBed()
    server: ApiServer = request.getfixturevalue("api_server")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    client, namespace = KubeClient(server), f"kube-contract-{uuid.uuid4().hex[:8]}"
    client.install_crds()
    client.make_namespace(namespace)
    return RealBed(client, KubeAdapter(kube_api(2), [namespace]), namespace)
