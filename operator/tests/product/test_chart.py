"""The charts, rendered by the real helm: what a user would install, checked as objects."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from seawall.adapters.http import MAX_BYTES
from seawall.api.pages import PAGES_PORT
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.kinds import KINDS
from seawall.api.v1alpha1.managed_kafka import INTERNAL_PORT
from seawall.api.v1alpha1.purge import Stage
from seawall.api.v1alpha1.rollout import RollStage
from seawall.api.v1alpha1.spark_job import Outcome as Verdict
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.datanodes.health import RESTARTING, SERVING
from seawall.domain.managed_kafka.names import OPERATOR_LABELS
from seawall.domain.topics.pool import TopicState
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.reconciler import Outcome
from seawall.settings import Settings
from seawall_e2e.loopback.processes import binaries_folder

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "seawall"
CRD_CHART = ROOT / "charts" / "seawall-crds"
RELEASE = ("seawall", "--namespace", "ops", "--kube-version", "1.34.4")

EVERYTHING = {
    "replicas": 2,
    "scope": {"namespaces": ["db-a", "db-b"], "releaseFinalizers": True},
    "secrets": {"names": ["kafka-ca", "kafka-user"]},
    "strimzi": {"enabled": True},
    "greptimedbOperator": {"enabled": True},
    "managedKafka": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podMonitor": {"enabled": True},
    "metrics": {"tokenSecret": {"name": "prometheus-token"}},
    "aggregatedClusterRoles": {"create": True},
    "commonLabels": {"team": "storage"},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
}

Object = dict[str, Any]
Values = dict[str, Any]
Render = Callable[..., list[Object]]


@pytest.fixture(scope="session")
def helm() -> str:
    """The helm binary: from PATH, else the one that the local platform builds."""
    found = shutil.which("helm")
    if found is None:
        found = str(binaries_folder() / "helm")
    return found


def run_helm(helm: str, *arguments: str, values: Values | None = None) -> subprocess.CompletedProcess[str]:
    command = [helm, *arguments, "--values", "-"]
    return subprocess.run(command, input=json.dumps(values or {}), capture_output=True, text=True, check=False)  # noqa: S603 - helm


@pytest.fixture
def render(helm: str) -> Render:
    def render(values: Values | None = None, chart: Path = CHART) -> list[Object]:
        result = run_helm(helm, "template", *RELEASE[:1], str(chart), *RELEASE[1:], values=values)
        assert result.returncode == 0, result.stderr
        return [obj for obj in yaml.safe_load_all(result.stdout) if obj]

    return render


def of_kind(objects: Iterable[Object], kind: str) -> list[Object]:
    return [obj for obj in objects if obj["kind"] == kind]


def the(objects: Iterable[Object], kind: str) -> Object:
    (obj,) = of_kind(objects, kind)
    return obj


def where(obj: Object) -> tuple[str | None, str]:
    return obj["metadata"].get("namespace"), obj["metadata"]["name"]


def rights(role: Object) -> dict[str, tuple[list[str], list[str] | None]]:
    """Verbs and names by resource; a resource with two rules is told apart by its first verb."""
    found: dict[str, tuple[list[str], list[str] | None]] = {}
    for rule in role["rules"]:
        (group,) = rule["apiGroups"]
        for resource in rule["resources"]:
            key = f"{resource}.{group}".removesuffix(".")
            found[key if key not in found else f"{key}:{rule['verbs'][0]}"] = (rule["verbs"], rule.get("resourceNames"))
    return found


def pod_of(objects: Iterable[Object]) -> Object:
    spec: Object = the(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def environment(objects: Iterable[Object]) -> dict[str, str]:
    """Settings; those of the downward API as the path of their field."""
    variables = pod_of(objects)["containers"][0]["env"]
    return {v["name"]: v["value"] if "value" in v else v["valueFrom"]["fieldRef"]["fieldPath"] for v in variables}


@pytest.mark.parametrize("values", [{}, EVERYTHING, {"scope": {"cluster": True}}], ids=["default", "all", "cluster"])
def test_the_chart_passes_lint(helm: str, values: Values) -> None:
    result = run_helm(helm, "lint", str(CHART), "--strict", "--kube-version", "1.34.4", values=values)
    assert result.returncode == 0, result.stdout


def test_the_crd_chart_passes_lint(helm: str) -> None:
    result = run_helm(helm, "lint", str(CRD_CHART), "--strict", "--kube-version", "1.34.4")
    assert result.returncode == 0, result.stdout


def test_by_default_there_is_what_the_operator_needs_and_nothing_else(render: Render) -> None:
    assert sorted((obj["kind"], *where(obj)) for obj in render()) == [
        ("Deployment", "ops", "seawall"),
        ("Role", "ops", "seawall-leader"),
        ("Role", "ops", "seawall-ops"),
        ("RoleBinding", "ops", "seawall-leader"),
        ("RoleBinding", "ops", "seawall-ops"),
        ("Service", "ops", "seawall-metrics"),
        ("ServiceAccount", "ops", "seawall"),
    ]


def test_every_object_carries_the_usual_labels(render: Render) -> None:
    for obj in render(EVERYTHING):
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "seawall"
        assert labels["app.kubernetes.io/instance"] == "seawall"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"].startswith("seawall-")
        assert labels["team"] == "storage"


def test_the_pod_meets_the_restricted_pod_security_standard(render: Render) -> None:
    pod = pod_of(render())
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"hostNetwork", "hostPID", "hostIPC"}.isdisjoint(pod)
    assert pod["volumes"] == [{"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}]
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - a mount, no file of ours
    assert container["resources"]["limits"].keys() == {"memory"}


def test_openshift_may_choose_the_user(helm: str) -> None:
    """As README.md has it: null takes a default away."""
    (words,) = re.findall(r"`--set (podSecurityContext\S+)`", (CHART / "README.md").read_text())
    rendered = run_helm(helm, "template", *RELEASE[:1], str(CHART), *RELEASE[1:], "--set", words)
    assert rendered.returncode == 0, rendered.stderr
    found = pod_of([obj for obj in yaml.safe_load_all(rendered.stdout) if obj])["securityContext"]
    assert found == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_what_a_site_adds_to_the_pod_is_there_beside_ours(render: Render) -> None:
    proxy, trust = {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}, {"name": "trust", "configMap": {"name": "ca"}}
    mount = {"name": "trust", "mountPath": "/etc/ssl/certs", "readOnly": True}
    before, after = (
        pod_of(render(values))
        for values in ({}, {"extraEnv": [proxy], "extraVolumes": [trust], "extraVolumeMounts": [mount]})
    )
    (container,), (was,) = after["containers"], before["containers"]
    assert container["env"] == [*was["env"], proxy]
    assert container["volumeMounts"] == [*was["volumeMounts"], mount]
    assert after["volumes"] == [*before["volumes"], trust]


def test_kubernetes_adds_our_kinds_to_its_own_roles(render: Render) -> None:
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    found = {
        next(label.removeprefix(prefix) for label in obj["metadata"]["labels"] if label.startswith(prefix)): rule
        for obj in of_kind(render(EVERYTHING), "ClusterRole")
        for rule in obj["rules"]
        if any(label.startswith(prefix) for label in obj["metadata"]["labels"])
    }
    assert found.keys() == {"view", "edit"}
    for rule in found.values():
        assert set(rule["resources"]) == {kind.plural for kind in KINDS}
    assert found["view"]["verbs"] == ["get", "list", "watch"]


def test_pods_are_scraped_as_the_service_is(render: Render) -> None:
    objects = render(EVERYTHING)
    service, pods = the(objects, "ServiceMonitor")["spec"], the(objects, "PodMonitor")["spec"]
    assert pods["podMetricsEndpoints"] == service["endpoints"]
    port, *_ = pod_of(objects)["containers"][0]["ports"]
    assert port["name"] == pods["podMetricsEndpoints"][0]["port"]
    labels = the(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert pods["selector"]["matchLabels"].items() <= labels.items()


def test_the_memory_limit_fits_the_largest_answer_of_a_database(render: Render) -> None:
    """The process, and two observations of it at the same time: `http.py` has the measurements."""
    (container,) = pod_of(render())["containers"]
    limit = 2**20 * int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
    assert limit >= 170 * 2**20 + 2 * 1.75 * MAX_BYTES


def test_the_lease_with_the_key_to_the_pages_is_readable_by_the_operator_alone(render: Render) -> None:
    """Who else may read it is for those to say who give the right to use `seawall ledger`."""
    objects = render(EVERYTHING)
    roles = {
        (obj["kind"], obj["metadata"]["name"])
        for obj in objects
        if obj["kind"] in {"Role", "ClusterRole"} and any("leases" in rule["resources"] for rule in obj["rules"])
    }
    bindings = [obj for obj in objects if obj["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
    given = [obj for obj in bindings if (obj["roleRef"]["kind"], obj["roleRef"]["name"]) in roles]
    account = {"kind": "ServiceAccount", "name": "seawall", "namespace": "ops"}
    assert [obj["subjects"] for obj in given] == [[account]]


def test_only_the_operators_pod_gets_the_token(render: Render) -> None:
    objects = render()
    assert the(objects, "ServiceAccount")["automountServiceAccountToken"] is False
    assert pod_of(objects)["automountServiceAccountToken"] is True
    assert pod_of(objects)["serviceAccountName"] == "seawall"


def test_the_operator_gets_its_settings_from_the_environment(render: Render) -> None:
    objects = render()
    (container,) = pod_of(objects)["containers"]
    assert (container["command"], container["args"]) == (["seawall"], ["run"])
    assert environment(objects) == {
        "SEAWALL_NAMESPACES": "ops",
        "SEAWALL_POD_NAMESPACE": "metadata.namespace",
        "SEAWALL_POD_NAME": "metadata.name",
        "SEAWALL_LEASE_NAME": "seawall",
        "SEAWALL_RESYNC_SECONDS": "60",
        "SEAWALL_TOPIC_METRICS": "false",
        "SEAWALL_LOG_LEVEL": "INFO",
        "SEAWALL_LOG_FORMAT": "text",
        "SEAWALL_METRICS_PORT": "8080",
        "SEAWALL_METRICS_SECURE": "true",
        "SEAWALL_HEALTH_PORT": "8081",
        "SEAWALL_PAGES_PORT": "8443",
        "SEAWALL_PAGE_KEY": "true",
        "SEAWALL_WORKERS": "32",
        "SEAWALL_STRIMZI": "false",
        "SEAWALL_STRIMZI_NAMESPACES": "",
        "SEAWALL_MANAGED_KAFKA": "false",
    }


def test_the_operator_knows_every_setting_and_has_no_other(render: Render) -> None:
    assert environment(render()).keys() == {f"SEAWALL_{name.upper()}" for name in Settings.model_fields}


def test_settings_can_be_changed(render: Render) -> None:
    settings = {"resyncSeconds": 1_000_000, "topicMetrics": True, "logLevel": "DEBUG", "workers": 4}
    found = environment(render({"settings": settings}))
    assert found["SEAWALL_RESYNC_SECONDS"] == "1000000"
    assert found["SEAWALL_TOPIC_METRICS"] == "true"
    assert found["SEAWALL_LOG_LEVEL"] == "DEBUG"
    assert found["SEAWALL_WORKERS"] == "4"


def test_a_service_called_seawall_metrics_cannot_set_the_port(render: Render) -> None:
    """Service links of such a Service would set SEAWALL_METRICS_PORT to tcp://…, and others other settings."""
    assert pod_of(render())["enableServiceLinks"] is False


