"""What is not as it should be, the worst first: conditions with their sentence, and what people have set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from seawall.api.meta import (
    ABORT_ANNOTATION,
    DEAD_ANNOTATION,
    PAUSED_ANNOTATION,
    READOPT_ANNOTATION,
    STOP_DELETES_ANNOTATION,
    UNUSED_ANNOTATION,
    Condition,
    ConditionType,
)
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.rollout import RollStage
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.domain import rollout_reasons as rollout
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.datanodes.roll import WARNINGS
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION
from seawall.domain.overview.activities import newest_failures
from seawall.domain.overview.snapshot import Leader, Snapshot
from seawall.domain.rollout.workload import OVERRIDE_ANNOTATION
from seawall.domain.times import LEASE_SILENT
from seawall.domain.verification.schedule import SUSPENDED

SET_BY_PEOPLE = (
    PAUSED_ANNOTATION,
    STOP_DELETES_ANNOTATION,
    ABORT_ANNOTATION,
    OVERRIDE_ANNOTATION,
    READOPT_ANNOTATION,
    DEAD_ANNOTATION,
    UNUSED_ANNOTATION,
    FORMAT_VOLUME_ANNOTATION,
)
"""Annotations that change what Seawall may do as long as they stand."""


class Severity(StrEnum):
    """How much a finding matters; the worst is the first member."""

    DISASTER = "Disaster"
    """The WAL is not what the database needs."""
    STALLED = "Stalled"
    """A person has to do something."""
    BROKEN = "Broken"
    """Something does not work; it may mend itself."""
    UNKNOWN = "Unknown"
    """Nobody could look."""
    UNDER_WAY = "UnderWay"
    """Not as declared yet, and on its way."""
    BY_PERSON = "ByPerson"
    """A person wanted it so."""


RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        severity: how much it matters.
        object: kind and name of the object that tells of it.
        condition: the type of its condition, or what else tells of it.
        reason: why, in one word.
        message: why, in one sentence.
        since: since when; None: not known.
    """

    severity: Severity
    object: str
    condition: str
    reason: str
    message: str
    since: datetime | None = None


def find_all(snapshot: Snapshot) -> tuple[Finding, ...]:
    """All findings, the worst first; those of the WALCluster before those of what belongs to it."""
    cluster = name_of(snapshot.cluster)
    all_runs = (snapshot.purges, snapshot.verifications, snapshot.backups, snapshot.restores)
    policies: tuple[AnyResource, ...] = (*snapshot.policies, *snapshot.backup_policies)
    found = [
        *_of_leader(snapshot.leader, snapshot.now),
        *_of_cluster(snapshot.cluster),
        *(finding for policy in snapshot.policies for finding in _readiness(policy)),
        *(finding for policy in snapshot.backup_policies for finding in (*_readiness(policy), *_backed_up(policy))),
        *(_suspended(name_of(policy)) for policy in policies if getattr(policy.spec, "suspend", False)),
        *(finding for each in snapshot.subscriptions for finding in _of_subscription(each)),
        *(finding for runs in all_runs for run in runs for finding in _stuck(run)),
        *(finding for hold in snapshot.holds for finding in _of_hold(hold.status.state, hold)),
        *(_of_condition(Severity.BROKEN, name_of(run), at) for run, at in newest_failures(snapshot)),
        *(Finding(Severity.UNKNOWN, cluster, "Read", "NotRead", sentence) for sentence in snapshot.not_read),
    ]
    return tuple(sorted(_merged(found), key=lambda finding: (RANKS[finding.severity], finding.object != cluster)))


