"""An attempt: its job is made once, its driver's last word is the verdict; then its hold goes, and the next comes."""

from __future__ import annotations

from seawall.api.v1alpha1.verification import (
    MAX_FINDINGS,
    Outcome,
    TopicCounts,
    VerificationStage,
    WALVerification,
    WALVerificationStatus,
)
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.times import VERIFICATION_BACKOFF, VERIFICATION_POLL_SECONDS, VERIFICATION_SERVED_WITHIN
from seawall.domain.verification.actions import ReleaseHold, RemoveApplication, Submit, VerificationAction
from seawall.domain.verification.allowed import effective_spark, kafka_of_job, own_secrets
from seawall.domain.verification.case import (
    Case,
    Observed,
    VerificationDecision,
    check_request,
    ended,
    is_granted,
    name_taken,
    request_changed,
)
from seawall.domain.verification.contract import OTHER_REQUEST, Summary, read_summary
from seawall.domain.verification.reasons import Reason
from seawall.domain.verification.spark import Ended, SparkApplication, Stuck, build_application

MAX_ERROR = 300
"""Characters of a failed submission that people are told: the rest is a log."""


def run(case: Case) -> VerificationDecision:
    """Makes the application, and waits for its verdict."""
    application = case.observed.application
    if application is not None and application.controller_uid != case.uid:
        return name_taken(case, "SparkApplication")
    end = check_request(case)
    if end is not None:
        return end
    return _submit(case) if application is None else _follow(case, application)


def _follow(case: Case, application: SparkApplication) -> VerificationDecision:
    driver = case.observed.driver
    if isinstance(driver, Ended):
        return _judge(case, driver)
    if application.is_over:
        return case.attempt_ends(Outcome.INTERRUPTED, _why(application), application_state=application.state)
    if case.now >= application.created_at + case.spec.timeout:
        return case.attempt_ends(Outcome.INTERRUPTED, "it took longer than spec.timeout")
    status = case.status.model_copy(update={"application_state": application.state or None})
    return Decision(status, _progress(case, application))


