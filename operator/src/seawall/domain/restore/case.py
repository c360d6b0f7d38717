"""One tick of a restore that is not over: what is observed, and how it ends, waits or goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup_template import BackupSpec, BackupStorage, RestoreUser
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.restore import WALRestore, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoredTopic, RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.kafka_log import DescribedTopic, LogOffsets, TopicFailure
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.needs import TopicNeeds
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.ledger.shards import PoolId
from seawall.domain.restore.actions import RestoreAction
from seawall.domain.restore.reasons import Reason
from seawall.domain.spark_job.actions import attempt_key
from seawall.domain.spark_job.allowed import kafka_of_job
from seawall.domain.spark_job.application import Driver, SparkApplication
from seawall.domain.spark_job.case import MAX_MESSAGE
from seawall.domain.spark_job.request import Subject
from seawall.domain.text import listed
from seawall.domain.times import JOB_POLL_SECONDS

NO_TOPIC = "A" * 22
"""The id that no topic has: the record of a topic that a restore has claimed, and that was never there before."""
RestoreDecision = Decision[WALRestoreStatus, RestoreAction]


@dataclass(frozen=True, slots=True)
class PoolNow:
    """The topics of the pool that are asked for, as Kafka and Seawall's records have them right now."""

    id: PoolId
    online: int
    """Brokers that are online."""
    described: Mapping[str, DescribedTopic | TopicFailure]
    offsets: Mapping[str, LogOffsets | TopicFailure]
    """Of those that there are."""
    shards: ReadShards
    younger: frozenset[str] = frozenset()
    """Those that have a record from after the attempt made them, by its timestamp, as far as Kafka says so."""


@dataclass(frozen=True, slots=True)
class ScratchNow:
    """The scratch topics of a restore, as Kafka has them right now, and how many brokers are online."""

    online: int
    described: Mapping[str, DescribedTopic | TopicFailure]
    offsets: Mapping[str, LogOffsets | TopicFailure]
    """Of those that there are."""


@dataclass(frozen=True, slots=True)
class DatabaseNow:
    """Whether the database runs; None: nobody can say. With the sentence."""

    runs: bool | None
    message: str
    stopped_as: str | None = None
    """What is the same as long as nobody starts it in between; None: that cannot be said."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees, as far as its stage needs it."""

    now: datetime
    cluster: WALCluster | None = None
    """The WALCluster; None: there is none, or it is being deleted."""
    request: ConfigMap | None = None
    application: SparkApplication | None = None
    made_uid: str | None = None
    """UID of the application of this attempt that this process made; None: it has made none that it knows of."""
    driver: Driver = None
    names: tuple[str, ...] = ()
    """The topics that are asked for and may come back; empty: nobody asked."""
    needs: Mapping[str, TopicNeeds] | None = None
    """What is known of the database's own files; None: nobody asked."""
    pool: PoolNow | str | None = None
    """A sentence if it cannot be read; None: nobody asked."""
    scratch: ScratchNow | str | None = None
    """As `pool`, of a restore into scratch topics."""
    terminating: bool = False
    """The restore goes with all of its namespace."""
    database: DatabaseNow | None = None
    other: str | None = None
    """Another restore that is at work on the same WALCluster, and comes first."""
    deleting: str | None = None
    """A backup that deletes the chain that is meant."""
    obstacle: str | None = None
    """Why the parts of the attempt cannot be read: the API server refuses. Then nothing is known of them."""
    outlives_ttl: str | None = None
    """Why it must stay after its ttl, in one clause. None: it may go, or is not over."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the WALCluster declares for restores: the code of its backups, and a user who may write."""

    spark: SparkSpec
    user: RestoreUser

    @property
    def kafka_username(self) -> str | None:
        """Its name; None: the Secret has it."""
        return self.user.kafka_username

    @property
    def kafka_credentials_secret_ref(self) -> CredentialsSecretRef | None:
        """User of Kafka for the job; None: Seawall's own."""
        return self.user.kafka_credentials_secret_ref

    @property
    def kafka_client_cert_secret_ref(self) -> ClientCertSecretRef | None:
        """The same where Kafka knows its clients by certificate."""
        return self.user.kafka_client_cert_secret_ref


def declaration_of(spec: WALClusterSpec) -> Declaration | None:
    """None: the WALCluster declares no backups, so there is nothing that could be restored."""
    return None if spec.backup is None else Declaration(spec.backup.spark, spec.backup.restore)


