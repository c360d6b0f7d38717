"""What a roll is decided from, its status and its journal, and what one tick of it decides before it is made a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, TypeVar

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import RollStatus
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.rollout.refusal import Refusal
from seawall.domain.times import ROLLOUT_POLL_SECONDS

StatusT = TypeVar("StatusT", bound=RollStatus)
ActionT = TypeVar("ActionT")
AnyT = TypeVar("AnyT", bound=StatusModel)


class Roll(StatusModel, Generic[StatusT]):
    """A roll, and the one member that is restarted."""

    status: StatusT
    entry: Disruption | None = None


def decided(
    status: StatusT,
    reason: str,
    message: str,
    actions: tuple[ActionT, ...] = (),
    after: float | None = ROLLOUT_POLL_SECONDS,
) -> Decision[StatusT, ActionT]:
    """A decision; `after` is when to look again, in seconds; None: when something changes."""
    return Decision(status, Verdict(Outlook.PROGRESSING, reason, message, after), actions)


def blocked(status: StatusT, found: Refusal, override_problem: str | None) -> Decision[StatusT, ActionT]:
    """The gate is shut; who meant to let it through hears why that does not count."""
    but = "" if override_problem is None else f" But {override_problem}."
    return decided(status, found.reason, f"{found.message}{but}")


def changed(status: StatusT, reason: str, message: str, **update: object) -> Decision[StatusT, ActionT]:
    """The status changes."""
    return decided(status.model_copy(update=update), reason, message)


def meanwhile(first: Decision[StatusT, ActionT] | None, then: Decision[StatusT, ActionT]) -> Decision[StatusT, ActionT]:
    """What has to be done first, and people hear what they would without it."""
    return then if first is None else saying(first, then.verdict.reason, then.verdict.message)


def saying(decision: Decision[AnyT, ActionT], reason: str, message: str) -> Decision[AnyT, ActionT]:
    """The same, in other words."""
    return replace(decision, verdict=replace(decision.verdict, reason=reason, message=message))


def journaled(entry: Disruption | None, decision: Decision[StatusT, ActionT]) -> Decision[Roll[StatusT], ActionT]:
    """The decision of a roll whose journal has this entry."""
    return Decision(Roll(status=decision.status, entry=entry), decision.verdict, decision.actions)
