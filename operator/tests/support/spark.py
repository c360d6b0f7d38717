"""The part of the Spark Operator and of the kubelet, on an API server without nodes: they write statuses."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from seawall_e2e.loopback.processes import platform_folder
from tests.support.kube import KubeClient, Object, load_yaml

BUILD_SECONDS = 1200.0
APPLICATIONS = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/{}/sparkapplications"

_INSTALLING = threading.Lock()
"""Stories of one test are told at the same time."""


def install_spark_crd(kube: KubeClient) -> None:
    """Installs the CRD of SparkApplications, out of the chart of the real Spark Operator, and waits for it."""
    with _INSTALLING:
        if kube.find(APPLICATIONS.format("default")) is not None:
            return
        chart: Path = platform_folder("spark/operator.sh", BUILD_SECONDS) / "chart"
        kube.install_crd(load_yaml(chart / "crds/sparkoperator.k8s.io_sparkapplications.yaml"))


@dataclass(frozen=True, slots=True)
class SparkOperatorRole:
    """Writes what they would, in one namespace."""

    kube: KubeClient
    namespace: str

    def path(self, name: str = "") -> str:
        """The API path of a SparkApplication, or of all."""
        return f"{APPLICATIONS.format(self.namespace)}/{name}".rstrip("/")

    def applications(self) -> list[Object]:
        """All there are."""
        found: list[Object] = self.kube.request("GET", self.path())["items"]
        return found

    def pass_all(self, name: str) -> None:
        """The application reads its request, finds nothing wrong with any topic, and ends."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{name}"
        stored = self.kube.request("GET", path)["binaryData"]["request.json.gz"]
        digest = sha256(gzip.decompress(base64.b64decode(stored))).hexdigest()
        counts = dict.fromkeys(("records", "bytes", "entries", "errors", "warnings", "regionsNotCompared"), 0)
        verdict = {"version": 1, "requestDigest": digest, "level": "Integrity", "outcome": "Passed", "counts": counts}
        ended = {"terminated": {"exitCode": 0, "message": json.dumps({**verdict, "message": "all topics replay"})}}
        container = {"name": "spark-kubernetes-driver", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
        self.report_driver(name, {"phase": "Succeeded", "containerStatuses": [{**container, "state": ended}]})
        self.report(name, "COMPLETED")

    def report(self, name: str, state: str, error: str = "", executors: tuple[str, ...] = ()) -> None:
        """The Spark Operator writes the status of an application that it has submitted."""
        status = {
            "applicationState": {"state": state, "errorMessage": error},
            "driverInfo": {"podName": f"{name}-driver"},
            "executorState": {f"{name}-exec-{number}": each for number, each in enumerate(executors, 1)},
        }
        self.kube.merge(f"{self.path(name)}/status", {"status": status})

    def report_driver(self, name: str, status: dict[str, Any]) -> None:
        """Spark makes the driver's pod, and the kubelet writes its status."""
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        pod = f"{name}-driver"
        if self.kube.find(f"{pods}/{pod}") is None:
            containers = [{"name": "spark-kubernetes-driver", "image": "replay-verification:1"}]
            self.kube.create(pods, {"metadata": {"name": pod}, "spec": {"containers": containers}})
        self.kube.merge(f"{pods}/{pod}/status", {"status": status})
