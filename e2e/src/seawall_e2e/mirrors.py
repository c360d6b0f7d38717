"""A second Kafka, and the WALSubscription that mirrors a WALCluster to it, as a person declares them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import REPOSITORY
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.extra_broker import broker_objects
from seawall_e2e.objects import apply, find, get
from seawall_e2e.spark_jobs import ACCOUNT, SMALL, SparkJobs
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.waiting import wait_until

POD = "kafka-dr-0"
"""The image takes the node id from its end."""
HOST = f"{POD}.kafka.kafka.svc.cluster.local"
SERVERS = f"{HOST}:9092"
CLUSTER_ID = "U2Vhd2FsbEthZmthRFIwMQ"
ALONE = "\n".join(
    (
        f"controller.quorum.voters=0@{HOST}:9094",
        "offsets.topic.replication.factor=1",
        "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "share.coordinator.state.topic.replication.factor=1",
        "share.coordinator.state.topic.min.isr=1",
    )
)
"""What differs from the platform's."""
NAME, TARGET = "dr", "elsewhere"
DIGEST = Path(__file__).with_name("log_digest.py")


def build_subscription_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    return run(REPOSITORY / "spark-apps/image.sh", "wal-subscription", timeout=1200, show_progress=True).strip()


@contextmanager
def second_kafka() -> Iterator[str]:
    """A Kafka of one broker beside the platform's; its address. At the end it is gone with its disk."""
    try:
        yield start_second_kafka()
    finally:
        remove_second_kafka()


def start_second_kafka() -> str:
    """The same, for longer."""
    apply(*broker_objects(POD, ALONE, {"KAFKA_CLUSTER_ID": CLUSTER_ID}))
    kubectl("-n", "kafka", "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=120s", timeout=130)
    return SERVERS


def remove_second_kafka() -> None:
    """It is gone with its disk."""
    kubectl("-n", "kafka", "delete", f"pod/{POD}", f"configmap/{POD}", "--ignore-not-found", timeout=160)


class Mirror(SparkJobs):
    """The subscription of one WALCluster."""

    def begin(self, servers: str, **spec: Any) -> None:
        """The WALCluster allows the target, and somebody subscribes."""
        declared = {
            "spark": {"image": self._image, "serviceAccountName": ACCOUNT, **SMALL},
            "targets": [{"name": TARGET, "kafka": {"bootstrapServers": [servers]}}],
        }
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"subscription": declared}})))
        sink = {"mirror": {"target": TARGET, "replicationFactor": 1, "minInSyncReplicas": 1}}
        body = {"clusterRef": {"name": self.wal.name}, "sink": sink, "lagBudget": {"maxBytes": "1Gi"}, **spec}
        apply(self._object("seawall.dev/v1alpha1", "WALSubscription", NAME, body))

    def status(self) -> Object:
        """Its status; empty: nobody has looked at it."""
        found: Object = get(self.wal.namespace, "walsubscriptions", NAME).get("status", {})
        return found

    def wait(self, *states: str, within: float = 180) -> Object:
        """Waits until it is in one of these states."""

        def reached() -> Object | None:
            status = self.status()
            return status if status.get("state") in states else None

        return wait_until(reached, f"it is {' or '.join(states)}", within=within, every=0.5, explain=self.explain)

    def edit(self, **spec: Any) -> None:
        """Somebody edits it."""
        self._kubectl("patch", "walsub", NAME, "--type=merge", "-p", json.dumps({"spec": spec}))

    def hold(self) -> Object | None:
        """Its WALHold, if there is one."""
        return find(self.wal.namespace, "walholds", NAME)

    def held(self) -> dict[str, int]:
        """From where on the source keeps each topic for it."""
        found: dict[str, int] = (self.hold() or {})["spec"]["topics"]
        return found


def digests(toolbox: Toolbox, servers: str, ranges: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Of the records of these offsets, as a plain client reads them."""
    words = ("exec", "toolbox", "--", "python", "-c", DIGEST.read_text(), servers, json.dumps(ranges))
    found: dict[str, str] = json.loads(kubectl("-n", toolbox.namespace, *words, timeout=300))
    return found
