"""The next step of a WALPurgePolicy: a pure function of the policy and of what was observed.

    being deleted → findings (spec, name, schedule, WALCluster, suspended) → status tells the truth
    → runs beyond the history limits go, a run that is due begins unless one is not finished → nothing to do

There is no starting deadline: a time that passed while nothing could begin is made up for by one run, as soon as it
may, however many times passed. What was due is remembered in `status.lastRunTime` and in the names of the runs, so a
run begins once, whenever the process dies.
"""

from __future__ import annotations

from datetime import datetime

from seawall.api.v1alpha1.wal_purge_policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.domain.conditions import Verdict
from seawall.domain.failure import Failure, standing_failure
from seawall.domain.purge_policy.actions import PolicyAction
from seawall.domain.purge_policy.observed import Observed
from seawall.domain.purge_policy.plan import Plan, last_run_time, make_plan
from seawall.domain.purge_policy.runs import OwnRuns
from seawall.domain.purge_policy.status import events_of, status_of
from seawall.domain.step import Act, Record, Step, Wait

LOOK_SECONDS = 300.0
"""The longest time without a look at the clock, which may be set."""

PolicyStep = Step[WALPurgePolicyStatus, PolicyAction]


def next_step(policy: WALPurgePolicy, observed: Observed) -> PolicyStep:
    """Decides what one tick does."""
    if policy.metadata.deletion_timestamp is not None:
        return Wait("the policy is being deleted, and its runs with it")
    own = OwnRuns.of(policy, observed.runs)
    last = last_run_time(policy, own, observed.now)
    plan = make_plan(policy, observed, own, last)
    verdict = _with_failures(policy, plan, observed.failure)
    actions = plan.actions if observed.failure is None else ()
    after = _first(_until(plan.next_time, observed.now), verdict.after)
    status = status_of(policy, own, verdict, last=last, next_time=plan.next_time, now=observed.now)
    if status != policy.status:
        return Record(status, events_of(policy, own, status), after=0.0 if actions else after)
    if actions:
        return Act(actions)
    return Wait(verdict.message, after)


def _with_failures(policy: WALPurgePolicy, plan: Plan, failure: Failure | None) -> Verdict:
    """What the API server answered to the actions of this tick comes first.

    It stands for as long as the same is tried again, or the status would flap.
    """
    if failure is None and plan.actions:
        failure = standing_failure(policy.status.conditions, policy.metadata.generation)
    return plan.verdict if failure is None else failure.verdict


def _first(*waits: float | None) -> float | None:
    return min((wait for wait in waits if wait is not None), default=None)


def _until(next_time: datetime | None, now: datetime) -> float | None:
    if next_time is None:
        return None
    return min(max(0.0, (next_time - now).total_seconds()), LOOK_SECONDS)
