"""A user of a real Kafka that has some rights and no others, given by its super user on the plaintext listener."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from seawall_e2e.loopback import KafkaProcesses

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the plaintext listeners of the bed
}
CLUSTER = "kafka-cluster"


class Right(NamedTuple):
    """An operation that is allowed, on the cluster or on topics with the prefix."""

    operation: AclOperation
    on_cluster: bool = False

    def acl(self, make: Callable[..., Any], user: str, prefix: str) -> Any:
        """It, as a binding or as a filter of bindings."""
        kind, name, pattern = (
            (ResourceType.BROKER, CLUSTER, ResourcePatternType.LITERAL)
            if self.on_cluster
            else (ResourceType.TOPIC, prefix, ResourcePatternType.PREFIXED)
        )
        return make(kind, name, pattern, f"User:{user}", "*", self.operation, AclPermissionType.ALLOW)


Rights = frozenset[Right]


class RightsOf:
    """The rights of the user of the secure listener, on topics with a prefix and on the cluster."""

    def __init__(self, kafka: KafkaProcesses, prefix: str) -> None:
        self._acls = AdminClient({"bootstrap.servers": ",".join(kafka.bootstrap_servers), "log_level": 0})
        self._name, self._prefix, self._given = kafka.secure.username, prefix, Rights()

    def give(self, rights: Rights) -> None:
        """Has these rights and no others; the broker may take a moment to know."""
        new = [right.acl(AclBinding, self._name, self._prefix) for right in rights - self._given]
        gone = [right.acl(AclBindingFilter, self._name, self._prefix) for right in self._given - rights]
        answers = [*(self._acls.create_acls(new).values() if new else ())]
        answers += self._acls.delete_acls(gone).values() if gone else ()
        for answer in answers:
            answer.result(10)
        self._given = rights
