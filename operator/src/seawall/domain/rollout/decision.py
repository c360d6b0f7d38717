"""What one tick of a roll decides, before it is made a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.rollout.actions import RolloutAction
from seawall.domain.rollout.checks import Refusal
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import ROLLOUT_POLL_SECONDS


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        facts: all of them.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick, in the API server's sentence.
    """

    facts: Facts
    forbidden: str | None = None


RollDecision = Decision[RestartStatus, RolloutAction]
"""The status as it should be, with the sentences that it has; if it is so already, what to do."""


def decided(
    status: RestartStatus,
    reason: str,
    message: str,
    actions: tuple[RolloutAction, ...] = (),
    after: float | None = ROLLOUT_POLL_SECONDS,
) -> RollDecision:
    """A decision; `after` is when to look again, in seconds; None: when something changes."""
    return Decision(status, Verdict(Outlook.PROGRESSING, reason, message, after), actions)


def blocked(status: RestartStatus, found: Refusal, facts: Facts) -> RollDecision:
    """The gate is shut; who meant to let it through hears why that does not count."""
    but = "" if facts.override_problem is None else f" But {facts.override_problem}."
    return decided(status, found.reason, f"{found.message}{but}")


def changed(status: RestartStatus, reason: Reason, message: str, **update: object) -> RollDecision:
    """The status changes."""
    return decided(status.model_copy(update=update), reason, message)


def meanwhile(first: RollDecision | None, then: RollDecision) -> RollDecision:
    """What has to be done first, and people hear what they would without it."""
    return then if first is None else saying(first, then.verdict.reason, then.verdict.message)


def saying(decision: RollDecision, reason: str, message: str) -> RollDecision:
    """The same, in other words."""
    return replace(decision, verdict=replace(decision.verdict, reason=reason, message=message))
