"""What all controllers have: they read and write their objects in the same way, and differ in what they decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, cast

from seawall.api.meta import Key
from seawall.api.resource import ObjectStatus, Resource
from seawall.domain.decision import Decision, settle
from seawall.domain.errors import Conflict, SeawallError
from seawall.domain.step import Act, Event
from seawall.ports import Kube

ObjectT = TypeVar("ObjectT", bound=Resource[Any, Any])
ObservedT = TypeVar("ObservedT")
StatusT = TypeVar("StatusT", bound=ObjectStatus)
ActionT = TypeVar("ActionT")


def unchanged(obj: ObjectT, found: ObjectT | None) -> ObjectT:
    """The object as it is now, if nobody has written it since it was read.

    A leader that slept must not do what its successor has finished, or a person has stopped meanwhile.

    Raises:
        Conflict: somebody has, or it is gone.
    """
    if found is None or found.metadata.resource_version != obj.metadata.resource_version:
        raise Conflict(f"{obj.KIND.kind} {obj.metadata.key} is no longer the one that was decided about")
    return found


class Controller(ABC, Generic[ObjectT, ObservedT, StatusT, ActionT]):
    """A kind only says what it observes, what it decides, and how an action is done."""

    __slots__ = ()

    resource: ClassVar[type[Resource[Any, Any]]]
    """The kind of object that it reads, and whose status it writes."""
    kube: Kube

    def read(self, key: Key) -> ObjectT | None:
        """Reads the object, never from a cache; None when it is gone."""
        return cast("ObjectT | None", self.kube.get(self.resource, key))  # whose kind the subclass names

    def forget(self, key: Key) -> None:
        """Drops what is held for an object that is gone."""

    @abstractmethod
    def observe(self, obj: ObjectT) -> ObservedT:
        """Looks at everything that the decision depends on."""

    @abstractmethod
    def decide(self, obj: ObjectT, observed: ObservedT) -> Decision[StatusT, ActionT]:
        """Decides (pure)."""

    def absorb(self, observed: ObservedT, error: SeawallError) -> ObservedT | None:  # noqa: ARG002 - who overrides it has
        """What was observed, where an answer is about single items and the rest goes on; None: it is about all."""
        return None

    def tells(self, obj: ObjectT, error: SeawallError) -> bool:  # noqa: ARG002 - who overrides it has
        """Whether the object, as it was read, tells of this answer by a reason of its own, for as long as it stands."""
        return False

    @abstractmethod
    def perform(self, obj: ObjectT, action: ActionT) -> Event:
        """Does one action; returns what its event says."""

    def remember_failure(self, obj: ObjectT, action: ActionT, error: SeawallError) -> None:
        """Keeps why an action failed, where another place than the object's own status tells of it."""

    def _require_unchanged(self, obj: ObjectT) -> None:
        """Reads the object once more, right before something is done that nothing fences.

        Raises:
            Conflict: somebody has written it since it was read, or it is gone.
        """
        unchanged(obj, self.read(obj.metadata.key))

    def _ask_again(
        self, obj: ObjectT, action: ActionT, decide: Callable[[ObjectT, ObservedT], Decision[StatusT, ActionT]]
    ) -> None:
        """Reads all of it once more, right before something is done: `decide` must want it still.

        Raises:
            Conflict: it would not be decided any more.
        """
        found = self.read(obj.metadata.key)
        is_same = found is not None and found.metadata.uid == obj.metadata.uid
        step = settle(found, decide(found, self.observe(found))) if found is not None and is_same else None
        if not isinstance(step, Act) or action not in step.actions:
            raise Conflict(f"{obj.KIND.kind} {obj.metadata.key} or what it was decided by changed")

    def record(self, obj: ObjectT, status: StatusT) -> None:
        """Replaces the status, at the resource version that was read."""
        self.kube.replace_status(obj, status)

    def post(self, obj: ObjectT, event: Event) -> bool:
        """Posts an event about the object; returns whether it was posted."""
        return self.kube.post_event(obj, event)
