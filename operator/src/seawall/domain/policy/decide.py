"""What a WALPurgePolicy's controller decides, its status and events: a pure function of it and of what was observed.

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
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.domain.conditions import ConditionBuilder, Verdict, find_condition, transition_events
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.policy.plan import Observed, last_run_time, make_plan
from seawall.domain.policy.runs import OwnRuns, PolicyAction, due_time, is_success
from seawall.domain.schedule import seconds_until
from seawall.domain.step import Event, EventType


def status_of(
    policy: WALPurgePolicy,
    own: OwnRuns,
    verdict: Verdict,
    *,
    last: datetime | None,
    next_time: datetime | None,
    now: datetime,
) -> WALPurgePolicyStatus:
    """The status; what is known only from runs that are gone stays."""
    build = ConditionBuilder(policy.status.conditions, policy.metadata.generation, now)
    ends = (run.status.completion_time for run in own.completed if is_success(run))
    successes = [policy.status.last_successful_time, *ends]
    return WALPurgePolicyStatus(
        observed_generation=policy.metadata.generation,
        conditions=build.kstatus(verdict),
        active=own.active[0].metadata.name if own.active else None,
        last_run_time=last,
        last_successful_time=max((time for time in successes if time is not None), default=None),
        next_run_time=next_time,
    )


def events_of(policy: WALPurgePolicy, own: OwnRuns, status: WALPurgePolicyStatus) -> tuple[Event, ...]:
    """Runs that ended since the status was last written, and what became of the policy."""
    ended = [_end_of(run) for run in own.finished if _is_recent(policy, run)]
    before, names = policy.status.active, {run.metadata.name for run in own.active + own.finished}
    if before is not None and before not in names:
        ended.append(Event(EventType.NORMAL, EventReason.RUN_GONE, f"WALPurge {before} was deleted before it ended"))
    return (*ended, *transition_events(policy.status.conditions, status.conditions))


def _is_recent(policy: WALPurgePolicy, run: WALPurge) -> bool:
    """Whether the status does not know yet that this run ended: it was active, or is newer than all that was seen."""
    if run.metadata.name == policy.status.active:
        return True
    due, last = due_time(policy.metadata.name, run.metadata.name), policy.status.last_run_time
    return due is not None and (last is None or due > last)


def _end_of(run: WALPurge) -> Event:
    if run.status.stage is Stage.COMPLETED:
        return Event(EventType.NORMAL, EventReason.RUN_COMPLETED, f"WALPurge {run.metadata.name} completed")
    failed = find_condition(run.status.conditions, ConditionType.FAILED)
    why = f": {failed.message}" if failed is not None and failed.message else ""
    return Event(EventType.WARNING, EventReason.RUN_FAILED, f"WALPurge {run.metadata.name} failed{why}")


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
        at_latest=seconds_until(plan.next_time, observed.now),
    )
