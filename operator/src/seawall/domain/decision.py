"""What a controller decides, and the one rule that makes a step of it, also when an action failed.

What is refused or not answered is told alike by every kind: by its reason, in its own words, with a time to try again.

    decide(object, observed) → Decision → settle → Record | Act | Wait

A kind only decides: what must not be lost, its verdict, what is to be done, and how a verdict is published. What is the
same for all kinds is here: status or world and never both, when people hear of it, and what becomes of an action that
failed. For that the same decision is settled again, with the failure: it is published, and nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from seawall.api.meta import Condition, ConditionType, StatusModel
from seawall.api.resource import ObjectStatus, Resource
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.errors import NotSupported, Refused, SeawallError
from seawall.domain.step import Act, Event, EventType, Record, Step, Wait
from seawall.domain.times import REFUSED_SECONDS, UNANSWERED_SECONDS


class ChangeReason(StrEnum):
    """Why an object is as it is while an action of Seawall fails; each member says its state, and what ends it."""

    REFUSED = "ChangeRefused"
    """Stalled. Kafka, the API server or the database said no (a right in Kubernetes, a quota, a value); it is
    tried again after 30 s. Do what the message says, which is its sentence."""
    NOT_SUPPORTED = "NotSupportedByKafka"
    """Stalled. Kafka does not let our user do this, or a managed Kafka does not offer it; all other work goes on, and
    this is tried again after 30 s. Give the right (docs/kafka-acls.md), or leave that work to whoever runs this Kafka
    (docs/managed-kafka.md)."""
    UNANSWERED = "ChangeUnanswered"
    """Reconciling. It did not answer; it is tried again after 5 s. If that lasts, find out why it is silent."""


REFUSED, NOT_SUPPORTED, UNANSWERED = ChangeReason
FAILURES = frozenset(ChangeReason)
TELLING = 200
"""Characters of a sentence by which it is known again: conditions and events cut long ones."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What the outside answered to the actions of this tick.

    `final` means that it said no; otherwise it did not answer and the same may work later. `unsupported` means that it
    is Kafka, which does not do such a thing for us.
    """

    message: str
    final: bool
    unsupported: bool = False

    @classmethod
    def of(cls, error: SeawallError) -> Self:
        """The failure that an error tells of."""
        return cls(str(error), final=isinstance(error, Refused), unsupported=isinstance(error, NotSupported))

    @classmethod
    def with_reason(cls, reason: str, message: str) -> Self:
        """The failure that a condition shows with one of FAILURES."""
        return cls(message, final=reason != UNANSWERED, unsupported=reason == NOT_SUPPORTED)

    @property
    def reason(self) -> str:
        """The reason of conditions and events."""
        if self.unsupported:
            return NOT_SUPPORTED
        return REFUSED if self.final else UNANSWERED

    @property
    def after(self) -> float:
        """Seconds until the same is tried again."""
        return REFUSED_SECONDS if self.final else UNANSWERED_SECONDS

    @property
    def verdict(self) -> Verdict:
        """The state of an object whose actions fail."""
        return Verdict(Outlook.STALLED if self.final else Outlook.PROGRESSING, self.reason, self.message, self.after)

    @property
    def event(self) -> Event:
        """What a person should hear, once while nothing changes."""
        return Event(EventType.WARNING, self.reason, self.message)

    def is_reported_by(self, events: Iterable[Event]) -> bool:
        """Whether one of them says the same sentence."""
        return any(self.message[:TELLING] in event.message for event in events)


def standing_failure(
    conditions: Iterable[Condition], generation: int, kind: ConditionType = ConditionType.READY
) -> Failure | None:
    """The failure that a condition shows for this generation.

    It stands for as long as the same is tried again, or a status that is written before its actions would flap.
    """
    was = find_condition(conditions, kind)
    if was is None or was.observed_generation != generation or was.reason not in FAILURES:
        return None
    return Failure.with_reason(was.reason, was.message)


ActionT = TypeVar("ActionT")
StatusT = TypeVar("StatusT", bound=StatusModel)
OverT = TypeVar("OverT", bound=ObjectStatus)


@dataclass(frozen=True, slots=True)
class Published(Generic[StatusT]):
    """A status with its conditions and sentences, and the events of what changed in it."""

    status: StatusT
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision(Generic[StatusT, ActionT]):
    """What should be so.

    Attributes:
        status: what must be recorded before anything is done; conditions and sentences are as they were read.
        verdict: what people are to hear, and when to look again.
        actions: what is to be done, in this order.
        publish: the status with a verdict: this one's, or that of a failure. None: nothing is written at all, because
            the object is over, or its status is another controller's.
        publishes_first: the verdict is recorded before its actions are done; else only when there are none, because
            each of many actions would change it.
        published_in: where that is so, the condition in which a failure stands while the same is tried again; None: the
            kind remembers it by itself.
        outranks_failures: the verdict is published although actions fail: it is what a person has to mend first.
        at_latest: seconds until the next look at the latest, whatever the verdict says; None: there is no such time.
        pace: seconds until the next look, whatever fails; None: as the verdict says.
    """

    status: StatusT
    verdict: Verdict
    actions: tuple[ActionT, ...] = ()
    publish: Callable[[Verdict], Published[StatusT]] | None = None
    publishes_first: bool = False
    published_in: ConditionType | None = None
    outranks_failures: bool = False
    at_latest: float | None = None
    pace: float | None = None


def settle(
    obj: Resource[Any, StatusT], decision: Decision[StatusT, ActionT], failure: Failure | None = None
) -> Step[StatusT, ActionT]:
    """What one tick does. After a failure it never acts."""
    if failure is not None:
        return step_of(obj.status, replace(decision, verdict=_verdict(obj, decision, failure), actions=()))
    return step_of(obj.status, replace(decision, verdict=_verdict(obj, decision, None)))


def step_of(before: StatusT, decision: Decision[StatusT, ActionT]) -> Step[StatusT, ActionT]:
    """Records what must not be lost, else acts, else publishes, else waits."""
    actions, verdict = decision.actions, decision.verdict
    after = decision.pace if decision.pace is not None else _first(verdict.after, decision.at_latest)
    is_new = decision.status != before
    if decision.publish is not None and (is_new or decision.publishes_first or not actions):
        published = decision.publish(verdict)
        if published.status != before:
            return Record(published.status, published.events, 0.0 if is_new or actions else after)
    return Act(actions) if actions else Wait(verdict.message, after)


def _verdict(obj: Resource[Any, StatusT], decision: Decision[StatusT, ActionT], failure: Failure | None) -> Verdict:
    """That of a failure first. One that was published stands while the same is tried again, or it would flap."""
    if failure is None and decision.actions and decision.published_in is not None:
        conditions = getattr(obj.status, "conditions", ())
        failure = standing_failure(conditions, obj.metadata.generation, decision.published_in)
    return decision.verdict if failure is None or decision.outranks_failures else failure.verdict


def _first(*waits: float | None) -> float | None:
    return min((wait for wait in waits if wait is not None), default=None)


def silent(
    obj: Resource[Any, StatusT], message: str, after: float | None = None, *actions: ActionT
) -> Decision[StatusT, ActionT]:
    """Nothing is published: the object is over, or goes, or its status is another controller's."""
    return Decision(obj.status, Verdict(Outlook.READY, "", message, after), actions)


def with_edit_observed(obj: Resource[Any, OverT], decision: Decision[OverT, ActionT]) -> Decision[OverT, ActionT]:
    """Of an object that is over: of an edit nothing comes but that it was observed.

    kstatus would wait for that for ever, and with it Argo CD and Flux. What is still to be done comes first.
    """
    generation = obj.metadata.generation
    if decision.actions or obj.status.observed_generation == generation:
        return decision
    conditions = tuple(each.model_copy(update={"observed_generation": generation}) for each in obj.status.conditions)
    status = obj.status.model_copy(update={"observed_generation": generation, "conditions": conditions})
    return replace(decision, publish=lambda _: Published(status))
