"""What may be done with the users of a managed Kafka.

No password is ever deleted: a broker of Kafka 4.3.1 that starts after a SCRAM user was removed knows none of the others
(tried on processes, docs/adr/0061-certificates-and-users.md). One that is not wanted is replaced by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seawall.domain.events import EventReason
from seawall.domain.kafka_users import Acl
from seawall.domain.step import Event, EventType


def _event(said: str) -> Event:
    return Event(EventType.NORMAL, EventReason.KAFKA_USERS_CHANGED, said)


@dataclass(frozen=True, slots=True)
class RemoveRights:
    """Take rights that are not declared."""

    acls: tuple[Acl, ...]

    def event(self) -> Event:
        """What the event says."""
        return _event(f"Took {len(self.acls)} rights from {_named(self.acls)}")


@dataclass(frozen=True, slots=True)
class AddRights:
    """Give rights that are declared."""

    acls: tuple[Acl, ...]

    def event(self) -> Event:
        """What the event says."""
        return _event(f"Gave {len(self.acls)} rights to {_named(self.acls)}")


@dataclass(frozen=True, slots=True)
class SetPassword:
    """Give a user the password of its Secret; `digest` is of the one that was seen, and nothing prints it."""

    user: str
    digest: str = field(repr=False)

    def event(self) -> Event:
        """What the event says."""
        return _event(f"Set the password of user {self.user}")


@dataclass(frozen=True, slots=True)
class DiscardPassword:
    """Give a user that is not declared any more a password that nobody knows."""

    user: str

    def event(self) -> Event:
        """What the event says."""
        return _event(f"User {self.user} cannot log in any more")


SecurityAction = RemoveRights | AddRights | SetPassword | DiscardPassword


def _named(acls: tuple[Acl, ...]) -> str:
    return " and ".join(sorted({acl.principal for acl in acls}))
