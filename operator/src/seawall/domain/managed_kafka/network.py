"""Who reaches which port of a managed Kafka: the NetworkPolicy, and what keeps it as it is declared.

    port              who
    9090 controllers  nodes of this Kafka
    9091 brokers      nodes of this Kafka, the operator, and pods of Spark in this namespace: Seawall's jobs are some
    9092 clients      networkPolicy.clientsFrom; by default this namespace. Where security is insecure the operator and
                      pods of Spark as well: they have no certificate for 9091

No node of a Kafka begins without it. Of one that runs it is mended last: it keeps nobody from being mended.
It is of use where the network knows NetworkPolicies; what certificates and rights forbid, they forbid everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import CLIENT_PORT, INTERNAL_PORT, ManagedKafka
from seawall.api.v1alpha1.managed_network import LabelSelector, NetworkPeer
from seawall.domain.managed_kafka import names
from seawall.domain.managed_kafka.actions import ChangePolicy, CreateObject, ManagedAction, RemovePolicy
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.node import cluster_labels
from seawall.domain.managed_kafka.objects import Manifest, ObjectKind, spec_digest
from seawall.domain.managed_kafka.properties import CONTROLLER_PORT

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""On every namespace, by the API server."""
SPARK_ROLE = "spark-role"
"""On every pod of Spark, by Spark."""

Peer = Mapping[str, Any]


def network_policy(cluster: Key, kafka: ManagedKafka, operator: str) -> Manifest:
    """The policy of all pods of a Kafka; `operator` is the namespace of the operator.

    All that the API server would fill in is written out, or what is found would differ from it.
    """
    pods = {"matchLabels": {names.KAFKA_LABEL: cluster.name}}
    nodes: Peer = {"podSelector": pods}
    jobs: Peer = {"podSelector": {"matchExpressions": [{"key": SPARK_ROLE, "operator": "Exists"}]}}
    ours = (_operator(operator), jobs)
    clients = tuple(_peer(each) for each in kafka.network_policy.clients_from or (_THIS_NAMESPACE,))
    spec = {
        "podSelector": pods,
        "policyTypes": ["Ingress"],
        "ingress": [
            _port(CONTROLLER_PORT, nodes),
            _port(INTERNAL_PORT, nodes, *ours),
            _port(CLIENT_PORT, *clients, *(ours if kafka.security.operator_tls is None else ())),
        ],
    }
    name = names.policy_name(cluster.name)
    return Manifest(ObjectKind.NETWORK_POLICY, name, cluster_labels(cluster.name), {"spec": spec})


def first_policy(case: Case) -> Manifest | None:
    """The policy without which no node begins: it is declared and not there, and no node is that would be held up."""
    wanted, objects = _wanted(case), case.observed.found.objects
    runs = case.identity.formed and any(kind is ObjectKind.STATEFUL_SET for kind, _ in objects)
    return None if wanted is None or runs or _found(case) is not None else wanted


def policy_actions(case: Case) -> Iterator[ManagedAction]:
    """What makes it as it is declared, whoever changed it."""
    wanted, found = _wanted(case), _found(case)
    if wanted is None:
        if found is not None:
            yield RemovePolicy(found)
    elif found is None:
        yield CreateObject(wanted)
    elif found.spec_digest != spec_digest(wanted.body["spec"]):
        yield ChangePolicy(found, wanted)


_THIS_NAMESPACE = NetworkPeer(pod_selector=LabelSelector())


def _wanted(case: Case) -> Manifest | None:
    kafka = case.nodes[0].kafka
    return network_policy(case.key, kafka, case.observed.operator) if kafka.network_policy.enabled else None


def _found(case: Case) -> FoundObject | None:
    return case.observed.found.objects.get((ObjectKind.NETWORK_POLICY, names.policy_name(case.key.name)))


def _port(port: int, *peers: Peer) -> Mapping[str, Any]:
    return {"ports": [{"port": port, "protocol": "TCP"}], "from": list(peers)}


def _operator(namespace: str) -> Peer:
    return {
        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: namespace}},
        "podSelector": {"matchLabels": dict(names.OPERATOR_LABELS)},
    }


def _peer(peer: NetworkPeer) -> Peer:
    both = {"namespaceSelector": peer.namespace_selector, "podSelector": peer.pod_selector}
    return {name: _selector(found) for name, found in both.items() if found is not None}


def _selector(selector: LabelSelector) -> Mapping[str, Any]:
    """One that selects all is empty, and not one of no labels."""
    return {"matchLabels": dict(selector.match_labels)} if selector.match_labels else {}
