"""The controller of certificates and users of a managed Kafka, one more of WALClusters."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, assert_never

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.managed_security import ClientAuthentication
from seawall.controllers.controller import Controller
from seawall.controllers.given import Given
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.kafka_security.actions import (
    AddRights,
    DiscardPassword,
    RemoveRights,
    SecurityAction,
    SetPassword,
)
from seawall.domain.kafka_security.decide import SecurityDecision, decide, recorded_users
from seawall.domain.kafka_security.observed import DISCARDED, Observed
from seawall.domain.kafka_security.rights import principals
from seawall.domain.kafka_users import Password, UsersFound
from seawall.domain.step import Event
from seawall.observe.certificates import read_certificates
from seawall.observe.connections import read_password, required_kafka
from seawall.observe.managed_kafka import NO_ANSWER, reach
from seawall.ports import Clock, KafkaClusters, KafkaUsers, Kube

KAFKA_SECURITY = "KafkaSecurity"
"""The kind of its queue, whose keys are those of WALClusters."""
RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class KafkaSecurityController(Controller[WALCluster, Observed, WALClusterStatus, SecurityAction]):
    """Tells of certificates, and gives users of a managed Kafka their rights and passwords.

    Of the status it writes only its own parts; its queue is its own, because a Kafka that does not answer costs
    seconds.
    """

    resource: ClassVar = WALCluster

    kube: Kube
    kafka_clusters: KafkaClusters
    clock: Clock
    is_enabled: bool
    """Whether this process may run a Kafka."""
    kind: str = KAFKA_SECURITY
    _given: Given = field(default_factory=Given)
    """By user the digest of the password that this process gave it."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._given.forget(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Reads the Secrets, and asks Kafka once a broker is Online."""
        time, key, managed = self.clock.trusted(), obj.metadata.key, obj.managed_kafka
        if managed is None or managed.security.insecure:
            self.forget(key)
            return Observed(time)
        certificates = read_certificates(self.kube, key, managed)
        if not self.is_enabled:
            return Observed(time, certificates, "this operator may not run a Kafka")
        given = self._given.of(key)
        return Observed(time, certificates, self._ask(obj, managed), self._passwords(key, managed), given)

    def decide(self, obj: WALCluster, observed: Observed) -> SecurityDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: SecurityAction) -> Event:
        """Does one action, if all that is read once more would have it so."""
        self._ask_again(obj, action, decide)
        key, users = obj.metadata.key, self._users(obj)
        match action:
            case RemoveRights():
                users.remove_acls(action.acls)
            case AddRights():
                users.add_acls(action.acls)
            case SetPassword():
                password = self._observed_password(obj, action)
                self._given.note(key, action.user, None)
                users.set_password(action.user, password)
                self._given.note(key, action.user, action.digest)
            case DiscardPassword():
                self._given.note(key, action.user, None)
                users.set_password(action.user, Password(secrets.token_urlsafe(RANDOM_BYTES)))
                self._given.note(key, action.user, DISCARDED)
            case _:
                assert_never(action)
        return action.event()

    def _users(self, obj: WALCluster) -> KafkaUsers:
        return self.kafka_clusters.users(obj.metadata.key, required_kafka(self.kube, obj))

    def _ask(self, obj: WALCluster, managed: ManagedKafka) -> UsersFound | str:
        connection = reach(self.kube, self.kafka_clusters, obj)
        if isinstance(connection, str):
            return connection
        names = sorted({*recorded_users(obj), *(user.name for user in managed.security.users)})
        of = [each for name in names for each in principals(obj.metadata.key, managed.security, name)]
        with_password = names if managed.security.authentication is ClientAuthentication.SCRAM else ()
        try:
            return self.kafka_clusters.users(obj.metadata.key, connection).find(with_password, of)
        except OutsideUnavailable:
            return NO_ANSWER

    def _passwords(self, key: Key, managed: ManagedKafka) -> Mapping[str, Password | str]:
        if managed.security.authentication is not ClientAuthentication.SCRAM:
            return {}
        return {user.name: read_password(self.kube, key.namespace, user.secret_name) for user in managed.security.users}

    def _observed_password(self, obj: WALCluster, action: SetPassword) -> Password:
        managed = obj.managed_kafka
        found = {} if managed is None else self._passwords(obj.metadata.key, managed)
        password = found.get(action.user)
        if not isinstance(password, Password) or password.digest != action.digest:
            raise Conflict(f"the password of user {action.user} changed")
        return password
