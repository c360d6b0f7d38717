"""What the contract tests of the Workloads port run on: a real API server, and the fake.

In both the test plays the StatefulSet's controller, the kubelet and the disruption controller.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.workloads import REVISION_LABEL, KubeWorkloads
from seawall.api.meta import Key
from seawall.domain.rollout.workload import (
    CONFIG_HASH_ANNOTATION,
    RESTART_ANNOTATION,
    RESTARTED_AT_ANNOTATION,
    Template,
    Termination,
    UpdateStrategy,
)
from seawall.ports import Workloads
from tests.fakes.workloads import FakeWorkloads
from tests.support.kube import KubeClient, Object

NAME = "datanode"
LABELS = {"app": NAME}
FORBIDDEN = "The disruption budget datanode needs 3 healthy pods and has 3 currently"
BEGAN = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)


class WorkloadBed(Protocol):
    """A StatefulSet of datanodes, and Kubernetes beside it."""

    @property
    def workloads(self) -> Workloads: ...
    @property
    def key(self) -> Key: ...

    def apply(
        self,
        *,
        strategy: UpdateStrategy = UpdateStrategy.ON_DELETE,
        partition: int = 0,
        template: Template = Template(),  # noqa: B008 - it is frozen
        controller: str | None = None,
    ) -> None: ...
    def observe(self, revision: str) -> None: ...
    def make_pod(self, ordinal: int, revision: str, restart: str | None = None) -> None: ...
    def make_stranger(self) -> None: ...
    def remove_pod(self, ordinal: int) -> None: ...
    def report(
        self, ordinal: int, *, ready: bool, restarts: int = 0, waiting: str = "", last: Termination | None = None
    ) -> None: ...
    def budget(self, *, allows: bool) -> None: ...


class FakeWorkloadBed:
    """In memory."""

    def __init__(self) -> None:
        self.workloads = FakeWorkloads()
        self.key = Key("default", NAME)

    def apply(self, **declared: Any) -> None:
        self.workloads.apply(self.key, **declared)

    def observe(self, revision: str) -> None:
        self.workloads.observe(self.key, revision)

    def make_pod(self, ordinal: int, revision: str, restart: str | None = None) -> None:
        self.workloads.make_pod(self.key, ordinal, revision, restart)

    def make_stranger(self) -> None:
        other = Key(self.key.namespace, "other")
        self.workloads.apply(other)
        self.workloads.make_pod(other, 0, "rev-1")

    def remove_pod(self, ordinal: int) -> None:
        self.workloads.remove_pod(self.key, ordinal)

    def report(self, ordinal: int, **found: Any) -> None:
        self.workloads.report(self.key, ordinal, **found)

    def budget(self, *, allows: bool) -> None:
        self.workloads.forbids = None if allows else FORBIDDEN


class RealWorkloadBed:
    """A namespace of a real API server, on which no controller runs."""

    def __init__(self, client: KubeClient, api: KubeApi, namespace: str) -> None:
        self._client = client
        self.workloads = KubeWorkloads(api)
        self.key = Key(namespace, NAME)
        self._sets = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"

    def apply(
        self,
        *,
        strategy: UpdateStrategy = UpdateStrategy.ON_DELETE,
        partition: int = 0,
        template: Template = Template(),  # noqa: B008 - it is frozen
        controller: str | None = None,
    ) -> None:
        rolling = {} if strategy is UpdateStrategy.ON_DELETE else {"rollingUpdate": {"partition": partition}}
        metadata: Object = {"name": NAME}
        if controller is not None:
            kind, name = controller.split()
            owner = {"apiVersion": "greptime.io/v1alpha1", "kind": kind, "name": name, "uid": "1", "controller": True}
            metadata["ownerReferences"] = [owner]
        spec = {
            "replicas": 3,
            "serviceName": NAME,
            "selector": {"matchLabels": LABELS, "matchExpressions": [{"key": "gone", "operator": "DoesNotExist"}]},
            "updateStrategy": {"type": strategy.value, **rolling},
            "template": _template(template),
        }
        self._client.create(self._sets, {"metadata": metadata, "spec": spec})

    def observe(self, revision: str) -> None:
        generation = self._set()["metadata"]["generation"]
        status = {"observedGeneration": generation, "updateRevision": revision, "replicas": 3}
        self._client.merge(f"{self._sets}/{NAME}/status", {"status": status})

    def make_pod(self, ordinal: int, revision: str, restart: str | None = None) -> None:
        path = f"{self._pods}/{NAME}-{ordinal}"
        if self._client.find(path) is not None:
            self.remove_pod(ordinal)
        found = self._set()
        annotations = dict(found["spec"]["template"]["metadata"].get("annotations") or {})
        if restart is not None:
            annotations[RESTART_ANNOTATION] = restart
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": NAME, "uid": found["metadata"]["uid"]}
        self._make(
            f"{NAME}-{ordinal}", annotations, {**LABELS, REVISION_LABEL: revision}, {**owner, "controller": True}
        )

    def make_stranger(self) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "2", "controller": True}
        self._make("other-0", {}, dict(LABELS), owner)

    def _make(self, name: str, annotations: dict[str, str], labels: dict[str, str], owner: Object) -> None:
        metadata = {"name": name, "annotations": annotations, "labels": labels, "ownerReferences": [owner]}
        # of a pod that has a node, the API server waits for the kubelet's word that it is gone
        spec = {"nodeName": "node-1", "containers": [{"name": NAME, "image": "refdb:1"}]}
        self._client.create(self._pods, {"metadata": metadata, "spec": spec})

    def remove_pod(self, ordinal: int) -> None:
        path = f"{self._pods}/{NAME}-{ordinal}"
        self._client.request("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})

    def report(
        self, ordinal: int, *, ready: bool, restarts: int = 0, waiting: str = "", last: Termination | None = None
    ) -> None:
        state: Object = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
        container: Object = {
            "name": NAME,
            "image": "refdb:1",
            "imageID": "",
            "ready": ready,
            "restartCount": restarts,
            "state": state,
        }
        if last is not None:
            container["lastState"] = {"terminated": _terminated(last)}
        status = {
            "phase": "Running",
            "podIP": f"10.0.0.{ordinal}",
            "podIPs": [{"ip": f"10.0.0.{ordinal}"}],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [container],
        }
        self._client.merge(f"{self._pods}/{NAME}-{ordinal}/status", {"status": status})

    def budget(self, *, allows: bool) -> None:
        path = f"{self._budgets}/{NAME}"
        if self._client.find(path) is None:
            spec = {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}
            self._client.create(self._budgets, {"metadata": {"name": NAME}, "spec": spec})
        counts = {"currentHealthy": 3, "desiredHealthy": 2 if allows else 3, "expectedPods": 3}
        status = {"observedGeneration": 1, "disruptionsAllowed": int(allows), **counts}
        self._client.merge(f"{path}/status", {"status": status})

    def _set(self) -> Object:
        return self._client.request("GET", f"{self._sets}/{NAME}")


def _template(template: Template) -> dict[str, Any]:
    named = {CONFIG_HASH_ANNOTATION: template.config_hash, RESTARTED_AT_ANNOTATION: template.restarted_at}
    annotations = {name: value for name, value in named.items() if value is not None}
    container: dict[str, Any] = {"name": NAME, "image": "refdb:1"}
    if template.startup_seconds is not None:
        probe = {"failureThreshold": template.startup_seconds // 5, "periodSeconds": 5}
        container["startupProbe"] = {"httpGet": {"path": "/health", "port": 4000}, **probe}
    return {"metadata": {"labels": LABELS, "annotations": annotations}, "spec": {"containers": [container]}}


def _terminated(last: Termination) -> dict[str, Any]:
    found: dict[str, Any] = {"exitCode": last.exit_code, "reason": last.reason, "message": last.message}
    if last.lasted is not None:
        found["startedAt"] = BEGAN.isoformat().replace("+00:00", "Z")
        found["finishedAt"] = (BEGAN + last.lasted).isoformat().replace("+00:00", "Z")
    return found
