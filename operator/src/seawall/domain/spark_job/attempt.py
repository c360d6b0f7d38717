"""An attempt: its job is made once, its driver's last word is the verdict; then its hold goes, and the next comes."""

from __future__ import annotations

from typing import Any

from seawall.api.resource import Resource
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.domain.decision import Decision
from seawall.domain.spark_job.actions import JobAction, ReleaseHold, RemoveApplication, Submit
from seawall.domain.spark_job.allowed import effective_spark
from seawall.domain.spark_job.application import Ended, SparkApplication
from seawall.domain.spark_job.case import (
    Case,
    JobDecision,
    Observed,
    SpecT,
    StatusT,
    check_request,
    is_granted,
    name_taken,
    request_changed,
)
from seawall.domain.spark_job.following import NoVerdict, follow
from seawall.domain.spark_job.holding import wait_to_read
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import OTHER_REQUEST, SummaryT, read_summary
from seawall.domain.times import JOB_BACKOFF


def run(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """Makes the application, and waits for its verdict."""
    application = case.observed.application
    if application is not None and application.controller_uid != case.uid:
        return name_taken(case, "SparkApplication")
    end = check_request(case)
    if end is not None:
        return end
    lost = case.why_lost()
    if lost is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, lost)
    return _submit(case) if application is None else _follow(case, application)


def _follow(case: Case[SpecT, StatusT], application: SparkApplication) -> JobDecision[StatusT]:
    match follow(application, case.observed.driver, case.now, case.spec.timeout):
        case Ended() as driver:
            return case.kind.judge(case, driver)
        case NoVerdict(message, None):
            return case.attempt_ends(Outcome.INTERRUPTED, message)
        case NoVerdict(message, state):
            return case.attempt_ends(Outcome.INTERRUPTED, message, application_state=state)
        case verdict:
            withdrawn = case.kind.why_withdrawn(case)
            if withdrawn is not None:
                return case.attempt_ends(Outcome.INTERRUPTED, withdrawn, application_state=application.state or None)
            update = {"application_state": application.state or None, "application_uid": application.uid}
            return Decision(case.status.model_copy(update=update), verdict)


def _submit(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """Only while what is to be read is held; once it runs, a log that is cut is the job's to notice."""
    withdrawn = case.kind.why_withdrawn(case)
    if withdrawn is not None:
        return case.attempt_ends(Outcome.INTERRUPTED, withdrawn)
    hold = case.observed.hold
    unreadable = None if hold is None else wait_to_read(case, hold)
    if unreadable is not None:
        return unreadable
    if hold is None or hold.metadata.controller_uid != case.uid or not is_granted(hold):
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {case.key.name} was lost before the job began")
    declared = case.kind.declared(case.kafka)
    if declared is None:
        raise ValueError("a WALCluster that declares nothing allows no job")
    spark = effective_spark(case.spec.spark, declared.spark)
    spec, secrets = case.kind.application(case, spark, case.external_kafka)
    verdict = case.goes_on(JobReason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
    return case.stays(verdict, Submit(case.key, spec, spark.service_account_name, secrets))


def verdict_of(case: Case[SpecT, StatusT], driver: Ended, model: type[SummaryT]) -> SummaryT | JobDecision[StatusT]:
    """The driver's verdict; or what is decided because it left none about this request."""
    found = read_summary(model, driver.message, case.status.request_digest or "", driver.exit_code)
    if found == OTHER_REQUEST:
        return request_changed(case, OTHER_REQUEST)
    return case.attempt_ends(Outcome.INTERRUPTED, found) if isinstance(found, str) else found


MAX_ATTEMPTS = 3
WITHOUT_VERDICT = frozenset({Outcome.INTERRUPTED, None})


def release(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """Lets the hold go, and of an attempt that was interrupted the application too; both only if they are its own."""
    hold, stays = case.observed.hold, case.observed.hold_stays
    holds = hold is not None and not hold.status.is_final
    if case.status.outcome is Outcome.PASSED and holds and stays is not None:
        return case.stays(case.goes_on(JobReason.RELEASING, stays))
    actions = leftovers(case.obj, case.observed)
    if actions:
        return case.stays(case.goes_on(JobReason.RELEASING, "its hold is let go"), *actions)
    status = case.status
    if status.outcome is not Outcome.INTERRUPTED or status.attempt >= MAX_ATTEMPTS:
        return _conclude(case)
    since = status.attempt_time or case.now
    next_at = since + JOB_BACKOFF * 4 ** (status.attempt - 1)
    if case.now < next_at:
        message = f"attempt {status.attempt} of {MAX_ATTEMPTS} {case.kind.nothing}: {status.message}"
        return case.stays(case.goes_on(JobReason.BACKING_OFF, message, (next_at - case.now).total_seconds()))
    return _next_attempt(case)


def _conclude(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """The end that the last attempt's outcome means."""
    status, message = case.status, case.status.message or ""
    match status.outcome:
        case Outcome.PASSED | Outcome.FAILED:
            return case.kind.conclude(case)
        case Outcome.REFUSED:
            return case.ends(JobReason.REQUEST_REFUSED, message)
        case Outcome.INTERRUPTED | None:
            reported = f"attempt {status.attempt} of {MAX_ATTEMPTS} {case.kind.nothing} either: {message}"
            return case.ends(JobReason.INTERRUPTED, reported)


def leftovers(obj: Resource[Any, StatusT], observed: Observed) -> tuple[JobAction, ...]:
    """What is to go of an attempt that is over: its hold, and an application without a verdict that still counts.

    Of a verdict the application stays, for its driver's log, until the object goes.
    """
    found: list[JobAction] = []
    uid, hold, application = obj.metadata.uid, observed.hold, observed.application
    if hold is not None and hold.metadata.controller_uid == uid and hold.metadata.deletion_timestamp is None:
        found.append(ReleaseHold(hold))
    if application is not None and application.controller_uid == uid and obj.status.outcome in WITHOUT_VERDICT:
        found.append(RemoveApplication(application))
    return tuple(found)


def _next_attempt(case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
    """Everything anew but the number, and the sentence about the attempt before."""
    before = case.status
    status = type(before)(
        observed_generation=before.observed_generation,
        conditions=before.conditions,
        stage=JobStage.HOLDING,
        attempt=before.attempt + 1,
        start_time=before.start_time,
        attempt_time=case.now,
        message=before.message,
        **case.kind.kept_for_next(before),
    )
    return Decision(status, case.goes_on(JobReason.OBSERVING, f"attempt {status.attempt} begins"))
