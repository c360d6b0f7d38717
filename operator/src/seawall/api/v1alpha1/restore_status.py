"""What a WALRestore's status says: its stages, its plan, and its topics."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from seawall.api.meta import MAX_SNAPSHOT, StatusModel
from seawall.api.resource import Conditions, ObjectStatus
from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.backup import BackupFinding
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification_template import MAX_TOPICS

MAX_RESTORE_FINDINGS = 20


class RestoreStage(StrEnum):
    """Where it is. It has none until it begins; each member says what comes next."""

    INSPECTING = "Inspecting"
    """A Spark application reads what the store has, and plans. Then AwaitingApproval, or Failed."""
    AWAITING_APPROVAL = "AwaitingApproval"
    """Nothing is written before a person approves the plan's digest (`seawall.dev/approve`); with `scratch` nobody has
    to. Then Preparing."""
    PREPARING = "Preparing"
    """Waits until the database is stopped, and makes the topics. Then Writing."""
    WRITING = "Writing"
    """A Spark application writes the records, and reads all back. Then Adopting, or Removing; with `scratch` always
    Removing."""
    REMOVING = "Removing"
    """The attempt is over without success, or was into scratch topics: the topics that it made go. Then Preparing
    again, Completed or Failed."""
    ADOPTING = "Adopting"
    """Seawall's own records are begun anew for the new logs, so that purges and restarts go on. Then Completed."""
    COMPLETED = "Completed"
    """The end: each topic has what was planned, at the offsets that were planned."""
    FAILED = "Failed"
    """The end: the condition Failed says what happened, and what is left."""


ENDED = frozenset({RestoreStage.COMPLETED, RestoreStage.FAILED})


class RestoredPoint(StatusModel):
    """The restore point that is gone back to."""

    name: Annotated[str, Field(max_length=63)]
    """What it is called."""
    snapshot: Annotated[str, Field(max_length=MAX_SNAPSHOT)]
    """The snapshot of the database that belongs to it."""


class RestorePlanStatus(StatusModel):
    """What would come back; the plan itself, topic by topic, is in the store and in the log of the application."""

    digest: Annotated[str, Field(max_length=64)]
    """SHA-256 of the plan: what `seawall.dev/approve` must say."""
    name: Annotated[str, Field(max_length=1024)]
    """Where the plan is in the store."""
    topics: Annotated[int, Field(ge=0)] = 0
    """Topics that come back."""
    records: Annotated[int, Field(ge=0)] = 0
    """Records that come back."""
    bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of their keys, values and headers, at most."""
    padding: Annotated[int, Field(ge=0)] = 0
    """Records of null: below the first offset, where the log had none, and above the last."""
    largest_record: Annotated[int, Field(ge=0)] = 0
    """Bytes of the largest batch that has to be sent."""
    lost_at_most: Annotated[int, Field(ge=0)] = 0
    """Offsets that the log had, or may have had, and whose records do not come back."""
    restore_point: RestoredPoint | None = None
    """With `target.point`, which snapshot belongs to it."""


class RestoredTopic(StatusModel):
    """One topic of the pool that is asked for."""

    name: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    pad_to: Annotated[int, Field(ge=0)] | None = None
    """Where its log shall end at least, exclusive."""
    reads_from: Annotated[int, Field(ge=0)] | None = None
    """The first offset that the database would read, as it said when this was planned."""
    needed_end: Annotated[int, Field(ge=0)] | None = None
    """The offset above all that the database, and Seawall's own record, had then, exclusive."""
    compared: bool = False
    """Whether the database said then all that it has."""
    recorded_id: Annotated[str, Field(max_length=64)] | None = None
    """The log that Seawall's own record was about then; absent: there was none."""
    recorded_end: Annotated[int, Field(ge=0)] = 0
    """The offset above all that Seawall's own record had then. A plan does not outlive what it was made by."""
    planned: bool = False
    """Whether the backup has it."""
    topic_id: Annotated[str, Field(max_length=64)] | None = None
    """The topic that this attempt made; nothing is written to any other, nor deleted."""
    into: Annotated[str, Field(max_length=249)] | None = None
    """Name of the scratch topic; absent: it comes back by its own name."""
    removed_id: Annotated[str, Field(max_length=64)] | None = None
    """The topic that the attempt before had made, and that was removed: a broker may show it for a while."""
    start: Annotated[int, Field(ge=0)] | None = None
    """The first offset that it has, once it is adopted."""
    end: Annotated[int, Field(ge=0)] | None = None
    """The offset before which it ended then."""


