"""The local cluster as the demo and the e2e tests use it: the platform, Seawall by Helm, WALClusters, brokers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seawall_e2e.commands import CommandFailed, Object, helm, kubectl, run
from seawall_e2e.objects import apply, count_restarts, delete, find, get, is_ready, items, wait_complete
from seawall_e2e.waiting import wait_until

REPOSITORY = Path(__file__).parents[3]
PLATFORM = REPOSITORY / "e2e/platform"
CHARTS = REPOSITORY / "charts"
CRDS = tuple(f"{path.stem}.seawall.dev" for path in sorted((REPOSITORY / "crds").glob("*.yaml")))
WAL_CLUSTER_CRD = "walclusters.seawall.dev"

BROKERS = 3
PLAINTEXT = tuple(f"kafka-{broker}.kafka.kafka:9092" for broker in range(BROKERS))
SASL_SSL = tuple(f"kafka-{broker}.kafka.kafka:9093" for broker in range(BROKERS))

PLATFORM_UP_SECONDS = 2400
"""From empty caches Kubernetes is compiled and Kafka's jars are fetched."""
START_SECONDS = 90
"""Far beyond what the operator's start takes on a busy machine."""


def start_platform() -> None:
    """Starts the cluster with Kafka unless it is up, shows its progress, and points this process at it."""
    subprocess.run([PLATFORM / "cluster", "up"], check=True, timeout=PLATFORM_UP_SECONDS)
    script = 'eval "$("$0" env)" && printf "%s\\n%s" "$KUBECONFIG" "$PATH"'
    os.environ["KUBECONFIG"], os.environ["PATH"] = run("bash", "-c", script, str(PLATFORM / "cluster")).split("\n")


def build_operator_image() -> str:
    """Builds the operator's image unless it was built, loads it into the cluster, and returns its reference."""
    return run(str(PLATFORM / "operator-image.sh"), timeout=1200, show_progress=True).strip()


def install_crds(chart: Path = CHARTS / "seawall-crds") -> None:
    """Installs or upgrades the CRDs by Helm and waits until they are served."""
    helm("upgrade", "--install", "seawall-crds", str(chart), "--namespace", "default")
    kubectl("wait", "crd", *CRDS, "--for=condition=Established", "--timeout=30s")


def make_namespace(name: str) -> None:
    """Makes a namespace that admits only pods of the strictest Pod Security level."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def make_kafka_secrets(namespace: str) -> None:
    """Copies Kafka's CA certificate and its user's credentials into a namespace."""
    for name in ("kafka-ca", "kafka-user"):
        data = get("kafka", "secrets", name)["data"]
        metadata = {"name": name, "namespace": namespace}
        apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


@dataclass(frozen=True, slots=True)
class Operator:
    """A Helm release of the operator, named `seawall`, in a namespace."""

    namespace: str
    image: str

    def install(self, *values: str) -> None:
        """Installs or upgrades it, with values as in `helm --set`, and waits until its pods are ready."""
        repository, tag = self.image.rsplit(":", 1)
        settings = [f"image.repository={repository}", f"image.tag={tag}", *values]
        wait = ("--wait", f"--timeout={START_SECONDS}s")
        chart = ("seawall", str(CHARTS / "seawall"), "--namespace", self.namespace)
        sets = (word for setting in settings for word in ("--set", setting))
        try:
            helm("upgrade", "--install", *chart, *wait, *sets, timeout=START_SECONDS + 30)
        except CommandFailed as failed:
            raise AssertionError(f"{failed}\n{self.log()}\n{kubectl('-n', self.namespace, 'get', 'events')}") from None

    def scale(self, replicas: int) -> None:
        """Runs so many pods of it, and waits until they are ready."""
        kubectl("-n", self.namespace, "scale", "deployment/seawall", f"--replicas={replicas}")
        wait_complete(self.namespace, "deployments", "seawall", within=START_SECONDS, explain=self.log)

    def uninstall(self) -> None:
        """Uninstalls the release and waits until no pod of it is left."""
        helm("uninstall", "seawall", "--namespace", self.namespace, "--wait", "--ignore-not-found")
        wait_until(lambda: not self.pods(), "the operator's pods are gone", within=60, explain=self.pods)

    def pods(self) -> list[str]:
        """The names of its pods."""
        return [str(pod["metadata"]["name"]) for pod in self._pods()]

    def restarts(self) -> int:
        """How often containers of its pods were started again."""
        return sum(map(count_restarts, self._pods()))

    def is_ready(self) -> bool:
        """Whether each container of its pods is ready."""
        return all(map(is_ready, self._pods()))

    def leader(self) -> str | None:
        """The pod that holds the Lease."""
        lease = find(self.namespace, "leases", "seawall")
        return (lease["spec"].get("holderIdentity") or None) if lease else None

    def remove(self, pod: str) -> None:
        """Deletes a pod by force; its process still gets a SIGTERM, and two seconds."""
        kubectl("-n", self.namespace, "delete", "pod", pod, "--grace-period=0", "--force")

    def crash(self, pod: str) -> None:
        """Kills all of a pod's processes with SIGKILL."""
        signal_in_pod(self.namespace, pod)

    def signal(self, pod: str, name: str) -> None:
        """Sends a signal to all of a pod's processes: STOP freezes them, CONT lets them go on."""
        signal_in_pod(self.namespace, pod, signal=name)

    def resident_megabytes(self) -> int:
        """The resident memory of one of its pods' main process."""
        code = "import re; print(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/1/status').read())[1])"
        return int(kubectl("-n", self.namespace, "exec", self.pods()[0], "--", "python", "-c", code)) // 1024

    def log(self, lines: int = 40) -> str:
        """The end of the log of each of its pods."""
        words = ("logs", "-l", "app.kubernetes.io/name=seawall", "--prefix", f"--tail={lines}", "--ignore-errors")
        return kubectl("-n", self.namespace, *words)

    def _pods(self) -> list[Object]:
        return items(self.namespace, "pods", labels="app.kubernetes.io/name=seawall")


