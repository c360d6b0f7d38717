"""What a WALVerification's controller decides: a pure function of the verification and of what was observed.

    being deleted → over (ttl) → spec, name, WALCluster, what that allows → paused, Stalled → the stage:

    stage      what is in the status      what is made in the world        what ends it
    ---------  -------------------------  -------------------------------  ------------------------------------------
    (none)     —                          —                                the WALCluster is there and not Stalled
    Holding    attempt; once granted,     WALHold; once the digest is in   the ConfigMap is there, and has that digest
               what is read, its digest   the status, the ConfigMap
    Running    the application's name     SparkApplication                 the driver's verdict, or none came
    Releasing  the verdict                hold deleted; application        the hold is gone; Interrupted and fewer than
                                          deleted if Interrupted           3 attempts: Holding again, after a while
    Completed, Failed                     itself deleted (ttl)             —

A tick records or acts, never both; a process may die between any two calls, and the next one ends at the same place. A
verification that is deleted needs nothing: its hold, its request and its application are owned by it, and go with it.
A pause stops only what would be begun: a job that runs goes on, and its hold is let go.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.verification import VerificationStage, WALVerification, WALVerificationStatus
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
)
from seawall.domain.decision import Decision, Failure, Published, silent
from seawall.domain.times import VERIFICATION_RETRY_SECONDS
from seawall.domain.verification.actions import RemoveItself, why_unusable
from seawall.domain.verification.allowed import User, kafka_user, why_not_allowed
from seawall.domain.verification.attempt import leftovers, release, run
from seawall.domain.verification.case import Case, Observed, VerificationDecision, ended, why_it_waits
from seawall.domain.verification.holding import hold
from seawall.domain.verification.reasons import Reason

WAITING = frozenset(
    {Reason.PAUSED, Reason.CLUSTER_STALLED, Reason.CANNOT_OBSERVE, Reason.OBSERVING, Reason.HOLDING, Reason.BACKING_OFF}
)
"""What the condition Waiting is about: something else has to happen first."""


def decide(obj: WALVerification, observed: Observed) -> VerificationDecision:
    """What one tick decides."""
    if obj.metadata.deletion_timestamp is not None:
        return silent(obj, "the verification is being deleted, and what it owns with it")
    if obj.status.is_over:
        return _after_the_end(obj, observed)
    decision = _decide(obj, observed)

    def publish(verdict: Verdict) -> Published[WALVerificationStatus]:
        before, status = obj.status.conditions, _with_conditions(obj, decision.status, verdict, observed)
        user = loss_event(before, status.conditions, ConditionType.OWN_KAFKA_USER, "its own user again")
        events = transition_events(before, status.conditions)
        return Published(status, events if user is None else (*events, user))

    return replace(decision, publish=publish)


def _after_the_end(obj: WALVerification, observed: Observed) -> VerificationDecision:
    """Its conditions are its verdict: nothing is published any more."""
    left_over = leftovers(obj, observed)
    if left_over:
        return silent(obj, "what its attempts have left goes", None, *left_over)
    ttl = None if isinstance(obj.spec, InvalidSpec) else obj.spec.ttl_seconds_after_finished
    if ttl is None or obj.status.completion_time is None:
        return silent(obj, "the verification is over")
    left = (obj.status.completion_time + timedelta(seconds=ttl) - observed.now).total_seconds()
    actions = (RemoveItself(),) if left <= 0 else ()
    return silent(
        obj, "the verification is over, and stays until its ttl is", max(left, VERIFICATION_RETRY_SECONDS), *actions
    )


def _decide(obj: WALVerification, observed: Observed) -> VerificationDecision:
    spec, cluster, stage = obj.spec, observed.cluster, obj.status.stage
    if observed.obstacle is not None:
        return Decision(obj.status, Failure(observed.obstacle, final=True).verdict)
    if isinstance(spec, InvalidSpec):
        return ended(obj.status, observed.now, Reason.INVALID_SPEC, spec.message)
    problem = why_unusable(obj.metadata.name)
    if problem is not None:
        return ended(obj.status, observed.now, Reason.NAME_UNUSABLE, problem)
    if cluster is None or isinstance(cluster.spec, InvalidSpec):
        return _without_cluster(obj, observed, spec.cluster_ref.name)
    case = Case(obj, spec, cluster, cluster.spec, observed)
    has_begun = stage is VerificationStage.RUNNING and observed.application is not None
    begins_nothing = has_begun or stage is VerificationStage.RELEASING
    return _stage(case) if begins_nothing else _begin(case)


def _begin(case: Case) -> VerificationDecision:
    """The stage, if the WALCluster allows what would run, and nothing has to be waited for."""
    refusal = why_not_allowed(case.spec, case.cluster, case.kafka)
    if refusal is not None:
        return ended(case.status, case.now, Reason.SPARK_NOT_ALLOWED, refusal)
    blocker = why_it_waits(case.obj, case.cluster)
    return _stage(case) if blocker is None else _waits(case.obj, *blocker)


def _stage(case: Case) -> VerificationDecision:
    match case.status.stage:
        case None:
            update = {
                "stage": VerificationStage.HOLDING,
                "attempt": 1,
                "start_time": case.now,
                "attempt_time": case.now,
            }
            status = case.status.model_copy(update=update)
            return Decision(status, case.goes_on(Reason.OBSERVING, "it looks at what the database would replay"))
        case VerificationStage.HOLDING:
            return hold(case)
        case VerificationStage.RUNNING:
            return run(case)
        case VerificationStage.RELEASING:
            return release(case)
        case VerificationStage.COMPLETED | VerificationStage.FAILED:
            raise ValueError("a verification that is over has no next stage")
        case unknown:
            assert_never(unknown)


def _without_cluster(obj: WALVerification, observed: Observed, name: str) -> VerificationDecision:
    """A WALCluster that is gone ends it; one that cannot be read is waited for."""
    message = f"there is no WALCluster {name} in this namespace, or it is being deleted"
    if observed.cluster is not None:
        message = f"WALCluster {name} has an invalid spec: its conditions say what is wrong"
        return _waits(obj, Reason.CLUSTER_STALLED, message)
    return ended(obj.status, observed.now, Reason.CLUSTER_MISSING, message)


def _waits(obj: WALVerification, reason: str, message: str) -> VerificationDecision:
    outlook = Outlook.PAUSED if reason == Reason.PAUSED else Outlook.PROGRESSING
    return Decision(obj.status, Verdict(outlook, reason, message, VERIFICATION_RETRY_SECONDS))


def _with_conditions(
    obj: WALVerification, status: WALVerificationStatus, verdict: Verdict, observed: Observed
) -> WALVerificationStatus:
    build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, observed.now)
    conditions = build.of_run(
        verdict,
        complete=status.stage is VerificationStage.COMPLETED,
        failed=status.stage is VerificationStage.FAILED,
        waiting=verdict.reason in WAITING,
    )
    conditions += _user_condition(obj, status, build, observed)
    return status.model_copy(update={"conditions": conditions, "observed_generation": obj.metadata.generation})


def _user_condition(
    obj: WALVerification, status: WALVerificationStatus, build: ConditionBuilder, observed: Observed
) -> tuple[Condition, ...]:
    """As whom the job reads Kafka; once it is made, as it was then. None where Kafka asks nobody who they are."""
    kind, cluster = ConditionType.OWN_KAFKA_USER, observed.cluster
    before = find_condition(obj.status.conditions, kind)
    is_open = status.stage in {VerificationStage.HOLDING, VerificationStage.RUNNING} and observed.application is None
    if not is_open or cluster is None or isinstance(cluster.spec, InvalidSpec):
        return () if before is None else (before,)
    user = kafka_user(cluster, cluster.spec)
    return () if user is None else (build(kind, as_status(user.whose is User.OWN), user.whose, user.message),)
