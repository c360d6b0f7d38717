"""What the controller of a Spark job decides: a pure function of the object and of what was observed.

    being deleted → over (ttl) → spec, name, WALCluster, what that allows → paused, Stalled → the stage:

    stage      what is in the status      what is made in the world        what ends it
    ---------  -------------------------  -------------------------------  ------------------------------------------
    (none)     —                          —                                the WALCluster is there and not Stalled
    Holding    attempt; once granted,     WALHold; once the digest is in   the ConfigMap is there, and has that digest
               what is read, its digest   the status, the ConfigMap
    Running    the application's name,    SparkApplication                 the driver's verdict; as Interrupted: none
               and its UID                                                 came, it was deleted, the request withdrawn
    Releasing  the verdict                hold deleted; application        the hold is gone; Interrupted and fewer than
                                          deleted if Interrupted           3 attempts: Holding again, after a while
    Completed, Failed                     itself deleted (ttl)             —

A tick records or acts, never both; a process may die between any two calls, and the next one ends at the same place. An
object that is deleted needs nothing: its hold, its request and its application are owned by it, and go with it.
A pause stops only what would be begun: a job that runs goes on, and its hold is let go.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.resource import Resource
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.clocks import not_to_come
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    as_status,
    find_condition,
)
from seawall.domain.decision import Decision, Failure, Published, silent, with_edit_observed
from seawall.domain.spark_job.actions import JobAction, RemoveApplication, why_unusable
from seawall.domain.spark_job.allowed import User, kafka_user, why_not_allowed
from seawall.domain.spark_job.application import Ended
from seawall.domain.spark_job.attempt import leftovers, release, run
from seawall.domain.spark_job.case import Case, JobDecision, JobKind, Observed, SpecT, StatusT, ended
from seawall.domain.spark_job.holding import hold
from seawall.domain.spark_job.published import published, wait_for_ttl
from seawall.domain.spark_job.reasons import WAITING, JobReason
from seawall.domain.times import JOB_RETRY_SECONDS
from seawall.domain.unreadable_spec import wait_or_end


def decide(kind: JobKind[SpecT, StatusT], obj: Resource[Any, StatusT], observed: Observed) -> JobDecision[StatusT]:
    """What one tick decides."""
    if obj.metadata.deletion_timestamp is not None:
        return silent(obj, f"the {kind.noun} is being deleted, and what it owns with it")
    if obj.status.is_over:
        return _after_the_end(kind, obj, observed)
    decision = _decide(kind, _in_time(obj, observed.now), observed)

    def publish(verdict: Verdict) -> Published[StatusT]:
        return published(obj.status.conditions, _with_conditions(kind, obj, decision.status, verdict, observed))

    return replace(decision, publish=publish)


def _in_time(obj: Resource[Any, StatusT], now: datetime) -> Resource[Any, StatusT]:
    """No wait is counted from a time that is to come."""
    since = not_to_come(obj.status.attempt_time, now)
    return replace(obj, status=obj.status.model_copy(update={"attempt_time": since}))


def _after_the_end(
    kind: JobKind[SpecT, StatusT], obj: Resource[Any, StatusT], observed: Observed
) -> JobDecision[StatusT]:
    """Its conditions are its verdict: nothing is published any more, but that an edit was observed."""
    left_over = leftovers(obj, observed)
    if left_over:
        return silent(obj, "what its attempts have left goes", None, *left_over)
    if observed.obstacle is not None:  # who cannot read what there is does not know that it may go
        return with_edit_observed(obj, silent(obj, f"the {kind.noun} is over, and stays: {observed.obstacle}"))
    if observed.outlives_ttl is not None:
        return with_edit_observed(obj, silent(obj, f"the {kind.noun} is over, and stays: {observed.outlives_ttl}"))
    return with_edit_observed(obj, wait_for_ttl(obj, kind.noun, obj.status.completion_time, observed.now))


def _decide(kind: JobKind[SpecT, StatusT], obj: Resource[Any, StatusT], observed: Observed) -> JobDecision[StatusT]:
    spec, cluster, stage = obj.spec, observed.cluster, obj.status.stage
    if observed.obstacle is not None:
        return Decision(obj.status, Failure(observed.obstacle, final=True).verdict)
    if isinstance(spec, InvalidSpec):
        end = ended(obj.status, observed.now, JobReason.INVALID_SPEC, spec.message)
        return replace(wait_or_end(obj, spec, end), actions=_stopped(kind, obj, observed))
    problem = why_unusable(obj.metadata.name)
    if problem is not None:
        return ended(obj.status, observed.now, JobReason.NAME_UNUSABLE, problem)
    if cluster is None or isinstance(cluster.spec, InvalidSpec):
        return _without_cluster(obj, observed, spec.cluster_ref.name)
    case = Case(kind, obj, spec, cluster, cluster.spec, observed)
    has_begun = stage is JobStage.RUNNING and (observed.application is not None or case.why_lost() is not None)
    begins_nothing = has_begun or stage is JobStage.RELEASING
    return _stage(case) if begins_nothing else _begin(case)


def _stopped(kind: JobKind[SpecT, StatusT], obj: Resource[Any, StatusT], observed: Observed) -> tuple[JobAction, ...]:
    """A driver that is to delete something, while nobody can say whether that may still go; its attempt is repeated."""
    application = observed.application
    if application is None or application.controller_uid != obj.metadata.uid or isinstance(observed.driver, Ended):
        return ()
    return (RemoveApplication(application),) if kind.goes_by_details(obj.status) else ()


def _begin(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """The stage, if the WALCluster allows what would run, and nothing has to be waited for."""
    refusal = why_not_allowed(case.spec.spark, case.kind.declared(case.kafka), case.cluster, case.kind)
    if refusal is not None:
        return ended(case.status, case.now, JobReason.SPARK_NOT_ALLOWED, refusal)
    blocker = _why_it_waits(case)
    return _stage(case) if blocker is None else _waits(case.obj, *blocker)


def _stage(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    match case.status.stage:
        case None:
            update = {
                "stage": JobStage.HOLDING,
                "attempt": 1,
                "start_time": case.now,
                "attempt_time": case.now,
            }
            status = case.status.model_copy(update=update)
            return Decision(status, case.goes_on(JobReason.OBSERVING, "it looks at what the database would replay"))
        case JobStage.HOLDING:
            return hold(case)
        case JobStage.RUNNING:
            return run(case)
        case JobStage.RELEASING:
            return release(case)
        case JobStage.COMPLETED | JobStage.FAILED:
            raise ValueError("what is over has no next stage")
        case unknown:
            assert_never(unknown)


def _without_cluster(obj: Resource[Any, StatusT], observed: Observed, name: str) -> JobDecision[StatusT]:
    """A WALCluster that is gone ends it; one that cannot be read is waited for."""
    message = f"there is no WALCluster {name} in this namespace, or it is being deleted"
    if observed.cluster is not None:
        message = f"WALCluster {name} has an invalid spec: its conditions say what is wrong"
        return _waits(obj, JobReason.CLUSTER_STALLED, message)
    return ended(obj.status, observed.now, JobReason.CLUSTER_MISSING, message)


def _waits(obj: Resource[Any, StatusT], reason: str, message: str) -> JobDecision[StatusT]:
    outlook = Outlook.PAUSED if reason == JobReason.PAUSED else Outlook.PROGRESSING
    return Decision(obj.status, Verdict(outlook, reason, message, JOB_RETRY_SECONDS))


def _why_it_waits(case: Case[SpecT, StatusT]) -> tuple[JobReason, str] | None:
    """What keeps anything new from being begun, as a reason and a clause; a job that runs is not stopped."""
    cluster = case.cluster
    if case.obj.metadata.is_paused:
        return JobReason.PAUSED, f"seawall.dev/paused is set on the {case.kind.noun}"
    if cluster.metadata.is_paused:
        return JobReason.PAUSED, f"seawall.dev/paused is set on WALCluster {cluster.metadata.name}"
    stalled = find_condition(cluster.status.conditions, ConditionType.STALLED)
    if stalled is not None and stalled.status == "True":
        return JobReason.CLUSTER_STALLED, f"WALCluster {cluster.metadata.name} is Stalled: {stalled.message}"
    return None


def _with_conditions(
    kind: JobKind[SpecT, StatusT], obj: Resource[Any, StatusT], status: StatusT, verdict: Verdict, observed: Observed
) -> StatusT:
    build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, observed.now)
    conditions = build.of_run(
        verdict,
        complete=status.stage is JobStage.COMPLETED,
        failed=status.stage is JobStage.FAILED,
        waiting=verdict.reason in WAITING or verdict.outlook is Outlook.PAUSED,
    )
    conditions += kind.own_conditions(obj, verdict, build)
    conditions += _user_condition(kind, obj, status, build, observed)
    return status.model_copy(update={"conditions": conditions, "observed_generation": obj.metadata.generation})


def _user_condition(
    kind: JobKind[SpecT, StatusT],
    obj: Resource[Any, StatusT],
    status: StatusT,
    build: ConditionBuilder,
    observed: Observed,
) -> tuple[Condition, ...]:
    """As whom the job reads Kafka; once it is made, as it was then. None where Kafka asks nobody who they are."""
    condition, cluster = ConditionType.OWN_KAFKA_USER, observed.cluster
    before = find_condition(obj.status.conditions, condition)
    is_open = status.stage in {JobStage.HOLDING, JobStage.RUNNING} and observed.application is None
    if not is_open or cluster is None or isinstance(cluster.spec, InvalidSpec):
        return () if before is None else (before,)
    user = kafka_user(cluster, cluster.spec, kind.declared(cluster.spec), kind.noun)
    return () if user is None else (build(condition, as_status(user.whose is User.OWN), user.whose, user.message),)
