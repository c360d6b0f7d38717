"""One tick of a verification that is not over: what is observed, what can be decided of it, whether its request stands.

The digest is in the status before the ConfigMap exists, so whoever may write ConfigMaps, but not this status, can stop
a verification, and not make it prove anything. The bytes name the verification's UID and the number of the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.verification import (
    Outcome,
    VerificationStage,
    WALVerification,
    WALVerificationSpec,
    WALVerificationStatus,
)
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.decision import Decision
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.times import VERIFICATION_POLL_SECONDS
from seawall.domain.verification.actions import VerificationAction, attempt_key
from seawall.domain.verification.contract import FILE, Subject, digest_of
from seawall.domain.verification.reasons import Reason
from seawall.domain.verification.spark import Driver, SparkApplication

GRANTED = frozenset({HoldState.ACTIVE, HoldState.EXTENDED, HoldState.AT_RISK})


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees; of the parts of the attempt those that are there."""

    now: datetime
    cluster: WALCluster | None = None
    """The WALCluster; None: there is none, or it is being deleted."""
    observation: Observation | Unavailable | None = None
    """A look that began after the hold was read, or the one whose request the status names; None: none is needed."""
    hold: WALHold | None = None
    request: ConfigMap | None = None
    application: SparkApplication | None = None
    driver: Driver = None
    obstacle: str | None = None
    """Why the parts of the attempt cannot be read: the API server refuses. Then nothing is known of them."""


def is_granted(hold: WALHold) -> bool:
    """Whether what the hold claims is there and stays."""
    is_alive = hold.status.state in GRANTED and hold.metadata.deletion_timestamp is None
    condition = find_condition(hold.status.conditions, ConditionType.GRANTED)
    return is_alive and condition is not None and condition.status == "True"


def needs_observation(obj: WALVerification, hold: WALHold | None, request: ConfigMap | None) -> bool:
    """Whether the next step is decided from the ledger: what to hold, and once that is granted, what to read."""
    if obj.status.is_over or obj.status.stage in {VerificationStage.RUNNING, VerificationStage.RELEASING}:
        return False
    return request is None and (hold is None or is_granted(hold))


def why_it_waits(obj: WALVerification, cluster: WALCluster) -> tuple[str, str] | None:
    """What keeps anything new from being begun, as a reason and a clause; a job that runs is not stopped."""
    if obj.metadata.is_paused:
        return "Paused", "seawall.dev/paused is set on the verification"
    if cluster.metadata.is_paused:
        return "Paused", f"seawall.dev/paused is set on WALCluster {cluster.metadata.name}"
    stalled = find_condition(cluster.status.conditions, ConditionType.STALLED)
    if stalled is not None and stalled.status == "True":
        return "ClusterStalled", f"WALCluster {cluster.metadata.name} is Stalled: {stalled.message}"
    return None


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


def check_request(case: Case) -> VerificationDecision | None:
    """What comes of a ConfigMap that is gone, somebody else's, or another request; None: it is the one."""
    found = case.observed.request
    if found is None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"ConfigMap {case.key.name} with its request is gone")
    if found.controller_uid != case.uid:
        return name_taken(case, "ConfigMap")
    named = case.status.request_digest
    if named is None or digest_of(found.binary_data.get(FILE, b"")) != named:
        return request_changed(case, f"ConfigMap {case.key.name} is not the request that status.requestDigest names")
    return None
