"""One tick of a job that is not over: what is observed, what is its kind's own, whether its request stands.

The digest is in the status before the ConfigMap exists, so whoever may write ConfigMaps, but not this status, can stop
a job, and not make it prove anything. The bytes name the object's UID and the number of the attempt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar, assert_never

from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.resource import Resource
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import JobDeclaration, JobSpec, JobStage, JobStatus, Outcome
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict, find_condition
from seawall.domain.decision import Decision
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.spark_job.actions import JobAction, attempt_key
from seawall.domain.spark_job.allowed import kafka_of_job
from seawall.domain.spark_job.application import Body, Driver, Ended, SparkApplication
from seawall.domain.spark_job.following import RequestProblem, describe_problem, find_request_problem, why_lost
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import Subject
from seawall.domain.times import JOB_POLL_SECONDS

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
    parent: Resource[Any, JobStatus] | None = None
    """What this one continues, where its kind does so; None: nothing, or it is gone."""
    sibling: str | None = None
    """Another one of its kind that continues the same parent, and comes first."""
    hold_stays: str | None = None
    """Why its hold must stay when it has passed: who holds next does not yet. None: it may go."""
    details: object | None = None
    """What its kind alone reads before a request is frozen, and afterwards if its kind still goes by it."""
    outlives_ttl: str | None = None
    """Why it must stay after its ttl, in one clause. None: it may go."""
    obstacle: str | None = None
    """Why the parts of the attempt cannot be read: the API server refuses. Then nothing is known of them."""


def is_granted(hold: WALHold) -> bool:
    """Whether what the hold claims is there and stays."""
    is_alive = hold.status.state in GRANTED and hold.metadata.deletion_timestamp is None
    condition = find_condition(hold.status.conditions, ConditionType.GRANTED)
    return is_alive and condition is not None and condition.status == "True"


def needs_observation(status: JobStatus, hold: WALHold | None, request: ConfigMap | None) -> bool:
    """Whether the next step is decided from the ledger: what to hold, and once that is granted, what to read."""
    if status.is_over or status.stage in {JobStage.RUNNING, JobStage.RELEASING}:
        return False
    return request is None and (hold is None or is_granted(hold))


MAX_MESSAGE = 1024

SpecT = TypeVar("SpecT", bound=JobSpec)
StatusT = TypeVar("StatusT", bound=JobStatus)


JobDecision = Decision[StatusT, JobAction]
"""The status as it should be, conditions apart; if it is so already, what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be read, as the ConfigMap keeps it, and what the status says of it before that is there."""

    data: bytes
    topics: int
    update: Mapping[str, object]


class JobKind(ABC, Generic[SpecT, StatusT]):
    """What is a kind's own: what it reads, what its application is told, and what a verdict means."""

    noun: ClassVar[str]
    """What people call it: `verification`. The WALCluster's field that declares it has the same name."""
    may: ClassVar[str]
    """What it may do with the WALCluster: `verify it`."""
    purpose: ClassVar[str]
    """Why its hold is there: `replay verification`."""
    does: ClassVar[str]
    """What it does with topics: `reads`."""
    nothing: ClassVar[str]
    """What an attempt did that was interrupted: `proved nothing`."""

    @abstractmethod
    def declared(self, spec: WALClusterSpec) -> JobDeclaration | None:
        """What the WALCluster declares for this kind; None: none may run."""

    @abstractmethod
    def plan_hold(self, case: Case[SpecT, StatusT]) -> Mapping[str, int] | JobDecision[StatusT]:
        """Of each topic the first offset that is needed; or what is decided instead."""

    def holds_for(self, spec: SpecT) -> timedelta:
        """How long an attempt needs its hold, the application's own time included."""
        return spec.timeout

    def needs_observation(self, obj: Resource[Any, StatusT]) -> bool:  # noqa: ARG002 - who overrides it needs it
        """Whether nothing comes next without a look at the ledger, now that the hold is granted.

        It is looked at all the same: what is seen may end what waits for something else.
        """
        return True

    def waits_since(self, status: StatusT) -> datetime | None:
        """Since when it waits for what may pass by itself."""
        return status.attempt_time

    def kept_for_next(self, status: StatusT) -> Mapping[str, object]:  # noqa: ARG002 - the same
        """What of the status outlives an attempt that was interrupted."""
        return {}

    def own_conditions(
        self,
        obj: Resource[Any, StatusT],  # noqa: ARG002 - the same
        verdict: Verdict,  # noqa: ARG002 - the same
        build: ConditionBuilder,  # noqa: ARG002 - the same
    ) -> tuple[Condition, ...]:
        """Conditions that no other kind has."""
        return ()

    @abstractmethod
    def plan_request(self, case: Case[SpecT, StatusT], held: Mapping[str, object]) -> Request | JobDecision[StatusT]:
        """What is to be read, now that it is held from these offsets on; or what is decided instead."""

    @abstractmethod
    def application(
        self, case: Case[SpecT, StatusT], spark: SparkSpec, kafka: ExternalKafka
    ) -> tuple[Body, tuple[str, ...]]:
        """The spec of the SparkApplication, and the Secrets that are the job's alone."""

    def goes_by_details(self, status: StatusT) -> bool:  # noqa: ARG002 - the same
        """Whether `details` still decide something when the request is frozen."""
        return False

    def why_withdrawn(self, case: Case[SpecT, StatusT]) -> str | None:  # noqa: ARG002 - the same
        """Why nobody may begin with the frozen request, or go on with it, any more; None: it stands."""
        return None

    @abstractmethod
    def judge(self, case: Case[SpecT, StatusT], driver: Ended) -> JobDecision[StatusT]:
        """What comes of the driver's last word."""

    @abstractmethod
    def conclude(self, case: Case[SpecT, StatusT]) -> JobDecision[StatusT]:
        """The end of an attempt that passed or failed."""