def newest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same by their time; those whose time is not known come last, the worst first."""
    found = sorted(findings, key=lambda finding: RANKS[finding.severity])
    known = [finding for finding in found if finding.since is not None]
    known.sort(key=lambda finding: finding.since or datetime.min.replace(tzinfo=UTC), reverse=True)
    return (*known, *(finding for finding in found if finding.since is None))


def name_of(found: AnyResource) -> str:
    """Kind and name, as kubectl takes them."""
    return f"{found.KIND.kind.lower()}/{found.metadata.name}"


def _of_leader(leader: Leader, now: datetime) -> Iterator[Finding]:
    if leader.problem is not None:
        return
    age = None if leader.renew_time is None else now - leader.renew_time
    if leader.holder is None or age is None or age > LEASE_SILENT:
        message = f"no operator has renewed the Lease {leader.lease} lately: what is shown here is as it left it"
        yield Finding(Severity.STALLED, "operator", "Leader", "NoLeader", message, leader.renew_time)


def _of_cluster(cluster: WALCluster) -> Iterator[Finding]:
    status, me = cluster.status, name_of(cluster)
    yield from _readiness(cluster)
    ready = find_condition(status.conditions, ConditionType.READY)
    for at in status.conditions:
        is_same = at.type == ConditionType.TOPICS_READY and ready is not None and at.reason == ready.reason
        if at.type not in _KSTATUS and at.status != _well(at.type) and not is_same:
            yield _of_condition(_severity_of(at), me, at)
    yield from _of_restarts(cluster)
    if status.conditions and status.observed_generation < cluster.metadata.generation:
        message = "the operator has not looked at the newest spec yet"
        yield Finding(Severity.UNDER_WAY, me, "Observed", "NotObserved", message)
    deleted = cluster.metadata.deletion_timestamp
    if deleted is not None:
        kept = ", ".join(cluster.metadata.finalizers) or "nothing"
        yield Finding(Severity.UNDER_WAY, me, "Deletion", "Deleting", f"it is being deleted, kept by {kept}", deleted)
    for name in SET_BY_PEOPLE:
        if name in cluster.metadata.annotations:
            message = f"{name}: {cluster.metadata.annotations[name]}"
            yield Finding(Severity.BY_PERSON, me, "Annotation", "SetByPerson", message)


_KSTATUS = frozenset({ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED})


WELL_WHEN_FALSE = frozenset(
    {ConditionType.DATA_PLANE_CONFIG_DIFFERS, ConditionType.SHARED_WITH_STRIMZI, ConditionType.NEAR_LIMIT}
)
"""Conditions that are named after what is wrong."""
_BY_REASON: Mapping[str, Severity] = {
    Reason.SECOND_PRUNER: Severity.STALLED,
    Reason.TOPICS_MANAGED: Severity.STALLED,
    Reason.LARGE_ANSWER: Severity.STALLED,
    Reason.REBALANCE_RUNNING: Severity.UNDER_WAY,
}


def _well(kind: str) -> str:
    return "False" if kind in WELL_WHEN_FALSE else "True"


def _severity_of(at: Condition) -> Severity:
    if at.status == "Unknown":
        return Severity.UNKNOWN
    if at.type in WELL_WHEN_FALSE:
        return _BY_REASON.get(at.reason, Severity.BROKEN)
    if at.type == ConditionType.WAL_INTACT:
        return Severity.DISASTER
    if at.type == ConditionType.VERIFICATION_SCHEDULED:
        return Severity.BY_PERSON if at.reason == SUSPENDED else Severity.STALLED
    return Severity.BROKEN


def _readiness(found: AnyResource) -> Iterator[Finding]:
    """What the three conditions of kstatus say, which are one."""
    conditions = found.status.conditions
    ready = find_condition(conditions, ConditionType.READY)
    if ready is None:
        message = "no operator has looked at it yet"
        yield Finding(Severity.UNKNOWN, name_of(found), "Ready", "NotObserved", message)
        return
    if ready.status == "True":
        return
    holds = {at.type for at in conditions if at.status == "True"}
    severity = Severity.STALLED if ConditionType.STALLED in holds else Severity.BY_PERSON
    if ConditionType.RECONCILING in holds:
        severity = Severity.UNDER_WAY
    yield _of_condition(severity, name_of(found), ready)


def _backed_up(policy: WALBackupPolicy) -> Iterator[Finding]:
    """That the newest backup or drill failed, or no backup can continue it; that what nobody needs is not deleted."""
    kinds = {
        ConditionType.BACKED_UP: Severity.BROKEN,
        ConditionType.DRILL_PASSED: Severity.BROKEN,
        ConditionType.RETENTION_APPLIED: Severity.BY_PERSON,
    }
    for kind, severity in kinds.items():
        at = find_condition(policy.status.conditions, kind)
        if at is not None and at.status == "False":
            yield _of_condition(severity, name_of(policy), at)


def _of_subscription(found: WALSubscription) -> Iterator[Finding]:
    """That it does not copy, lags, or is not kept up for; what a person has suspended is Ready."""
    yield from _readiness(found)
    if getattr(found.spec, "suspend", False):
        message = "spec.suspend is set: nothing is copied, and the source keeps the rest within lagBudget"
        yield Finding(Severity.BY_PERSON, name_of(found), "Suspend", "Suspended", message)
    for kind in (ConditionType.WITHIN_BUDGET, ConditionType.TARGET_SAFE):
        at = find_condition(found.status.conditions, kind)
        # Of a budget nothing is known while nothing need be held, or Ready says what it waits for.
        is_fine = at is None or at.status == "True" or (at.status == "Unknown" and kind is ConditionType.WITHIN_BUDGET)
        if at is not None and not is_fine:
            yield _of_condition(_severity_of(at), name_of(found), at)


def _of_condition(severity: Severity, name: str, at: Condition) -> Finding:
    return Finding(severity, name, at.type, at.reason, at.message, at.last_transition_time)


def _suspended(name: str) -> Finding:
    return Finding(Severity.BY_PERSON, name, "Suspend", "Suspended", "spec.suspend is set: no new runs begin")


def _stuck(run: AnyResource) -> Iterator[Finding]:
    """A run that goes on is nothing to tell; one that is over and failed is told of elsewhere."""
    failed = find_condition(run.status.conditions, ConditionType.FAILED)
    is_over = failed is not None and failed.status == "True"
    stalled = find_condition(run.status.conditions, ConditionType.STALLED)
    if stalled is not None and stalled.status == "True" and not is_over:
        yield from _readiness(run)


def _of_hold(state: HoldState | None, hold: AnyResource) -> Iterator[Finding]:
    if state is HoldState.RELEASED:
        return
    at_risk = find_condition(hold.status.conditions, ConditionType.AT_RISK)
    if state is HoldState.AT_RISK and at_risk is not None:
        since = at_risk.last_transition_time
        yield Finding(Severity.BROKEN, name_of(hold), at_risk.type, at_risk.reason, at_risk.message, since)
    judged = find_condition(hold.status.conditions, ConditionType.EXPIRY_JUDGED)
    if judged is not None and judged.status == "False" and (state is None or not state.is_final):
        since = judged.last_transition_time
        yield Finding(Severity.BROKEN, name_of(hold), judged.type, judged.reason, judged.message, since)
    yield from _readiness(hold)


def _of_restarts(cluster: WALCluster) -> Iterator[Finding]:
    restart, me = cluster.status.restart, name_of(cluster)
    if restart is None:
        return
    if restart.stage is RollStage.STALLED:
        yield Finding(Severity.STALLED, me, "Restart", restart.reason, restart.message)
    elif restart.stage in {None, RollStage.COMPLETED} and restart.reason in _KEEPS_FROM_BEGINNING:
        yield Finding(Severity.BROKEN, me, "Restart", restart.reason, restart.message)
    for row in restart.datanodes:
        needs, allows = row.startup_seconds, row.probe_seconds
        if needs is not None and allows is not None and needs > allows and row.ailment is None:
            message = (
                f"a restart of {row.pod} should be allowed {needs} s, and its startup probe allows {allows} s:"
                " raise failureThreshold * periodSeconds"
            )
            reason = rollout.FailureReason.PROBE_TOO_SHORT.value
            yield Finding(Severity.BROKEN, me, "StartupProbe", reason, message, restart.published_time)


_KEEPS_FROM_BEGINNING = WARNINGS - {rollout.Reason.NO_STATEFUL_SET}
"""What is wrong although no roll has begun; a StatefulSet that is missing is told of by DatanodesHealthy."""


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Conditions of one object with the same sentence are one finding, as bad as the worst of them."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = finding.object, finding.message
        before = found.get(key)
        if before is None:
            found[key] = finding
        elif RANKS[finding.severity] < RANKS[before.severity]:
            found[key] = replace(finding, condition=f"{finding.condition}, {before.condition}")
        else:
            found[key] = replace(before, condition=f"{before.condition}, {finding.condition}")
    return list(found.values())
