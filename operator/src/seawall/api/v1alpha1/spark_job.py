"""What WALVerifications and WALBackups have alike, which run as Spark applications: attempts and a verdict."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.resource import Conditions, ObjectStatus
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef
from seawall.api.v1alpha1.spark_spec import SparkOverrides, SparkSpec

MAX_NOT_READ = 50

TtlSeconds = Annotated[int, Field(strict=True, ge=0, le=10**9)]


class JobStage(StrEnum):
    """Where it is. It has none until it begins; each member says what comes next."""

    HOLDING = "Holding"
    """Places a WALHold on what it will read, waits until it is granted, and freezes the request. Then Running."""
    RUNNING = "Running"
    """Its Spark application is being made, or runs. Then Releasing."""
    RELEASING = "Releasing"
    """The attempt is over: its hold goes. Then Completed or Failed, or Holding for the next attempt."""
    COMPLETED = "Completed"
    """The end: all that was asked for was done, and is good."""
    FAILED = "Failed"
    """The end: something is not good, or could not be found out; the condition Failed says what."""


OVER = frozenset({JobStage.COMPLETED, JobStage.FAILED})


class Outcome(StrEnum):
    """How an attempt ended."""

    PASSED = "Passed"
    """No error, and nothing that was asked for was left out."""
    FAILED = "Failed"
    """The log or what was written of it is not what it must be; the findings say where. Never retried."""
    REFUSED = "Refused"
    """The request cannot be worked on as it is. Never retried."""
    INTERRUPTED = "Interrupted"
    """Nothing was proved either way. Retried, at most twice."""


VERDICTS = frozenset({Outcome.PASSED, Outcome.FAILED})
"""The outcomes of a log that was read: others prove nothing, for it or against it."""


class NotReadTopic(StatusModel):
    """A topic that was selected and not read."""

    topic: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    reason: Annotated[str, Field(max_length=128)]
    """Why, in one CamelCase word: the ledger's."""


class JobSpec(Protocol):
    """What the spec of each of them has."""

    @property
    def cluster_ref(self) -> ClusterRef:
        """The WALCluster whose topics are read."""

    @property
    def spark(self) -> SparkOverrides:
        """How large the Spark application is, where it differs from what the WALCluster says."""

    @property
    def timeout(self) -> timedelta:
        """How long one attempt may take."""

    @property
    def ttl_seconds_after_finished(self) -> int | None:
        """Seconds after the end at which the object is deleted; None: never."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""


class KafkaUserRefs(Protocol):
    """As whom a job reaches a Kafka cluster."""

    @property
    def kafka_username(self) -> str | None:
        """Its name; None: the Secret has it."""

    @property
    def kafka_credentials_secret_ref(self) -> CredentialsSecretRef | None:
        """User of Kafka for the job; None: Seawall's own."""

    @property
    def kafka_client_cert_secret_ref(self) -> ClientCertSecretRef | None:
        """The same where Kafka knows its clients by certificate."""


class JobDeclaration(KafkaUserRefs, Protocol):
    """What a WALCluster declares for one kind of them: the code that runs, and as whom."""

    @property
    def spark(self) -> SparkSpec:
        """Image, account, settings and default sizes."""


class JobStatus(ObjectStatus):
    """How far it is, and its verdict in short."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus); Complete and Failed, as a Job has them; Waiting; OwnKafkaUser."""
    stage: JobStage | None = None
    """Where it is; absent until it begins."""
    attempt: Annotated[int, Field(ge=0)] = 0
    """Number of the attempt, from 1. Its hold, request and application are called `<name>-<attempt>`."""
    start_time: datetime | None = None
    """When it began."""
    attempt_time: datetime | None = None
    """When the attempt began; once it is over, when that was."""
    completion_time: datetime | None = None
    """When it ended."""
    application_name: Annotated[str, Field(max_length=253)] | None = None
    """The SparkApplication of the attempt; absent until its request is frozen."""
    application_state: Annotated[str, Field(max_length=64)] | None = None
    """What the Spark Operator says of it."""
    application_uid: Annotated[str, Field(max_length=64)] | None = None
    """UID of that SparkApplication, once it was seen: if it is deleted the attempt is over, and is not begun again."""
    request_digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 of the request, written before the request is: a job starts on nothing else, and a verdict about anything
    else does not count."""
    outcome: Outcome | None = None
    """How the last attempt ended: Passed, Failed, Refused or Interrupted."""
    message: Annotated[str, Field(max_length=1024)] | None = None
    """The verdict in one sentence."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.stage in OVER
