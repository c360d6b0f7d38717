"""The certificates that a managed Kafka needs, by its spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka, node_host
from seawall.api.v1alpha1.managed_security import ClientAuthentication
from seawall.domain.managed_kafka.subjects import node_name_of, operator_name_of


@dataclass(frozen=True, slots=True)
class WantedCertificate:
    """A certificate, and the Secret that it belongs into.

    Attributes:
        names: the DNS names of a server; empty: it is a client's.
    """

    secret: str
    common_name: str
    names: tuple[str, ...] = ()


def named_nodes(kafka: ManagedKafka, leaving: Iterable[int] = ()) -> list[int]:
    """The nodes whose names the certificate has: those that are declared, and those that are there still."""
    return sorted({*(node for node, _ in kafka.nodes), *leaving})


def wanted_certificates(cluster: Key, kafka: ManagedKafka, leaving: Iterable[int] = ()) -> Iterator[WantedCertificate]:
    """That of the nodes, the operator's, and those of users who say by one who they are."""
    security = kafka.security
    if security.tls is None or security.operator_tls is None:
        return
    hosts = tuple(node_host(cluster.namespace, cluster.name, node) for node in named_nodes(kafka, leaving))
    yield WantedCertificate(security.tls.secret_name, node_name_of(cluster.name), hosts)
    yield WantedCertificate(security.operator_tls.secret_name, operator_name_of(cluster.name))
    if security.authentication is ClientAuthentication.MUTUAL_TLS:
        for user in security.users:
            yield WantedCertificate(user.secret_name, user.name)