def test_probes_metrics_and_pages_have_a_port_each(render: Render) -> None:
    objects = render()
    pod = pod_of(objects)
    (container,) = pod["containers"]
    ports = {"metrics": 8080, "health": 8081, "pages": PAGES_PORT}
    assert {each["name"]: each["containerPort"] for each in container["ports"]} == ports
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
    assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
    assert pod["terminationGracePeriodSeconds"] == 20
    service = the(objects, "Service")["spec"]
    assert service["ports"] == [{"name": "metrics", "port": 8080, "targetPort": "metrics"}]
    assert service["selector"] == the(objects, "Deployment")["spec"]["selector"]["matchLabels"]


def test_an_image_can_be_named_by_tag_or_digest(render: Render) -> None:
    def image(**values: str) -> str:
        found: str = pod_of(render({"image": values}))["containers"][0]["image"]
        return found

    digest = "sha256:" + "0" * 64
    assert re.fullmatch(r"seawall:\d+\.\d+\.\d+", image())
    assert image(repository="example/seawall", tag="dev") == "example/seawall:dev"
    assert image(tag="dev", digest=digest) == f"seawall@{digest}"


def test_an_upgrade_as_the_page_has_it_brings_the_new_image(helm: str, render: Render) -> None:
    """It keeps what was set (--reset-then-reuse-values), so the installation must set nothing that names a version."""
    page = (ROOT / "docs" / "install.md").read_text().replace("\\\n", " ")
    (install,) = re.findall(r"^helm upgrade --install seawall charts/seawall (.+)$", page, re.MULTILINE)
    arguments = [each for each in shlex.split(install) if each != "--create-namespace"]
    result = run_helm(helm, "template", "seawall", str(CHART), "--kube-version", "1.34.4", *arguments)
    assert result.returncode == 0, result.stderr
    (container,) = pod_of(each for each in yaml.safe_load_all(result.stdout) if each)["containers"]
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert container["image"] == f"registry.example/seawall:{version}"
    assert f"docker build -f operator/Dockerfile -t registry.example/seawall:{version} ." in page
    assert not re.findall(r"--set\S* '?image\.(?:tag|digest)=\w", page)
    emptied = pod_of(render({"image": {"tag": "", "digest": ""}}))["containers"][0]["image"]
    assert emptied == f"seawall:{version}", "as the page tells whoever has set them"


