"""The rights that the chart grants are those that the operator needs."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import yaml

from seawall_e2e.commands import run
from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.processes import binaries_folder
from seawall_e2e.waiting import wait_until
from tests.integration.conftest import NewOperator
from tests.support.kube import CRDS, OBJECTS, Object
from tests.support.purges import Corner
from tests.support.site import FINALIZER, Site

pytestmark = pytest.mark.integration

CHART = CRDS.parent / "charts/seawall"
RIGHTS = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


def install_rights(
    site: Site,
    secrets: Sequence[str] = (),
    *,
    strimzi: Object | None = None,
    greptimedb: Object | None = None,
    managed_kafka: Object | None = None,
    readers: Sequence[str] = (),
    **scope: object,
) -> str:
    """Applies what the chart has of RBAC; returns the name of the service account."""
    helm = binaries_folder() / "helm"
    beside = {"strimzi": strimzi or {}, "greptimedbOperator": greptimedb or {}, "managedKafka": managed_kafka or {}}
    beside["metrics"] = {"readers": [{"name": each, "namespace": site.namespace} for each in readers]}
    values = json.dumps({"secrets": {"names": list(secrets)}, "scope": scope, **beside})
    release = f"seawall-{site.namespace}"
    rendered = run(helm, "template", release, CHART, "-n", site.namespace, "-f", "-", stdin=values)
    rights: list[Object] = [found for found in yaml.safe_load_all(rendered) if found and found["kind"] in RIGHTS]
    for found in rights:
        namespace = found["metadata"].get("namespace", site.namespace)
        site.kube.server.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(found))
    (account,) = (found["metadata"]["name"] for found in rights if found["kind"] == "ServiceAccount")
    return str(account)


def start_as(site: Site, account: str, new_operator: NewOperator, **settings: object) -> OperatorProcess:
    kubeconfig = site.kube.server.kubeconfig_of(site.namespace, account)
    # The chart names the Lease and the account alike, after the release.
    operator = new_operator(kubeconfig=kubeconfig, lease_name=account, **settings)
    operator.start()
    return operator


def secured(site: Site) -> Object:
    """A connection that needs Secrets, which it makes."""
    secure = site.kafka.secure
    site.make_secret("ca", ca_crt=secure.ca_pem)
    site.make_secret("user", username=secure.username, password=secure.password)
    sasl = {"credentialsSecretRef": {"name": "user"}}
    return {"bootstrapServers": list(secure.sasl_ssl_servers), "tls": {"caSecretRef": {"name": "ca"}}, "sasl": sasl}


def live_a_life(site: Site, external: Object) -> None:
    """Everything that a WALCluster makes an operator do with the API server."""
    topics = {"replicationFactor": 1, "deletionPolicy": "Delete"}
    site.declare(topics=topics, external=external, config_map="wal")
    found = site.wait_ready()
    assert found["metadata"]["finalizers"] == [FINALIZER]
    site.wait(lambda: bool(site.events("Ready")), "events are posted")
    site.edit(count=3)
    site.wait_ready()
    site.wait(lambda: "num_topics = 3" in config_map(site)["data"]["metasrv.toml"], "the ConfigMap follows")
    live_a_policys_life(site)
    site.delete()
    site.wait_gone()


def live_a_policys_life(site: Site) -> None:
    """A policy makes a run that it owns, and removes it when it has ended. The API server enforces owner references."""
    corner = Corner(site.kube, site.namespace, site.operators)
    corner.declare(successfulRunsHistoryLimit=0)
    first = corner.wait_active()
    corner.end(first)
    corner.wait(lambda: first["metadata"]["name"] not in names(corner), "the run that ended is removed")
    corner.wait(lambda: "RunDeleted" in corner.reasons(), "events are posted")
    corner.edit(suspend=True)


def names(corner: Corner) -> list[str]:
    return [run["metadata"]["name"] for run in corner.runs()]


def config_map(site: Site) -> Object:
    return site.kube.request("GET", site.core("configmaps", "wal"))


def test_the_charts_role_is_enough(own_site: Site, sasl_kafka: KafkaProcesses, new_operator: NewOperator) -> None:
    site = own_site.on(sasl_kafka)
    account = install_rights(site, ["ca", "user"], readers=["prometheus"])
    operator = start_as(site, account, new_operator, metrics_secure=True)
    live_a_life(site, secured(site))
    require_metrics_for_who_may_read_them(site, operator)
    operator.terminate()
    assert "forbidden" not in operator.log()


def require_metrics_for_who_may_read_them(site: Site, operator: OperatorProcess) -> None:
    """By TLS, and nobody else."""
    for name in ("prometheus", "grafana"):
        site.kube.server.kubectl("create", "serviceaccount", name, "-n", site.namespace)
    token = {name: site.kube.server.token_of(site.namespace, name) for name in ("prometheus", "grafana")}
    wait_until(lambda: operator.scrape(token["prometheus"])[0] == 200, "RBAC has heard of it", explain=operator.tail)
    assert "seawall_leader 1.0" in operator.scrape(token["prometheus"])[1]
    assert operator.scrape(token["grafana"]) == (
        403,
        "you may not get /metrics: it takes a ClusterRole with that nonResourceURL",
    )
    assert operator.scrape("nobody") == (403, "the API server does not know your token, or it has expired")
    assert operator.scrape(None)[0] == 403
    assert operator.metrics() == "", "not by plain HTTP"


def test_the_charts_cluster_role_is_enough(
    own_site: Site, sasl_kafka: KafkaProcesses, new_operator: NewOperator
) -> None:
    site = own_site.on(sasl_kafka)
    account = install_rights(site, ["ca", "user"], cluster=True)
    operator = start_as(site, account, new_operator, namespaces="")
    live_a_life(site, secured(site))
    operator.terminate()
    assert "forbidden" not in operator.log()


def test_a_secret_that_the_role_does_not_name_is_told(
    own_site: Site, sasl_kafka: KafkaProcesses, new_operator: NewOperator
) -> None:
    site = own_site.on(sasl_kafka)
    account = install_rights(site, ["ca"])
    start_as(site, account, new_operator)
    site.declare(external=secured(site))
    assert "may not read Secret user" in site.wait_stalled("SecretForbidden")


@pytest.mark.parametrize("is_enabled", [True, False], ids=["enabled", "not enabled"])
def test_the_charts_role_is_enough_to_make_the_nodes_of_a_kafka(
    own_site: Site, new_operator: NewOperator, *, is_enabled: bool
) -> None:
    """No kubelet runs beside this API server: what is made is all that there is to see."""
    account = install_rights(own_site, managed_kafka={"enabled": is_enabled})
    operator = start_as(own_site, account, new_operator, managed_kafka=is_enabled)
    found: Object = yaml.safe_load((CRDS / "examples/valid/managed-kafka.yaml").read_text())
    brokers = found["spec"]["kafka"]["managed"]["nodePools"][1]
    brokers["storage"] = {"size": "1Gi", "className": f"grows-{own_site.namespace}"}
    own_site.kube.create(OBJECTS.format(own_site.namespace, "walclusters"), found)
    path = f"{OBJECTS.format(own_site.namespace, 'walclusters')}/managed"

    def reason() -> str | None:
        conditions = own_site.kube.request("GET", path).get("status", {}).get("conditions", ())
        return next((each["reason"] for each in conditions if each["type"] == "KafkaNodesHealthy"), None)

    sets = f"/apis/apps/v1/namespaces/{own_site.namespace}/statefulsets"
    wanted, count = ("BringingUp", 6) if is_enabled else ("ManagedKafkaNotEnabled", 0)
    own_site.wait(lambda: reason() == wanted, f"the condition says {wanted}")
    own_site.wait(lambda: len(own_site.kube.request("GET", sets)["items"]) == count, "StatefulSets are made, or none")
    if is_enabled:
        wait_for_a_gate(own_site)
        wait_for_a_policy_that_is_opened(own_site)
        wait_for_a_claim_that_grows(own_site, path, found)
    operator.terminate()
    assert "forbidden" not in operator.log()


def wait_for_a_policy_that_is_opened(site: Site) -> None:
    """Somebody opens it to all, and it says again what is declared; then none is wanted, and it goes."""
    path = f"/apis/networking.k8s.io/v1/namespaces/{site.namespace}/networkpolicies/managed-kafka"
    declared = site.kube.request("GET", path)["spec"]
    site.kube.merge(path, {"spec": {"ingress": [{}]}})
    cluster = f"{OBJECTS.format(site.namespace, 'walclusters')}/managed"
    site.kube.merge(cluster, {"metadata": {"annotations": {"wake": "it"}}})
    site.wait(lambda: site.kube.request("GET", path)["spec"] == declared, "the policy says what is declared")
    site.kube.merge(cluster, {"spec": {"kafka": {"managed": {"networkPolicy": {"enabled": False}}}}})
    site.wait(lambda: site.kube.find(path) is None, "the policy is gone")


def wait_for_a_claim_that_grows(site: Site, path: str, declared: Object) -> None:
    """The volume of node 0 is bound, and a larger one is declared."""
    name = f"grows-{site.namespace}"
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    body = {"provisioner": "test.seawall.dev/none", "allowVolumeExpansion": True}
    site.kube.create("/apis/storage.k8s.io/v1/storageclasses", {**head, **body})
    claim = f"/api/v1/namespaces/{site.namespace}/persistentvolumeclaims/data-managed-0"
    site.kube.merge(claim, {"spec": {"volumeName": "pv-of-node-0"}})
    site.kube.merge(f"{claim}/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    pools = declared["spec"]["kafka"]["managed"]["nodePools"]
    pools[1]["storage"]["size"] = "3Gi"
    site.kube.merge(path, {"spec": {"kafka": {"managed": {"nodePools": pools}}}})

    def asks() -> str:
        return str(site.kube.request("GET", claim)["spec"]["resources"]["requests"]["storage"])

    site.wait(lambda: asks() == "3Gi", "the claim asks for more")


def wait_for_a_gate(site: Site) -> None:
    """Of a pod of a node the operator says that it is not in sync: it may write the status of pods."""
    pods = f"/api/v1/namespaces/{site.namespace}/pods"
    labels = {"seawall.dev/kafka": "managed", "seawall.dev/kafka-node": "0"}
    gate = "seawall.dev/in-sync"
    spec = {"containers": [{"name": "kafka", "image": "none"}], "readinessGates": [{"conditionType": gate}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "managed-0-0", "labels": labels}, "spec": spec}
    site.kube.create(pods, body)

    def said() -> bool:
        conditions = site.kube.request("GET", f"{pods}/managed-0-0")["status"].get("conditions", ())
        return any((each["type"], each["reason"]) == (gate, "NotRunning") for each in conditions)

    site.wait(said, "the gate of a pod that does not run is written")
