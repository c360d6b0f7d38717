"""Builds a WALPurgePolicy's status, and the events of what changed in it."""

from __future__ import annotations

from datetime import datetime

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.domain.conditions import ConditionBuilder, Verdict, find_condition, transition_events
from seawall.domain.policy.runs import OwnRuns, due_time
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
    successes = [policy.status.last_successful_time, *(run.status.completion_time for run in own.completed)]
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
        ended.append(Event(EventType.NORMAL, "RunGone", f"WALPurge {before} was deleted before it ended"))
    return (*ended, *transition_events(policy.status.conditions, status.conditions))


def _is_recent(policy: WALPurgePolicy, run: WALPurge) -> bool:
    """Whether the status does not know yet that this run ended: it was active, or is newer than all that was seen."""
    if run.metadata.name == policy.status.active:
        return True
    due, last = due_time(policy.metadata.name, run.metadata.name), policy.status.last_run_time
    return due is not None and (last is None or due > last)


def _end_of(run: WALPurge) -> Event:
    if run.status.stage is Stage.COMPLETED:
        return Event(EventType.NORMAL, "RunCompleted", f"WALPurge {run.metadata.name} completed")
    failed = find_condition(run.status.conditions, ConditionType.FAILED)
    why = f": {failed.message}" if failed is not None and failed.message else ""
    return Event(EventType.WARNING, "RunFailed", f"WALPurge {run.metadata.name} failed{why}")
