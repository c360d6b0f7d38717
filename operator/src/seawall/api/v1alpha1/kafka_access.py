"""How to reach a Kafka cluster that somebody else runs: addresses, TLS and SASL."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from seawall.api.meta import APIModel, Rule
from seawall.api.text import PORT, SPACE
from seawall.api.v1alpha1.secret_refs import (
    ClientCertSecretRef,
    CredentialsSecretRef,
    SecretKeyRef,
    Username,
    username_rule,
)

Endpoint = Annotated[str, Field(min_length=3, max_length=261, pattern=rf"^[^{SPACE},:/]+:{PORT}$")]


class KafkaTLS(APIModel):
    """TLS to the brokers. PEM material is read from Secrets again at every reconciliation."""

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign the brokers' certificates; absent means the system's trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate for mutual TLS; absent means none."""


class KafkaSASL(APIModel):
    """SASL authentication to the brokers."""

    RULES: ClassVar[tuple[Rule, ...]] = (username_rule("username", "credentials_secret_ref"),)

    mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] = "SCRAM-SHA-512"
    """SASL mechanism."""
    username: Username | None = None
    """The user, where the Secret has a password only, as that of a Strimzi KafkaUser: usernameKey is not read then."""
    credentials_secret_ref: CredentialsSecretRef
    """Where the password is, and the user name unless username says it."""
    insecure: StrictBool = False
    """Allows PLAIN without TLS, which sends the password in clear text over the network."""


class ExternalKafka(APIModel):
    """A Kafka cluster that somebody else runs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.sasl) || self.sasl.mechanism != 'PLAIN' || has(self.tls) || self.sasl.insecure",
            "SASL PLAIN without TLS sends the password in clear text: set tls, or sasl.insecure: true",
            lambda kafka: (
                kafka.sasl is None or kafka.sasl.mechanism != "PLAIN" or kafka.tls is not None or kafka.sasl.insecure
            ),
        ),
    )

    bootstrap_servers: Annotated[tuple[Endpoint, ...], Field(min_length=1, max_length=32)]
    """Addresses (host:port) of some of the brokers."""
    cluster_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Guard: the cluster id that Kafka must report. Absent: the id seen at first contact is pinned in the status."""
    tls: KafkaTLS | None = None
    """TLS to the brokers; absent means plaintext."""
    sasl: KafkaSASL | None = None
    """SASL authentication; absent means none."""
