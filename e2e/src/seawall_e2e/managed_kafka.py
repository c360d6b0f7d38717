"""A Kafka that Seawall runs, on the local cluster: the example, as one machine can bear it, and its records."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import yaml

from seawall_e2e.cluster import REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.objects import apply, get, items
from seawall_e2e.waiting import wait_until

EXAMPLE = REPOSITORY / "crds/examples/valid/managed-kafka.yaml"
QUICK = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:SharedArchiveFile=/opt/kafka/classes.jsa",
]
SMALL = {"requests": {"cpu": "50m", "memory": "320Mi"}, "limits": {"memory": "1Gi"}}
FEW_THREADS = {
    "num.io.threads": "2",
    "num.network.threads": "1",
    "offsets.topic.num.partitions": "3",
    "metadata.max.idle.interval.ms": "5000",
}
NODES = (0, 1, 2, 100, 101, 102)


def example(namespace: str, prefix: str) -> Object:
    """The example in this machine's sizes, with nodes that share it, and the platform's image of Kafka."""
    found: Object = copy.deepcopy(yaml.safe_load(EXAMPLE.read_text()))
    managed = found["spec"]["kafka"]["managed"]
    managed["image"] = get("kafka", "statefulsets", "kafka")["spec"]["template"]["spec"]["containers"][0]["image"]
    managed["config"] = FEW_THREADS
    managed["rollout"] = {"dwell": "2s"}
    for pool in managed["nodePools"]:
        pool |= {"resources": SMALL, "heap": "256Mi", "javaOptions": QUICK, "placement": {"antiAffinity": "Preferred"}}
    found["spec"]["topics"]["prefix"] = prefix
    found["metadata"]["namespace"] = namespace
    return found


def combined(namespace: str, name: str, prefix: str, dwell: str = "2s") -> Object:
    """The same with three nodes that are brokers and controllers, and a pool of one topic: half as many processes."""
    found = example(namespace, prefix)
    found["metadata"]["name"] = name
    managed = found["spec"]["kafka"]["managed"]
    (brokers,) = (pool for pool in managed["nodePools"] if pool["name"] == "brokers")
    nodes = {
        "name": "nodes",
        "roles": ["broker", "controller"],
        "firstId": 0,
        "replicas": 3,
        "storage": {"size": "1Gi"},
    }
    managed["nodePools"] = [{**brokers, **nodes}]
    managed["rollout"] = {"dwell": dwell}
    found["spec"]["topics"]["count"] = 1
    return found


@dataclass(frozen=True, slots=True)
class ManagedKafka:
    """The Kafka of a WALCluster, seen from inside of its pods."""

    wal: WALCluster

    def apply(self, declared: Object) -> None:
        """Applies its WALCluster."""
        apply(declared)

    def broker(self, number: int = 0) -> str:
        """The address of a broker."""
        return f"{self.wal.name}-{number}.{self.wal.namespace}.svc:9092"

    def pod(self, number: int) -> str:
        """The pod of a node."""
        return f"{self.wal.name}-{number}-0"

    def roll(self) -> str | None:
        """The stage of its roll."""
        found: str | None = self.wal.status()["managedKafka"].get("roll", {}).get("stage")
        return found

    def told(self) -> Object:
        """What is said of the roll, and which node is away for it."""
        status = self.wal.status()
        return {"roll": status["managedKafka"].get("roll"), "disruption": status.get("disruption")}

    def produce(self, topic: str, records: int) -> None:
        """Appends records, each acknowledged by all replicas in sync."""
        producer = f"kafka-console-producer --bootstrap-server {self.broker()} --topic {topic}"
        self._in_broker("sh", "-c", f"seq {records} | {producer} --producer-property acks=all")

    def records(self, topic: str) -> int:
        """How many records there are."""
        words = ("kafka-get-offsets", "--bootstrap-server", self.broker(), "--topic", topic)
        return sum(int(line.rpartition(":")[2]) for line in self._in_broker(*words).split())

    def pods(self) -> dict[str, str]:
        """Name → UID of its pods."""
        found = items(self.wal.namespace, "pods", labels=f"seawall.dev/kafka={self.wal.name}")
        return {str(pod["metadata"]["name"]): str(pod["metadata"]["uid"]) for pod in found}

    def identity(self) -> dict[str, Any]:
        """The ConfigMap of the identity."""
        found: dict[str, Any] = get(self.wal.namespace, "configmaps", f"{self.wal.name}-kafka-identity")["data"]
        return found

    def formats(self) -> int:
        """How often a node formatted a volume, as the tool itself said, in the containers that there are."""
        found = 0
        for pod in self.pods():
            log = kubectl("-n", self.wal.namespace, "logs", pod, "-c", "format")
            found += log.count("Formatting")
        return found

    def wait_gone(self) -> None:
        """Waits until Kubernetes has removed the StatefulSets, and ends their pods.

        At once: brokers that all stop together wait for somebody who takes over.
        """
        chosen = f"seawall.dev/kafka={self.wal.name}"

        def is_gone(kind: str) -> bool:
            return not items(self.wal.namespace, kind, labels=chosen)

        wait_until(lambda: is_gone("statefulsets"), "the StatefulSets are gone", within=90)
        flags = ("--force", "--grace-period=0", "--ignore-not-found")
        kubectl("-n", self.wal.namespace, "delete", "pods", "-l", chosen, *flags, timeout=120)
        wait_until(lambda: is_gone("pods"), "the pods are gone", within=60)

    def _in_broker(self, *words: str) -> str:
        return kubectl(
            "-n", self.wal.namespace, "exec", f"{self.wal.name}-0-0", "-c", "kafka", "--", *words, timeout=60
        )
