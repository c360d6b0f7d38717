"""One tick, the same for every kind: read → observe → decide → record, act, or wait.

The tick keeps nothing that matters. What it decided is in the status, what it did is in the world, and the next tick
reads both.

Nothing fails in silence, whatever a kind makes of it: an action that is refused or not answered is logged each time;
and if the kind's own step tells of it by no event, one is posted here, once while the sentence stays the same, unless
the kind has told of it in the status. One that could not be posted is tried again with the action. A process that
starts anew says it once more. A conflict (the world moved between the decision and the act) is no failure: what is so
now is decided anew. One that comes back each time is told like an action that is not answered.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from seawall.api.meta import Condition, Key, StatusModel
from seawall.api.resource import Resource
from seawall.domain.decision import FAILURES, Decision, Failure, settle
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.events import EventReason
from seawall.domain.step import Act, Event, EventType, Record, Wait

_log = logging.getLogger(__name__)

STATUS_NOT_WRITTEN = EventReason.STATUS_NOT_WRITTEN
"""The reason of the event when the API server refuses a status, or does not answer: no condition can say that."""

CONFLICTS_REPORTED = 10
"""So many conflicts one after another, and nothing done in between, are no chance any more."""

ObjectT = TypeVar("ObjectT", bound=Resource[Any, Any])
ObservedT = TypeVar("ObservedT")
StatusT = TypeVar("StatusT", bound=StatusModel)
ActionT = TypeVar("ActionT")


class Controller(Protocol[ObjectT, ObservedT, StatusT, ActionT]):
    """What a kind brings to the tick. Only `decide` decides, and it is pure."""

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
        """Looks at everything that the decision depends on."""
        ...

    def decide(self, obj: ObjectT, observed: ObservedT) -> Decision[StatusT, ActionT]:
        """Decides."""
        ...

    def absorb(self, observed: ObservedT, error: SeawallError) -> ObservedT | None:
        """What was observed, where an answer is about single items and the rest goes on; None: it is about all."""
        ...

    def tells(self, obj: ObjectT, error: SeawallError) -> bool:
        """Whether the object, as it was read, tells of this answer by a reason of its own, for as long as it stands."""
        ...

    def remember_failure(self, obj: ObjectT, action: ActionT, error: SeawallError) -> None:
        """Keeps why an action failed, where another place than the object's own status tells of it."""
        ...

    def record(self, obj: ObjectT, status: StatusT) -> None:
        """Replaces the status of the object as it was read."""
        ...

    def perform(self, obj: ObjectT, action: ActionT) -> Event:
        """Does one action; returns what its event says."""
        ...

    def post(self, obj: ObjectT, event: Event) -> bool:
        """Posts an event about the object; returns whether it was posted."""
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
    """The end of a tick.

    Attributes:
        outcome: how it ended.
        after: when to look again in seconds; None: at the next resync.
        conditions: those of the object as it was read or was just written; None: this process may not write, or there
            is an error. For the metrics.
        is_unread: whether the object could not be read: nobody knows what its conditions are.
    """

    outcome: Outcome
    after: float | None = None
    conditions: Sequence[Condition] | None = field(default=None, compare=False)
    is_unread: bool = field(default=False, compare=False)


NOT_LEADER = Ticked(Outcome.NOT_LEADER, 2.0)
"""Looked at again soon, in case the Lease only lapsed for a moment."""


