"""Users of Kafka and their rights, as values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """A right, in Kafka's words (kafka-acls.sh): what a principal may do with a resource, or may not.

    Attributes:
        resource: TOPIC, GROUP, CLUSTER …
        pattern: LITERAL or PREFIXED.
        permission: ALLOW or DENY.
    """

    principal: str
    operation: str
    name: str
    resource: str = "TOPIC"
    pattern: str = "PREFIXED"
    permission: str = "ALLOW"
    host: str = "*"


@dataclass(frozen=True, slots=True, repr=False)
class Password:
    """A password, which nothing prints."""

    text: str

    @property
    def digest(self) -> str:
        """By which this process knows it again; it is written nowhere."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __repr__(self) -> str:
        return "Password()"


@dataclass(frozen=True, slots=True)
class UsersFound:
    """What Kafka knows of some users.

    Attributes:
        with_password: those that have one (SCRAM-SHA-512).
        acls: the rights of their principals.
    """

    with_password: frozenset[str]
    acls: frozenset[Acl]
