"""A PodDisruptionBudget that forbids an eviction: the database is out of maintenance until that is tried again.

    it forbids        its sentence and the next time are in the status; maintenance is given back
    until that time   nothing goes; the gate is asked as ever
    then              the database enters maintenance, and the eviction is tried: forbidden once more, or the pod goes

A budget is asked by the eviction itself, which may be allowed, so each try needs maintenance, in which nothing fails
over. A budget may allow none for ever (maxUnavailable: 0): the longer it has forbidden, the longer the database rests.
What people hear is the same all the time, or each try would be an event.
"""

from __future__ import annotations

from seawall.api.v1alpha1.rollout import ForbiddenEviction, RestartStatus
from seawall.domain.datanodes.decision import RollDecision
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.maintenance import give_back
from seawall.domain.rollout.decision import decided, meanwhile, saying
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import MAINTENANCE_LONGEST_REST, MAINTENANCE_REST, ROLLOUT_FORBIDDEN_SECONDS

MAX_SENTENCE = 1_024


def keep_out(status: RestartStatus, name: str, facts: Facts, forbidden: str | None) -> RollDecision | None:
    """What is done while it is not tried; None: no budget forbids it, or it is time to try.

    Args:
        status: as it was.
        name: of the pod.
        facts: what is known.
        forbidden: what a budget answered to the eviction of this tick; None: there was none.
    """
    found = status.forbidden if forbidden is None else _forbidden(status, facts, forbidden)
    if found is None or facts.now >= found.next_time:
        return None
    resting = status.model_copy(update={"forbidden": found})
    after = min((found.next_time - facts.now).total_seconds(), ROLLOUT_FORBIDDEN_SECONDS)
    waits: RollDecision = decided(resting, Reason.DISRUPTION_BUDGET, _sentence(found, name), after=after)
    return meanwhile(give_back(resting, facts), waits)


def in_its_words(tried: RollDecision, name: str, facts: Facts) -> RollDecision:
    """The try, told as what it waits for; not of a budget where the database does not answer, or rows do not flush."""
    found, is_lossy = tried.status.forbidden, tried.verdict.reason == Reason.UNLOGGED_NOT_FLUSHED
    if found is None or facts.in_maintenance is None or is_lossy:
        return tried
    return saying(tried, Reason.DISRUPTION_BUDGET, _sentence(found, name))


def _forbidden(status: RestartStatus, facts: Facts, message: str) -> ForbiddenEviction:
    from_time = facts.now if status.forbidden is None else status.forbidden.from_time
    rests_for = min(max(facts.now - from_time, MAINTENANCE_REST), MAINTENANCE_LONGEST_REST)
    return ForbiddenEviction(message=message[:MAX_SENTENCE], from_time=from_time, next_time=facts.now + rests_for)


def _sentence(found: ForbiddenEviction, name: str) -> str:
    """That of the API server stands at the end, as it came: by that an event of it is known."""
    kept_out = "between two tries the database is not kept in maintenance"
    return f"a PodDisruptionBudget forbids to restart {name}, and {kept_out}: {found.message}"
