"""The server properties by which a node of a managed Kafka lets in only whom it knows.

Certificates are read from the mounted Secret by Kafka's DirectoryConfigProvider (KIP-421), so no private key is copied
anywhere. Nodes know each other and Seawall by certificate (super users); all others have the rights that they are
given, and nobody has any without (StandardAuthorizer).
"""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.managed_security import ClientAuthentication, ManagedSecurity
from seawall.domain.managed_kafka.subjects import node_subject, operator_subject

TLS_VOLUME = "tls"
TLS_FOLDER = "/etc/seawall/tls"
"""Where the Secret of the nodes is mounted."""
SCRAM = "SCRAM-SHA-512"


def protocols(security: ManagedSecurity) -> dict[str, str]:
    """The security protocol of each listener."""
    if security.insecure:
        return dict.fromkeys(("CONTROLLER", "INTERNAL", "CLIENTS"), "PLAINTEXT")
    clients = "SASL_SSL" if security.authentication is ClientAuthentication.SCRAM else "SSL"
    return {"CONTROLLER": "SSL", "INTERNAL": "SSL", "CLIENTS": clients}


def security_properties(cluster: Key, kafka: ManagedKafka) -> dict[str, str]:
    """All of them; none of an insecure Kafka."""
    if kafka.security.insecure:
        return {}
    provided = {
        "ssl.keystore.key": "tls.key",
        "ssl.keystore.certificate.chain": "tls.crt",
        "ssl.truststore.certificates": "ca.crt",
    }
    return {
        "config.providers": "mounted",
        "config.providers.mounted.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        "config.providers.mounted.param.allowed.paths": TLS_FOLDER,
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        **{key: f"${{mounted:{TLS_FOLDER}:{name}}}" for key, name in provided.items()},
        "ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(f"User:{each}" for each in (node_subject(cluster), operator_subject(cluster))),
        **_clients(kafka.security),
    }


def _clients(security: ManagedSecurity) -> dict[str, str]:
    if security.authentication is not ClientAuthentication.SCRAM:
        return {}
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return {
        "listener.name.clients.sasl.enabled.mechanisms": SCRAM,
        "listener.name.clients.scram-sha-512.sasl.jaas.config": login,
        "listener.name.clients.ssl.client.auth": "none",
    }