OBJECTS = {
    "walclusters.seawall.dev": (["get", "list", "watch", "patch"], None),
    "walpurgepolicies.seawall.dev": (["get", "list", "watch"], None),
    "walholds.seawall.dev": (["get", "list", "watch", "create", "patch", "delete"], None),
    "walverifications.seawall.dev": (["get", "list", "watch", "create", "delete"], None),
    "walbackups.seawall.dev": (["get", "list", "watch", "create", "delete"], None),
    "walbackuppolicies.seawall.dev": (["get", "list", "watch"], None),
    "walsubscriptions.seawall.dev": (["get", "list", "watch"], None),
    "walsubscriptions/status.seawall.dev": (["get", "update"], None),
    "walsubscriptions/finalizers.seawall.dev": (["update"], None),
    "walrestores.seawall.dev": (["get", "list", "watch", "create", "patch", "delete"], None),
    "walpurges.seawall.dev": (["get", "list", "watch", "create", "delete"], None),
    "walclusters/status.seawall.dev": (["get", "update"], None),
    "walpurgepolicies/status.seawall.dev": (["get", "update"], None),
    "walpurges/status.seawall.dev": (["get", "update"], None),
    "walholds/status.seawall.dev": (["get", "update"], None),
    "walverifications/status.seawall.dev": (["get", "update"], None),
    "walbackups/status.seawall.dev": (["get", "update"], None),
    "walbackuppolicies/status.seawall.dev": (["get", "update"], None),
    "walrestores/status.seawall.dev": (["get", "update"], None),
    "walrestores/finalizers.seawall.dev": (["update"], None),
    "walpurgepolicies/finalizers.seawall.dev": (["update"], None),
    "walverifications/finalizers.seawall.dev": (["update"], None),
    "walbackups/finalizers.seawall.dev": (["update"], None),
    "walbackuppolicies/finalizers.seawall.dev": (["update"], None),
    "walclusters/finalizers.seawall.dev": (["update"], None),
    "sparkapplications.sparkoperator.k8s.io": (["get", "create", "delete"], None),
    "pods": (["get"], None),
    "serviceaccounts": (["get"], None),
}
"""Rights on our own kinds, and on what Spark jobs make."""

OF_RUNS = {"walbackups", "walrestores", "walpurges", "walholds", "walverifications", "sparkapplications"}
DELETABLE = {*OF_RUNS, "configmaps"}
"""Of ConfigMaps the requests of a subscription's old runs: whoever may update them may empty them already."""


def test_the_default_rights_are_namespaced_and_few(render: Render) -> None:
    objects = render()
    assert not of_kind(objects, "ClusterRole")
    assert not of_kind(objects, "ClusterRoleBinding")
    roles = {obj["metadata"]["name"]: rights(obj) for obj in of_kind(objects, "Role")}
    assert roles == {
        "seawall-ops": {
            **OBJECTS,
            "configmaps": (["get", "create", "update", "delete"], None),
            "events": (["create"], None),
            "namespaces": (["get"], ["ops"]),
        },
        "seawall-leader": {
            "leases.coordination.k8s.io": (["create"], None),
            "leases.coordination.k8s.io:get": (["get", "update"], ["seawall"]),
        },
    }


