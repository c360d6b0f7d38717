"""After an attempt: its hold goes, then comes the next attempt or the end."""

from __future__ import annotations

from seawall.api.v1alpha1.verification import (
    Outcome,
    VerificationStage,
    WALVerification,
    WALVerificationStatus,
)
from seawall.domain.decision import Decision
from seawall.domain.times import VERIFICATION_BACKOFF
from seawall.domain.verification.actions import ReleaseHold, RemoveApplication, VerificationAction
from seawall.domain.verification.case import Case, VerificationDecision, ended
from seawall.domain.verification.observed import Observed
from seawall.domain.verification.reasons import Reason

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
