"""The port `SparkApplications` on the API server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import controller_reference
from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.domain.errors import Refused
from seawall.domain.spark_job.application import Driver, Ended, SparkApplication, Stuck, Works

API_VERSION = "sparkoperator.k8s.io/v1beta2"
CONTAINER = "spark-kubernetes-driver"

NO_OPERATOR = (
    f"the API server knows no SparkApplications ({API_VERSION}): install kubeflow's Spark Operator 2.4 "
    "and let it serve this namespace (its chart's spark.jobNamespaces)"
)
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})


class KubeSparkApplications:
    """Reads and writes SparkApplications, and reads their driver pods."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def get(self, key: Key) -> SparkApplication | None:
        """Reads an application."""
        raw = self._api.get(_path(key))
        return None if raw is None else _parse(key, raw)

    def create(self, owner: AnyResource, key: Key, spec: Mapping[str, Any], service_account: str) -> str:
        """Creates an application; what it would fail without is looked for before."""
        if self._api.get(f"/apis/{API_VERSION}") is None:
            raise Refused(NO_OPERATOR)
        if self._api.get(f"/api/v1/namespaces/{key.namespace}/serviceaccounts/{service_account}") is None:
            raise Refused(
                f"there is no ServiceAccount {service_account} in namespace {key.namespace}: let Seawall's chart make "
                "it (replayVerification.create), or name another in the WALCluster's "
                "spark.serviceAccountName"
            )
        metadata = {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {"app.kubernetes.io/managed-by": "seawall"},
            "ownerReferences": [controller_reference(owner, blocks=False)],
        }
        body = {"apiVersion": API_VERSION, "kind": "SparkApplication", "metadata": metadata, "spec": dict(spec)}
        return str(self._api.create(_path(Key(key.namespace, "")).rstrip("/"), body)["metadata"]["uid"])

    def delete(self, application: SparkApplication) -> None:
        """Deletes an application by its UID: the Spark Operator writes its status all the time."""
        self._api.delete(_path(application.key), application.uid)

    def describe_driver(self, application: SparkApplication) -> Driver:
        """Reads the driver's pod."""
        if application.driver_pod is None:
            return None
        pod = self._api.get(f"/api/v1/namespaces/{application.key.namespace}/pods/{application.driver_pod}")
        found = None if pod is None else _driver(pod.get("status") or {})
        is_going = pod is not None and "deletionTimestamp" in pod["metadata"]
        return None if is_going and isinstance(found, Works) else found


def _driver(status: Mapping[str, Any]) -> Driver:
    states = [each.get("state") or {} for each in status.get("containerStatuses", ()) if each["name"] == CONTAINER]
    for state in states:
        if (ended := state.get("terminated")) is not None:
            finished = ended.get("finishedAt")
            finished_at = datetime.fromisoformat(finished) if finished else None
            return Ended(int(ended["exitCode"]), ended.get("message") or "", finished_at)
        if (waiting := state.get("waiting")) is not None and waiting.get("reason", "") not in _STARTING:
            return Stuck(waiting["reason"], waiting.get("message") or "")
        if "running" in state:
            return Works()
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return Stuck(condition.get("reason") or "Unschedulable", condition.get("message") or "")
    return None


def _parse(key: Key, raw: Mapping[str, Any]) -> SparkApplication:
    metadata, status = raw["metadata"], raw.get("status") or {}
    state = status.get("applicationState") or {}
    owners = metadata.get("ownerReferences", ())
    return SparkApplication(
        key=key,
        uid=metadata["uid"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        controller_uid=next((owner["uid"] for owner in owners if owner.get("controller")), None),
        state=state.get("state") or "",
        error=state.get("errorMessage") or "",
        executors=tuple(sorted((status.get("executorState") or {}).values())),
        driver_pod=(status.get("driverInfo") or {}).get("podName") or None,
    )


def _path(key: Key) -> str:
    return f"/apis/{API_VERSION}/namespaces/{key.namespace}/sparkapplications/{key.name}"