def test_the_rights_of_the_readme_are_those_of_the_role(render: Render) -> None:
    rows = re.findall(r"^\|[^|]*\| (`[^|]+) \| ([a-z, ]+) \|", (CHART / "README.md").read_text(), re.MULTILINE)
    told: dict[str, list[str]] = {}
    for resources, verbs in rows:
        for resource in re.findall(r"`([\w/]+)`", resources):
            told.setdefault(resource, verbs.split(", "))  # further rows are of what is asked for
    (role,) = (obj for obj in of_kind(render(), "Role") if obj["metadata"]["name"] == "seawall-ops")
    given = {
        resource: verbs
        for resource, (verbs, _) in rights(role).items()
        if "/status." not in resource and resource != "namespaces"  # told in words
    }
    assert {resource.partition(".")[0] for resource in given} <= told.keys()
    assert {resource: told[resource.partition(".")[0]] for resource in given} == given


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("secrets", [{}, {"names": ["kafka-ca"]}, {"all": True}], ids=["none", "named", "all"])
def test_no_right_is_a_wildcard_or_writes_secrets(render: Render, secrets: Values, *, cluster: bool) -> None:
    objects = render({"scope": {"cluster": cluster}, "secrets": secrets})
    for role in [*of_kind(objects, "Role"), *of_kind(objects, "ClusterRole")]:
        for rule in role["rules"]:
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert "secrets" not in rule["resources"] or rule["verbs"] == ["get"]
            assert "delete" not in rule["verbs"] or set(rule["resources"]) <= DELETABLE
            assert {"deletecollection", "escalate", "bind", "impersonate"}.isdisjoint(rule["verbs"])


def test_secrets_are_readable_by_name_in_every_namespace_of_the_scope(render: Render) -> None:
    objects = render({"scope": {"namespaces": ["db-a", "db-b"]}, "secrets": {"names": ["kafka-ca", "kafka-user"]}})
    served = [role for role in of_kind(objects, "Role") if role["metadata"]["name"] == "seawall-ops"]
    assert [where(role)[0] for role in served] == ["db-a", "db-b"]
    for role in served:
        assert rights(role)["secrets"] == (["get"], ["kafka-ca", "kafka-user"])


def test_all_secrets_are_readable_only_when_asked_for(render: Render) -> None:
    def secret_rights(**secrets: Any) -> tuple[list[str], list[str] | None] | None:
        roles = of_kind(render({"secrets": secrets}), "Role")
        return next(rights(role).get("secrets") for role in roles if role["metadata"]["name"] == "seawall-ops")

    assert secret_rights() is None
    assert secret_rights(names=["kafka-ca"]) == (["get"], ["kafka-ca"])
    assert secret_rights(all=True) == (["get"], None)


def test_datanodes_are_restarted_only_where_their_stateful_sets_are_named(render: Render) -> None:
    objects = render({"scope": {"namespaces": ["db-a", "db-b"]}, "datanodes": {"statefulSets": ["datanode"]}})
    served = [role for role in of_kind(objects, "Role") if role["metadata"]["name"] == "seawall-ops"]
    assert [where(role)[0] for role in served] == ["db-a", "db-b"]
    for role in served:
        found = rights(role)
        assert found["statefulsets.apps"] == (["get", "patch"], ["datanode"])
        assert found["pods/eviction"] == (["create"], None)
        assert [rule["verbs"] for rule in role["rules"] if "pods" in rule["resources"]] == [["get"], ["list"]]


@pytest.mark.parametrize(("scope", "kind"), [({"namespaces": ["db-a"]}, "Role"), ({"cluster": True}, "ClusterRole")])
def test_greptimedbclusters_may_be_read_only_when_asked_for_and_never_written(
    render: Render, scope: Values, kind: str
) -> None:
    def rights_of(*, enabled: bool) -> Any:
        objects = render({"scope": scope, "greptimedbOperator": {"enabled": enabled}})
        (role,) = (role for role in of_kind(objects, kind) if role["metadata"]["name"] == "seawall-ops")
        return {name: right for name, right in rights(role).items() if name.endswith(".greptime.io")}

    named = ("greptimedbclusters.greptime.io", "greptimedbstandalones.greptime.io")
    assert rights_of(enabled=True) == dict.fromkeys(named, (["get"], None))
    assert rights_of(enabled=False) == {}


@pytest.mark.parametrize(("scope", "kind"), [({"namespaces": ["db-a"]}, "Role"), ({"cluster": True}, "ClusterRole")])
def test_nodes_of_kafka_may_be_made_and_restarted_only_when_asked_for_and_never_deleted(
    render: Render, scope: Values, kind: str
) -> None:
    def rights_of(*, enabled: bool) -> tuple[list[tuple[list[str], list[str]]], str]:
        objects = render({"scope": scope, "managedKafka": {"enabled": enabled}})
        (role,) = (role for role in of_kind(objects, kind) if role["metadata"]["name"] == "seawall-ops")
        found = [(rule["resources"], rule["verbs"]) for rule in role["rules"]]
        return found, str(environment(objects)["SEAWALL_MANAGED_KAFKA"])

    off, on = rights_of(enabled=False), rights_of(enabled=True)
    assert (off[1], on[1]) == ("false", "true")
    assert [rule for rule in on[0] if rule not in off[0]] == [
        (["statefulsets"], ["get", "list", "create", "update", "delete"]),
        (["pods/eviction"], ["create"]),
        (["pods/status"], ["patch"]),
        (["poddisruptionbudgets"], ["get", "list", "create", "update"]),
        (["networkpolicies"], ["get", "list", "create", "update", "delete"]),
        (["services", "persistentvolumeclaims"], ["get", "list", "create", "delete"]),
        (["persistentvolumeclaims"], ["patch"]),
        (["configmaps"], ["list", "delete"]),
        (["pods"], ["list"]),
    ]


