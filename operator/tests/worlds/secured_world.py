"""A world for a managed Kafka that lets in only whom it knows: the nodes' world, with Secrets and users.

What must never be: a node that is started although its Secrets do not fit, a user of Kafka that the status does not
name, a right beyond those that are declared, a change in a Kafka that is another one. Between the operator's last look
at a Secret and its call the Secret may go: one object may then be made, and no second.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from seawall.adapters.authority import Authority, Pair
from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.kafka_security import KafkaSecurityController
from seawall.domain.conditions import find_condition
from seawall.domain.kafka_users import Acl
from seawall.domain.managed_kafka.certificates import why_unusable
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.observe.certificates import read_certificates
from seawall.reconciler import Reconciler
from tests.support.clock import START
from tests.worlds.managed_world import BROKERS, CONTROLLERS, SPEC, WAL, ManagedWorld
from tests.worlds.purge_world import Guard

DATABASE, READER = "greptimedb", "verifier"
HOSTS = tuple(f"wal-{node}.db.svc" for node in (*BROKERS, *CONTROLLERS))
NODES, OPERATOR = "wal-nodes", "wal-operator"
SECURED = copy.deepcopy(SPEC)
SECURED["kafka"]["managed"]["security"] = {
    "tls": {"secretName": NODES},
    "operatorTls": {"secretName": OPERATOR},
    "users": [
        {"name": DATABASE, "access": "WAL", "secretName": "user-greptimedb"},
        {"name": READER, "access": "ReadOnly", "secretName": "user-verifier"},
    ],
}
WITHOUT_READER = copy.deepcopy(SECURED)
WITHOUT_READER["kafka"]["managed"]["security"]["users"].pop()
YEAR = timedelta(days=365)


def authority(name: str = "own") -> Authority:
    """The CA of this name, the same each time."""
    return _authority(name)


@cache
def _authority(name: str) -> Authority:
    return Authority.new(name, START - timedelta(minutes=1))


def secret_of(pair: Pair, *trusted: Authority) -> dict[str, bytes]:
    """As cert-manager writes it."""
    authorities = "".join(each.pair.certificate for each in trusted)
    texts = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authorities}
    return {key: text.encode() for key, text in texts.items()}


@cache
def certificate(role: str, ca: str = "own") -> dict[str, bytes]:
    """A Secret of a role, signed by one of two CAs."""
    signer = authority(ca)
    names = HOSTS if role == "node" else ()
    begins = START - timedelta(minutes=1)
    return secret_of(signer.issue(f"seawall:wal:{role}", WAL.namespace, names, begins, YEAR), signer)


def _user_of(given: object) -> str:
    """Whose a right, or a password, is."""
    if isinstance(given, Acl):
        return given.principal.removeprefix("User:").removeprefix("CN=").removesuffix(",OU=db")
    assert isinstance(given, tuple)
    return str(given[0])


def secret(name: str) -> Key:
    return Key(WAL.namespace, name)


@dataclass
class SecuredWorld(ManagedWorld):
    """All that outlives a process.

    Attributes:
        started_unsecured: how many objects were made since Secrets do not fit.
        gains: how often somebody was given something who is not declared.
        unnamed: how often somebody was whom the status does not name.
        strangers: principals to whom somebody else gave rights.
        term: how often a process has taken the Lease.
        elsewhere: how often rights or passwords changed in another Kafka than that of the WALCluster.
    """

    started_unsecured: int = 0
    strangers: set[str] = field(default_factory=set)
    made_before: set[str] = field(default_factory=set)
    had: set[object] = field(default_factory=set)
    gains: int = 0
    unnamed: int = 0
    known: tuple[frozenset[Acl], frozenset[tuple[str, str]]] | None = None
    elsewhere: int = 0
    spec: dict[str, Any] = field(default_factory=lambda: dict(SECURED))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.put_secrets()

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Both controllers."""
        return [self.process(calls), self.security(calls)]

    def security(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of certificates and users."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        ports = (guard(self.kube), guard(self.clusters()), self.time)
        controller = KafkaSecurityController(*ports, True)
        return Reconciler(controller, may_write=lambda: True)

    def check(self, after: str) -> None:
        """What must be true after each change."""
        made = {meta.uid for (kind, _), meta in self.objects.meta.items() if kind is ObjectKind.STATEFUL_SET}
        new, self.made_before = made - self.made_before, made
        self.started_unsecured = 0 if self.is_secured() else self.started_unsecured + len(new)
        if self.started_unsecured > 1:
            self.violations.append(f"S1: {self.started_unsecured} nodes were made while Secrets do not fit {after}")
        self._check_gains(after)
        self._check_which(after)
        super().check(after)

    def _check_which(self, after: str) -> None:
        """Another Kafka keeps its rights and passwords, but for one call that was under way."""
        users = self.kafka.users
        known = (frozenset(users.acls), frozenset(users.passwords.items()))
        is_changed, self.known = self.known not in {None, known}, known
        self.elsewhere += is_changed and self.kafka.cluster_id != self.pinned()
        if self.elsewhere > 1:
            self.violations.append(f"S4: another Kafka was changed {self.elsewhere} times {after}")

    def _check_gains(self, after: str) -> None:
        """Who is not declared gains nothing, but by one call that was under way."""
        users = self.kafka.users
        found = self.kube.get(WALCluster, WAL)
        managed = None if found is None else found.spec.kafka.managed  # type: ignore[union-attr]
        declared = set() if managed is None else {user.name for user in managed.security.users}
        has: set[object] = {acl for acl in users.acls if acl.principal not in self.strangers}
        has |= {(user, known) for user, known in users.passwords.items() if known in {"horse", "staple", "battery"}}
        gained = has - self.had
        new = {each for each in gained if _user_of(each) not in declared}
        self.had = has
        unknown = {each for each in gained if _user_of(each) not in self.users()}
        self.unnamed = self.unnamed + 1 if unknown else self.unnamed
        if self.unnamed > 1:
            self.violations.append(f"S2: {unknown} was given, and the status does not name whom {after}")
        self.gains = self.gains + 1 if new else self.gains
        if self.gains > 1:
            self.violations.append(f"S3: {new} was given to who is not declared {after}")

    def is_secured(self) -> bool:
        """Whether the Secrets fit now."""
        found = self.kube.get(WALCluster, WAL)
        managed = None if found is None else found.spec.kafka.managed  # type: ignore[union-attr]
        if managed is None:
            return True
        certificates = read_certificates(self.kube, WAL, managed)
        there = [node.id for node in self.nodes]
        return certificates is not None and why_unusable(WAL, managed, certificates, self.time.now(), there) is None

    def users(self) -> tuple[str, ...]:
        """Those that the status names."""
        found = self.kube.get(WALCluster, WAL)
        security = None if found is None else found.status.kafka_security
        return () if security is None else security.users

    def told(self, kind: ConditionType) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition."""
        found = self.kube.get(WALCluster, WAL)
        now = None if found is None else find_condition(found.status.conditions, kind)
        return None if now is None else (now.status, now.reason, now.message)

    # --- what people do

    def put_secrets(self) -> None:
        """Somebody makes all that is declared."""
        self.kube.secrets[secret(NODES)] = certificate("node")
        self.kube.secrets[secret(OPERATOR)] = certificate("operator")
        self.kube.secrets[secret("user-greptimedb")] = {"password": b"horse"}
        self.kube.secrets[secret("user-verifier")] = {"password": b"staple\n"}

    def lose_secret(self, name: str) -> None:
        """Somebody deletes a Secret."""
        self.kube.secrets.pop(secret(name), None)

    def change_authority(self) -> None:
        """The nodes' certificate is of another CA, which nobody else knows."""
        self.kube.secrets[secret(NODES)] = certificate("node", "other")

    def change_password(self) -> None:
        """The database gets another one."""
        self.kube.secrets[secret("user-greptimedb")] = {"password": b"battery"}

    def drop_reader(self) -> None:
        """The reader is taken out of the spec."""
        self.kube.apply(WAL, WITHOUT_READER)

    def is_served(self) -> bool:
        """Whether all nodes are Online and all users have what is declared."""
        users = self.told(ConditionType.KAFKA_USERS_READY)
        return self.says("AllOnline") and not self.tokens() and users is not None and users[0] == "True"
