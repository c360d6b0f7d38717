"""What verifications and backups of a WALCluster have alike: SparkApplications, and programs of their image in pods."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from seawall_e2e.cluster import WALCluster, signal_in_pod
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.loopback.java import QUICK
from seawall_e2e.objects import apply, get, items
from seawall_e2e.waiting import wait_until

ACCOUNT = "seawall-replay-verification"
STORAGE_USER = 65532
"""Whose files those of the reference database are."""
_SHUT = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
_CONF = {f"spark.{role}.defaultJavaOptions": QUICK for role in ("driver", "executor")}
SMALL = {"executors": 1, "memory": "512Mi", "driverMemory": "512Mi", "cpuRequest": "100m", "conf": _CONF}
"""Few and small pods."""


class SparkJobs:
    """What runs for one WALCluster, of one image. `kinds` are their short names."""

    def __init__(self, wal: WALCluster, image: str, kinds: str) -> None:
        self.wal, self._image, self._kinds = wal, image, kinds
        self._pods = count(1)

    def make_claim(self, name: str) -> None:
        """Makes a claim."""
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        apply(self._object("v1", "PersistentVolumeClaim", name, claim))

    def executors(self, application: str) -> list[str]:
        """The pods of its executors that run."""
        selector = f"sparkoperator.k8s.io/app-name={application},spark-role=executor"
        found = items(self.wal.namespace, "pods", labels=selector, fields="status.phase=Running")
        return [str(pod["metadata"]["name"]) for pod in found]

    def driver_log(self, application: str) -> str:
        """What its driver has written; nothing before it has a pod that can be read."""
        return self._kubectl("logs", f"{application}-driver", "--ignore-errors")

    def signal(self, pod: str, name: str) -> None:
        """Sends a signal to the Java of a driver or an executor."""
        signal_in_pod(self.wal.namespace, pod, "java", signal=name)

    def explain(self) -> str:
        """Objects, applications, pods and the ends of the drivers' logs, for people."""
        objects = self._kubectl("get", f"{self._kinds},walh,sparkapplications,pods", "-o", "wide", "--ignore-not-found")
        logs = self._kubectl("logs", "-l", "spark-role=driver", "--prefix", "--tail=30", "--ignore-errors")
        return f"{objects}\n{self._kubectl('get', self._kinds, '-o', 'yaml')}\n{logs}\n{self.wal.explain()}"

    def run_to_end(self, command: list[str], user: int, claims: Mapping[str, tuple[str, bool]]) -> str:
        """What a program prints in a pod; of each claim where it is mounted, and whether to read only."""
        pod = f"program-{next(self._pods)}"
        identity = {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user}
        mounts = [{"name": name, "mountPath": path, "readOnly": closed} for name, (path, closed) in claims.items()]
        tmp = {"name": "tmp", "mountPath": "/tmp"}  # noqa: S108 - of its own pod
        container = {"name": "program", "image": self._image, "args": command}
        spec = {
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "securityContext": {**identity, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{**container, "securityContext": _SHUT, "volumeMounts": [tmp, *mounts]}],
            "volumes": [
                {"name": "tmp", "emptyDir": {}},
                *(
                    {"name": name, "persistentVolumeClaim": {"claimName": name, "readOnly": closed}}
                    for name, (_, closed) in claims.items()
                ),
            ],
        }
        apply(self._object("v1", "Pod", pod, spec))
        phase = wait_until(lambda: self._end_of(pod), f"{pod} has ended", explain=self.explain)
        said = self._kubectl("logs", pod)
        if phase != "Succeeded":
            raise AssertionError(f"{pod} ({command[0]}) failed: {said}\n{self.explain()}")
        self._kubectl("delete", "pod", pod, "--wait=false")
        return said

    def _end_of(self, pod: str) -> str | None:
        phase = str(get(self.wal.namespace, "pods", pod)["status"]["phase"])
        return phase if phase in {"Succeeded", "Failed"} else None

    def _object(self, version: str, kind: str, name: str, spec: Mapping[str, Any]) -> Object:
        metadata = {"name": name, "namespace": self.wal.namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    def _kubectl(self, *words: str) -> str:
        return kubectl("-n", self.wal.namespace, *words)
