"""The part of people and of Strimzi's operators, on an API server with Strimzi's real CRDs: they write objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seawall.api.meta import Key
from seawall_e2e.loopback.processes import platform_folder
from tests.support.kube import KubeClient, Object, load_yaml

BUILD_SECONDS = 600.0
KINDS = {"kafkas": "Kafka", "kafkatopics": "KafkaTopic", "kafkausers": "KafkaUser", "kafkarebalances": "KafkaRebalance"}
GROUP = "/apis/kafka.strimzi.io/v1"


def strimzi_crd(plural: str) -> Object:
    """A CRD that Strimzi's own generator makes of its API classes."""
    return load_yaml(platform_folder("strimzi/crds.sh", BUILD_SECONDS) / f"{plural}.yaml")


def install_strimzi_crds(kube: KubeClient) -> None:
    """Installs those CRDs, and waits for them."""
    for plural in (*KINDS, "kafkanodepools"):
        if kube.find(f"{GROUP}/namespaces/default/{plural}") is None:
            kube.install_crd(strimzi_crd(plural))


@dataclass(frozen=True, slots=True)
class StrimziRole:
    """Writes what they would."""

    kube: KubeClient

    def put_kafka(self, key: Key, cluster_id: str | None) -> None:
        """Somebody makes a Kafka, and Strimzi learns its cluster id."""
        listener = {"name": "tls", "port": 9093, "type": "internal", "tls": True}
        self._apply("kafkas", key, {"kafka": {"listeners": [listener]}}, {})
        if cluster_id is not None:
            self._report("kafkas", key, {"clusterId": cluster_id})

    def put_topic(
        self, key: Key, topic: str | None = None, cluster: str | None = None, *, managed: str | None = None
    ) -> None:
        """Somebody makes a KafkaTopic, or edits it; `managed` is the annotation's value."""
        metadata: Object = {} if managed is None else {"annotations": {"strimzi.io/managed": managed}}
        self._apply("kafkatopics", key, {} if topic is None else {"topicName": topic}, {**metadata, **_label(cluster)})

    def put_rebalance(self, key: Key, cluster: str | None = None, state: str = "") -> None:
        """Somebody makes a KafkaRebalance, and Strimzi says how far it is: by the type of a condition, among others."""
        self._apply("kafkarebalances", key, {"mode": "full"}, _label(cluster))
        conditions = [{"type": "Warning", "status": "True"}, {"type": state, "status": "True"}]
        if state:
            self._report("kafkarebalances", key, {"conditions": conditions})

    def delete_topic(self, key: Key) -> None:
        """Somebody deletes a KafkaTopic."""
        self.kube.delete(_path("kafkatopics", key))

    def _apply(self, plural: str, key: Key, spec: Object, metadata: Object) -> None:
        body = {"apiVersion": "kafka.strimzi.io/v1", "kind": KINDS[plural], "spec": spec}
        self.kube.apply(_path(plural, key), {**body, "metadata": {"name": key.name, **metadata}})

    def _report(self, plural: str, key: Key, status: dict[str, Any]) -> None:
        self.kube.merge(f"{_path(plural, key)}/status", {"status": status})


def _path(plural: str, key: Key) -> str:
    return f"{GROUP}/namespaces/{key.namespace}/{plural}/{key.name}"


def _label(cluster: str | None) -> Object:
    return {} if cluster is None else {"labels": {"strimzi.io/cluster": cluster}}