class WALRestoreStatus(ObjectStatus):
    """How far it is, and what comes back."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus); Complete and Failed, as a Job has them; Waiting; OwnKafkaUser."""
    stage: RestoreStage | None = None
    """Where it is; absent until it begins."""
    attempt: Annotated[int, Field(ge=0)] = 0
    """Number of the application, from 1: the first plans. Its request and application are called `<name>-<attempt>`."""
    interruptions: Annotated[int, Field(ge=0)] = 0
    """How many attempts at the same were interrupted."""
    start_time: datetime | None = None
    """When it began."""
    attempt_time: datetime | None = None
    """When the attempt began; once it is over, when that was."""
    made_time: datetime | None = None
    """When this attempt began to make its topics: what comes back is older."""
    completion_time: datetime | None = None
    """When it ended."""
    cluster_uid: Annotated[str, Field(max_length=64)] | None = None
    """UID of the WALCluster that it began with: one that was made again by the same name is another one."""
    kafka_cluster_id: Annotated[str, Field(max_length=64)] | None = None
    """Id of the Kafka that it began with; absent until the WALCluster has met it. Nothing is made on any other."""
    location: Annotated[str, Field(max_length=1024)] | None = None
    """Where the backup is kept, as `s3://bucket/prefix`, `https://server/bucket/prefix` or `claim:name`."""
    application_name: Annotated[str, Field(max_length=253)] | None = None
    """The newest SparkApplication; absent until its request is frozen."""
    application_state: Annotated[str, Field(max_length=64)] | None = None
    """What the Spark Operator says of it."""
    application_uid: Annotated[str, Field(max_length=64)] | None = None
    """UID of that SparkApplication, once it was seen: if it is deleted the attempt is over, and is not begun again."""
    request_digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 of its request, written before the request is: a job starts on nothing else, and a verdict about anything
    else does not count."""
    outcome: Outcome | None = None
    """How the last attempt ended: Passed, Failed, Refused or Interrupted."""
    message: Annotated[str, Field(max_length=1024)] | None = None
    """The verdict in one sentence."""
    fails_as: Annotated[str, Field(max_length=64)] | None = None
    """The reason with which it ends, once what its attempt made is removed."""
    plan: RestorePlanStatus | None = None
    """What would come back."""
    unanswered: Stretch | None = None
    """That Kafka cannot be asked for one of its scratch topics while the restore is being deleted, which goes on when
    that lasts; absent: it answered, or nothing is deleted."""
    none_existed: bool = False
    """Whether Kafka had none of the topics when this attempt asked: what it shows since then is made by it."""
    database_ran: bool = False
    """Whether the database was seen to run while its logs were written: they are not adopted then."""
    logs: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 over name, first offset and end of each log as the job read them back: only such logs are adopted."""
    stopped_as: Annotated[str, Field(max_length=128)] | None = None
    """UID and generation of the StatefulSet of the datanodes before the topics were made: while it has no replicas and
    the same generation, nobody has started the database in between. Absent: nobody can say."""
    topics: Annotated[tuple[RestoredTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics of the pool that are asked for."""
    findings: Annotated[tuple[BackupFinding, ...], Field(max_length=MAX_RESTORE_FINDINGS)] = ()
    """What is wrong in the store, or with what was written, at most 20."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.stage in ENDED

    @property
    def planned(self) -> tuple[RestoredTopic, ...]:
        """The topics that come back."""
        return tuple(topic for topic in self.topics if topic.planned)
