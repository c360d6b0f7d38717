"""One tick of a verification that is not over, and what can be decided of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.verification import (
    Outcome,
    VerificationStage,
    WALVerification,
    WALVerificationSpec,
    WALVerificationStatus,
)
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.times import VERIFICATION_POLL_SECONDS
from seawall.domain.verification.actions import VerificationAction
from seawall.domain.verification.names import attempt_key
from seawall.domain.verification.observed import Observed
from seawall.domain.verification.reasons import Reason
from seawall.domain.verification.request import Subject

MAX_MESSAGE = 1024


VerificationDecision = Decision[WALVerificationStatus, VerificationAction]
"""The status as it should be, conditions apart; if it is so already, what to do."""


@dataclass(frozen=True, slots=True)
class Case:
    """A verification with a WALCluster, and what was observed."""

    obj: WALVerification
    spec: WALVerificationSpec
    cluster: WALCluster
    kafka: WALClusterSpec
    observed: Observed

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def status(self) -> WALVerificationStatus:
        """The status as it was read."""
        return self.obj.status

    @property
    def uid(self) -> str:
        """Whose children are its own."""
        return self.obj.metadata.uid

    @property
    def key(self) -> Key:
        """What the parts of the attempt are called."""
        return attempt_key(self.obj.metadata.key, self.status.attempt)

    @property
    def subject(self) -> Subject:
        """Whom the request and the verdict are about."""
        key = self.obj.metadata.key
        return Subject(key.namespace, key.name, self.uid, self.status.attempt)

    def goes_on(self, reason: Reason, message: str, after: float | None = VERIFICATION_POLL_SECONDS) -> Verdict:
        """It waits for something."""
        return Verdict(Outlook.PROGRESSING, reason, message, after)

    def stays(self, verdict: Verdict, *actions: VerificationAction) -> VerificationDecision:
        """Nothing of the status changes but what people are told."""
        return Decision(self.status, verdict, actions)

    def attempt_ends(self, outcome: Outcome, message: str, **more: object) -> VerificationDecision:
        """The attempt is over; its hold goes next."""
        reported = message[:MAX_MESSAGE]
        update = {
            "stage": VerificationStage.RELEASING,
            "outcome": outcome,
            "message": reported,
            "attempt_time": self.now,
            **more,
        }
        status = self.status.model_copy(update=update)
        return Decision(status, self.goes_on(Reason.RELEASING, f"attempt {status.attempt} is over: {reported}"))


def request_changed(case: Case, message: str) -> VerificationDecision:
    """Somebody interfered with what the job reads: the attempt proved nothing, and is not repeated."""
    update = {"outcome": Outcome.INTERRUPTED, "message": message[:MAX_MESSAGE]}
    return ended(case.status.model_copy(update=update), case.now, Reason.REQUEST_CHANGED, message)


def name_taken(case: Case, kind: str) -> VerificationDecision:
    """The end: what has the attempt's name was made by somebody else, and is left alone."""
    message = f"{kind} {case.key.name} exists and was not made by this verification: delete it, and make another one"
    return ended(case.status, case.now, Reason.NAME_TAKEN, message)


def ended(
    status: WALVerificationStatus, now: datetime, reason: Reason, message: str, *, complete: bool = False
) -> VerificationDecision:
    """The end of the verification."""
    stage = VerificationStage.COMPLETED if complete else VerificationStage.FAILED
    status = status.model_copy(update={"stage": stage, "completion_time": now})
    return Decision(status, Verdict(Outlook.READY if complete else Outlook.STALLED, reason, message))