@dataclass(frozen=True, slots=True)
class Case:
    """A restore with a WALCluster that declares backups, and what was observed."""

    obj: WALRestore
    spec: WALRestoreSpec
    cluster: WALCluster
    kafka: WALClusterSpec
    backup: BackupSpec | None
    """None: the WALCluster does not declare it any more; what has begun goes to its end without it."""
    observed: Observed

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def status(self) -> WALRestoreStatus:
        """The status as it was read."""
        return self.obj.status

    @property
    def storage(self) -> BackupStorage:
        """Where backups are."""
        return self._declared.storage

    @property
    def _declared(self) -> BackupSpec:
        if self.backup is None:
            raise ValueError("nothing is begun of a WALCluster that declares no backups")
        return self.backup

    @property
    def key(self) -> Key:
        """What request and application of the attempt are called."""
        return attempt_key(self.obj.metadata.key, self.status.attempt)

    @property
    def subject(self) -> Subject:
        """Whom requests and verdicts are about."""
        key = self.obj.metadata.key
        return Subject(key.namespace, key.name, self.obj.metadata.uid, self.status.attempt)

    @property
    def declaration(self) -> Declaration:
        """What runs, and as whom."""
        return Declaration(self._declared.spark, self._declared.restore)

    @property
    def external_kafka(self) -> ExternalKafka:
        """The Kafka of the WALCluster as the job reaches it."""
        return kafka_of_job(self.cluster.metadata.key, self.kafka, self.declaration)

    @property
    def cluster_id(self) -> str:
        """The Kafka that is pinned; empty before first contact."""
        return self.cluster.status.kafka.cluster_id if self.cluster.status.kafka is not None else ""

    def goes_on(self, reason: str, message: str, after: float | None = JOB_POLL_SECONDS) -> Verdict:
        """It waits for something that goes on by itself."""
        return Verdict(Outlook.PROGRESSING, reason, message, after)

    def waits_for_a_person(self, reason: str, message: str) -> RestoreDecision:
        """A person has to do something first; that is no failure."""
        return self.stays(Verdict(Outlook.PAUSED, reason, message, JOB_POLL_SECONDS))

    def stays(self, verdict: Verdict, *actions: RestoreAction) -> RestoreDecision:
        """Nothing of the status changes but what people read."""
        return Decision(self.status, verdict, actions)

    def becomes(self, verdict: Verdict, **update: object) -> RestoreDecision:
        """The status changes."""
        return Decision(self.status.model_copy(update=update), verdict)

    def ends(self, reason: str, message: str, *, complete: bool = False, **more: object) -> RestoreDecision:
        """It is over."""
        return ended(self.status.model_copy(update=more), self.now, reason, message, complete=complete)

    def leaves(self, reason: str, message: str, **more: object) -> RestoreDecision:
        """It is over, and touches nothing any more, which the message says itself."""
        return _ended(self.status.model_copy(update=more), self.now, reason, message)

    def attempt_is_over(
        self, outcome: Outcome, message: str, reason: str | None = None, **more: object
    ) -> RestoreDecision:
        """The attempt ended without success: what it made goes next. With a reason, that is the end then."""
        update = {
            "stage": RestoreStage.REMOVING,
            "outcome": outcome,
            "fails_as": reason,
            "message": message[:MAX_MESSAGE],
            "attempt_time": self.now,
            **more,
        }
        status = self.status.model_copy(update=update)
        return Decision(
            status, self.goes_on(Reason.REMOVING_TOPICS, f"attempt {status.attempt} is over: {status.message}")
        )

    def next_attempt(self, stage: RestoreStage, verdict: Verdict, **more: object) -> RestoreDecision:
        """Another application, of another number; of topics that were made nothing is left."""
        rows = tuple(map(without_topic, self.status.topics))
        update = {
            "stage": stage,
            "attempt": self.status.attempt + 1,
            "attempt_time": self.now,
            "request_digest": None,
            "application_name": None,
            "application_state": None,
            "application_uid": None,
            "outcome": None,
            "fails_as": None,
            "none_existed": False,
            "stopped_as": None,
            "database_ran": False,
            "logs": None,
            "topics": rows,
            **more,
        }
        return self.becomes(verdict, **update)


def without_topic(row: RestoredTopic) -> RestoredTopic:
    """The row once its topic is gone."""
    return row.model_copy(update={"topic_id": None, "removed_id": row.topic_id or row.removed_id})


def ended(
    status: WALRestoreStatus, now: datetime, reason: str, message: str, *, complete: bool = False
) -> RestoreDecision:
    """The end of the restore; of one that failed it is said which of its topics are left."""
    left = [] if complete else [row.into or row.name for row in status.topics if row.topic_id is not None]
    asked = () if complete or not status.none_existed else status.planned
    doubtful = [row.into or row.name for row in asked if row.topic_id is None]
    suffix = f"; what it made of {listed(left)} is left as it is" if left else ""
    suffix += f"; it may have made {listed(doubtful)}" if doubtful else ""
    return _ended(status, now, reason, message + suffix, complete=complete)


def _ended(
    status: WALRestoreStatus, now: datetime, reason: str, message: str, *, complete: bool = False
) -> RestoreDecision:
    stage = RestoreStage.COMPLETED if complete else RestoreStage.FAILED
    update = {"stage": stage, "completion_time": now, "message": message[:MAX_MESSAGE]}
    verdict = Verdict(Outlook.READY if complete else Outlook.STALLED, reason, message)
    return Decision(status.model_copy(update=update), verdict)
