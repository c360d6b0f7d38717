"""What the nodes of a managed Kafka are made of: one StatefulSet, Service, volume and configuration for each node.

One StatefulSet a node, so that a pod that dies comes back with its own template, whoever is alive, and a lost volume is
not replaced by an empty one in silence (docs/adr/0057-a-statefulset-a-node.md). The WALCluster does not own volumes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from seawall.api.meta import Key
from seawall.domain.managed_kafka import names
from seawall.domain.managed_kafka.node import Node, cluster_labels
from seawall.domain.managed_kafka.pods import pod_template
from seawall.domain.managed_kafka.properties import config_files, most_replicas

Body = Mapping[str, Any]
ValueT = TypeVar("ValueT")


class ObjectKind(StrEnum):
    """Kinds of Kubernetes that a managed Kafka is made of."""

    STATEFUL_SET = "StatefulSet"
    SERVICE = "Service"
    VOLUME = "PersistentVolumeClaim"
    BUDGET = "PodDisruptionBudget"
    CONFIG_MAP = "ConfigMap"
    NETWORK_POLICY = "NetworkPolicy"


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object to create.

    Attributes:
        body: all but kind and metadata.
        owned: whether it goes with the WALCluster.
    """

    kind: ObjectKind
    name: str
    labels: Mapping[str, str]
    body: Body
    annotations: Mapping[str, str] = field(default_factory=dict)
    owned: bool = True


def template_hash(node: Node, cluster_id: str) -> str:
    """Of all that a node is made of: its files and its pod."""
    files = config_files(node.cluster, node.kafka, node.id, node.pool)
    template = pod_template(node, cluster_id, "")
    return hashlib.sha256(json.dumps([files, template], sort_keys=True).encode()).hexdigest()[:10]


def spec_hash(node: Node) -> str:
    """Of what the spec says of a node. Defaults are left out: those of a newer Seawall are not the spec's words.

    No more than its template depends on: what restarts nobody, as one more broker or user, must not make all nodes seem
    edited until each is made anew.
    """
    kafka = node.kafka
    reaches = {"tls", "authentication", "insecure"}
    security = kafka.security.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=reaches)
    image = {"version": kafka.version} if kafka.image is None else {"image": kafka.image}
    return _hash_of(node, {**image, "security": security})


def spec_hashes(node: Node) -> frozenset[str]:
    """Of all words that say the same of it: a default may be said or not, and pods may be of before `spec_hash`."""
    kafka, pool = node.kafka, node.pool
    image = kafka.model_copy(update={"image": None}).effective_image
    heap = pool.model_copy(update={"heap": None}).heap_bytes
    alike = (
        replace(node, kafka=kafka.model_copy(update={"image": said}), pool=pool.model_copy(update={"heap": size}))
        for said in _ways_to_say(kafka.image, image)
        for size in _ways_to_say(pool.heap, heap)
    )
    return frozenset(found for each in alike for found in (spec_hash(each), _spec_hash_of_before(each)))


def _ways_to_say(said: ValueT | None, default: ValueT) -> set[ValueT | None]:
    return {None, default} if said in {None, default} else {said}


def _spec_hash_of_before(node: Node) -> str:
    """As it was before it left out what restarts nobody: pods keep it until they are made anew."""
    include = {"version", "image", "security"}
    return _hash_of(node, node.kafka.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=include))


def _hash_of(node: Node, said: dict[str, Any]) -> str:
    """Of the rest, too: all that stands in files, its pool, and how many others it knows."""
    config = {"config": dict(node.kafka.static_config)} if node.kafka.static_config else {}
    pool = node.pool.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"storage", "replicas"})
    nodes = [list(node.kafka.controller_ids), most_replicas(node.kafka)]
    return hashlib.sha256(json.dumps([said | config, pool, nodes], sort_keys=True).encode()).hexdigest()[:10]