def test_a_managed_kafka_knows_the_operator_by_the_labels_of_its_pods(render: Render) -> None:
    (deployment,) = of_kind(render({"nameOverride": "other"}), "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert OPERATOR_LABELS.items() <= labels.items()


@pytest.mark.parametrize("value", ["commonLabels", "podLabels"])
def test_labels_that_the_chart_writes_itself_cannot_be_written_over(helm: str, render: Render, value: str) -> None:
    (deployment,) = of_kind(render(), "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert OPERATOR_LABELS.keys() <= labels.keys()
    for label in labels:
        values = {value: {label: "other"}}
        result = run_helm(helm, "template", "seawall", str(CHART), "--kube-version", "1.34.4", values=values)
        assert result.returncode != 0, label
        assert value in result.stderr
    (deployment,) = of_kind(render({value: {"example.com/part-of": "platform"}}), "Deployment")
    found = deployment["spec"]["template"]["metadata"]["labels"]
    assert found == {**labels, "example.com/part-of": "platform"}


LISTS = dict.fromkeys(
    (f"{plural}.kafka.strimzi.io" for plural in ("kafkas", "kafkatopics", "kafkarebalances")), (["list"], None)
)


@pytest.mark.parametrize(
    ("scope", "namespaces", "kind", "expected"),
    [
        ({"namespaces": ["db-a", "db-b"]}, [], "Role", ["db-a", "db-b"]),
        ({"namespaces": ["db-a", "db-b"]}, ["kafka"], "Role", ["kafka"]),
        ({"cluster": True}, [], "ClusterRole", [None]),
        ({"cluster": True}, ["kafka"], "Role", ["kafka"]),
    ],
)
def test_strimzis_resources_may_be_listed_only_when_asked_for(
    render: Render, scope: Values, namespaces: list[str], kind: str, expected: list[str | None]
) -> None:
    objects = render({"scope": scope, "strimzi": {"enabled": True, "namespaces": namespaces}})
    roles = [role for role in of_kind(objects, kind) if role["metadata"]["name"] == "seawall-ops-strimzi"]
    assert [where(role)[0] for role in roles] == expected
    assert [rights(role) for role in roles] == [LISTS] * len(expected)
    found = environment(objects)
    assert (found["SEAWALL_STRIMZI"], found["SEAWALL_STRIMZI_NAMESPACES"]) == ("true", ",".join(namespaces))
    off = render({"scope": scope, "strimzi": {"namespaces": namespaces}})
    assert not [where(obj) for obj in off if obj["metadata"]["name"] == "seawall-ops-strimzi"]
    assert environment(off)["SEAWALL_STRIMZI"] == "false"


def test_a_list_of_namespaces_is_what_is_served(render: Render) -> None:
    objects = render({"scope": {"namespaces": ["db-a", "db-b"]}})
    assert environment(objects)["SEAWALL_NAMESPACES"] == "db-a,db-b"
    expected = [("db-a", "seawall-ops"), ("db-b", "seawall-ops"), ("ops", "seawall-leader")]
    assert sorted(map(where, of_kind(objects, "Role"))) == expected
    assert sorted(map(where, of_kind(objects, "RoleBinding"))) == expected


def test_bindings_give_their_role_to_the_operators_account(render: Render) -> None:
    for values in (EVERYTHING, {"scope": {"cluster": True}}):
        objects = render(values)
        for binding in [*of_kind(objects, "RoleBinding"), *of_kind(objects, "ClusterRoleBinding")]:
            assert binding["roleRef"]["name"] == binding["metadata"]["name"]
            assert binding["roleRef"]["kind"] == binding["kind"].removesuffix("Binding")
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "seawall", "namespace": "ops"}]


