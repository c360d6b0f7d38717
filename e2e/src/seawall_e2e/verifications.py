"""Replay verifications of a WALCluster on the Spark Operator, and their reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import PLATFORM, REPOSITORY, WALCluster, signal_in_pod
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, containers, find, get, items
from seawall_e2e.waiting import wait_until

ACCOUNT = "seawall-replay-verification"
REPORTS = "reports"
"""The claim that the reports are written to."""
USER = 185
STORAGE_USER = 65532
"""Who owns the files of the reference database."""
SNAPSHOTS = Path(__file__).with_name("snapshots.py")
OVER = frozenset({"Completed", "Failed"})
VERDICT_SECONDS = 150
"""Far beyond what a verification takes on a busy machine: three JVMs start."""
_SHUT = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CONF = {f"spark.{role}.defaultJavaOptions": _SHORT_LIVED for role in ("driver", "executor")}
_SMALL = {"executors": 1, "memory": "512Mi", "driverMemory": "512Mi", "cpuRequest": "100m", "conf": _CONF}


def build_verification_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    script = REPOSITORY / "spark-apps/replay-verification/image.sh"
    return run(script, timeout=1200, show_progress=True).strip()


def install_spark_operator() -> None:
    """Installs the Spark Operator unless it is there."""
    run(PLATFORM / "spark/deploy.sh", timeout=1200, show_progress=True)


def scale_spark_operator(replicas: int) -> None:
    """Takes the Spark Operator away or brings it back, and waits until that is done."""
    deployment = "deployment/spark-operator-controller"
    kubectl("-n", "spark-operator", "scale", deployment, f"--replicas={replicas}")
    kubectl("-n", "spark-operator", "rollout", "status", deployment, "--timeout=90s", timeout=100)


@dataclass(frozen=True, slots=True)
class Verification:
    """A WALVerification, as its status says."""

    name: str
    stage: str | None
    attempt: int
    outcome: str | None
    message: str | None
    application: str | None
    verified_from: Mapping[str, int]
    """Topic → where its verification began to read."""
    verified: frozenset[str]
    """The topics of which the level was proved."""
    counts: Mapping[str, int]
    entries: int
    """How many offsets lie in what it was told to read: in a log without transactions as many records."""
    findings: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, found: Object) -> Verification:
        """Reads it."""
        status = found.get("status", {})
        topics = status.get("topics", ())
        return cls(
            found["metadata"]["name"],
            status.get("stage"),
            status.get("attempt", 0),
            status.get("outcome"),
            status.get("message"),
            status.get("applicationName"),
            {each["name"]: each["verifiedFrom"] for each in topics},
            frozenset(each["name"] for each in topics if each["verified"]),
            status.get("counts") or {},
            sum(each["end"] - each["verifiedFrom"] for each in topics),
            tuple(status.get("findings", ())),
        )

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.stage in OVER

    @property
    def driver(self) -> str:
        """The pod of its driver."""
        if self.application is None:
            raise AssertionError(f"{self} has no application yet")
        return f"{self.application}-driver"


class Verifications:
    """What verifies one WALCluster; `user` is the Secret with the jobs' own user of Kafka."""

    def __init__(self, wal: WALCluster, image: str, user: str | None = None) -> None:
        self.wal, self._image, self._user = wal, image, user
        self._pods = count(1)

    def declare(self) -> None:
        """Lets the WALCluster say what verifies it: the image, its account, and few and small pods."""
        declared: dict[str, Any] = {"spark": {"image": self._image, "serviceAccountName": ACCOUNT, **_SMALL}}
        if self._user is not None:
            declared["kafkaCredentialsSecretRef"] = {"name": self._user}
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"verification": declared}})))

    def make_claim(self, name: str) -> None:
        """Makes a claim."""
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        apply(self._object("v1", "PersistentVolumeClaim", name, claim))

    def request(self, name: str, **spec: Any) -> None:
        """Asks for a verification of level Integrity, with a report."""
        self.declare()
        self.make_claim(REPORTS)
        body = {
            "clusterRef": {"name": self.wal.name},
            "level": "Integrity",
            "report": {"persistentVolumeClaim": REPORTS},
            "timeout": "10m",
            **spec,
        }
        apply(self._object("seawall.dev/v1alpha1", "WALVerification", name, body))

    def find(self, name: str) -> Verification:
        """How far it is."""
        return Verification.of(get(self.wal.namespace, "walverifications", name))

    def wait_until_runs(self, name: str, *, after: str | None = None) -> Verification:
        """Waits until the container of its driver runs; of another application than `after`."""

        def runs() -> Verification | None:
            seen = self.find(name)
            if seen.is_over:
                raise AssertionError(f"{seen} is over\n{self.explain()}")
            if seen.application in {None, after}:
                return None
            pod = find(self.wal.namespace, "pods", seen.driver) or {}
            return seen if any("running" in each["state"] for each in containers(pod)) else None

        return wait_until(runs, f"the driver of {name} runs", every=0.5, explain=self.explain)

    def wait_until_stalled(self, name: str, reason: str) -> str:
        """Waits until a person is told to act, for this reason; returns the sentence."""

        def sentence() -> str | None:
            conditions = get(self.wal.namespace, "walverifications", name).get("status", {}).get("conditions", ())
            stalled = next((each for each in conditions if each["type"] == "Stalled"), {"status": "False"})
            is_so = (stalled["status"], stalled.get("reason")) == ("True", reason)
            return str(stalled["message"]) if is_so else None

        return wait_until(sentence, f"{name} is Stalled: {reason}", within=150, every=0.5, explain=self.explain)

    def condition(self, name: str, kind: str) -> Object | None:
        """A condition of a verification."""
        conditions = get(self.wal.namespace, "walverifications", name).get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), None)

    def driver_secrets(self, seen: Verification) -> set[str]:
        """The Secrets that its driver's pod has mounted."""
        volumes = get(self.wal.namespace, "pods", seen.driver)["spec"]["volumes"]
        return {each["secret"]["secretName"] for each in volumes if "secret" in each}

    def wait_until_over(self, name: str, *, within: float = VERDICT_SECONDS) -> Verification:
        """Waits for its end."""

        def over() -> Verification | None:
            seen = self.find(name)
            return seen if seen.is_over else None

        return wait_until(over, f"{name} is over", within=within, every=0.5, explain=self.explain)

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

    def report(self, seen: Verification) -> tuple[Mapping[str, Any], str]:
        """The report of its last attempt, and the page for people."""
        path = f"/reports/{self.wal.namespace}/{seen.application}"
        return json.loads(self._read(f"{path}.json")), self._read(f"{path}.html")

    def table(self) -> str:
        """Verifications as `kubectl get` prints them."""
        return self._kubectl("get", "walv", "-o", "wide")

    def explain(self) -> str:
        """Verifications, applications, pods and the ends of the drivers' logs, for people."""
        objects = self._kubectl("get", "walv,walh,sparkapplications,pods", "-o", "wide", "--ignore-not-found")
        logs = self._kubectl("logs", "-l", "spark-role=driver", "--prefix", "--tail=30", "--ignore-errors")
        return f"{objects}\n{self._kubectl('get', 'walv', '-o', 'yaml')}\n{logs}\n{self.wal.explain()}"

    def export_snapshot(self, storage: str, claim: str) -> dict[str, Any]:
        """Makes a snapshot of a database's storage, a claim, on another one; returns it as in `spec.snapshot`."""
        self.make_claim(claim)
        mounts = {storage: ("/storage", True), claim: ("/made", False)}
        self._run_to_end(["python", "-c", SNAPSHOTS.read_text(), "/storage", "/made/cuts"], STORAGE_USER, mounts)
        return {"uri": "file:///snapshot/cuts", "persistentVolumeClaim": claim}

    def _read(self, path: str) -> str:
        """A file of the reports' volume."""
        return self._run_to_end(["cat", path], USER, {REPORTS: ("/reports", True)})

    def _run_to_end(self, command: list[str], user: int, claims: Mapping[str, tuple[str, bool]]) -> str:
        """What a program prints in a pod; of each claim where it is mounted, and whether to read only."""
        pod = f"program-{next(self._pods)}"
        identity = {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user}
        mounts = [{"name": name, "mountPath": path, "readOnly": closed} for name, (path, closed) in claims.items()]
        container = {"name": "program", "image": self._image, "args": command}
        spec = {
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "securityContext": {**identity, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{**container, "securityContext": _SHUT, "volumeMounts": mounts}],
            "volumes": [
                {"name": name, "persistentVolumeClaim": {"claimName": name, "readOnly": closed}}
                for name, (_, closed) in claims.items()
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
