"""What a WALPurgePolicy's controller decides: a pure function of the policy and of what was observed.

    being deleted → findings (spec, name, schedule, WALCluster, suspended) → status tells the truth
    → runs beyond the history limits go, a run that is due begins unless one is not finished → nothing to do

There is no starting deadline: a time that passed while nothing could begin is made up for by one run, as soon as it
may, however many times passed. What was due is remembered in `status.lastRunTime` and in the names of the runs, so a
run begins once, whenever the process dies.
"""

from __future__ import annotations

from datetime import datetime

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.domain.conditions import Verdict
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.policy.actions import PolicyAction
from seawall.domain.policy.observed import Observed
from seawall.domain.policy.plan import last_run_time, make_plan
from seawall.domain.policy.runs import OwnRuns
from seawall.domain.policy.status import events_of, status_of
from seawall.domain.times import POLICY_OBSERVE_SECONDS

PolicyDecision = Decision[WALPurgePolicyStatus, PolicyAction]


def decide(policy: WALPurgePolicy, observed: Observed) -> PolicyDecision:
    """What one tick decides."""
    if policy.metadata.deletion_timestamp is not None:
        return silent(policy, "the policy is being deleted, and its runs with it")
    own = OwnRuns.of(policy, observed.runs)
    last = last_run_time(policy, own, observed.now)
    plan = make_plan(policy, observed, own, last)

    def publish(verdict: Verdict) -> Published[WALPurgePolicyStatus]:
        status = status_of(policy, own, verdict, last=last, next_time=plan.next_time, now=observed.now)
        return Published(status, events_of(policy, own, status))

    return Decision(
        policy.status,
        plan.verdict,
        plan.actions,
        publish,
        publishes_first=True,
        published_in=ConditionType.READY,
        at_latest=_until(plan.next_time, observed.now),
    )


def _until(next_time: datetime | None, now: datetime) -> float | None:
    if next_time is None:
        return None
    return min(max(0.0, (next_time - now).total_seconds()), POLICY_OBSERVE_SECONDS)