def test_drivers_of_verifications_get_an_account_only_when_asked_for(render: Render) -> None:
    assert len(of_kind(render(), "ServiceAccount")) == 1
    objects = render({"scope": {"namespaces": ["db-a", "db-b"]}, "replayVerification": {"create": True}})
    name = "seawall-replay-verification"
    accounts = {where(each) for each in of_kind(objects, "ServiceAccount")}
    assert accounts == {("ops", "seawall"), ("db-a", name), ("db-b", name)}
    roles = [role for role in of_kind(objects, "Role") if role["metadata"]["name"] == name]
    verbs = (["get", "list", "watch", "create", "delete", "deletecollection"], None)
    assert [rights(role) for role in roles] == [{"pods": verbs}] * 2
    bindings = [each for each in of_kind(objects, "RoleBinding") if each["metadata"]["name"] == name]
    for binding in bindings:
        namespace = binding["metadata"]["namespace"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
        assert binding["roleRef"]["name"] == name


def test_the_sample_of_strimzi_brings_what_its_jobs_need(helm: str) -> None:
    """The account of their drivers, from the page's command, and the claim that backups go to."""
    page = (ROOT / "docs" / "strimzi.md").read_text().replace("\\\n", " ")
    (install,) = re.findall(r"^helm upgrade --install seawall charts/seawall (.+)$", page, re.MULTILINE)
    arguments = [each for each in shlex.split(install) if each != "--create-namespace"]
    result = run_helm(helm, "template", "seawall", str(CHART), "--kube-version", "1.34.4", *arguments)
    assert result.returncode == 0, result.stderr
    accounts = {where(each) for each in of_kind(filter(None, yaml.safe_load_all(result.stdout)), "ServiceAccount")}
    folder = ROOT / "docs" / "examples" / "strimzi"
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    objects = [each for name in listed for each in yaml.safe_load_all((folder / name).read_text())]
    spec = the(objects, "WALCluster")["spec"]
    account = SparkSpec(image="any").service_account_name
    assert {spec[job]["spark"].get("serviceAccountName", account) for job in ("verification", "backup")} == {account}
    assert ("databases", account) in accounts
    claims = {each["metadata"]["name"] for each in of_kind(objects, "PersistentVolumeClaim")}
    assert spec["backup"]["storage"]["persistentVolumeClaim"] in claims


def test_drivers_of_an_operator_of_the_whole_cluster_get_accounts_where_it_is_said(render: Render) -> None:
    objects = render({"scope": {"cluster": True}, "replayVerification": {"create": True, "namespaces": ["db"]}})
    assert ("db", "seawall-replay-verification") in map(where, of_kind(objects, "ServiceAccount"))


def test_the_whole_cluster_needs_a_cluster_role(render: Render) -> None:
    objects = render({"scope": {"cluster": True}})
    assert environment(objects)["SEAWALL_NAMESPACES"] == ""
    assert rights(the(objects, "ClusterRole")) == {
        **OBJECTS,
        "configmaps": (["get", "create", "update", "delete"], None),
        "events": (["create"], None),
        "namespaces": (["get"], None),
    }
    assert where(the(objects, "Role")) == ("ops", "seawall-leader")


def test_rights_that_outlive_a_namespaces_roles_are_small(render: Render) -> None:
    """A namespace that is deleted loses its Roles before its WALClusters lose their finalizers."""
    objects = render({"scope": {"releaseFinalizers": True}})
    assert rights(the(objects, "ClusterRole")) == {
        "walclusters.seawall.dev": (["get", "list", "patch"], None),
        "walrestores.seawall.dev": (["get", "list", "patch"], None),
        "walclusters/status.seawall.dev": (["get", "update"], None),
        "walrestores/status.seawall.dev": (["get", "update"], None),
        "namespaces": (["get"], None),
    }
    assert where(the(objects, "ClusterRoleBinding")) == (None, "seawall-ops-finalizers")
    assert len(of_kind(objects, "Role")) == 2
    assert len(of_kind(render({"scope": {"releaseFinalizers": True, "cluster": True}}), "ClusterRole")) == 1


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"replica": 2}, "replica"),
        ({"settings": {"resync": 5}}, "resync"),
        ({"networkPolicy": {"kafkaPort": [9092]}}, "kafkaPort"),
        ({"replicas": "2"}, "replicas"),
        ({"settings": {"topicMetrics": "yes"}}, "topicMetrics"),
        ({"settings": {"workers": 0}}, "workers"),
        ({"settings": {"workers": 257}}, "workers"),
        ({"settings": {"logLevel": "verbose"}}, "logLevel"),
        ({"secrets": {"names": "kafka-ca"}}, "names"),
        ({"secrets": {"names": ["*"]}}, "names"),
        ({"scope": {"namespaces": ["db,other"]}}, "namespaces"),
        ({"networkPolicy": {"kafkaPorts": []}}, "kafkaPorts"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"scope": {"cluster": True, "namespaces": ["db"]}}, "leave scope.namespaces empty"),
        ({"scope": {"cluster": True}, "replayVerification": {"create": True}}, "name the namespaces of the drivers"),
        ({"podMonitor": {"enabled": True}}, "name a Secret with one in metrics.tokenSecret.name"),
        ({"metrics": {"readers": ["prometheus"]}}, "readers"),
        ({"serviceAccount": {"create": False}}, "name the account"),
    ],
)
def test_wrong_values_are_refused(helm: str, values: Values, complaint: str) -> None:
    result = run_helm(helm, "template", "seawall", str(CHART), "--kube-version", "1.34.4", values=values)
    assert result.returncode != 0
    assert complaint in result.stderr


KUBERNETES = frozenset({"resources", "labels", "podSecurityContext", "securityContext"})
"""Values whose insides are not ours."""


def test_a_release_may_be_called_by_a_number(helm: str) -> None:
    result = run_helm(helm, "template", "2026", str(CHART), "--kube-version", "1.34.4", values={"nameOverride": "7"})
    objects = [each for each in yaml.safe_load_all(result.stdout) if each]
    values = {value for each in objects for value in each["metadata"]["labels"].values()}
    assert {type(value) for value in values} == {str}


def test_every_value_has_a_schema_and_a_line_in_the_readme() -> None:
    def keys(tree: Values, prefix: str = "") -> Iterable[str]:
        for key, value in tree.items():
            inner = isinstance(value, dict) and value and key not in KUBERNETES
            yield from keys(value, f"{prefix}{key}.") if inner else [f"{prefix}{key}"]

    schema = json.loads((CHART / "values.schema.json").read_text())
    readme = (CHART / "README.md").read_text()
    for key in keys(yaml.safe_load((CHART / "values.yaml").read_text())):
        node = schema
        for part in key.split("."):
            node = node["properties"][part]
        assert f"| `{key}` |" in readme, key


def test_no_object_of_the_schema_accepts_unknown_keys() -> None:
    def check(node: Any) -> None:
        if isinstance(node, dict):
            assert "properties" not in node or node["additionalProperties"] is False, node
            node = list(node.values())
        for child in node if isinstance(node, list) else ():
            check(child)

    check(json.loads((CHART / "values.schema.json").read_text()))


