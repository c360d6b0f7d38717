"""What a WALBackupPolicy's controller decides: a pure function of it and of what was observed.

    being deleted → findings (spec, name, schedules, WALCluster, suspended) → status tells the truth
    → holds from the ends of backups on, objects beyond the history limits and of deleted chains go
    → a backup that is due begins unless one is not over: a full one, or one that continues the last
    → drills: drills.py

A time that passed while nothing could begin is made up for by one backup. What was due is remembered in
`status.lastRunTime` and in the names of backups. Nothing is glued over a gap: whatever makes a chain end, the next
backup is a full one, and the condition BackedUp says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.backup import ParentRef, WALBackupSpec
from seawall.api.v1alpha1.backup_policy import (
    BackupHold,
    WALBackupPolicy,
    WALBackupPolicySpec,
    WALBackupPolicyStatus,
)
from seawall.api.v1alpha1.backup_template import BackupTemplate
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.backup.chains import list_chains
from seawall.domain.backup.drills import DrillAction, location_of, plan_drills
from seawall.domain.backup.policy_case import Case, Observed
from seawall.domain.backup.policy_status import events_of, status_of
from seawall.domain.backup.reasons import PolicyReason
from seawall.domain.backup.runs import (
    CreateBackup,
    OwnBackups,
    PolicyAction,
    RemoveBackup,
    backup_name_at,
    plan_holds,
)
from seawall.domain.conditions import (
    Outlook,
    Verdict,
)
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.schedule import BadSchedule, Cron, ScheduleReason, newest, period, read_cron, seconds_until
from seawall.domain.spark_job.actions import why_unusable

BackupPolicyDecision = Decision[WALBackupPolicyStatus, PolicyAction | DrillAction]


@dataclass(frozen=True, slots=True)
class Plan:
    """The state of a policy, when the next backup is due (None: nobody knows, or never), and what to do now."""

    verdict: Verdict
    next_time: datetime | None = None
    actions: tuple[PolicyAction, ...] = ()


def decide(policy: WALBackupPolicy, observed: Observed) -> BackupPolicyDecision:
    """What one tick decides."""
    if policy.metadata.deletion_timestamp is not None:
        return silent(policy, "the policy is being deleted, and its objects with it; what is in the store stays")
    own = OwnBackups.of(policy, observed.backups, observed.holds)
    between = expected_period(policy, observed.now)
    listed = list_chains(policy.status, own, observed.backups, observed.restores, between, now=observed.now)
    case = Case(policy, own, observed, last_run_time(policy, own, observed.now), listed)
    plan = _plan(case)
    drills = plan_drills(policy, own.last, observed.restores, observed.cluster, observed.now)
    verdict = plan.verdict
    if drills.waits is not None and verdict.reason == PolicyReason.SCHEDULED:
        verdict = replace(verdict, message=f"{verdict.message}; a drill waits: {drills.waits}")

    def publish(verdict: Verdict) -> Published[WALBackupPolicyStatus]:
        status = status_of(case, verdict, plan.next_time, drills)
        return Published(status, events_of(case, status))

    return Decision(
        policy.status,
        verdict,
        (*plan.actions, *drills.actions),
        publish,
        publishes_first=True,
        published_in=ConditionType.READY,
        at_latest=seconds_until(drills.first(plan.next_time), observed.now),
    )


def last_run_time(policy: WALBackupPolicy, own: OwnBackups, now: datetime) -> datetime | None:
    """The last time for which a backup was due, by the status and by the names of the backups that there are."""
    times = [*own.due_times(), policy.status.last_run_time]
    return newest(times, now)


def expects_backups(policy: WALBackupPolicy) -> bool:
    """Whether backups are to begin, as far as anybody can read: a schedule that is wrong was meant to do that."""
    return isinstance(policy.spec, InvalidSpec) or not policy.spec.suspend


def expected_period(policy: WALBackupPolicy, now: datetime) -> timedelta | None:
    """The time from the next backup to the one after; None where none are expected, or nobody can read when."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec) or spec.suspend:
        return None
    schedule = read_cron(spec.schedule, spec.time_zone, policy.metadata.creation_timestamp)
    return None if isinstance(schedule, BadSchedule) else period(schedule, now)


def _plan(case: Case) -> Plan:
    """Decides. Holds are looked after in any case; the spec must only be readable."""
    spec = case.policy.spec
    if isinstance(spec, InvalidSpec):
        holds = plan_holds(case.policy, BackupHold(), case.own)
        return Plan(_stalled(PolicyReason.INVALID_SPEC, spec.message), actions=holds)
    tidying = (*plan_holds(case.policy, spec.hold, case.own), *_superfluous(case, spec))
    taken = case.own.taken_hold()
    if taken is not None:
        message = f"WALHold {taken} exists and was not made by this policy: delete it, nobody holds the log meanwhile"
        return Plan(_stalled(PolicyReason.HOLD_NAME_TAKEN, message), actions=tidying)
    times = _schedules(case.policy, spec)
    if isinstance(times, Verdict):
        return Plan(times, actions=tidying)
    blocked = _why_none_may_begin(case.policy, spec, case.observed.cluster)
    if blocked is not None:
        return Plan(blocked, actions=tidying)
    begins = _begin(case, spec, times)
    return Plan(begins.verdict, begins.next_time, (*tidying, *begins.actions))


