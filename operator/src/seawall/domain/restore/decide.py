"""What the controller of a restore decides: a pure function of the object and of what was observed.

    being deleted → over (ttl) → spec, name, WALCluster (the same as before), what that allows → paused → the stage:

    stage             what is in the status          what is made in the world      what ends it
    ----------------  -----------------------------  -----------------------------  ----------------------------------
    (none)            —                              —                              the WALCluster is there
    Inspecting        what the database has; the     ConfigMap, SparkApplication    its verdict: a plan, or none
                      digest of the request          (`plan`)
    AwaitingApproval  the plan                       —                              seawall.dev/approve: <its digest>
    Preparing         that no topic existed; the     records, topics; ConfigMap     the ConfigMap is there
                      ids of the topics; a digest
    Writing           the application's name         SparkApplication (`restore`)   its verdict
    Removing          how the attempt ended          application, own topics gone   Interrupted: Preparing; else Failed
    Adopting          that all is written            records begin anew             they are there
    Completed, Failed                                itself deleted (ttl)           —

A Stalled WALCluster is what restores are for (`TopicLost`), and a paused one is no obstacle: a person who restores lets
nobody else act. Nothing that is there already is written to or deleted, but what has an id that this restore recorded.
One into scratch topics needs no approval, and has stages of its own from Preparing on: `scratch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from seawall.api.meta import SCRATCH_FINALIZER, Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.restore import WALRestore, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import MAX_RESTORE_FINDINGS, RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.clocks import not_to_come
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    as_status,
    find_condition,
)
from seawall.domain.decision import Decision, Failure, Published, silent
from seawall.domain.restore.adoption import STARTED, adopt
from seawall.domain.restore.attempt import run, verdict_of
from seawall.domain.restore.case import Case, Observed, RestoreDecision, declaration_of, ended
from seawall.domain.restore.cluster_pin import why_replaced, with_pin
from seawall.domain.restore.contract import RestoreSummary
from seawall.domain.restore.inspecting import await_approval, inspect
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.removal import remove
from seawall.domain.restore.scratch import prepare as prepare_scratch
from seawall.domain.restore.scratch import why_late
from seawall.domain.restore.scratch import write as write_scratch
from seawall.domain.restore.scratch_removal import end_with_cluster, let_go, release
from seawall.domain.restore.scratch_removal import remove as remove_scratch
from seawall.domain.restore.topics import prepare, wait_for_stop, was_started
from seawall.domain.spark_job.actions import why_unusable
from seawall.domain.spark_job.allowed import User, kafka_user, why_not_allowed
from seawall.domain.spark_job.application import Ended
from seawall.domain.spark_job.case import MAX_MESSAGE
from seawall.domain.spark_job.published import published, wait_for_ttl
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.times import JOB_RETRY_SECONDS
from seawall.domain.unreadable_spec import wait_or_end

WAITING = frozenset(
    {
        JobReason.PAUSED,
        JobReason.CLUSTER_STALLED,
        JobReason.BACKING_OFF,
        Reason.FLUSHED_UNKNOWN,
        Reason.AWAITING_APPROVAL,
        Reason.DATABASE_RUNNING,
        Reason.DATABASE_UNKNOWN,
        Reason.KAFKA_UNREACHABLE,
        Reason.TOO_FEW_BROKERS,
        Reason.OTHER_RESTORE,
        Reason.CHAIN_EXPIRING,
    }
)
"""What the condition Waiting is about: something else has to happen first."""


class _Kind:
    """How it is called in sentences."""

    noun = "backup"
    """The WALCluster's field that declares it."""
    may = "restore it"


def decide(obj: WALRestore, observed: Observed) -> RestoreDecision:
    """What one tick decides."""
    is_deleted, has_topics = obj.metadata.deletion_timestamp is not None, SCRATCH_FINALIZER in obj.metadata.finalizers
    if is_deleted and not has_topics:
        return silent(obj, "the restore is being deleted, and its applications with it")
    if obj.status.is_over and has_topics:
        return release(obj.status)
    if observed.outlives_ttl is not None:
        return silent(obj, f"the restore is over, and stays: {observed.outlives_ttl}")
    if obj.status.is_over:
        return wait_for_ttl(obj, "restore", obj.status.completion_time, observed.now)
    decision = let_go(obj, observed) if is_deleted else _decide(_in_time(obj, observed.now), observed)
    decision = replace(decision, status=with_pin(decision.status, observed.cluster))

    def publish(verdict: Verdict) -> Published[WALRestoreStatus]:
        return published(obj.status.conditions, _with_conditions(obj, decision.status, verdict, observed))

    return replace(decision, publish=publish)