def _submit(case: Case) -> VerificationDecision:
    """Only while what is to be read is held; once it runs, a log that is cut is the job's to notice."""
    hold = case.observed.hold
    if hold is None or hold.metadata.controller_uid != case.uid or not is_granted(hold):
        return case.attempt_ends(Outcome.INTERRUPTED, f"WALHold {case.key.name} was lost before the job began")
    declared = case.kafka.verification
    if declared is None:
        raise ValueError("a WALCluster that declares nothing allows no verification")
    spark = effective_spark(case.spec.spark, declared.spark)
    kafka, digest = kafka_of_job(case.kafka), case.status.request_digest or ""
    spec = build_application(case.key, case.spec, spark, kafka, digest)
    verdict = case.goes_on(Reason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
    return case.stays(verdict, Submit(case.key, spec, spark.service_account_name, own_secrets(declared)))


def _judge(case: Case, driver: Ended) -> VerificationDecision:
    found = read_summary(driver.message, case.status.request_digest or "", driver.exit_code)
    if found == OTHER_REQUEST:
        return request_changed(case, OTHER_REQUEST)
    if isinstance(found, str):
        return case.attempt_ends(Outcome.INTERRUPTED, found)
    topics = tuple(row.model_copy(update={"verified": found.proves(row.name)}) for row in case.status.topics)
    counts = case.status.topic_counts or TopicCounts(total=len(topics))
    return case.attempt_ends(
        found.outcome,
        _sentence(found),
        topics=topics,
        topic_counts=counts.model_copy(update={"verified": sum(row.verified for row in topics)}),
        counts=found.counts,
        report=found.report,
        findings=tuple(each.as_status() for each in found.findings[:MAX_FINDINGS]),
    )


def _sentence(found: Summary) -> str:
    return found.message or f"the driver's verdict is {found.outcome.value}"


def _why(application: SparkApplication) -> str:
    """Of an application that is over without a word of its driver."""
    lines = [line.strip() for line in application.error.splitlines() if line.strip()]
    telling = next((line for line in lines if "Message:" in line or "Exception" in line), lines[-1] if lines else "")
    reported = f": {telling[:MAX_ERROR]}" if telling else ""
    return f"the SparkApplication is {application.state} and its driver left no verdict{reported}"


def _progress(case: Case, application: SparkApplication) -> Verdict:
    driver = case.observed.driver
    if isinstance(driver, Stuck):
        message = f"the driver of SparkApplication {case.key.name} does not start: {driver.reason}: {driver.message}"
        if driver.needs_person:
            return Verdict(Outlook.STALLED, Reason.DRIVER_STUCK, message, VERIFICATION_POLL_SECONDS)
        return case.goes_on(Reason.DRIVER_PENDING, message)
    if not application.state:
        return _not_served(case, application)
    return case.goes_on(Reason.RUNNING, f"SparkApplication {case.key.name} {application.progress()}")


def _not_served(case: Case, application: SparkApplication) -> Verdict:
    """The sentence has a time and no age: it is one event, and not one for each look."""
    if case.now < application.created_at + VERIFICATION_SERVED_WITHIN:
        message = f"the Spark Operator has not started SparkApplication {case.key.name} yet"
        return case.goes_on(Reason.RUNNING, message)
    since = f"{application.created_at:%H:%M:%SZ}"
    message = (
        f"the Spark Operator has not started SparkApplication {case.key.name} since {since}: "
        "is it running, and does it serve this namespace (spark.jobNamespaces)?"
    )
    return Verdict(Outlook.STALLED, Reason.NOT_SERVED, message, VERIFICATION_POLL_SECONDS)


MAX_ATTEMPTS = 3
WITHOUT_VERDICT = frozenset({Outcome.INTERRUPTED, None})


def release(case: Case) -> VerificationDecision:
    """Lets the hold go, and of an attempt that was interrupted the application too; both only if they are its own."""
    actions = leftovers(case.obj, case.observed)
    if actions:
        return case.stays(case.goes_on(Reason.RELEASING, "its hold is let go"), *actions)
    status = case.status
    if status.outcome is not Outcome.INTERRUPTED or status.attempt >= MAX_ATTEMPTS:
        return conclude(status, case)
    since = status.attempt_time or case.now
    next_at = since + VERIFICATION_BACKOFF * 4 ** (status.attempt - 1)
    if case.now < next_at:
        message = f"attempt {status.attempt} of {MAX_ATTEMPTS} proved nothing: {status.message}"
        return case.stays(case.goes_on(Reason.BACKING_OFF, message, (next_at - case.now).total_seconds()))
    return _next_attempt(case)


def conclude(status: WALVerificationStatus, case: Case) -> VerificationDecision:
    """The end that the last attempt's outcome means."""
    message, counts = status.message or "", status.topic_counts
    match status.outcome:
        case Outcome.PASSED if counts is not None and counts.not_read:
            first = f": {status.not_read[0].topic} {status.not_read[0].reason}" if status.not_read else ""
            reported = f"{counts.verified} topics replay, and {counts.not_read} were not read{first}"
            return ended(status, case.now, Reason.NOT_ALL_READ, reported)
        case Outcome.PASSED:
            return ended(status, case.now, Reason.VERIFIED, message, complete=True)
        case Outcome.FAILED:
            return ended(status, case.now, Reason.DOES_NOT_REPLAY, message)
        case Outcome.REFUSED:
            return ended(status, case.now, Reason.REQUEST_REFUSED, message)
        case Outcome.INTERRUPTED | None:
            reported = f"attempt {status.attempt} of {MAX_ATTEMPTS} proved nothing either: {message}"
            return ended(status, case.now, Reason.INTERRUPTED, reported)


def leftovers(obj: WALVerification, observed: Observed) -> tuple[VerificationAction, ...]:
    """What is to go of an attempt that is over: its hold, and an application without a verdict that still counts.

    Of a verdict the application stays, for its driver's log, until the verification goes.
    """
    found: list[VerificationAction] = []
    uid, hold, application = obj.metadata.uid, observed.hold, observed.application
    if hold is not None and hold.metadata.controller_uid == uid and hold.metadata.deletion_timestamp is None:
        found.append(ReleaseHold(hold))
    if application is not None and application.controller_uid == uid and obj.status.outcome in WITHOUT_VERDICT:
        found.append(RemoveApplication(application))
    return tuple(found)


def _next_attempt(case: Case) -> VerificationDecision:
    """Everything anew but the number, and the sentence about the attempt before."""
    before = case.status
    status = WALVerificationStatus(
        observed_generation=before.observed_generation,
        conditions=before.conditions,
        stage=VerificationStage.HOLDING,
        attempt=before.attempt + 1,
        start_time=before.start_time,
        attempt_time=case.now,
        message=before.message,
    )
    return Decision(status, case.goes_on(Reason.OBSERVING, f"attempt {status.attempt} begins"))
