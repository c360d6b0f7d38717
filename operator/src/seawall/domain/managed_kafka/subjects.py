"""Who is who in certificates of a managed Kafka.

The namespace is part of each subject, because one CA may sign for many. Names of users have no colon (the rule of the
model), so none is a node's or the operator's.
"""

from __future__ import annotations

from seawall.api.meta import Key


def node_name_of(cluster: str) -> str:
    """The common name in the certificate of all nodes."""
    return f"seawall:{cluster}:node"


def operator_name_of(cluster: str) -> str:
    """The common name in Seawall's own certificate."""
    return f"seawall:{cluster}:operator"


def subject(namespace: str, common_name: str) -> str:
    """A subject as Kafka writes it (RFC 2253), and as it stands in principals."""
    return f"CN={common_name},OU={namespace}"


def node_subject(cluster: Key) -> str:
    """The subject of the certificate of all nodes."""
    return subject(cluster.namespace, node_name_of(cluster.name))


def operator_subject(cluster: Key) -> str:
    """The subject of Seawall's own certificate."""
    return subject(cluster.namespace, operator_name_of(cluster.name))
