"""What is published of certificates and users: two conditions, and what they mean for the WALCluster."""

from __future__ import annotations

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.conditions import (
    ConditionBuilder,
    ConditionStatus,
    Outlook,
    Verdict,
    find_condition,
    loss_event,
    of_kinds,
    status_of,
    with_own,
)
from seawall.domain.decision import UNANSWERED, Published
from seawall.domain.kafka_security.observed import Observed
from seawall.domain.kafka_security.reasons import CertificateReason, UsersReason
from seawall.domain.managed_kafka.certificates import expires_soon, why_unusable
from seawall.domain.text import written
from seawall.domain.times import MANAGED_KAFKA_POLL_SECONDS

CERTIFICATES, USERS = ConditionType.CERTIFICATES_VALID, ConditionType.KAFKA_USERS_READY
_OWN = (CERTIFICATES, USERS)
_UNKNOWN = frozenset({UsersReason.NOT_ASKED, UsersReason.PAUSED})


def published(
    cluster: WALCluster, status: WALClusterStatus, kafka: ManagedKafka, observed: Observed, found: Verdict
) -> Published[WALClusterStatus]:
    """The status with both conditions; certificates are told of whatever becomes of users."""
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.time.now)
    users = build(USERS, status_of(found, _UNKNOWN), found.reason, found.message)
    certificates = build(CERTIFICATES, *_of_certificates(cluster, kafka, observed))
    conditions = with_own(cluster.status.conditions, (certificates, users), _OWN)
    full = status.model_copy(update={"conditions": conditions})
    events = (
        loss_event(cluster.status.conditions, conditions, CERTIFICATES, "the certificates of Kafka fit"),
        loss_event(cluster.status.conditions, conditions, USERS, "all users of Kafka have what is declared"),
    )
    is_calm = users.reason == UsersReason.CHANGING
    return Published(full, tuple(event for event in (events[0], None if is_calm else events[1]) if event is not None))


def _of_certificates(
    cluster: WALCluster, kafka: ManagedKafka, observed: Observed
) -> tuple[ConditionStatus, CertificateReason, str]:
    if observed.certificates is None:
        return "False", CertificateReason.UNUSABLE, "its Secrets were not looked at"
    now, there = observed.time.now, cluster.status.kafka_nodes
    if (why := why_unusable(cluster.metadata.key, kafka, observed.certificates, now, there)) is not None:
        return "False", CertificateReason.UNUSABLE, f"{why}; no node is started"
    nodes = () if cluster.status.managed_kafka is None else cluster.status.managed_kafka.nodes
    if old := [str(node.id) for node in nodes if node.old_certificate]:
        said = f"nodes {', '.join(old)} began with another certificate, or other CAs, than are in their Secret now"
        if ends := [node.old_certificate_expires for node in nodes if node.old_certificate_expires is not None]:
            said = f"{said}, and what they use ends at {written(min(ends))}"
        return "False", CertificateReason.OLD_IN_USE, f"{said}: KafkaNodesHealthy says what their restart waits for"
    if (soon := expires_soon(observed.certificates, now)) is not None:
        return "False", CertificateReason.EXPIRES_SOON, soon
    return "True", CertificateReason.VALID, "certificates of nodes and operator are valid, and neither ends soon"


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of certificates and users, as it was written."""
    return of_kinds(status.conditions, *_OWN)


def standing(cluster: WALCluster) -> Verdict | None:
    """What keeps clients of a managed Kafka out; None: nothing, or it knows no users."""
    for kind in _OWN:
        found = find_condition(cluster.status.conditions, kind)
        if found is None or found.status != "False":
            continue
        if kind is USERS or found.reason == CertificateReason.UNUSABLE:
            is_changing = found.reason in {UsersReason.CHANGING, UNANSWERED}
            outlook = Outlook.PROGRESSING if is_changing else Outlook.STALLED
            return Verdict(outlook, found.reason, found.message, MANAGED_KAFKA_POLL_SECONDS)
    return None
