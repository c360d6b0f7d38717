"""Which SparkApplication this process made last of an object, until the object's status names it.

One that is gone by then was deleted, and its driver may have done something. Memory only: a process that starts anew,
or whose request was not answered, knows of none, and makes it once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.api.resource import AnyResource


@dataclass(frozen=True, slots=True)
class MadeApplications:
    """By object; another one of its name has another UID, and another attempt has an application of another name."""

    _made: dict[Key, tuple[str, Key, str]] = field(default_factory=dict)

    def remember(self, owner: AnyResource, application: Key, uid: str) -> None:
        """It was made."""
        self._made[owner.metadata.key] = (owner.metadata.uid, application, uid)

    def uid_of(self, owner: AnyResource, application: Key) -> str | None:
        """The UID of the application of this name; None: this process has not made it."""
        *made, uid = self._made.get(owner.metadata.key, (None, None, None))
        return uid if made == [owner.metadata.uid, application] else None

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._made.pop(key, None)
