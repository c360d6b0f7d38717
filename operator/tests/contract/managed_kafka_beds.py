"""What the contract tests of the KafkaObjects port run on: a real API server, and the fake.

In both the test plays the kubelet: it writes how pods are. No controller of Kubernetes runs beside the API server.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import yaml

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.kafka_objects import KubeKafkaObjects
from seawall.adapters.kube.kafka_pods import KubeKafkaPods
from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.managed_kafka.found import FoundPod
from seawall.domain.managed_kafka.names import (
    CERTIFICATE_ANNOTATION,
    IN_SYNC_GATE,
    NODE_LABEL,
    SPEC_HASH_ANNOTATION,
    config_name,
    node_name,
)
from seawall.domain.managed_kafka.node import Node, cluster_labels, nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.ports import KafkaObjects, KafkaPods
from tests.contract.kube_beds import Bed, FakeBed, RealBed
from tests.fakes.ids import new_uid
from tests.fakes.kafka_objects import FakeKafkaObjects
from tests.fakes.kafka_pods import FakeKafkaPods
from tests.product.test_examples import EXAMPLES
from tests.support.clock import Time
from tests.support.kube import KubeClient
from tests.support.patient import kube_api

SPEC: dict[str, Any] = yaml.safe_load((EXAMPLES / "valid/managed-kafka.yaml").read_text())["spec"]
NAME = "managed"


class ManagedBed(Protocol):
    """A WALCluster with a managed Kafka, and what others do with its objects."""

    @property
    def objects(self) -> KafkaObjects: ...
    @property
    def pods(self) -> KafkaPods: ...

    def owner(self) -> WALCluster: ...
    def put_foreign_service(self, name: str) -> None: ...
    def put_foreign_policy(self, name: str) -> None: ...
    def storage_class(self, *, may_grow: bool) -> str:
        """The name of a StorageClass."""

    def bind(self, name: str) -> None:
        """The volume of a claim is there, as large as it asks for."""

    def forget(self, name: str) -> None:
        """A claim that is deleted is gone."""

    def put_pod(self, pod: FoundPod, image: str) -> FoundPod:
        """The kubelet makes a pod as this one is; returns it with its UID."""


def owner_of(bed: Bed) -> WALCluster:
    key = Key(bed.namespace, NAME)
    found = bed.kube.get(WALCluster, key)
    if found is None:
        bed.apply(NAME, SPEC)
        found = bed.kube.get(WALCluster, key)
    assert found is not None
    return found


def nodes(cluster: WALCluster) -> tuple[Node, ...]:
    assert not isinstance(cluster.spec, InvalidSpec)
    assert cluster.spec.kafka.managed is not None
    return nodes_of(cluster.metadata.key, cluster.spec.kafka.managed)


class FakeManagedBed:
    """In memory."""

    def __init__(self, bed: FakeBed) -> None:
        self._bed = bed
        self.objects = FakeKafkaObjects(time=Time())
        self.pods = FakeKafkaPods(self.objects)

    def owner(self) -> WALCluster:
        return owner_of(self._bed)

    def put_foreign_service(self, name: str) -> None:
        self.objects.foreign.add((ObjectKind.SERVICE, Key(self._bed.namespace, name)))

    def put_foreign_policy(self, name: str) -> None:
        self.objects.foreign.add((ObjectKind.NETWORK_POLICY, Key(self._bed.namespace, name)))

    def storage_class(self, *, may_grow: bool) -> str:
        return "grows" if may_grow else "stays"

    def bind(self, name: str) -> None:
        place = (ObjectKind.VOLUME, Key(self._bed.namespace, name))
        size = self.objects.meta[place].size
        assert size is not None
        self.objects.resize(place, capacity=size.requested)
        if self.objects.made[place].body["spec"]["storageClassName"] == "stays":
            self.objects.refuses[name] = "the storageclass must support resize"

    def forget(self, name: str) -> None:
        """It is gone at once."""

    def put_pod(self, pod: FoundPod, image: str) -> FoundPod:  # noqa: ARG002 - only a real one needs it
        made = replace(pod, uid=new_uid())
        self.objects.put_pod(Key(self._bed.namespace, NAME), made)
        return made


class RealManagedBed:
    """A namespace of a real API server."""

    def __init__(self, bed: RealBed, client: KubeClient, api: KubeApi) -> None:
        self._bed, self._client = bed, client
        self.objects = KubeKafkaObjects(api)
        self.pods = KubeKafkaPods(api)

    def owner(self) -> WALCluster:
        return owner_of(self._bed)

    def put_foreign_service(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"clusterIP": "None"}}
        self._client.create(f"/api/v1/namespaces/{self._bed.namespace}/services", body)

    def put_foreign_policy(self, name: str) -> None:
        version = "networking.k8s.io/v1"
        body = {"apiVersion": version, "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": {"podSelector": {}}}
        self._client.create(f"/apis/{version}/namespaces/{self._bed.namespace}/networkpolicies", body)

    def storage_class(self, *, may_grow: bool) -> str:
        name = f"{'grows' if may_grow else 'stays'}-{self._bed.namespace}"
        path = "/apis/storage.k8s.io/v1/storageclasses"
        if self._client.find(f"{path}/{name}") is None:
            body = {"provisioner": "test.seawall.dev/none", "allowVolumeExpansion": may_grow}
            head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
            self._client.create(path, {**head, **body})
        return name

    def _claim(self, name: str) -> str:
        return f"/api/v1/namespaces/{self._bed.namespace}/persistentvolumeclaims/{name}"

    def bind(self, name: str) -> None:
        path = self._claim(name)
        claim = self._client.request("GET", path)
        claim = self._client.request("PUT", path, {**claim, "spec": {**claim["spec"], "volumeName": f"pv-{name}"}})
        status = {"phase": "Bound", "capacity": claim["spec"]["resources"]["requests"]}
        self._client.request("PUT", f"{path}/status", {**claim, "status": status})

    def forget(self, name: str) -> None:
        """No controller takes its finalizer, so the test does."""
        if self._client.find(self._claim(name)) is not None:
            self._client.merge(self._claim(name), {"metadata": {"finalizers": None}})

    def put_pod(self, pod: FoundPod, image: str) -> FoundPod:
        path, owner = f"/api/v1/namespaces/{self._bed.namespace}/pods", self.owner()
        labels = {**cluster_labels(NAME), NODE_LABEL: str(pod.node)}
        containers = {"initContainers": [{"name": "format", "image": image}]}
        spec: dict[str, Any] = {**containers, "containers": [{"name": "kafka", "image": image}]}
        if pod.template is not None:
            config = config_name(owner.metadata.name, pod.node, pod.template)
            spec["volumes"] = [{"name": "config", "configMap": {"name": config}}]
        if pod.is_gated:
            spec["readinessGates"] = [{"conditionType": IN_SYNC_GATE}]
        told = {SPEC_HASH_ANNOTATION: pod.spec_hash, CERTIFICATE_ANNOTATION: pod.certificate}
        annotations = {name: text for name, text in told.items() if text is not None}
        name = f"{node_name(owner.metadata.name, pod.node)}-0"
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
        body["metadata"] = {"name": name, "labels": labels, "annotations": annotations}
        self._client.delete(f"{path}/{name}?gracePeriodSeconds=0")
        made = self._client.create(path, body)
        self._client.request("PUT", f"{path}/{name}/status", {**made, "status": _status(pod, image)})
        return replace(pod, uid=made["metadata"]["uid"])


def _status(pod: FoundPod, image: str) -> dict[str, Any]:
    """As the kubelet writes it, for what the fake says in its own words."""
    init: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    last: dict[str, Any] = {}
    if pod.said:
        init = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
        last = {"terminated": {"exitCode": 3, "reason": "Error", "message": pod.said}}
    state = {"running": {"startedAt": "2026-11-26T00:00:00Z"}} if pod.is_started else {"waiting": {"reason": "X"}}
    common = {"image": image, "imageID": "", "ready": pod.is_ready, "restartCount": 0}
    runs = {**common, "name": "kafka", "containerID": pod.container}
    is_open = pod.is_ready and not pod.is_gated
    conditions = [
        {"type": "ContainersReady", "status": "True" if pod.is_ready else "False"},
        {"type": "Ready", "status": "True" if is_open else "False"},
    ]
    if pod.trouble:
        conditions.append({"type": "PodScheduled", "status": "False", "message": pod.trouble})
    return {
        "phase": "Running",
        "conditions": conditions,
        "initContainerStatuses": [{**common, "name": "format", "state": init, "lastState": last}],
        "containerStatuses": [] if pod.said or pod.trouble else [{**runs, "state": state}],
    }


def bed_of(bed: Bed, client: KubeClient | None) -> ManagedBed:
    """The one that belongs to a bed of the API server."""
    if isinstance(bed, FakeBed):
        return FakeManagedBed(bed)
    assert isinstance(bed, RealBed)
    assert client is not None
    return RealManagedBed(bed, client, kube_api(2))