@dataclass(frozen=True, slots=True)
class Reconciler(Generic[ObjectT, ObservedT, StatusT, ActionT]):
    """Runs ticks for one kind. `may_write` says whether this process is the leader, asked right before each write."""

    controller: Controller[ObjectT, ObservedT, StatusT, ActionT]
    may_write: Callable[[], bool]
    _reported: dict[Key, dict[str, str]] = field(default_factory=dict)
    """By object and reason the sentence of what failed last and was told: memory only, so that it is told once."""
    _conflicts: Counter[Key] = field(default_factory=Counter)
    """By object how many acts met one, since a tick did what it decided: memory only, another process counts anew."""
    _unwritten: Counter[Key] = field(default_factory=Counter)
    """By object how many writes of its status met one, since one did not."""

    def tick(self, key: Key) -> Ticked:
        """One tick for one object."""
        is_unread = True
        try:
            obj = self.controller.read(key)
            is_unread = False
            ticked = self._tick(key, obj)
        except Conflict as conflict:
            _log.debug("%s %s: %s", self.controller.kind, key, conflict)
            return Ticked(Outcome.CONFLICT, 0.0)
        except SeawallError as error:
            _log.warning("%s %s: %s", self.controller.kind, key, error)
            return Ticked(Outcome.ERROR, is_unread=is_unread)
        if ticked.outcome in {Outcome.ACTED, Outcome.WAITING, Outcome.GONE}:
            self._conflicts.pop(key, None)
        return ticked

    def _tick(self, key: Key, obj: ObjectT | None) -> Ticked:
        if obj is None:
            self.controller.forget(key)
            self._reported.pop(key, None)
            self._unwritten.pop(key, None)
            return Ticked(Outcome.GONE, conditions=())
        observed = self.controller.observe(obj)
        decision = self.controller.decide(obj, observed)
        step = settle(obj, decision)
        if isinstance(step, Act):
            return self._act(key, obj, observed, decision)
        return self._record_or_wait(key, obj, step)[0]

    def _record_or_wait(self, key: Key, obj: ObjectT, step: Record[StatusT] | Wait) -> tuple[Ticked, Sequence[Event]]:
        """The end of the tick, and the events that were posted."""
        if isinstance(step, Wait):
            _log.debug("waiting: %s", step.reason)
            return Ticked(Outcome.WAITING, step.after, _conditions_of(obj.status)), ()
        if not self.may_write():
            return NOT_LEADER, ()
        try:
            self._record(key, obj, step.status)
        except (Refused, OutsideUnavailable) as error:
            self._tell(key, obj, Event(EventType.WARNING, STATUS_NOT_WRITTEN, str(error)))
            raise
        self._is_over(key, STATUS_NOT_WRITTEN)
        posted = [event for event in step.events if self.controller.post(obj, event)]
        return Ticked(Outcome.RECORDED, step.after, _conditions_of(step.status)), posted

    def _act(self, key: Key, obj: ObjectT, observed: ObservedT, decision: Decision[StatusT, ActionT]) -> Ticked:
        """Performs the actions. One that is refused does not hold up the others; one that is not answered does."""
        refusal: Refused | None = None
        for action in decision.actions:
            if not self.may_write():
                return NOT_LEADER
            try:
                event = self._perform(key, obj, action)
            except Refused as error:
                refusal = refusal or error
            except OutsideUnavailable as error:
                return self._explain(key, obj, self._failed(obj, observed, decision, error), error)
            else:
                self.controller.post(obj, event)
        if refusal is not None:
            return self._explain(key, obj, self._failed(obj, observed, decision, refusal), refusal)
        self._is_over(key, *FAILURES)
        return Ticked(Outcome.ACTED, 0.0, _conditions_of(obj.status))

    def _perform(self, key: Key, obj: ObjectT, action: ActionT) -> Event:
        """Does one action. A failure is logged, and the controller is told."""
        try:
            return self._attempt(key, obj, action)
        except (Refused, OutsideUnavailable) as error:
            self._log_failure(key, action, error)
            self.controller.remember_failure(obj, action, error)
            raise

    def _attempt(self, key: Key, obj: ObjectT, action: ActionT) -> Event:
        try:
            return self.controller.perform(obj, action)
        except Conflict as conflict:
            raise self._counted(self._conflicts, key, conflict) from None

    def _record(self, key: Key, obj: ObjectT, status: StatusT) -> None:
        try:
            self.controller.record(obj, status)
        except Conflict as conflict:
            raise self._counted(self._unwritten, key, conflict) from None
        self._unwritten.pop(key, None)

    def _counted(self, conflicts: Counter[Key], key: Key, conflict: Conflict) -> SeawallError:
        """The conflict; from one on that is no chance any more, that nothing is answered."""
        conflicts[key] += 1
        is_chance = conflicts[key] <= CONFLICTS_REPORTED
        return conflict if is_chance else OutsideUnavailable(f"a conflict that repeats: {conflict}")

    def _log_failure(self, key: Key, action: ActionT, error: SeawallError) -> None:
        what = "was refused" if isinstance(error, Refused) else "was not answered"
        _log.warning("%s %s: %s %s: %s", self.controller.kind, key, type(action).__name__, what, error)

    def _failed(
        self, obj: ObjectT, observed: ObservedT, decision: Decision[StatusT, ActionT], error: SeawallError
    ) -> Record[StatusT] | Wait:
        """The same decision, settled with the answer; a kind that can go on without single items decides anew."""
        absorbed = self.controller.absorb(observed, error)
        if absorbed is None:
            step = settle(obj, decision, Failure.of(error))
        else:
            step = settle(obj, replace(self.controller.decide(obj, absorbed), actions=()))
        if isinstance(step, Act):
            raise TypeError("a step after a failure must not act")
        return step

    def _explain(self, key: Key, obj: ObjectT, step: Record[StatusT] | Wait, error: SeawallError) -> Ticked:
        """Records what the outside answered, in this tick: nothing else would remember its sentence."""
        failure = Failure.of(error)
        tells_itself = isinstance(step, Record) and failure.is_reported_by(step.events)
        if not tells_itself and not self.controller.tells(obj, error):
            self._tell(key, obj, failure.event)
        try:
            published, posted = self._record_or_wait(key, obj, step)
        except (Refused, OutsideUnavailable):
            self._tell(key, obj, failure.event)
            raise
        if failure.is_reported_by(posted):
            self._remember(key, failure.event)
        return replace(published, outcome=Outcome.FAILED)

    def _tell(self, key: Key, obj: ObjectT, event: Event) -> None:
        """Posts an event about a failure, unless the same was told and nothing has changed since."""
        is_new = self._reported.get(key, {}).get(event.reason) != event.message
        if is_new and self.may_write() and self.controller.post(obj, event):
            self._remember(key, event)

    def _remember(self, key: Key, event: Event) -> None:
        self._reported.setdefault(key, {})[event.reason] = event.message

    def _is_over(self, key: Key, *reasons: str) -> None:
        """What failed works: the same failure, later, is told again."""
        for reason in reasons:
            self._reported.get(key, {}).pop(reason, None)


def _conditions_of(status: StatusModel) -> Sequence[Condition]:
    found: Sequence[Condition] = getattr(status, "conditions", ())
    return found
