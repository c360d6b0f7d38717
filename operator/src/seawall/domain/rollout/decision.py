"""What one tick of a roll decides, before it is made a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.v1alpha1.restart import RestartStatus
from seawall.domain.failure import Failure
from seawall.domain.rollout.actions import RolloutAction
from seawall.domain.rollout.checks import Refusal
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout_reasons import Reason

POLL_SECONDS = 2.0
"""How often the outside is looked at that wakes nobody."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        facts: all of them.
        failure: what the outside answered to the actions of this tick.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick, in the API server's sentence.
    """

    facts: Facts
    failure: Failure | None = None
    forbidden: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The status as it should be, sentences apart; if it is so already, what to do.

    `after` is when to look again, in seconds; None: when something changes.
    """

    status: RestartStatus
    reason: str
    message: str
    actions: tuple[RolloutAction, ...] = ()
    after: float | None = POLL_SECONDS


def shut(status: RestartStatus, found: Refusal, facts: Facts) -> Decision:
    """The gate is shut; who meant to let it through hears why that does not count."""
    but = "" if facts.override_problem is None else f" But {facts.override_problem}."
    return Decision(status, found.reason, f"{found.message}{but}")


def changed(status: RestartStatus, reason: Reason, message: str, **update: object) -> Decision:
    """The status changes."""
    return Decision(status.model_copy(update=update), reason, message)


def meanwhile(first: Decision | None, told: Decision) -> Decision:
    """What has to be done first, and people hear what they would without it."""
    return told if first is None else replace(first, reason=told.reason, message=told.message)
