"""Strimzi beside Seawall: its CRDs, the users of the documented example, and what its User Operator makes of them.

Strimzi's operators are not in Maven Central, so what they would do is done here: a SCRAM user with the KafkaUser's
ACLs, and the Secrets with Strimzi's keys (docs/adr/0040-strimzi.md).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seawall_e2e.cluster import REPOSITORY, SASL_SSL
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.loopback.processes import platform_folder
from seawall_e2e.objects import apply, get
from seawall_e2e.shell import Shell

EXAMPLE = REPOSITORY / "docs/examples/strimzi"
PREFIX = "greptimedb_wal_topic"
OPERATOR, AUTHORITY = "seawall", "wal-cluster-ca-cert"


def example(file: str) -> list[Object]:
    """The objects of a file of the documented example."""
    return list(yaml.safe_load_all((EXAMPLE / f"{file}.yaml").read_text()))


def crds() -> Path:
    """The folder of Strimzi's CRDs; they are made once."""
    return platform_folder("strimzi/crds.sh", 1200)


@dataclass(frozen=True, slots=True)
class StrimziExample:
    """The documented example in a namespace, on the platform's Kafka.

    Attributes:
        prefix: of the topics.
        shell: runs `kafka_users`.
    """

    namespace: str
    prefix: str
    shell: Shell

    def start(self) -> None:
        """Applies the Kafka and the users that it is about, and makes of them what Strimzi would."""
        users = self._users()
        apply(*map(self._placed, (*example("kafka"), *users)))
        authority = get("kafka", "secrets", "kafka-ca")["data"]["ca.crt"]
        apply(self._placed(_secret(AUTHORITY, data={"ca.crt": authority, "ca.password": ""})))
        for user in users:
            name, password = user["metadata"]["name"], secrets.token_hex(16)
            login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{name}";'
            self.shell.ask("make", name, password, user["spec"]["authorization"]["acls"])
            apply(self._placed(_secret(name, stringData={"password": password, "sasl.jaas.config": login})))

    def stop(self) -> None:
        """Kafka knows its users no more."""
        for user in self._users():
            self.shell.ask("forget", user["metadata"]["name"])

    def name(self, user: str) -> str:
        """A user's, which no other test has: all share one Kafka."""
        return f"{self.namespace}-{user}"

    def external_kafka(self) -> Object:
        """`spec.kafka.external` of the example's WALCluster."""
        (found,) = example("walcluster")
        kafka: Object = self._renamed(found["spec"]["kafka"]["external"])
        return {**kafka, "bootstrapServers": list(SASL_SSL)}

    def patch(self) -> Object:
        """What the example merges into the `spec` of a GreptimeDBCluster."""
        (found,) = example("greptimedbcluster-patch")
        spec: Object = self._renamed(found["spec"])
        return spec

    def put_topic(self, topic: str) -> None:
        """Somebody makes a KafkaTopic of this topic."""
        body = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaTopic", "metadata": {"name": "theirs"}}
        apply(self._placed({**body, "spec": {"topicName": topic}}))

    def delete_topic(self) -> None:
        """They delete it."""
        kubectl("-n", self.namespace, "delete", "kafkatopic", "theirs")

    def _users(self) -> list[Object]:
        found: list[Object] = self._renamed(example("kafka-users"))
        return found

    def _renamed(self, found: Any) -> Any:
        """With the names of this namespace's users, and of its topics."""
        users = (each["metadata"]["name"] for each in example("kafka-users"))
        return _replaced(found, {**{user: self.name(user) for user in users}, PREFIX: self.prefix})

    def _placed(self, found: Object) -> Object:
        return {**found, "metadata": {**found["metadata"], "namespace": self.namespace}}


def _replaced(found: Any, names: Mapping[str, str]) -> Any:
    if isinstance(found, dict):
        return {key: _replaced(each, names) for key, each in found.items()}
    if isinstance(found, list):
        return [_replaced(each, names) for each in found]
    return names.get(found, found)


def _secret(name: str, **content: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **content}