def test_the_network_policy_opens_dns_the_api_server_kafka_the_data_plane_and_metrics_only(render: Render) -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    values = {"networkPolicy": {"enabled": True, "kafkaPorts": [9092, 19_092], "metricsFrom": peers}}
    objects = render(values)
    policy = the(objects, "NetworkPolicy")["spec"]
    assert policy["podSelector"] == the(objects, "Deployment")["spec"]["selector"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["ingress"] == [
        {"ports": [{"port": "health", "protocol": "TCP"}]},
        {"ports": [{"port": "metrics", "protocol": "TCP"}], "from": peers},
        {"ports": [{"port": "pages", "protocol": "TCP"}]},
    ], "who may read metrics is no reason to cut off the API server's proxy, or the kubelet"
    narrow = the(render({"networkPolicy": {"enabled": True, "pagesFrom": peers}}), "NetworkPolicy")["spec"]["ingress"]
    assert [rule.get("from") for rule in narrow] == [None, None, peers]
    opened = [[(port["port"], port["protocol"]) for port in rule["ports"]] for rule in policy["egress"]]
    assert opened == [
        [(53, "UDP"), (53, "TCP")],
        [(443, "TCP"), (6443, "TCP")],
        [(9092, "TCP"), (19_092, "TCP")],
        [(2379, "TCP"), (4000, "TCP")],
    ]
    without = render({"networkPolicy": {"enabled": True, "dataPlanePorts": []}})
    rules = the(without, "NetworkPolicy")["spec"]["egress"]
    assert len(rules) == 3
    assert all(rule["ports"] for rule in rules), "a rule without ports opens all of them"
    stores = render({"networkPolicy": {"enabled": True, "storePorts": [9000]}})
    assert the(stores, "NetworkPolicy")["spec"]["egress"][-1] == {"ports": [{"port": 9000, "protocol": "TCP"}]}


def test_the_network_policy_opens_the_port_at_which_the_operator_asks_a_kafka_that_it_runs(render: Render) -> None:
    def opened(**values: Any) -> list[int]:
        policy = the(render({"networkPolicy": {"enabled": True}, **values}), "NetworkPolicy")["spec"]
        return [port["port"] for port in policy["egress"][2]["ports"]]

    managed = {"managedKafka": {"enabled": True}}
    assert opened() == [9092, 9093, 9094]
    assert opened(**managed) == [9092, 9093, 9094, INTERNAL_PORT]
    listed = {"networkPolicy": {"enabled": True, "kafkaPorts": [9092, INTERNAL_PORT]}}
    assert opened(**managed, **listed) == [9092, INTERNAL_PORT], "once is enough"


def test_several_replicas_survive_a_drain_and_spread_over_nodes(render: Render) -> None:
    objects = render({"replicas": 2})
    budget = the(objects, "PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == the(objects, "Deployment")["spec"]["selector"]
    (spread,) = pod_of(objects)["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    assert not of_kind(render({"replicas": 1}), "PodDisruptionBudget")
    assert "topologySpreadConstraints" not in pod_of(render())


def test_prometheus_scrapes_the_service(render: Render) -> None:
    objects = render(EVERYTHING)
    monitor = the(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= the(objects, "Service")["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["honorLabels"]) == ("metrics", "/metrics", True)


def test_prometheus_shows_its_own_token_or_that_of_a_secret_and_only_by_tls(render: Render) -> None:
    def shown(**metrics: Any) -> Object:
        objects = render({"serviceMonitor": {"enabled": True}, "metrics": metrics})
        assert environment(objects)["SEAWALL_METRICS_SECURE"] == str(metrics.get("secure", True)).lower()
        (endpoint,) = the(objects, "ServiceMonitor")["spec"]["endpoints"]
        return {key: endpoint[key] for key in endpoint.keys() - {"port", "path", "interval", "honorLabels"}}

    by_tls = {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
    own = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    secret = {"name": "prometheus", "key": "token"}
    assert shown() == {**by_tls, "bearerTokenFile": own}
    assert shown(tokenSecret=secret) == {**by_tls, "authorization": {"credentials": secret}}
    assert shown(secure=False) == {"scheme": "http"}
    assert shown(secure=False, tokenSecret=secret) == {"scheme": "http"}, "a token goes by TLS only"
    (pod,) = the(render(EVERYTHING), "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert pod["authorization"]["credentials"] == {"name": "prometheus-token", "key": "token"}


def test_who_is_named_may_read_metrics_and_nothing_else(render: Render) -> None:
    readers = [{"name": "prometheus-k8s", "namespace": "monitoring"}]
    objects = render({"metrics": {"readers": readers}})
    assert the(objects, "ClusterRole")["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    binding = the(objects, "ClusterRoleBinding")
    name = the(objects, "ClusterRole")["metadata"]["name"]
    assert (binding["roleRef"]["name"], name) == (name, "seawall-ops-metrics-reader")
    assert binding["subjects"] == [{"kind": "ServiceAccount", **readers[0]}]


def metrics_of(expressions: Iterable[str]) -> set[str]:
    names = {name for expression in expressions for name in re.findall(r"\bseawall_\w+", expression)}
    return {re.sub("_(bucket|count|sum|total)$", "", name) for name in names}


def test_alerts_and_dashboard_use_metrics_that_exist(render: Render) -> None:
    objects = render(EVERYTHING)
    dashboard = json.loads(the(objects, "ConfigMap")["data"]["seawall.json"])
    (group,) = the(objects, "PrometheusRule")["spec"]["groups"]
    alerts = [rule["expr"] for rule in group["rules"]]
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    published = {metric.name for metric in Telemetry(per_topic=False).registry.collect()}
    assert metrics_of(panels) == published - {"seawall_topic_state"}, "the dashboard shows all of them"
    assert metrics_of(alerts) < published
    assert all(rule["annotations"].keys() == {"runbook_url", "summary", "description"} for rule in group["rules"])
    assert all("{{" not in expression for expression in (*alerts, *panels))
    of_one_scrape = re.compile(r"\b(job|service|endpoint|container)\s*[=!,)]")
    assert not [each for each in (*alerts, *panels) if of_one_scrape.search(each)]


def test_panels_have_ids_and_places_of_their_own(render: Render) -> None:
    panels = json.loads(the(render(EVERYTHING), "ConfigMap")["data"]["seawall.json"])["panels"]
    ids, places = [panel["id"] for panel in panels], [panel["gridPos"] for panel in panels]
    covered = [(at["x"] + x, at["y"] + y) for at in places for x in range(at["w"]) for y in range(at["h"])]
    assert len(set(ids)) == len(ids)
    assert len(set(covered)) == len(covered), "none covers another"
    assert all(at["x"] + at["w"] <= 24 for at in places)


def test_alerts_select_states_and_outcomes_that_exist(render: Render) -> None:
    (group,) = the(render(EVERYTHING), "PrometheusRule")["spec"]["groups"]
    text = " ".join(rule["expr"] for rule in group["rules"])
    states = {state for found in re.findall(r'state[!=~]+"(.+?)"', text) for state in found.split("|")}
    assert states == {
        TopicState.READY,
        TopicState.LEADERLESS,
        TopicState.UNDER_MIN_ISR,
        "Foreign",
        HoldState.AT_RISK,
    } | {
        SubscriptionState.STOPPED,
        SubscriptionState.LOST,
        SubscriptionState.LAGGING,
    }
    assert set(re.findall(r'result="(.+?)"', text)) == {Stage.FAILED}
    assert set(re.findall(r'stage="(.+?)"', text)) == {RollStage.STALLED}
    assert re.findall(r'health!~"(.+?)"', text) == [f"{SERVING}|{RESTARTING}"]
    assert set(re.findall(r'outcome="(.+?)"', text)) == {Outcome.ERROR, Verdict.FAILED}


@pytest.mark.parametrize(
    ("values", "said", "unsaid"),
    [
        (
            {},
            ("WALClusters in ops.", "read no Secret", "--set 'secrets.names={", "a list replaces the one of before"),
            ("NetworkPolicy",),
        ),
        (
            EVERYTHING,
            (
                "in db-a, db-b.",
                "the Secrets kafka-ca, kafka-user and no others",
                "a list replaces the one of before",
                "--set 'secrets.names={kafka-ca,kafka-user,another}'",
                "9092, 9093, 9094, 9091 only",
            ),
            ("no Secret",),
        ),
        (
            {"scope": {"cluster": True}, "secrets": {"all": True}},
            ("in every namespace.", "every Secret in the cluster"),
            (),
        ),
    ],
)
def test_the_notes_say_which_secrets_can_be_read(
    render: Render, tmp_path: Path, values: Values, said: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    """`helm template` leaves NOTES.txt out, and `helm install` wants a cluster: so it becomes a text of an object."""
    chart = Path(shutil.copytree(CHART, tmp_path / "seawall"))
    notes = (chart / "templates" / "NOTES.txt").read_text()
    wrapped = '{{ define "notes" }}' + notes + '{{ end }}\nkind: Notes\ntext: {{ include "notes" . | toJson }}\n'
    (chart / "templates" / "notes.yaml").write_text(wrapped)
    text = the(render(values, chart), "Notes")["text"]
    assert all(phrase in text for phrase in said), text
    assert not any(phrase in text for phrase in unsaid), text


def test_the_crd_chart_keeps_crds_when_it_is_uninstalled(render: Render) -> None:
    objects = render(chart=CRD_CHART)
    assert objects, "make crds writes the templates"
    for obj in objects:
        assert obj["kind"] == "CustomResourceDefinition"
        assert obj["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert obj["spec"]["group"] == "seawall.dev"


def test_the_crd_chart_and_the_folder_crds_are_the_same(render: Render) -> None:
    """Also proves that no text in a CRD means anything to Helm."""

    def without_annotation(obj: Object) -> Object:
        annotations = {k: v for k, v in obj["metadata"].get("annotations", {}).items() if not k.startswith("helm.sh/")}
        metadata = {k: v for k, v in obj["metadata"].items() if k != "annotations"}
        return {**obj, "metadata": metadata | ({"annotations": annotations} if annotations else {})}

    files = sorted((ROOT / "crds").glob("*.yaml"))
    expected = {
        obj["metadata"]["name"]: without_annotation(obj) for f in files for obj in yaml.safe_load_all(f.read_text())
    }
    assert {obj["metadata"]["name"]: without_annotation(obj) for obj in render(chart=CRD_CHART)} == expected


SINCE = dict.fromkeys(
    ("name", "served", "storage", "schema", "subresources", "additionalPrinterColumns", "deprecated"), 16
) | {"selectableFields": 30}
"""Field of a version of a CRD → the Kubernetes 1.x that knows it first. One before refuses it (server-side apply, and
`kubectl apply`, which validates strictly), or drops it without a word. selectableFields: KEP-4358."""


def oldest_kubernetes() -> int:
    """The x of 1.x, by the charts."""
    declared = {yaml.safe_load((chart / "Chart.yaml").read_text())["kubeVersion"] for chart in (CHART, CRD_CHART)}
    (minor,) = {int(found) for each in declared for found in re.findall(r"^>=1\.(\d+)\.0-0$", each)}
    return minor


def test_the_oldest_kubernetes_knows_every_field_of_the_crds() -> None:
    crds = [crd for path in (ROOT / "crds").glob("*.yaml") for crd in yaml.safe_load_all(path.read_text())]
    fields = {field for crd in crds for version in crd["spec"]["versions"] for field in version}
    assert "selectableFields" in fields
    assert {field for field in fields if SINCE[field] > oldest_kubernetes()} == set()


def test_pages_and_charts_name_the_same_oldest_kubernetes() -> None:
    pages = [ROOT / "README.md", *(ROOT / "charts").rglob("*.md"), *(ROOT / "docs").glob("*.md")]
    named = {page.name: re.findall(r"Kubernetes 1\.(\d+) or\s+newer", page.read_text()) for page in pages}
    assert named["install.md"]
    assert {int(found) for each in named.values() for found in each} == {oldest_kubernetes()}


def test_no_page_says_that_two_releases_share_a_lease(render: Render) -> None:
    """Two of one namespace have each its own, both would lead."""
    leases = {environment(render(values))["SEAWALL_LEASE_NAME"] for values in ({}, {"fullnameOverride": "other"})}
    assert leases == {"seawall", "other"}
    readme = " ".join((CHART / "README.md").read_text().split())
    assert (
        "Let no two releases serve the same namespace, wherever they are installed: each has a Lease of its own"
        in readme
    )
    assert "share the Lease" not in readme


def test_charts_and_operator_have_one_version() -> None:
    project = (ROOT / "operator" / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.+)"$', project, re.MULTILINE)
    for chart in (CHART, CRD_CHART):
        metadata = yaml.safe_load((chart / "Chart.yaml").read_text())
        assert str(metadata["appVersion"]) == version
        assert str(metadata["version"]) == version
