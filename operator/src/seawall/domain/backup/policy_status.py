"""What the status of a WALBackupPolicy says, and its events."""

from __future__ import annotations

from datetime import datetime

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import LastBackup, WALBackupPolicyStatus
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.backup.broken import CHAIN_BROKEN
from seawall.domain.backup.chains import chain_events, retention_condition
from seawall.domain.backup.drills import Drills, drill_condition
from seawall.domain.backup.policy_case import Case
from seawall.domain.backup.reasons import Reason
from seawall.domain.backup.retention import retention_of
from seawall.domain.backup.runs import hold_key, reason_of
from seawall.domain.conditions import (
    ConditionBuilder,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
)
from seawall.domain.events import EventReason
from seawall.domain.schedule import newest
from seawall.domain.step import Event, EventType


def status_of(case: Case, verdict: Verdict, next_time: datetime | None, drills: Drills) -> WALBackupPolicyStatus:
    """The status; what is known only from objects that are gone stays."""
    policy, own = case.policy, case.own
    build = ConditionBuilder(policy.status.conditions, policy.metadata.generation, case.now)
    last = own.last
    hold = None if last is None else own.holds.get(hold_key(last).name)
    return WALBackupPolicyStatus(
        observed_generation=policy.metadata.generation,
        conditions=(
            *build.kstatus(verdict),
            *_backed_up(case, build),
            *_retention(case, build),
            *drill_condition(policy, drills, build),
        ),
        active=None if own.active is None else own.active.metadata.name,
        last=_as_last(last) or policy.status.last,
        last_success_time=_last_success(case),
        last_run_time=case.last_run,
        last_full_time=case.last_full(),
        next_run_time=next_time,
        drill=drills.status,
        last_drill_time=None if drills.status is None else drills.status.last_passed_time,
        lag_bytes=None if hold is None else hold.status.lag_bytes,
        chains=case.listed.rows,
        chain_count=len(case.listed.chains) or None,
        stored_bytes=sum(each.stored_bytes for each in case.listed.chains) or None,
        retention_time=case.listed.time,
    )


def _as_last(backup: WALBackup | None) -> LastBackup | None:
    if backup is None or backup.status.completion_time is None:
        return None
    status, proof = backup.status, backup.status.verified
    return LastBackup(
        name=backup.metadata.name,
        chain=status.chain or "",
        time=backup.status.completion_time,
        verified=BackupLevel.NONE if proof is None else proof.level,
    )


def _last_success(case: Case) -> datetime | None:
    """The newest completion; those that are gone by now are remembered."""
    before, ended = case.policy.status, [each.status.completion_time for each in case.own.completed]
    known = [*ended, before.last_success_time, None if before.last is None else before.last.time]
    return newest(known, case.now)


def _backed_up(case: Case, build: ConditionBuilder) -> tuple[Condition, ...]:
    """How the newest backup ended; none before the first."""
    kind, ended = ConditionType.BACKED_UP, case.own.newest_over
    ends = ((Reason.CHAIN_ENDED, case.own.lost_hold), (CHAIN_BROKEN, case.broken))
    found = next(((reason, why) for reason, why in ends if why is not None), None)
    if found is not None and ended == case.own.last:
        return (build(kind, "False", found[0], f"the next backup is a full one: {found[1]}"),)
    if ended is None:
        before = find_condition(case.policy.status.conditions, kind)
        return () if before is None else (before,)
    ready = find_condition(ended.status.conditions, ConditionType.READY)
    message = f"WALBackup {ended.metadata.name}: {ready.message if ready is not None else ''}"
    is_good = ended.status.stage is JobStage.COMPLETED
    return (build(kind, as_status(is_good), reason_of(ended) or "Unknown", message),)


def _retention(case: Case, build: ConditionBuilder) -> tuple[Condition, ...]:
    return retention_condition(case.listed, case.own, retention_of(case.policy), build)


def events_of(case: Case, status: WALBackupPolicyStatus) -> tuple[Event, ...]:
    """What became of the backup that was active, of the policy, and of what it is there for."""
    before, conditions = case.policy.status.active, case.policy.status.conditions
    events: list[Event] = []
    if before is not None and before not in {each.metadata.name for each in case.own.all}:
        events.append(
            Event(EventType.WARNING, EventReason.BACKUP_GONE, f"WALBackup {before} was deleted before it ended")
        )
    watched = {
        ConditionType.BACKED_UP: "backed up again",
        ConditionType.RETENTION_APPLIED: "retention is applied again",
        ConditionType.DRILL_PASSED: "a drill passes again",
    }
    losses = (loss_event(conditions, status.conditions, kind, again) for kind, again in watched.items())
    events += [each for each in losses if each is not None]
    events += chain_events(case.policy.status, case.listed)
    return (*events, *transition_events(conditions, status.conditions))
