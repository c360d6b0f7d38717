"""The Kafka of a WALCluster: one that somebody else runs, or one that Seawall runs."""

from __future__ import annotations

from typing import ClassVar

from seawall.api.meta import APIModel, Key, Rule
from seawall.api.v1alpha1.kafka_access import ExternalKafka, KafkaSASL, KafkaTLS
from seawall.api.v1alpha1.managed_kafka import INTERNAL_PORT, ManagedKafka, client_servers
from seawall.api.v1alpha1.managed_security import ClientAuthentication
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef


class KafkaSpec(APIModel):
    """The Kafka cluster."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.external) != has(self.managed)",
            "exactly one of external and managed",
            lambda kafka: (kafka.external is None) != (kafka.managed is None),
        ),
        Rule(
            "has(self.managed) == has(oldSelf.managed)",
            "external and managed are not switched: make another WALCluster",
        ),
    )

    external: ExternalKafka | None = None
    """A Kafka cluster that exists already."""
    managed: ManagedKafka | None = None
    """A Kafka cluster that Seawall runs (docs/kafka.md)."""

    def access(self, cluster: Key) -> ExternalKafka:
        """How Seawall and its jobs reach it, whoever runs it. `cluster` is the key of the WALCluster."""
        if self.managed is not None:
            return _access_of_seawall(cluster, self.managed)
        if self.external is None:
            raise ValueError("no Kafka")  # the rule of the model refuses it
        return self.external

    def access_of_database(self, cluster: Key) -> ExternalKafka:
        """How the database reaches it; another Kafka's users are not Seawall's to know: it shows its own way."""
        return self.access(cluster) if self.managed is None else _access_of_database(cluster, self.managed)


def _access_of_seawall(cluster: Key, kafka: ManagedKafka) -> ExternalKafka:
    own = kafka.security.operator_tls
    if own is None:
        return ExternalKafka(bootstrap_servers=client_servers(cluster.namespace, cluster.name, kafka))
    return ExternalKafka(
        bootstrap_servers=client_servers(cluster.namespace, cluster.name, kafka, INTERNAL_PORT),
        tls=_certificate_of(own.secret_name),
    )


def _access_of_database(cluster: Key, kafka: ManagedKafka) -> ExternalKafka:
    servers, user = client_servers(cluster.namespace, cluster.name, kafka), kafka.security.database
    if user is None:
        return ExternalKafka(bootstrap_servers=servers)
    if kafka.security.authentication is ClientAuthentication.MUTUAL_TLS:
        return ExternalKafka(bootstrap_servers=servers, tls=_certificate_of(user.secret_name))
    return ExternalKafka(
        bootstrap_servers=servers,
        tls=KafkaTLS(ca_secret_ref=SecretKeyRef(name=user.secret_name)),
        sasl=KafkaSASL(username=user.name, credentials_secret_ref=CredentialsSecretRef(name=user.secret_name)),
    )


def _certificate_of(secret: str) -> KafkaTLS:
    return KafkaTLS(ca_secret_ref=SecretKeyRef(name=secret), client_cert_secret_ref=ClientCertSecretRef(name=secret))
