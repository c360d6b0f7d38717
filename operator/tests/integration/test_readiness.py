"""An operator that waits for a CRD says for which, and leaves the Lease to others."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.kinds import KINDS
from seawall_e2e.loopback import ApiServer, OperatorProcess
from seawall_e2e.waiting import wait_until
from tests.support.kube import KubeClient, Object, repository_crd
from tests.support.purges import new_corner

pytestmark = pytest.mark.integration

RBAC = "/apis/rbac.authorization.k8s.io/v1"
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


def test_a_kind_that_may_not_be_watched_is_looked_at_all_the_same() -> None:
    """A Role that somebody wrote by hand: kopf asks for ever, and nobody would hear of a run that is made."""
    with ApiServer() as server:
        client = KubeClient(server)
        for kind in KINDS:
            client.install_crd(repository_crd(kind.plural))
        client.create(f"{RBAC}/clusterroles", {"metadata": {"name": "deaf"}, "rules": rules_without_watch("walpurges")})
        subject = {"kind": "ServiceAccount", "name": "deaf", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "deaf"}
        client.create(
            f"{RBAC}/clusterrolebindings", {"metadata": {"name": "deaf"}, "roleRef": role, "subjects": [subject]}
        )
        client.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "deaf"}})
        operator = OperatorProcess(server.kubeconfig_of("default", "deaf"), resync_seconds=2)
        operator.start()
        try:
            corner = new_corner(client, operator)
            corner.make("WALPurge", "walpurges", "by-hand", {"clusterRef": {"name": "wal"}})
            corner.wait(
                lambda: [run for run in corner.runs() if run.get("status", {}).get("conditions")],
                "the run is looked at",
            )
            assert operator.is_running()
            assert "cannot watch" in operator.log()
        finally:
            operator.close()


def rules_without_watch(plural: str) -> list[Object]:
    """All rights on the API server, but that to watch one of our kinds."""
    ours = [kind.plural for kind in KINDS if kind.plural != plural]
    others = ["", "coordination.k8s.io", "apps", "sparkoperator.k8s.io", "authorization.k8s.io"]
    verbs = ["get", "list", "create", "update", "patch", "delete"]
    return [
        {"apiGroups": others, "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["seawall.dev"], "resources": [*ours, "*/status", "*/finalizers"], "verbs": ["*"]},
        {"apiGroups": ["seawall.dev"], "resources": [plural], "verbs": verbs},
    ]