def _in_time(obj: WALRestore, now: datetime) -> WALRestore:
    """No wait is counted from a time that is to come."""
    since = not_to_come(obj.status.attempt_time, now)
    return replace(obj, status=obj.status.model_copy(update={"attempt_time": since}))


def _decide(obj: WALRestore, observed: Observed) -> RestoreDecision:
    spec, cluster = obj.spec, observed.cluster
    if observed.obstacle is not None:
        return Decision(obj.status, Failure(observed.obstacle, final=True).verdict)
    if isinstance(spec, InvalidSpec):
        return wait_or_end(obj, spec, ended(obj.status, observed.now, JobReason.INVALID_SPEC, spec.message))
    problem = why_unusable(obj.metadata.name)
    if problem is not None:
        return ended(obj.status, observed.now, JobReason.NAME_UNUSABLE, problem)
    if cluster is None or isinstance(cluster.spec, InvalidSpec):
        return _without_cluster(obj, observed, spec.cluster_ref.name)
    if (replaced := why_replaced(obj.status, cluster)) is not None:
        return ended(obj.status, observed.now, Reason.CLUSTER_REPLACED, replaced)
    return _of_cluster(obj, spec, cluster, cluster.spec, observed)


def _without_cluster(obj: WALRestore, observed: Observed, name: str) -> RestoreDecision:
    """A WALCluster that is gone ends it; one that cannot be read is waited for."""
    if observed.cluster is not None:
        message = f"WALCluster {name} has an invalid spec: its conditions say what is wrong"
        return _waits(obj, Outlook.PROGRESSING, JobReason.CLUSTER_STALLED, message)
    message = f"there is no WALCluster {name} in this namespace, or it is being deleted"
    return ended(obj.status, observed.now, JobReason.CLUSTER_MISSING, message)


def _of_cluster(
    obj: WALRestore, spec: WALRestoreSpec, cluster: WALCluster, kafka: WALClusterSpec, observed: Observed
) -> RestoreDecision:
    """The stage, if the WALCluster allows what would run; a job that runs is not stopped."""
    refusal = why_not_allowed(spec.spark, declaration_of(kafka), cluster, _Kind)
    begins = observed.application is None and obj.status.stage in _BEGINS
    if refusal is not None and begins and obj.status.stage in _MAKES_NOTHING:
        return ended(obj.status, observed.now, JobReason.SPARK_NOT_ALLOWED, refusal)
    case = Case(obj, spec, cluster, kafka, kafka.backup, observed)
    if spec.scratch is not None and (ends := end_with_cluster(case)) is not None:
        return ends
    if refusal is not None and begins and spec.scratch is not None:
        return case.attempt_is_over(Outcome.FAILED, refusal, JobReason.SPARK_NOT_ALLOWED)
    if refusal is not None and begins:
        return _waits(obj, Outlook.STALLED, JobReason.SPARK_NOT_ALLOWED, refusal)
    if obj.metadata.is_paused and observed.application is None:
        return _waits(obj, Outlook.PAUSED, JobReason.PAUSED, "seawall.dev/paused is set on the restore")
    return _unless_it_waits(case)


def _unless_it_waits(case: Case) -> RestoreDecision:
    """The stage, unless a drill has waited for too long, or a backup deletes what would be restored."""
    if case.spec.scratch is not None and (late := why_late(case)) is not None:
        return late
    if case.observed.deleting is not None:
        chain = case.spec.source.chain or "it may be about"
        message = f"WALBackup {case.observed.deleting} deletes chain {chain}, which its policy does not need"
        return _waits(case.obj, Outlook.PROGRESSING, Reason.CHAIN_EXPIRING, message)
    return _stage(case)


def _waits(obj: WALRestore, outlook: Outlook, reason: str, message: str) -> RestoreDecision:
    return Decision(obj.status, Verdict(outlook, reason, message, JOB_RETRY_SECONDS))


def _stage(case: Case) -> RestoreDecision:
    stage = case.status.stage
    if stage is None:
        update = {"stage": RestoreStage.INSPECTING, "attempt": 1, "start_time": case.now, "attempt_time": case.now}
        return case.becomes(case.goes_on(JobReason.SUBMITTING, "it plans what comes back"), **update)
    scratch = case.spec.scratch
    if scratch is not None and stage is RestoreStage.PREPARING:
        return prepare_scratch(case, scratch)
    return (_STAGES if scratch is None else _SCRATCH_STAGES)[stage](case)


