"""How an application that was made goes on, and whether the request that it has is the one that is meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from seawall.api.meta import Key
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.application import Driver, Ended, SparkApplication, Stuck
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import FILE, MAX_BYTES, digest_of
from seawall.domain.times import JOB_FOLLOWS_SECONDS, JOB_POLL_SECONDS, JOB_SERVED_WITHIN

MAX_ERROR = 300
"""Characters of a failed submission that people read: the rest is a log."""


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """None will come any more, and why; `state` is the Spark Operator's last word, if that is why."""

    message: str
    state: str | None = None


def follow(
    application: SparkApplication, driver: Driver, now: datetime, timeout: timedelta
) -> Ended | NoVerdict | Verdict:
    """The driver's last word, or why it has none, or how far it is.

    The last word is as old as it is, however late it is read. Where nobody says when the driver ended, it is taken to
    have been when its time was up.
    """
    if isinstance(driver, Ended):
        return replace(driver, finished_at=min(now, driver.finished_at or application.created_at + timeout))
    if application.is_over:
        return NoVerdict(why_over(application), application.state)
    if now >= application.created_at + timeout:
        return NoVerdict("it took longer than spec.timeout")
    return progress(application, driver, now)


def why_lost(name: str, uid: str | None, application: SparkApplication | None) -> str | None:
    """The sentence about an application of this UID that somebody deleted; None: it is there, or was not made yet.

    It may have done all that it was to do but say so: whoever began the same anew would find what the first one left.
    """
    if uid is None or (application is not None and application.uid == uid):
        return None
    return f"SparkApplication {name} was deleted before its verdict was read"


def why_over(application: SparkApplication) -> str:
    """The sentence about an application that is over without a word of its driver."""
    lines = [line.strip() for line in application.error.splitlines() if line.strip()]
    telling = next((line for line in lines if "Message:" in line or "Exception" in line), lines[-1] if lines else "")
    reported = f": {telling[:MAX_ERROR]}" if telling else ""
    return f"the SparkApplication is {application.state} and its driver left no verdict{reported}"


def progress(application: SparkApplication, driver: Driver, now: datetime) -> Verdict:
    """How far an application is that is not over."""
    name = application.key.name
    if isinstance(driver, Stuck):
        message = f"the driver of SparkApplication {name} does not start: {driver.reason}: {driver.message}"
        if driver.needs_person:
            return Verdict(Outlook.STALLED, JobReason.DRIVER_STUCK, message, JOB_POLL_SECONDS)
        return _goes_on(JobReason.DRIVER_PENDING, message)
    if not application.state:
        return _not_served(application, now)
    return _goes_on(JobReason.RUNNING, f"SparkApplication {name} {application.progress()}")


def _not_served(application: SparkApplication, now: datetime) -> Verdict:
    """The sentence has a time and no age: it is one event, and not one for each look."""
    name = application.key.name
    if now < application.created_at + JOB_SERVED_WITHIN:
        return _goes_on(JobReason.RUNNING, f"the Spark Operator has not started SparkApplication {name} yet")
    since = f"{application.created_at:%H:%M:%SZ}"
    message = (
        f"the Spark Operator has not started SparkApplication {name} since {since}: "
        "is it running, and does it serve this namespace (spark.jobNamespaces)?"
    )
    return Verdict(Outlook.STALLED, JobReason.NOT_SERVED, message, JOB_POLL_SECONDS)


def _goes_on(reason: JobReason, message: str) -> Verdict:
    return Verdict(Outlook.PROGRESSING, reason, message, JOB_FOLLOWS_SECONDS)


class RequestProblem(StrEnum):
    """Why a ConfigMap is not the request that is meant."""

    GONE = "Gone"
    TAKEN = "Taken"
    """Somebody else made it."""
    CHANGED = "Changed"
    """It has another digest than the status names."""


def describe_problem(problem: RequestProblem, name: str) -> str:
    """What is wrong with the ConfigMap of this name, which is no other object's."""
    if problem is RequestProblem.GONE:
        return f"ConfigMap {name} with its request is gone"
    return f"ConfigMap {name} is not the request that status.requestDigest names"


def frozen_request(key: Key, data: bytes, *, field: str = "spec.topics") -> ConfigMap | str:
    """The request as it is kept for good; or why no ConfigMap takes it, of which most is what `field` selects."""
    if len(data) > MAX_BYTES:
        return f"the request takes {len(data)} bytes, and a ConfigMap 1 MiB: narrow {field}, and make several"
    return ConfigMap(key, {}, binary_data={FILE: data}, is_immutable=True)


def find_request_problem(found: ConfigMap | None, uid: str, digest: str | None) -> RequestProblem | None:
    """What is wrong with a ConfigMap; None: it is the request of this object, and has this digest."""
    if found is None:
        return RequestProblem.GONE
    if found.controller_uid != uid:
        return RequestProblem.TAKEN
    is_changed = digest is None or digest_of(found.binary_data.get(FILE, b"")) != digest
    return RequestProblem.CHANGED if is_changed else None
