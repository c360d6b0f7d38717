"""What a WALPurgePolicy has to do now: which runs go, and whether one begins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicySpec
from seawall.api.v1alpha1.purge import WALPurgeSpec
from seawall.api.v1alpha1.purge_template import PurgeTemplate
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.policy.actions import CreateRun, DeleteRun, PolicyAction
from seawall.domain.policy.observed import Observed
from seawall.domain.policy.overlaps import describe_stricter
from seawall.domain.policy.reasons import Reason
from seawall.domain.policy.runs import MAX_POLICY_NAME, OwnRuns, beyond_history, run_name
from seawall.domain.policy.trigger import describe_trigger, find_triggered
from seawall.domain.schedule import BadSchedule, Schedule, ScheduleReason, read_schedule
from seawall.domain.times import POLICY_SKEW, POLICY_TRIGGER_SECONDS


@dataclass(frozen=True, slots=True)
class Plan:
    """The state of a policy, when the next run is due (None: nobody knows, or never), and what to do now."""

    verdict: Verdict
    next_time: datetime | None = None
    actions: tuple[PolicyAction, ...] = ()


def last_run_time(policy: WALPurgePolicy, own: OwnRuns, now: datetime) -> datetime | None:
    """The last time for which a run was due, by the status and by the names of the runs that there are."""
    times = [*own.due_times(policy.metadata.name), policy.status.last_run_time]
    return max((time for time in times if time is not None and time <= now + POLICY_SKEW), default=None)


def expected_period(policy: WALPurgePolicy, now: datetime) -> timedelta | None:
    """The time from the next run to the one after; None where no runs are expected by time."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec) or spec.suspend or (spec.schedule is None and spec.interval is None):
        return None
    schedule = read_schedule(spec, policy.metadata.creation_timestamp)
    if isinstance(schedule, BadSchedule):
        return None
    following = schedule.following(now)
    return schedule.following(following) - following


def make_plan(policy: WALPurgePolicy, observed: Observed, own: OwnRuns, last: datetime | None) -> Plan:
    """Decides. Runs that the history limits do not keep go in any case; the spec must only be readable."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec):
        return Plan(_stalled(Reason.INVALID_SPEC, spec.message))
    tidying = tuple(DeleteRun(run) for run in beyond_history(spec, own))
    since = last or policy.metadata.creation_timestamp
    schedule = _schedule(policy, spec, observed, since)
    if isinstance(schedule, Verdict):
        return Plan(schedule, actions=tidying)
    if spec.suspend:
        verdict = Verdict(Outlook.READY, Reason.SUSPENDED, "suspend is set: no new runs begin")
        return Plan(verdict, actions=tidying)
    next_time = None if schedule is None else schedule.following(max(observed.now, since))
    ready = Verdict(Outlook.READY, Reason.SCHEDULED, _describe(policy, spec, schedule, observed), _observe_after(spec))
    due = None if schedule is None else schedule.latest(since, observed.now)
    triggered = find_triggered(spec, observed, own, since)
    times = [time for time in (due, triggered.due if triggered else None) if time is not None]
    if not times or own.active:
        return Plan(ready, next_time, tidying)
    key = Key(policy.metadata.namespace, run_name(policy.metadata.name, max(times)))
    if any(run.metadata.key == key for run in observed.runs):
        message = f"WALPurge {key.name} exists and was not made by this policy: delete it, or wait for the next run"
        return Plan(_stalled(Reason.RUN_NAME_TAKEN, message), next_time, tidying)
    return Plan(ready, next_time, (*tidying, CreateRun(key, run_spec(spec), triggered.why if triggered else None)))


def run_spec(spec: WALPurgePolicySpec) -> WALPurgeSpec:
    """What a run of this policy is told."""
    return WALPurgeSpec(**{name: getattr(spec, name) for name in PurgeTemplate.model_fields})


def _schedule(
    policy: WALPurgePolicy, spec: WALPurgePolicySpec, observed: Observed, since: datetime
) -> Schedule | Verdict | None:
    """The schedule, or None where time begins no runs, or what keeps all runs from beginning."""
    if len(policy.metadata.name) > MAX_POLICY_NAME:
        message = f"the name is longer than {MAX_POLICY_NAME} characters: its runs could not be named after it"
        return _stalled(Reason.NAME_TOO_LONG, message)
    is_timed = spec.schedule is not None or spec.interval is not None
    schedule = read_schedule(spec, since) if is_timed else None
    if isinstance(schedule, BadSchedule):
        return _stalled(schedule.reason, schedule.message)
    if not observed.has_cluster:
        message = f"there is no WALCluster {spec.cluster_ref.name} in this namespace, or it is being deleted"
        return _stalled(Reason.CLUSTER_MISSING, message)
    return schedule


def _describe(policy: WALPurgePolicy, spec: WALPurgePolicySpec, schedule: Schedule | None, observed: Observed) -> str:
    when = (None if schedule is None else schedule.describe(), describe_trigger(spec, observed))
    message = f"runs begin {', and '.join(reported for reported in when if reported is not None)}"
    stricter = describe_stricter(policy, observed.policies, observed.topics)
    return message if stricter is None else f"{message}; {stricter}"


def _observe_after(spec: WALPurgePolicySpec) -> float | None:
    return None if spec.trigger is None else POLICY_TRIGGER_SECONDS


def _stalled(reason: Reason | ScheduleReason, message: str) -> Verdict:
    return Verdict(Outlook.STALLED, reason, message)
