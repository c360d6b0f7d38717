"""What the controller of certificates and users decides: a pure function of the object and of what was observed.

users are written down → rights that are not declared go, passwords of users that are gone → rights and passwords

A user is in the status before Kafka knows it, so that one that leaves the spec is found again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seawall.api.meta import PAUSED_ANNOTATION, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_security_status import CertificateStatus, KafkaSecurityStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.kafka_security.actions import (
    AddRights,
    DiscardPassword,
    RemoveRights,
    SecurityAction,
    SetPassword,
)
from seawall.domain.kafka_security.observed import DISCARDED, Observed
from seawall.domain.kafka_security.reasons import UsersReason
from seawall.domain.kafka_security.rights import principals, wanted_acls
from seawall.domain.kafka_security.status import USERS, published
from seawall.domain.kafka_users import Acl, Password, UsersFound
from seawall.domain.managed_kafka.certificates import Certificate
from seawall.domain.times import MANAGED_KAFKA_IDLE_SECONDS, MANAGED_KAFKA_POLL_SECONDS

SecurityDecision = Decision[WALClusterStatus, SecurityAction]


@dataclass(frozen=True, slots=True)
class Case:
    """What is declared, and what was seen."""

    key: Key
    kafka: ManagedKafka
    topics: TopicsSpec
    recorded: tuple[str, ...]
    observed: Observed

    @property
    def declared(self) -> tuple[str, ...]:
        """The users of the spec."""
        return tuple(user.name for user in self.kafka.security.users)

    @property
    def gone(self) -> tuple[str, ...]:
        """Users that were given something, and are not declared any more."""
        return tuple(name for name in self.recorded if name not in self.declared)

    def acls_of(self, user: str, found: UsersFound) -> frozenset[Acl]:
        """The rights that a user has."""
        own = principals(self.key, self.kafka.security, user)
        return frozenset(acl for acl in found.acls if acl.principal in own)


def recorded_users(cluster: WALCluster) -> tuple[str, ...]:
    """The users in the status."""
    found = cluster.status.kafka_security
    return () if found is None else found.users


def decide(cluster: WALCluster, observed: Observed) -> SecurityDecision:
    """What one tick decides."""
    spec = cluster.spec
    managed = None if isinstance(spec, InvalidSpec) else spec.kafka.managed
    if isinstance(spec, InvalidSpec) or managed is None or managed.security.insecure:
        return silent(cluster, "there is no managed Kafka that knows users")
    if cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, "the WALCluster goes")
    case = Case(cluster.metadata.key, managed, spec.topics, recorded_users(cluster), observed)
    security = KafkaSecurityStatus(certificates=_certificates(observed), users=_users(case))
    status = cluster.status.model_copy(update={"kafka_security": security})
    actions = tuple(_actions(case))
    is_paused = cluster.metadata.is_paused
    verdict = _verdict(case, is_idle=all(_is_once_more(case, each) for each in actions))
    if is_paused and actions:
        verdict = Verdict(Outlook.PAUSED, UsersReason.PAUSED, f"{PAUSED_ANNOTATION} is set; {verdict.message}")

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        return published(cluster, status, managed, observed, found)

    done = () if is_paused else actions
    return Decision(status, verdict, done, publish, publishes_first=True, published_in=USERS)


def _certificates(observed: Observed) -> tuple[CertificateStatus, ...]:
    if observed.certificates is None:
        return ()
    both = (observed.certificates.nodes, observed.certificates.operator)
    return tuple(
        CertificateStatus(secret_name=each.secret, expires=each.expires)
        for each in both
        if isinstance(each, Certificate)
    )


def _users(case: Case) -> tuple[str, ...]:
    """Those that are declared, and those of which something is left."""
    left = (name for name in case.gone if not _is_nothing_left(case, name))
    return tuple(sorted({*case.declared, *left}))


def _is_nothing_left(case: Case, user: str) -> bool:
    found = case.observed.kafka
    if isinstance(found, str) or case.acls_of(user, found):
        return False
    return user not in found.with_password or case.observed.given.get(user) == DISCARDED


def _actions(case: Case) -> Iterator[SecurityAction]:
    """What goes comes first. Nobody is given anything before the status names it."""
    found = case.observed.kafka
    if isinstance(found, str):
        return
    wanted = wanted_acls(case.key, case.kafka.security, case.topics)
    known = {*case.recorded, *case.declared}
    has = frozenset(acl for user in known for acl in case.acls_of(user, found))
    if surplus := tuple(sorted(has - wanted)):
        yield RemoveRights(surplus)
    for user in case.gone:
        if user in found.with_password and case.observed.given.get(user) != DISCARDED:
            yield DiscardPassword(user)
    if missing := tuple(sorted(wanted - has)):
        yield AddRights(missing)
    for user, password in sorted(case.observed.passwords.items()):
        is_given = user in found.with_password
        if isinstance(password, Password) and (not is_given or case.observed.given.get(user) != password.digest):
            yield SetPassword(user, password.digest)


def _is_once_more(case: Case, action: SecurityAction) -> bool:
    """A password that a process before may have set: nobody is kept out, so nothing is told of it."""
    found = case.observed.kafka
    if not isinstance(action, SetPassword) or isinstance(found, str):
        return False
    return action.user in found.with_password and action.user not in case.observed.given


def _verdict(case: Case, *, is_idle: bool) -> Verdict:
    if isinstance(case.observed.kafka, str):
        return Verdict(Outlook.PROGRESSING, UsersReason.NOT_ASKED, case.observed.kafka, MANAGED_KAFKA_POLL_SECONDS)
    wrong = [f"user {user}: {each}" for user, each in sorted(case.observed.passwords.items()) if isinstance(each, str)]
    if wrong:
        return Verdict(Outlook.STALLED, UsersReason.PASSWORD_MISSING, "; ".join(wrong), MANAGED_KAFKA_POLL_SECONDS)
    if not is_idle:
        return Verdict(Outlook.PROGRESSING, UsersReason.CHANGING, "rights or passwords of users are set", 0.0)
    said = f"{len(case.declared)} users have their rights on topics {case.topics.prefix}_*"
    return Verdict(Outlook.READY, UsersReason.READY, said, MANAGED_KAFKA_IDLE_SECONDS)
