"""An application of a restore, the planning one or the writing one: its request is frozen, it is made, it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from seawall.api.v1alpha1.restore_status import RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.backup.program import build_program, secrets_of
from seawall.domain.decision import Decision
from seawall.domain.restore.case import Case, RestoreDecision
from seawall.domain.spark_job.actions import FreezeRequest, Submit
from seawall.domain.spark_job.allowed import effective_spark
from seawall.domain.spark_job.application import Ended, SparkApplication, build_application, kafka_secrets
from seawall.domain.spark_job.following import (
    NoVerdict,
    RequestProblem,
    describe_problem,
    find_request_problem,
    follow,
    frozen_request,
    why_lost,
)
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import OTHER_REQUEST, SummaryT, digest_of, read_summary

Judge = Callable[[Case, Ended], RestoreDecision]


def freeze(case: Case, data: bytes, topics: int, stage: RestoreStage) -> RestoreDecision:
    """Says in the status which request it is, then writes it down for good; once that is there, `stage` begins."""
    kept, found = frozen_request(case.key, data), case.observed.request
    if isinstance(kept, str):
        return case.attempt_is_over(Outcome.REFUSED, kept, JobReason.TOO_MANY_TOPICS)
    if found is not None and (end := _check_request(case)) is not None:
        return end
    if found is not None:
        verdict = case.goes_on(JobReason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
        return case.becomes(verdict, stage=stage, application_name=case.key.name)
    verdict = case.goes_on(JobReason.SUBMITTING, f"it writes down what is to be done with {topics} topics")
    status = case.status.model_copy(update={"request_digest": digest_of(data)})
    return Decision(status, verdict, (FreezeRequest(kept, topics),))


def run(case: Case, command: str, judge: Judge) -> RestoreDecision:
    """Makes the application, and follows it to its verdict."""
    application = case.observed.application
    if application is not None and application.controller_uid != case.obj.metadata.uid:
        return _taken(case, "SparkApplication")
    end = _check_request(case)
    if end is not None:
        return end
    lost = why_lost(case.key.name, case.status.application_uid or case.observed.made_uid, application)
    if lost is not None:
        return case.attempt_is_over(Outcome.INTERRUPTED, lost)
    return _submit(case, command) if application is None else _follow(case, application, judge)


def _follow(case: Case, application: SparkApplication, judge: Judge) -> RestoreDecision:
    match follow(application, case.observed.driver, case.now, case.spec.timeout):
        case Ended() as driver:
            return judge(case, driver)
        case NoVerdict(message):
            return case.attempt_is_over(Outcome.INTERRUPTED, message)
        case verdict:
            return Decision(_with_state(case, application), verdict)


def verdict_of(case: Case, driver: Ended, model: type[SummaryT]) -> SummaryT | RestoreDecision:
    """The driver's verdict; or what is decided because it left none about this request, or says that it was one."""
    found = read_summary(model, driver.message, case.status.request_digest or "", driver.exit_code)
    if isinstance(found, str):
        reason = JobReason.REQUEST_CHANGED if found == OTHER_REQUEST else None
        return case.attempt_is_over(Outcome.INTERRUPTED, found, reason)
    if found.outcome is Outcome.INTERRUPTED:
        return case.attempt_is_over(Outcome.INTERRUPTED, found.sentence)
    if found.outcome is Outcome.REFUSED:
        return case.attempt_is_over(Outcome.REFUSED, found.sentence, JobReason.REQUEST_REFUSED)
    return found


def _with_state(case: Case, application: SparkApplication) -> WALRestoreStatus:
    update = {"application_state": application.state or None, "application_uid": application.uid}
    return case.status.model_copy(update=update)


def _submit(case: Case, command: str) -> RestoreDecision:
    program = build_program(command, case.storage, case.status.request_digest or "")
    spark = effective_spark(case.spec.spark, case.declaration.spark)
    spec = build_application(case.key, program, spark, *kafka_secrets(case.external_kafka))
    verdict = case.goes_on(JobReason.SUBMITTING, f"it makes SparkApplication {case.key.name}")
    secrets = secrets_of(case.storage, case.declaration)
    return case.stays(verdict, Submit(case.key, spec, spark.service_account_name, secrets))


def _check_request(case: Case) -> RestoreDecision | None:
    """What comes of a ConfigMap that is gone, somebody else's, or another request; None: it is the one."""
    match find_request_problem(case.observed.request, case.obj.metadata.uid, case.status.request_digest):
        case None:
            return None
        case RequestProblem.TAKEN:
            return _taken(case, "ConfigMap")
        case RequestProblem.GONE | RequestProblem.CHANGED as problem:
            message = describe_problem(problem, case.key.name)
            return case.attempt_is_over(Outcome.INTERRUPTED, message, JobReason.REQUEST_CHANGED)
        case unknown:
            assert_never(unknown)


def _taken(case: Case, kind: str) -> RestoreDecision:
    message = f"{kind} {case.key.name} exists and was not made by this restore: delete it, and make another one"
    return case.attempt_is_over(Outcome.INTERRUPTED, message, JobReason.NAME_TAKEN)