DIGESTED = frozenset({ObjectKind.BUDGET, ObjectKind.NETWORK_POLICY})
"""Kinds of whose specs each word is ours, and mended."""


def spec_digest(spec: Body) -> str:
    """What a spec is known again by, whoever wrote it."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:10]


def volume(node: Node, cluster_id: str) -> Manifest:
    """The volume of a node; it outlives the WALCluster."""
    storage = node.pool.storage
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": str(storage.size)}},
    }
    if storage.class_name is not None:
        spec["storageClassName"] = storage.class_name
    annotations = {names.MANAGED_ID_ANNOTATION: cluster_id}
    return Manifest(ObjectKind.VOLUME, node.volume, node.labels, {"spec": spec}, annotations, owned=False)


def node_objects(node: Node, cluster_id: str, certificate: str | None = None) -> tuple[Manifest, ...]:
    """Configuration, Service and StatefulSet of a node, in the order in which they are needed.

    Args:
        node: as it is declared.
        cluster_id: of Kafka.
        certificate: what its template says of its Secret (renewal.py); it is no part of the hash: approvals are of
            templates.
    """
    digest = template_hash(node, cluster_id)
    config = names.config_name(node.cluster.name, node.id, digest)
    files = config_files(node.cluster, node.kafka, node.id, node.pool)
    return (
        Manifest(ObjectKind.CONFIG_MAP, config, node.labels, {"data": files, "immutable": True}),
        Manifest(ObjectKind.SERVICE, node.name, node.labels, {"spec": _service(node)}),
        Manifest(
            ObjectKind.STATEFUL_SET,
            node.name,
            node.labels,
            {"spec": _stateful_set(node, cluster_id, config, certificate)},
            {names.TEMPLATE_HASH_ANNOTATION: digest, **_of_certificate(certificate)},
        ),
    )


def budgets(cluster: Key, nodes: Collection[Node], losing: Collection[int] = ()) -> Iterator[Manifest]:
    """How many pods an eviction leaves. `maxUnavailable` would forget a singleton whose pod is absent (ADR 57).

    Args:
        cluster: the WALCluster.
        nodes: whom they count.
        losing: ids of nodes whose volumes go with their pods: where one is, nobody may go.
    """
    counted = Counter(node.budget for node in nodes)
    kept = {node.budget for node in nodes if node.id in losing}
    for budget, count in sorted(counted.items()):
        selector = {names.KAFKA_LABEL: cluster.name, names.BUDGET_LABEL: budget}
        # One that is not in sync may lead what others lack: it goes only while all others are Ready. Where there are no
        # others, Kubernetes would never let one go that is not Ready: to it a budget of 0 pods is never healthy.
        needed = count if budget in kept else count - 1
        spec = {
            "minAvailable": needed,
            "unhealthyPodEvictionPolicy": "AlwaysAllow" if needed == 0 else "IfHealthyBudget",
            "selector": {"matchLabels": selector},
        }
        name = names.budget_name(cluster.name, budget)
        yield Manifest(ObjectKind.BUDGET, name, cluster_labels(cluster.name), {"spec": spec})


def _service(node: Node) -> Body:
    """Headless: a name for the pod, also before it is ready, because nodes find each other to become ready."""
    return {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {names.KAFKA_LABEL: node.cluster.name, names.NODE_LABEL: str(node.id)},
    }


def _of_certificate(certificate: str | None) -> dict[str, str]:
    return {} if certificate is None else {names.CERTIFICATE_ANNOTATION: certificate}


def _stateful_set(node: Node, cluster_id: str, config: str, certificate: str | None) -> Body:
    template = pod_template(node, cluster_id, config)
    annotations = {names.SPEC_HASH_ANNOTATION: spec_hash(node), **_of_certificate(certificate)}
    template["metadata"]["annotations"] = annotations
    return {
        "replicas": 1,
        "serviceName": node.name,
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": {names.KAFKA_LABEL: node.cluster.name, names.NODE_LABEL: str(node.id)}},
        "template": template,
    }