def _superfluous(case: Case, spec: WALBackupPolicySpec) -> tuple[RemoveBackup, ...]:
    """Objects of chains that are deleted, and those that the history limits do not keep; each once."""
    found = case.listed.superfluous(case.own)
    names = {each.backup.metadata.name for each in found}
    return (*found, *(RemoveBackup(each) for each in case.own.beyond(spec) if each.metadata.name not in names))


def _begin(case: Case, spec: WALBackupPolicySpec, times: Times) -> Plan:
    """The backup that is due, if there is one, and none is active."""
    since = case.last_run or case.created
    next_time = min(each.following(max(case.now, since)) for each in times.all)
    ready = Verdict(Outlook.READY, PolicyReason.SCHEDULED, f"{times.describe()}{_short_ttl(case, spec)}")
    due = [time for each in times.all if (time := each.latest(since, case.now)) is not None]
    if spec.immediate and case.last_run is None:
        due.append(case.created)
    if not due or case.own.active is not None:
        return Plan(ready, next_time)
    key = Key(case.policy.metadata.namespace, backup_name_at(case.own.policy, max(due)))
    if any(each.metadata.key == key for each in case.observed.backups):
        message = f"WALBackup {key.name} exists and was not made by this policy: delete it, or wait for the next one"
        return Plan(_stalled(PolicyReason.RUN_NAME_TAKEN, message), next_time)
    return Plan(ready, next_time, (_create(case, spec, key, times),))


def _short_ttl(case: Case, spec: WALBackupPolicySpec) -> str:
    """A warning, if a hold may expire before the next backup has begun."""
    between = expected_period(case.policy, case.now)
    if between is None or 2 * spec.hold.ttl >= 3 * between:
        return ""
    return "; hold.ttl is less than one and a half times the time between two: a chain may end by that alone"


def _create(case: Case, spec: WALBackupPolicySpec, key: Key, times: Times) -> CreateBackup:
    """A full one where the last cannot be continued, or a full one is due; else one that continues it."""
    why = case.own.why_full(location_of(case.observed.cluster)) or case.broken
    if why is None and times.full is not None:
        due = times.full.latest(case.last_full() or case.created, case.now)
        why = None if due is None else f"a full one was due at {due:%Y-%m-%d %H:%MZ}"
    fields = {name: getattr(spec, name) for name in BackupTemplate.model_fields}
    last = case.own.last
    if last is None or why is not None:
        return CreateBackup(key, WALBackupSpec(cluster_ref=spec.cluster_ref, **fields), why or "it is the first")
    name = last.metadata.name
    made = WALBackupSpec(cluster_ref=spec.cluster_ref, parent_ref=ParentRef(name=name), **fields)
    return CreateBackup(key, made, f"it continues {name}")


@dataclass(frozen=True, slots=True)
class Times:
    """When backups are due, and when full ones are."""

    schedule: Cron
    full: Cron | None

    @property
    def all(self) -> tuple[Cron, ...]:
        """Both."""
        return (self.schedule,) if self.full is None else (self.schedule, self.full)

    def describe(self) -> str:
        """For people."""
        full = "" if self.full is None else f", full ones at {self.full.describe()}"
        return f"backups begin at {self.schedule.describe()}{full}"


def _schedules(policy: WALBackupPolicy, spec: WALBackupPolicySpec) -> Times | Verdict:
    """When backups are due; or why that is not known."""
    since = policy.metadata.creation_timestamp
    problem = why_unusable(backup_name_at(policy.metadata.name, since))
    if problem is not None:
        message = f"its backups are called {backup_name_at(policy.metadata.name, since)}, and {problem}"
        return _stalled(PolicyReason.NAME_UNUSABLE, message)
    schedule = read_cron(spec.schedule, spec.time_zone, since)
    if isinstance(schedule, BadSchedule):
        return _stalled(schedule.reason, schedule.message)
    full = None if spec.full_schedule is None else read_cron(spec.full_schedule, spec.time_zone, since)
    if isinstance(full, BadSchedule):
        return _stalled(full.reason, full.message)
    return Times(schedule, full)


def _why_none_may_begin(
    policy: WALBackupPolicy, spec: WALBackupPolicySpec, cluster: WALCluster | None
) -> Verdict | None:
    name = spec.cluster_ref.name
    if cluster is None:
        message = f"there is no WALCluster {name} in this namespace, or it is being deleted"
        return _stalled(PolicyReason.CLUSTER_MISSING, message)
    if isinstance(cluster.spec, InvalidSpec):
        return _stalled(PolicyReason.CLUSTER_INVALID, f"WALCluster {name} has an invalid spec: {cluster.spec.message}")
    if cluster.spec.backup is None:
        message = f"WALCluster {name} does not say where backups go: set its spec.backup"
        return _stalled(PolicyReason.NOT_DECLARED, message)
    if policy.metadata.is_paused:
        return Verdict(Outlook.PAUSED, PolicyReason.PAUSED, "seawall.dev/paused is set on the policy")
    if spec.suspend:
        message = "suspend is set: no new backups begin, and the log is held as long as hold allows"
        return Verdict(Outlook.READY, PolicyReason.SUSPENDED, message)
    return None


def _stalled(reason: PolicyReason | ScheduleReason, message: str) -> Verdict:
    return Verdict(Outlook.STALLED, reason, message)