@dataclass(frozen=True, slots=True)
class WALCluster:
    """A WALCluster on the cluster."""

    namespace: str
    name: str

    def apply(self, topics: dict[str, Any], kafka: dict[str, Any] | None = None, **spec: Any) -> None:
        """Applies it; without `kafka` its Kafka is the platform's, in plain text."""
        external = kafka or {"bootstrapServers": list(PLAINTEXT)}
        apply(
            {
                "apiVersion": "seawall.dev/v1alpha1",
                "kind": "WALCluster",
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": {"kafka": {"external": external}, "topics": topics, **spec},
            }
        )

    def patch_command(self, merge: str) -> tuple[str, ...]:
        """The kubectl command that merges JSON into it."""
        return "-n", self.namespace, "patch", "walc", self.name, "--type=merge", "-p", merge

    def find(self) -> Object | None:
        """The object, or None."""
        return find(self.namespace, "walclusters", self.name)

    def status(self) -> Object:
        """The status of an object that is there."""
        found: Object = (self.find() or {})["status"]
        return found

    def wait(self, reason: str, *, kind: str = "Ready", within: float = 60) -> Object:
        """Waits until a condition has this reason for the current generation."""
        what = f"{kind} of {self} is {reason}"
        return wait_until(lambda: self._with_reason(kind, reason), what, within=within, explain=self.explain)

    def delete(self, *, within: float = 60) -> None:
        """Deletes it and waits until it is gone."""
        delete(self.namespace, "walclusters", self.name)
        wait_until(lambda: self.find() is None, f"{self} is gone", within=within, explain=self.explain)

    def events(self, reason: str) -> list[Object]:
        """Its events with a reason."""
        selector = f"involvedObject.kind=WALCluster,involvedObject.name={self.name},reason={reason}"
        return items(self.namespace, "events", fields=selector)

    def wait_event(self, reason: str, *, within: float = 60) -> Object:
        """Waits for an event with a reason."""
        found = wait_until(lambda: self.events(reason), f"event {reason}", within=within, explain=self.explain)
        return found[0]

    def is_fully_replicated(self) -> bool:
        """Whether its status counts no topic with a replica out of sync."""
        return bool(self.status()["topics"]["underReplicated"] == 0)

    def explain(self) -> str:
        """Its conditions, the object and its events, for people."""
        conditions = (self.find() or {}).get("status", {}).get("conditions", ())
        said = [f"{each['type']} {each['status']}, {each['reason']}: {each['message']}" for each in conditions]
        about = f"involvedObject.kind=WALCluster,involvedObject.name={self.name}"
        events = ("get", "events", "--field-selector", about, "--sort-by=.metadata.creationTimestamp")
        whole = kubectl("-n", self.namespace, "get", "walc", self.name, "-o", "yaml", "--ignore-not-found")
        return "\n".join((*said, whole, kubectl("-n", self.namespace, *events)))

    def _with_reason(self, kind: str, reason: str) -> Object | None:
        found = self.find() or {}
        status: Object = found.get("status", {})
        reasons = {each["type"]: each["reason"] for each in status.get("conditions", ())}
        seen = status.get("observedGeneration") == found.get("metadata", {}).get("generation")
        return found if seen and reasons.get(kind) == reason else None


def signal_in_pod(namespace: str, pod: str, program: str = ".*", *, signal: str = "KILL") -> None:
    """Sends a signal to a pod's processes of a program (a pattern), and fails if there are none.

    On the node: from inside of a pod its first process is out of reach.
    """
    uid = get(namespace, "pods", pod)["metadata"]["uid"].replace("-", "[-_]")
    script = """cd /proc && killed=1; for each in $(grep -ls "$0" [0-9]*/cgroup); do
        if grep -qx "$1" "${each%cgroup}comm"; then kill -"$2" "${each%/cgroup}" && killed=0; fi
    done; exit $killed"""
    run(str(PLATFORM / "cluster"), "shell", "sh", "-c", script, f"pod{uid}", program, signal)


@contextmanager
def broker_away() -> Iterator[None]:
    """The last broker is taken away, and comes back."""
    try:
        scale_kafka(BROKERS - 1)
        yield
    finally:
        scale_kafka(BROKERS)


def wipe_kafka() -> None:
    """Kafka loses all its disks at once, and starts anew, empty, with the same cluster id. All tests share it."""
    kafka, claims = ("kubectl", "-n", "kafka"), [f"data-kafka-{broker}" for broker in range(BROKERS)]
    run(*kafka, "scale", "statefulset", "kafka", "--replicas=0")
    # At once: all three would wait in vain for somebody who takes over.
    run(*kafka, "delete", "pods", "-l", "app.kubernetes.io/name=kafka", "--force", "--grace-period=0", timeout=160)
    run(*kafka, "delete", "pvc", *claims, timeout=120)
    scale_kafka(BROKERS)


def scale_kafka(replicas: int) -> None:
    """Takes brokers away or brings them back, and waits until that is done."""
    kubectl("-n", "kafka", "scale", "statefulset", "kafka", f"--replicas={replicas}")
    kubectl("-n", "kafka", "rollout", "status", "statefulset/kafka", "--timeout=120s", timeout=130)
    if replicas < BROKERS:
        kubectl("-n", "kafka", "wait", f"pod/kafka-{replicas}", "--for=delete", "--timeout=150s", timeout=160)
