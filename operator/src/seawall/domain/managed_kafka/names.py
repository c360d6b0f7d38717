"""What the objects of a managed Kafka are called, and the labels and annotations by which they are known again."""

from __future__ import annotations

from seawall.api.meta import GROUP
from seawall.api.v1alpha1.managed_kafka import node_name as node_name  # noqa: PLC0414 - is one of these names

KAFKA_LABEL = f"{GROUP}/kafka"
"""On the objects of a managed Kafka: the name of its WALCluster."""
NODE_LABEL = f"{GROUP}/kafka-node"
"""On the objects of one node of a managed Kafka: its node id."""
BUDGET_LABEL = f"{GROUP}/kafka-budget"
"""On pods of a managed Kafka: which PodDisruptionBudget counts them, broker or controller; a pod that two count could
not be evicted at all."""
MADE_BY_LABEL = f"{GROUP}/made-by"
"""On Secrets that `seawall kafka secrets` made, and may make anew."""
MANAGED_ID_ANNOTATION = f"{GROUP}/managed-kafka-id"
"""On the volumes (PersistentVolumeClaims) of a managed Kafka: its cluster id."""
TEMPLATE_HASH_ANNOTATION = f"{GROUP}/template-hash"
"""On the StatefulSets of a managed Kafka: the hash of all that its node was made of."""
SPEC_HASH_ANNOTATION = f"{GROUP}/spec-hash"
"""On the pods of a managed Kafka: the hash of what the spec said of its node. Where only the other hash is another one,
a newer Seawall makes something else of the same words."""
CERTIFICATE_ANNOTATION = f"{GROUP}/certificate"
"""On the StatefulSets and the pods of a managed Kafka with TLS: the digest of what its node reads of its Secret, the
CAs above its certificate, and those that it believes."""

TAKEN_OUT_ANNOTATION = f"{GROUP}/taken-out"
"""On the StatefulSet of a node that Seawall has stopped for good: its UID and generation. Written together with its
replicas of 0, so nobody who dies in between, and no other who scales it to 0 to free its volume, takes a node out."""

OPERATOR_LABELS = {"app.kubernetes.io/component": "operator", "app.kubernetes.io/part-of": "seawall"}
"""On the pods of the operator, as its chart writes them."""

IN_SYNC_GATE = f"{GROUP}/in-sync"
"""The readiness gate of pods of a managed Kafka, and the condition by which the operator opens it: Kafka counts on all
that the node has (docs/adr/0067-drains-wait-for-kafka.md)."""

FORMAT_VOLUME_ANNOTATION = f"{GROUP}/format-volume"
"""On a WALCluster with kafka.managed, `<node id>: <reason>@<expiry>`: a person says that this node of Kafka may format
an empty volume although records are lost by it (docs/kafka.md#a-volume-is-lost)."""


def volume_name(cluster: str, node: int) -> str:
    """The PersistentVolumeClaim of a node."""
    return f"data-{node_name(cluster, node)}"


def config_name(cluster: str, node: int, template_hash: str) -> str:
    """The ConfigMap with the files of a node, which never changes."""
    return f"{node_name(cluster, node)}-{template_hash}"


def identity_name(cluster: str) -> str:
    """The ConfigMap that says who this Kafka is."""
    return f"{cluster}-kafka-identity"


def format_name(cluster: str) -> str:
    """The ConfigMap of the format tokens, which pods mount."""
    return f"{cluster}-kafka-format"


def budget_name(cluster: str, budget: str) -> str:
    """A PodDisruptionBudget."""
    return f"{cluster}-kafka-{budget}"


def policy_name(cluster: str) -> str:
    """The NetworkPolicy."""
    return f"{cluster}-kafka"


def token_key(node: int) -> str:
    """Where the token of a node is in the ConfigMap of the tokens."""
    return f"node-{node}"
