"""A second Kafka, and the WALSubscription that mirrors a WALCluster to it, as a person declares them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from seawall_e2e.cluster import REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.extra_broker import broker_objects
from seawall_e2e.objects import apply
from seawall_e2e.subscriptions import Subscription
from seawall_e2e.toolbox import Toolbox

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
EXAMPLE: Object = yaml.safe_load((REPOSITORY / "crds/examples/valid/walsubscription-mirror.yaml").read_text())
NAME = str(EXAMPLE["metadata"]["name"])
ONE_BROKER = {"replicationFactor": 1, "minInSyncReplicas": 1}
"""What the example does not say, since it is about a Kafka of three."""
DIGEST, ENDS = (Path(__file__).with_name(name) for name in ("log_digest.py", "log_ends.py"))


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


class Mirror(Subscription):
    """The subscription of one WALCluster."""

    def __init__(self, wal: WALCluster, image: str) -> None:
        super().__init__(wal, image, NAME)

    def begin(self, servers: str, **spec: Any) -> None:
        """The WALCluster allows the target, and somebody subscribes as the example does."""
        mirror = EXAMPLE["spec"]["sink"]["mirror"]
        self.allow(targets=[{"name": mirror["target"], "kafka": {"bootstrapServers": [servers]}}])
        example = {key: value for key, value in EXAMPLE["spec"].items() if key not in {"clusterRef", "sink"}}
        self.subscribe({"mirror": {**mirror, **ONE_BROKER}}, **{**example, **spec})


def digests(toolbox: Toolbox, servers: str, ranges: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Of the records of these offsets, as a plain client reads them."""
    words = ("exec", "toolbox", "--", "python", "-c", DIGEST.read_text(), servers, json.dumps(ranges))
    found: dict[str, str] = json.loads(kubectl("-n", toolbox.namespace, *words, timeout=300))
    return found


def ends_of(toolbox: Toolbox, servers: str, topics: Collection[str]) -> dict[str, int]:
    """Where topics end in another Kafka than the platform's."""
    words = ("exec", "toolbox", "--", "python", "-c", ENDS.read_text(), servers, *topics)
    found: dict[str, int] = json.loads(kubectl("-n", toolbox.namespace, *words, timeout=60))
    return found
