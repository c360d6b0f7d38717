"""One tick, the same for every kind: read → observe → next step → record, act, or wait.

The tick keeps nothing. What it decided is in the status, what it did is in the world, and the next tick reads both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from seawall.api.meta import Key
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.step import Act, Event, Record, Step, Wait

_log = logging.getLogger(__name__)

ObjectT = TypeVar("ObjectT")
ObservedT = TypeVar("ObservedT")
StatusT = TypeVar("StatusT")
ActionT = TypeVar("ActionT")


class Controller(Protocol[ObjectT, ObservedT, StatusT, ActionT]):
    """What a kind brings to the tick. Only `next_step` decides, and it is pure."""

    @property
    def kind(self) -> str:
        """Name of the kind."""
        ...

    def read(self, key: Key) -> ObjectT | None:
        """Reads the object, never from a cache; None when it is gone."""
        ...

    def forget(self, key: Key) -> None:
        """Drops what is held for an object that is gone."""
        ...

    def observe(self, obj: ObjectT) -> ObservedT:
        """Looks at everything that the next step depends on."""
        ...

    def next_step(self, obj: ObjectT, observed: ObservedT) -> Step[StatusT, ActionT]:
        """Decides."""
        ...

    def with_failure(self, observed: ObservedT, error: SeawallError) -> ObservedT:
        """What was observed, and that the actions failed in this way."""
        ...

    def record(self, obj: ObjectT, status: StatusT) -> None:
        """Replaces the status of the object as it was read."""
        ...

    def perform(self, obj: ObjectT, action: ActionT) -> Event:
        """Does one action; returns what its event says."""
        ...

    def post(self, obj: ObjectT, event: Event) -> None:
        """Posts an event about the object."""
        ...


class Outcome(StrEnum):
    """How a tick ended; the label of the metrics."""

    GONE = "gone"
    RECORDED = "recorded"
    ACTED = "acted"
    WAITING = "waiting"
    FAILED = "failed"
    """The actions were refused or not answered; the status says so."""
    CONFLICT = "conflict"
    NOT_LEADER = "not_leader"
    ERROR = "error"
    """The API server did not answer, or there is a bug; the log says which."""


@dataclass(frozen=True, slots=True)
class Ticked:
    """The end of a tick: `after` is when to look again in seconds (None: at the next resync)."""

    outcome: Outcome
    after: float | None = None


NOT_LEADER = Ticked(Outcome.NOT_LEADER, 2.0)
"""Looked at again soon, in case the Lease only lapsed for a moment."""


@dataclass(frozen=True, slots=True)
class Reconciler(Generic[ObjectT, ObservedT, StatusT, ActionT]):
    """Runs ticks for one kind. `may_write` says whether this process is the leader, asked right before each write."""

    controller: Controller[ObjectT, ObservedT, StatusT, ActionT]
    may_write: Callable[[], bool]

    def tick(self, key: Key) -> Ticked:
        """One tick for one object."""
        try:
            return self._tick(key)
        except Conflict as conflict:
            _log.debug("%s %s: %s", self.controller.kind, key, conflict)
            return Ticked(Outcome.CONFLICT, 0.0)
        except SeawallError as error:
            _log.warning("%s %s: %s", self.controller.kind, key, error)
            return Ticked(Outcome.ERROR)

    def _tick(self, key: Key) -> Ticked:
        obj = self.controller.read(key)
        if obj is None:
            self.controller.forget(key)
            return Ticked(Outcome.GONE)
        observed = self.controller.observe(obj)
        step = self.controller.next_step(obj, observed)
        if isinstance(step, Act):
            return self._act(obj, observed, step.actions)
        return self._record_or_wait(obj, step)

    def _record_or_wait(self, obj: ObjectT, step: Record[StatusT] | Wait) -> Ticked:
        if isinstance(step, Wait):
            _log.debug("waiting: %s", step.reason)
            return Ticked(Outcome.WAITING, step.after)
        if not self.may_write():
            return NOT_LEADER
        self.controller.record(obj, step.status)
        for event in step.events:
            self.controller.post(obj, event)
        return Ticked(Outcome.RECORDED, step.after)

    def _act(self, obj: ObjectT, observed: ObservedT, actions: Sequence[ActionT]) -> Ticked:
        """Performs the actions. One that is refused does not hold up the others; one that is not answered does."""
        refusal: Refused | None = None
        for action in actions:
            if not self.may_write():
                return NOT_LEADER
            try:
                event = self.controller.perform(obj, action)
            except Refused as error:
                refusal = refusal or error
            except OutsideUnavailable as error:
                return self._explain(obj, observed, error)
            else:
                self.controller.post(obj, event)
        return Ticked(Outcome.ACTED, 0.0) if refusal is None else self._explain(obj, observed, refusal)

    def _explain(self, obj: ObjectT, observed: ObservedT, error: SeawallError) -> Ticked:
        """Records what the outside answered, in this tick: nothing else would remember its sentence.

        The step is decided again, now with the failure known, and that decision never acts.
        """
        step = self.controller.next_step(obj, self.controller.with_failure(observed, error))
        if isinstance(step, Act):
            raise TypeError("a step decided after a failure must not act")
        return Ticked(Outcome.FAILED, self._record_or_wait(obj, step).after)
