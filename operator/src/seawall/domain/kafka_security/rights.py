"""The rights of the users of a managed Kafka: on topics of the pool, and on nothing else."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.managed_security import ClientAuthentication, ManagedSecurity, UserAccess
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.kafka_users import Acl
from seawall.domain.managed_kafka.subjects import subject

OPERATIONS = {
    UserAccess.WAL: ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE"),
    UserAccess.READ_ONLY: ("DESCRIBE", "DESCRIBE_CONFIGS", "READ"),
}


def principals(cluster: Key, security: ManagedSecurity, user: str) -> tuple[str, ...]:
    """Who a user is to Kafka. One with a password may have a certificate, too, for the port of the brokers."""
    by_certificate = f"User:{subject(cluster.namespace, user)}"
    if security.authentication is ClientAuthentication.SCRAM:
        return (f"User:{user}", by_certificate)
    return (by_certificate,)


def wanted_acls(cluster: Key, security: ManagedSecurity, topics: TopicsSpec) -> frozenset[Acl]:
    """All rights that users have. Topics are <prefix>_<number>: another pool may begin with the prefix itself."""
    return frozenset(
        Acl(principal, operation, f"{topics.prefix}_")
        for user in security.users
        for principal in principals(cluster, security, user.name)
        for operation in OPERATIONS[user.access]
    )
