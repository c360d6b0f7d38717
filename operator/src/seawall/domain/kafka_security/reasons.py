"""The closed sets of reasons of the conditions CertificatesValid and KafkaUsersReady."""

from __future__ import annotations

from enum import StrEnum


class CertificateReason(StrEnum):
    """How the certificates of a managed Kafka are; each member says the status of the condition, and what ends it."""

    VALID = "CertificatesFit"
    """True. Both are valid, neither ends soon, and every node began with the one that is there."""
    EXPIRES_SOON = "CertificateExpires"
    """False. The message says which one ends within 30 days, or, if it is made for less than 120, has less than a
    quarter of its life left: renew it (docs/kafka.md#renewing-certificates)."""
    OLD_IN_USE = "OldCertificateInUse"
    """False. Nodes began with another certificate, or other CAs, than are in the Secret now; they are restarted one
    after another, and KafkaNodesHealthy says what that waits for (docs/kafka.md#renewing-certificates)."""
    UNUSABLE = "CertificatesUnusable"
    """False. A Secret is missing, or what is in it does not fit: nothing is started. Do what the message says
    (docs/kafka.md#certificates)."""


class UsersReason(StrEnum):
    """How the users of a managed Kafka are; each member says the status of the condition, and what ends it."""

    READY = "UsersReady"
    """True. Every user has its rights, and its password where it has one."""
    CHANGING = "UsersChanging"
    """False. Rights or passwords are set or taken back now."""
    PASSWORD_MISSING = "PasswordMissing"  # noqa: S105 - a reason, no password
    """False. The Secret of a user has no password; the message says which. The other users have theirs."""
    NOT_ASKED = "NotAsked"
    """Unknown. Kafka was not asked, or did not answer; the message says why."""
    PAUSED = "Paused"
    """Unknown. seawall.dev/paused is set: no right and no password is changed."""
