"""The pod of a node of a managed Kafka. No probe ends a node that recovers its log: that would begin it anew."""

from __future__ import annotations

from typing import Any

from seawall.api.quantity import format_bytes
from seawall.api.v1alpha1.kafka_node_pools import AntiAffinity, NodeAmounts, NodePool
from seawall.api.v1alpha1.managed_kafka import CLIENT_PORT, INTERNAL_PORT
from seawall.domain.managed_kafka import names
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.properties import CONTROLLER_PORT, VOLUME
from seawall.domain.managed_kafka.secured import TLS_FOLDER, TLS_VOLUME
from seawall.domain.times import MANAGED_KAFKA_GRACE_SECONDS

USER = 1000
"""Of apache/kafka, too."""
INIT_CONTAINER, CONTAINER = "format", "kafka"
CONFIG_VOLUME = "config"

Body = dict[str, Any]


def pod_template(node: Node, cluster_id: str, config: str) -> Body:
    """The pod template. `config` is the ConfigMap with its files; it is named by the hash of all the rest."""
    labels = {**node.labels, names.BUDGET_LABEL: node.budget}
    placement = node.pool.placement
    spec: Body = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": MANAGED_KAFKA_GRACE_SECONDS,
        # Its port is open before it has caught up: budgets count it when Kafka does.
        "readinessGates": [{"conditionType": names.IN_SYNC_GATE}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": _anti_affinity(node)},
        "initContainers": [_container(node, cluster_id, INIT_CONTAINER, "format")],
        "containers": [_kafka(node, cluster_id)],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            {"name": CONFIG_VOLUME, "configMap": {"name": config, "defaultMode": 0o555}},
            {"name": "format", "configMap": {"name": names.format_name(node.cluster.name), "optional": True}},
            {"name": "data", "persistentVolumeClaim": {"claimName": node.volume}},
            *_certificates(node),
        ],
    }
    if placement.node_selector:
        spec["nodeSelector"] = dict(placement.node_selector)
    if placement.priority_class_name is not None:
        spec["priorityClassName"] = placement.priority_class_name
    return {"metadata": {"labels": labels}, "spec": spec}


def _anti_affinity(node: Node) -> Body:
    """Replicas of one partition on one machine are one replica."""
    selector = {names.KAFKA_LABEL: node.cluster.name, names.BUDGET_LABEL: node.budget}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector}}
    if node.pool.placement.anti_affinity is AntiAffinity.REQUIRED:
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}


def _kafka(node: Node, cluster_id: str) -> Body:
    ports = {"controller": CONTROLLER_PORT} if node.pool.is_controller else {}
    if node.pool.is_broker:
        ports |= {"internal": INTERNAL_PORT, "clients": CLIENT_PORT}
    return {
        **_container(node, cluster_id, CONTAINER, "run"),
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        # The clients' port opens when the broker is no longer fenced.
        "readinessProbe": {"tcpSocket": {"port": list(ports)[-1]}, "periodSeconds": 2, "failureThreshold": 3},
    }


def _container(node: Node, cluster_id: str, name: str, verb: str) -> Body:
    return {
        "name": name,
        "image": node.kafka.effective_image,
        "command": ["/bin/sh", "/etc/seawall/config/entrypoint.sh", verb],
        "env": _environment(node, cluster_id),
        "resources": _resources(node.pool),
        "terminationMessagePolicy": "FallbackToLogsOnError" if verb == "run" else "File",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the pod alone
            {"name": CONFIG_VOLUME, "mountPath": "/etc/seawall/config", "readOnly": True},
            {"name": "format", "mountPath": "/etc/seawall/format", "readOnly": True},
            {"name": "data", "mountPath": VOLUME},
            *({"name": each["name"], "mountPath": TLS_FOLDER, "readOnly": True} for each in _certificates(node)),
        ],
    }


def _certificates(node: Node) -> list[Body]:
    """The Secret of the nodes; the group of the pod may read it, and nobody else."""
    tls = node.kafka.security.tls
    return (
        [] if tls is None else [{"name": TLS_VOLUME, "secret": {"secretName": tls.secret_name, "defaultMode": 0o440}}]
    )


def _environment(node: Node, cluster_id: str) -> list[Body]:
    heap = node.pool.heap_bytes
    return [
        {"name": "NODE_ID", "value": str(node.id)},
        {"name": "CLUSTER_ID", "value": cluster_id},
        {"name": "HEAP_OPTIONS", "value": f"-Xms{heap} -Xmx{heap}"},
        {"name": "JAVA_OPTIONS", "value": " ".join(node.pool.java_options)},
    ]


def _resources(pool: NodePool) -> Body:
    found = {"requests": _amounts(pool.resources.requests), "limits": _amounts(pool.resources.limits)}
    return {name: amounts for name, amounts in found.items() if amounts}


def _amounts(amounts: NodeAmounts) -> dict[str, str]:
    found = {} if amounts.cpu is None else {"cpu": amounts.cpu}
    return found if amounts.memory is None else {**found, "memory": format_bytes(amounts.memory)}