def _write(case: Case) -> RestoreDecision:
    """The application is made while the database is stopped; that it is started meanwhile is never forgotten."""
    if case.observed.application is None and (waits := wait_for_stop(case, case.observed.database)) is not None:
        return waits
    if was_started(case) and not case.status.database_ran:
        return case.becomes(case.goes_on(Reason.DATABASE_RUNNING, STARTED), database_ran=True)
    return run(case, "restore", _judge)


def _judge(case: Case, driver: Ended) -> RestoreDecision:
    found = verdict_of(case, driver, RestoreSummary)
    if not isinstance(found, RestoreSummary):
        return found
    if found.outcome is Outcome.PASSED and case.status.database_ran:
        return case.leaves(Reason.NOT_OURS, f"{STARTED}; what is there is left as it is", outcome=Outcome.PASSED)
    if found.outcome is Outcome.PASSED:
        update = {"outcome": Outcome.PASSED, "message": found.sentence[:MAX_MESSAGE], "logs": found.logs}
        return case.becomes(case.goes_on(Reason.ADOPTING, found.sentence), stage=RestoreStage.ADOPTING, **update)
    findings = tuple(each.as_status() for each in found.findings[:MAX_RESTORE_FINDINGS])
    kinds = {each.kind for each in findings}
    if Reason.NOT_OURS in kinds:
        message = f"{found.sentence}: what is there is left as it is"
        return case.leaves(Reason.NOT_OURS, message, outcome=Outcome.FAILED, findings=findings)
    reason = Reason.NOT_RESTORED if Reason.NOT_RESTORED in kinds else Reason.CHAIN_BROKEN
    return case.attempt_is_over(Outcome.FAILED, found.sentence, reason, findings=findings)


_MAKES_NOTHING = frozenset({None, RestoreStage.INSPECTING, RestoreStage.AWAITING_APPROVAL})
"""Nothing is left of a restore that ends in one of these."""
_BEGINS = _MAKES_NOTHING | {RestoreStage.PREPARING, RestoreStage.WRITING}
"""Where an application is to come: what is only removed or adopted needs none."""
_STAGES: Mapping[RestoreStage, Callable[[Case], RestoreDecision]] = {
    RestoreStage.INSPECTING: inspect,
    RestoreStage.AWAITING_APPROVAL: await_approval,
    RestoreStage.PREPARING: prepare,
    RestoreStage.WRITING: _write,
    RestoreStage.REMOVING: remove,
    RestoreStage.ADOPTING: adopt,
}
"""Those that are not over."""
_SCRATCH_STAGES: Mapping[RestoreStage, Callable[[Case], RestoreDecision]] = {
    RestoreStage.INSPECTING: inspect,
    RestoreStage.AWAITING_APPROVAL: await_approval,
    RestoreStage.WRITING: write_scratch,
    RestoreStage.REMOVING: remove_scratch,
}
"""Of one into scratch topics: nothing is asked of the database, and nothing adopted."""


def _with_conditions(
    obj: WALRestore, status: WALRestoreStatus, verdict: Verdict, observed: Observed
) -> WALRestoreStatus:
    build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, observed.now)
    conditions = build.of_run(
        verdict,
        complete=status.stage is RestoreStage.COMPLETED,
        failed=status.stage is RestoreStage.FAILED,
        waiting=verdict.reason in WAITING,
    )
    conditions += _user_condition(obj, build, observed)
    return status.model_copy(update={"conditions": conditions, "observed_generation": obj.metadata.generation})


def _user_condition(obj: WALRestore, build: ConditionBuilder, observed: Observed) -> tuple[Condition, ...]:
    """As whom the job writes to Kafka. None where Kafka asks nobody who they are."""
    condition, cluster = ConditionType.OWN_KAFKA_USER, observed.cluster
    before = find_condition(obj.status.conditions, condition)
    if cluster is None or isinstance(cluster.spec, InvalidSpec):
        return () if before is None else (before,)
    user = kafka_user(cluster, cluster.spec, declaration_of(cluster.spec), "backup.restore", "writes the logs")
    return () if user is None else (build(condition, as_status(user.whose is User.OWN), user.whose, user.message),)
