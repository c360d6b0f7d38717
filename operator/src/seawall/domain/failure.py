"""What became of actions that failed, as a value: the same tick decides again and then knows it.

What is refused or not answered is told alike by every kind: by its reason, in its own words, with a time to try again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from seawall.api.meta import Condition, ConditionType
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.errors import Refused, SeawallError
from seawall.domain.step import Event, EventType
from seawall.domain.times import REFUSED_SECONDS, UNANSWERED_SECONDS


class ChangeReason(StrEnum):
    """Why an object is as it is while an action of Seawall fails; each member says its state, and what ends it."""

    REFUSED = "ChangeRefused"
    """Stalled. Kafka, the API server or the database said no (a right, a quota, a policy); it is tried again after
    30 s. Do what the message says, which is its sentence."""
    UNANSWERED = "ChangeUnanswered"
    """Reconciling. It did not answer; it is tried again after 5 s. If that lasts, find out why it is silent."""


REFUSED, UNANSWERED = ChangeReason
FAILURES = frozenset(ChangeReason)
TELLING = 200
"""Characters of a sentence by which it is known again: conditions and events cut long ones."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What the outside answered to the actions of this tick.

    `final` means that it said no; otherwise it did not answer and the same may work later.
    """

    message: str
    final: bool

    @classmethod
    def of(cls, error: SeawallError) -> Self:
        """The failure that an error tells of."""
        return cls(str(error), final=isinstance(error, Refused))

    @property
    def reason(self) -> str:
        """The reason of conditions and events."""
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
    if was is None or was.observed_generation != generation or was.reason not in {REFUSED, UNANSWERED}:
        return None
    return Failure(was.message, final=was.reason == REFUSED)
