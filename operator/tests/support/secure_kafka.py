"""Connections to a Kafka that lets in only whom it knows."""

from __future__ import annotations

from seawall.domain.kafka import KafkaConnection
from seawall_e2e.loopback.kafka import SecureListeners


def by_password(secure: SecureListeners) -> KafkaConnection:
    """As a user with a password, over TLS."""
    return KafkaConnection(
        secure.sasl_ssl_servers,
        tls=True,
        ca_pem=secure.ca_pem,
        sasl_mechanism="SCRAM-SHA-512",
        username=secure.username,
        password=secure.password,
    )


def by_certificate(secure: SecureListeners) -> KafkaConnection:
    """With a client certificate."""
    return KafkaConnection(
        secure.mutual_tls_servers,
        tls=True,
        ca_pem=secure.ca_pem,
        client_cert_pem=secure.client_cert_pem,
        client_key_pem=secure.client_key_pem,
    )
