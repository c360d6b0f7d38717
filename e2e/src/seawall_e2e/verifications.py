"""Replay verifications of a WALCluster on the Spark Operator, and their reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import PLATFORM, REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, containers, find, get
from seawall_e2e.spark_jobs import ACCOUNT, SMALL, STORAGE_USER, SparkJobs
from seawall_e2e.waiting import wait_until

REPORTS = "reports"
"""The claim that the reports are written to."""
USER = 185
SNAPSHOTS = Path(__file__).with_name("snapshots.py")
OVER = frozenset({"Completed", "Failed"})
VERDICT_SECONDS = 150
"""Far beyond what a verification takes on a busy machine: three JVMs start."""


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


class Verifications(SparkJobs):
    """What verifies one WALCluster; `user` is the Secret with the jobs' own user of Kafka."""

    def __init__(self, wal: WALCluster, image: str, user: str | None = None) -> None:
        super().__init__(wal, image, "walv")
        self._user = user

    def declare(self) -> None:
        """Lets the WALCluster say what verifies it: the image, its account, and few and small pods."""
        declared: dict[str, Any] = {"spark": {"image": self._image, "serviceAccountName": ACCOUNT, **SMALL}}
        if self._user is not None:
            declared["kafkaCredentialsSecretRef"] = {"name": self._user}
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"verification": declared}})))

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

    def report(self, seen: Verification) -> tuple[Mapping[str, Any], str]:
        """The report of its last attempt, and the page for people."""
        path = f"/reports/{self.wal.namespace}/{seen.application}"
        return json.loads(self._read(f"{path}.json")), self._read(f"{path}.html")

    def table(self) -> str:
        """Verifications as `kubectl get` prints them."""
        return self._kubectl("get", "walv", "-o", "wide")

    def export_snapshot(self, storage: str, claim: str) -> dict[str, Any]:
        """Makes a snapshot of a database's storage, a claim, on another one; returns it as in `spec.snapshot`."""
        self.make_claim(claim)
        mounts = {storage: ("/storage", True), claim: ("/made", False)}
        self.run_to_end(["python", "-c", SNAPSHOTS.read_text(), "/storage", "/made/cuts"], STORAGE_USER, mounts)
        return {"uri": "file:///snapshot/cuts", "persistentVolumeClaim": claim}

    def _read(self, path: str) -> str:
        """A file of the reports' volume."""
        return self.run_to_end(["cat", path], USER, {REPORTS: ("/reports", True)})
