"""An operator that waits for a CRD says for which, and leaves the Lease to others."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.kinds import KINDS
from seawall_e2e.loopback import ApiServer, OperatorProcess
from seawall_e2e.waiting import wait_until
from tests.support.kube import KubeClient, repository_crd
from tests.support.purges import new_corner

pytestmark = pytest.mark.integration

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/seawall"


def test_a_crd_that_is_missing_is_named_until_it_is_there() -> None:
    with ApiServer() as server:
        client = KubeClient(server)
        *there, missing = (kind.plural for kind in KINDS)
        for plural in there:
            client.install_crd(repository_crd(plural))
        operator = OperatorProcess(server.kubeconfig)
        operator.start(wait=False)
        try:
            wait_until(
                lambda: f"is the CRD {missing}.seawall.dev installed" in (operator.why_unready() or ""),
                "/readyz names the CRD",
                explain=operator.tail,
            )
            wait_until(lambda: operator.metric("seawall_leader") == 0, "it has metrics", explain=operator.tail)
            assert client.find(LEASE) is None, "who watches nothing does not run for it"
            client.install_crd(repository_crd(missing))
            wait_until(operator.is_ready, "it is ready", explain=operator.tail)
            corner = new_corner(client, operator)
            corner.declare()
            corner.wait_active()
            assert client.find(LEASE) is not None
        finally:
            operator.close()