@dataclass(frozen=True, slots=True)
class Case(Generic[SpecT, StatusT]):
    """A job with a WALCluster, and what was observed."""

    kind: JobKind[SpecT, StatusT]
    obj: Resource[Any, StatusT]
    spec: SpecT
    cluster: WALCluster
    kafka: WALClusterSpec
    observed: Observed

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def status(self) -> StatusT:
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

    @property
    def external_kafka(self) -> ExternalKafka:
        """The Kafka of the WALCluster as the job reaches it."""
        return kafka_of_job(self.cluster.metadata.key, self.kafka, self.kind.declared(self.kafka))

    @property
    def ledger(self) -> Observation:
        """What of the ledger was observed: a kind is only asked for its plans when it was.

        Raises:
            TypeError: it was not.
        """
        if not isinstance(self.observed.observation, Observation):
            raise TypeError("it is asked only when the ledger was observed")
        return self.observed.observation

    @property
    def cluster_id(self) -> str:
        """The Kafka that is pinned: whoever observed the ledger has met it."""
        return self.cluster.status.kafka.cluster_id if self.cluster.status.kafka is not None else ""

    def why_lost(self) -> str | None:
        """Why the application of the attempt is not the one that it was any more; None: it is, or none was made yet."""
        return why_lost(self.key.name, self.status.application_uid, self.observed.application)

    def goes_on(self, reason: JobReason, message: str, after: float | None = JOB_POLL_SECONDS) -> Verdict:
        """It waits for something."""
        return Verdict(Outlook.PROGRESSING, reason, message, after)

    def stays(self, verdict: Verdict, *actions: JobAction) -> JobDecision[StatusT]:
        """Nothing of the status changes but what people are told."""
        return Decision(self.status, verdict, actions)

    def ends(self, reason: str, message: str, *, complete: bool = False, **more: object) -> JobDecision[StatusT]:
        """It is over."""
        return ended(self.status.model_copy(update=more), self.now, reason, message, complete=complete)

    def attempt_ends(self, outcome: Outcome, message: str, **more: object) -> JobDecision[StatusT]:
        """The attempt is over; its hold goes next."""
        reported = message[:MAX_MESSAGE]
        update = {
            "stage": JobStage.RELEASING,
            "outcome": outcome,
            "message": reported,
            "attempt_time": self.now,
            **more,
        }
        status = self.status.model_copy(update=update)
        return Decision(status, self.goes_on(JobReason.RELEASING, f"attempt {status.attempt} is over: {reported}"))


def request_changed(case: Case[SpecT, StatusT], message: str) -> JobDecision[StatusT]:
    """Somebody interfered with what the job reads: the attempt proved nothing, and is not repeated."""
    update = {"outcome": Outcome.INTERRUPTED, "message": message[:MAX_MESSAGE]}
    return ended(case.status.model_copy(update=update), case.now, JobReason.REQUEST_CHANGED, message)


def name_taken(case: Case[SpecT, StatusT], kind: str) -> JobDecision[StatusT]:
    """The end: what has the attempt's name was made by somebody else, and is left alone."""
    message = (
        f"{kind} {case.key.name} exists and was not made by this {case.kind.noun}: delete it, and make another one"
    )
    return case.ends(JobReason.NAME_TAKEN, message)


def ended(status: StatusT, now: datetime, reason: str, message: str, *, complete: bool = False) -> JobDecision[StatusT]:
    """The end of the job."""
    stage = JobStage.COMPLETED if complete else JobStage.FAILED
    status = status.model_copy(update={"stage": stage, "completion_time": now})
    return Decision(status, Verdict(Outlook.READY if complete else Outlook.STALLED, reason, message))


def check_request(case: Case[SpecT, StatusT]) -> JobDecision[StatusT] | None:
    """What comes of a ConfigMap that is gone, somebody else's, or another request; None: it is the one."""
    match find_request_problem(case.observed.request, case.uid, case.status.request_digest):
        case None:
            return None
        case RequestProblem.GONE as problem:
            return case.attempt_ends(Outcome.INTERRUPTED, describe_problem(problem, case.key.name))
        case RequestProblem.TAKEN:
            return name_taken(case, "ConfigMap")
        case RequestProblem.CHANGED as problem:
            return request_changed(case, describe_problem(problem, case.key.name))
        case unknown:
            assert_never(unknown)
