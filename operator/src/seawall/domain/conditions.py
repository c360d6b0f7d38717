"""Conditions: written only when they change, with the time of the last change of their status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from seawall.api.meta import Condition, ConditionType
from seawall.domain.step import Event, EventType

ConditionStatus = Literal["True", "False", "Unknown"]

MAX_MESSAGE = 2000
"""Longer sentences are cut: a status that the API server refuses would be written in vain for ever."""


class Outlook(StrEnum):
    """What will become of an object; each is one of kstatus's answers."""

    READY = "Ready"
    """All is as declared (Current)."""
    PROGRESSING = "Progressing"
    """Seawall or the outside is on its way there (InProgress)."""
    STALLED = "Stalled"
    """A person has to do something (Failed)."""
    PAUSED = "Paused"
    """A person stopped it (InProgress)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of an object in one reason and one sentence; `after` is when to look again, in seconds."""

    outlook: Outlook
    reason: str
    message: str
    after: float | None = None


def find_condition(conditions: Iterable[Condition], wanted: ConditionType) -> Condition | None:
    """The condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == wanted), None)


def build_condition(
    previous: Iterable[Condition],
    wanted: ConditionType,
    status: ConditionStatus,
    reason: str,
    message: str,
    *,
    generation: int,
    now: datetime,
) -> Condition:
    """A condition that keeps the last transition time of the previous one unless its status changes."""
    before = find_condition(previous, wanted)
    changed = before is None or before.status != status
    return Condition(
        type=wanted.value,
        status=status,
        reason=reason,
        message=message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…",
        observed_generation=generation,
        last_transition_time=now.replace(microsecond=0) if changed or before is None else before.last_transition_time,
    )


def status_of(verdict: Verdict, unknown: Collection[str]) -> ConditionStatus:
    """What a condition is by a verdict: it holds if that is Ready, and is Unknown with these reasons."""
    return "Unknown" if verdict.reason in unknown else as_status(verdict.outlook is Outlook.READY)


def of_kinds(conditions: Iterable[Condition], *kinds: ConditionType) -> tuple[Condition, ...]:
    """Those of one controller, as they were written."""
    return tuple(condition for condition in conditions if condition.type in kinds)


def with_own(
    conditions: Sequence[Condition], own: Sequence[Condition], kinds: Collection[str]
) -> tuple[Condition, ...]:
    """The conditions with those of one controller as they are now; all others stay, and each keeps its place.

    Controllers that share a status would else put each other's conditions into another order for ever.
    """
    now = {condition.type: condition for condition in own}
    kept = [now.get(each.type, each) for each in conditions if each.type in now or each.type not in kinds]
    known = {each.type for each in kept}
    return (*kept, *(condition for condition in own if condition.type not in known))


def as_status(holds: bool) -> ConditionStatus:  # noqa: FBT001 - a conversion
    """`True` or `False` as Kubernetes writes it."""
    return "True" if holds else "False"


@dataclass(frozen=True, slots=True)
class ConditionBuilder:
    """Builds the conditions of one status from those of the status before."""

    previous: Sequence[Condition]
    generation: int
    now: datetime

    def __call__(self, kind: ConditionType, status: ConditionStatus, reason: str, message: str = "") -> Condition:
        """One condition."""
        return build_condition(self.previous, kind, status, reason, message, generation=self.generation, now=self.now)

    def kstatus(self, verdict: Verdict) -> tuple[Condition, ...]:
        """The three conditions that `kubectl wait` and Flux read; always all three, False ones too."""
        holds = {
            ConditionType.READY: verdict.outlook is Outlook.READY,
            ConditionType.RECONCILING: verdict.outlook is Outlook.PROGRESSING,
            ConditionType.STALLED: verdict.outlook is Outlook.STALLED,
        }
        return tuple(self(kind, as_status(value), verdict.reason, verdict.message) for kind, value in holds.items())

    def of_run(self, verdict: Verdict, *, complete: bool, failed: bool, waiting: bool) -> tuple[Condition, ...]:
        """The three, and those of something that ends: the sentence is with what holds."""
        holds = {ConditionType.COMPLETE: complete, ConditionType.FAILED: failed, ConditionType.WAITING: waiting}
        more = (
            self(kind, as_status(value), verdict.reason, verdict.message if value else "")
            for kind, value in holds.items()
        )
        return (*self.kstatus(verdict), *more)


def transition_events(before: Iterable[Condition], after: Sequence[Condition]) -> tuple[Event, ...]:
    """One event when the reason of Ready changed, or its sentence did while a person is needed.

    Losing Ready is a warning, unless an edit is what it comes from.
    """
    was, now = find_condition(before, ConditionType.READY), find_condition(after, ConditionType.READY)
    stalled = find_condition(after, ConditionType.STALLED)
    if now is None or stalled is None:
        return ()
    needs_person = stalled.status == "True"
    if was is not None and was.reason == now.reason and not (needs_person and was.message != now.message):
        return ()
    is_edited = was is not None and was.observed_generation != now.observed_generation
    lost_ready = was is not None and was.status == "True" and now.status != "True" and not is_edited
    event_type = EventType.WARNING if needs_person or lost_ready else EventType.NORMAL
    return (Event(event_type, now.reason, now.message),)


def loss_event(before: Iterable[Condition], after: Iterable[Condition], kind: ConditionType, back: str) -> Event | None:
    """One event when what a condition says is lost, lost for another reason, or `back` (how the sentence begins)."""
    was, now = find_condition(before, kind), find_condition(after, kind)
    if now is None or (was is not None and (was.status, was.reason) == (now.status, now.reason)):
        return None
    if now.status == "False":
        return Event(EventType.WARNING, now.reason, now.message)
    if now.status == "True" and was is not None and was.status == "False":
        return Event(EventType.NORMAL, now.reason, f"{back}: {now.message}")
    return None
