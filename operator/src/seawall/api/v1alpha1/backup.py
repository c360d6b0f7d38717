"""WALBackup: one backup of the WAL on Spark, full or incremental."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import MAX_SNAPSHOT, APIModel, InvalidSpec, Kind, Name, PrinterColumn, Rule, StatusModel
from seawall.api.resource import STAGE, Resource, name_in
from seawall.api.v1alpha1.backup_template import BackupLevel, BackupTemplate
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.spark_job import MAX_NOT_READ, JobStatus, NotReadTopic, TtlSeconds
from seawall.api.v1alpha1.verification_template import MAX_TOPICS

MAX_BACKUP_FINDINGS = 20
MAX_EXPIRING = 8
"""Chains that one backup deletes at most: their names fit into a termination message."""
ChainName = Annotated[str, Field(max_length=253)]


class ParentRef(APIModel):
    """The backup that an incremental one continues."""

    name: Name
    """Name of a WALBackup in the same namespace that is Completed."""


PointName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""What a restore point is called."""


class Bracket(APIModel):
    """A restore point: a snapshot of the database's own files and metadata that is taken while the log is held."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("timeout"),)

    name: PointName
    """What the point is called: `target.point` of a WALRestore."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "1h"})] = timedelta(hours=1)
    """How long the backup waits for the snapshot."""


MUTABLE = frozenset({"keep"})
"""What of a backup's spec may be edited."""


def _same(fields: tuple[str, ...], optional: tuple[str, ...]) -> str:
    """CEL: all of these are what they were."""
    both = [f"self.{name} == oldSelf.{name}" for name in fields]
    maybe = [f"has(self.{n}) == has(oldSelf.{n}) && (!has(self.{n}) || self.{n} == oldSelf.{n})" for n in optional]
    return " && ".join((*both, *maybe))


class WALBackupSpec(BackupTemplate):
    """What is backed up. Immutable but for `keep`: make another one instead."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *BackupTemplate.RULES,
        Rule(
            "!has(self.bracket) || self.topics == ['*']",
            "a restore point has all topics: leave topics out",
            lambda spec: spec.bracket is None or spec.topics == ("*",),
        ),
        Rule(
            _same(
                ("clusterRef",),
                ("parentRef", "bracket", "ttlSecondsAfterFinished", "topics", "verify", "timeout", "spark"),
            ),
            "the spec of a backup is immutable but for keep: create another WALBackup",
        ),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics are backed up."""
    parent_ref: ParentRef | None = None
    """The backup that this one continues, from where that ended; absent: a full one, which begins a chain."""
    bracket: Bracket | None = None
    """Makes it a restore point. Once the log is held (condition Bracketed), take the database's own snapshot, of its
    metadata first and then of its files: metadata that are newer would have regions skip what no file has. Then set the
    annotation `seawall.dev/snapshot-done` to what it is called, and the log is backed up to beyond it. All topics
    are backed up, those that no region writes to as well, or the backup fails."""
    ttl_seconds_after_finished: TtlSeconds | None = None
    """Seconds after the end at which the object is deleted, with its application; what is stored stays. Absent: never.
    An incremental backup needs the object of its parent."""
    keep: StrictBool = False
    """Retention leaves its chain alone, and history limits leave the object alone. May be edited."""


class BackedUpTopic(StatusModel):
    """One topic of the request."""

    name: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    topic_id: Annotated[str, Field(max_length=64)]
    """Which log it was: a topic that is created again has another id."""
    start: Annotated[int, Field(ge=0)]
    """The first offset that it has."""
    end: Annotated[int, Field(ge=0)]
    """The offset before which it ends, and at which the next one begins."""
    chain_start: Annotated[int, Field(ge=0)] | None = None
    """The first offset that the chain has up to this backup: regions that read from before it end the chain. Absent:
    not known."""


class BackupManifest(StatusModel):
    """What makes the backup count, in the store."""

    name: Annotated[str, Field(max_length=253)]
    """Name of the object, in the chain's folder `manifests`."""
    digest: Annotated[str, Field(max_length=64)]
    """SHA-256 of its bytes. Without this object of Kubernetes the store alone is enough to restore."""


class BackupCounts(StatusModel):
    """What was written."""

    records: Annotated[int, Field(ge=0)] = 0
    """Kafka records."""
    bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of their keys, values and headers."""
    stored_bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of the objects."""
    objects: Annotated[int, Field(ge=0)] = 0
    """Objects, the manifest not counted."""


class BackupTopicCounts(StatusModel):
    """Topics of the backup by what became of them."""

    total: Annotated[int, Field(ge=0)] = 0
    """Topics that are backed up."""
    idle: Annotated[int, Field(ge=0)] = 0
    """Topics that no region writes to: nothing of them would be replayed."""
    not_backed_up: Annotated[int, Field(ge=0)] = 0
    """Topics that were not backed up for the reasons in `notBackedUp`."""
    beyond_replay: Annotated[int, Field(ge=1)] | None = None
    """Topics of which the log began beyond what a region reads, or may have where a region did not say what it reads:
    only older chains may have what is missing. So this backup deletes none, and as a full one it does not count as
    proved. Absent: there were none."""
    silent: Annotated[str, Field(max_length=320)] | None = None
    """The first of them of which a region did not say what it reads, and that region. Absent: all said."""


class BackupFinding(StatusModel):
    """Something in the store that is not what was written."""

    kind: Annotated[str, Field(max_length=64)]
    """What, in one CamelCase word."""
    object: Annotated[str, Field(max_length=1024)] | None = None
    """The object of the store."""
    topic: Annotated[str, Field(max_length=249)] | None = None
    """Name of the topic."""
    offset: Annotated[int, Field(ge=0)] | None = None
    """The first bad offset."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """The same in one sentence."""


class BackupProof(StatusModel):
    """What was proved of what was written."""

    level: BackupLevel
    """None, Checksums or Integrity."""
    time: datetime
    """When."""


class BracketedTopic(StatusModel):
    """A topic when the bracket began."""

    name: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    topic_id: Annotated[str, Field(max_length=64)]
    """Which log it was."""
    reads_from: Annotated[int, Field(ge=0)]
    """The first offset that any region would have read then: a snapshot that is taken later needs nothing before it."""


class RestorePoint(StatusModel):
    """The bracket around a snapshot of the database."""

    name: Annotated[str, Field(max_length=63)]
    """What the point is called."""
    held_time: datetime
    """Since when the log is held: the snapshot may begin."""
    snapshot: Annotated[str, Field(max_length=MAX_SNAPSHOT)] | None = None
    """What the snapshot is called; absent: it is not taken yet."""
    snapshot_time: datetime | None = None
    """When Seawall learnt that it is taken. The log was asked for its ends after that."""
    topics: Annotated[tuple[BracketedTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics when it began."""


def is_snapshot_name(snapshot: str) -> bool:
    """Whether a snapshot can be called so: a verdict of 4 KiB has room for it."""
    return len(snapshot) <= MAX_SNAPSHOT and snapshot.isascii() and snapshot.isprintable()


class BackupExpiry(StatusModel):
    """What became of the chains that were to go."""

    gone: Annotated[tuple[ChainName, ...], Field(max_length=MAX_EXPIRING)] = ()
    """Chains of which nothing is left."""
    problem: Annotated[str, Field(max_length=64)] | None = None
    """Why others are, in one word."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """The same in one sentence."""


class WALBackupStatus(JobStatus):
    """How far the backup is, and what it wrote."""

    restore_point: RestorePoint | None = None
    """The bracket, once the log is held; a restore point when the backup is Completed."""

    location: Annotated[str, Field(max_length=1024)] | None = None
    """Where it is kept, as `s3://bucket/prefix`, `https://server/bucket/prefix` or `claim:name`."""
    chain: Annotated[str, Field(max_length=253)] | None = None
    """The full backup and all that continue it share one; it is a folder of the store."""
    cluster_id: Annotated[str, Field(max_length=64)] | None = None
    """Which Kafka it is of; a folder of the store, too."""
    manifest: BackupManifest | None = None
    """What makes it count; absent: nothing was written that counts."""
    verified: BackupProof | None = None
    """What was proved of it."""
    topic_counts: BackupTopicCounts | None = None
    """Topics by what became of them."""
    topics: Annotated[tuple[BackedUpTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics of the request, from where and to where they are backed up."""
    not_backed_up: Annotated[tuple[NotReadTopic, ...], Field(max_length=MAX_NOT_READ)] = ()
    """Topics that were selected and not backed up, at most 50."""
    counts: BackupCounts | None = None
    """What was written."""
    findings: Annotated[tuple[BackupFinding, ...], Field(max_length=MAX_BACKUP_FINDINGS)] = ()
    """What is wrong with what was written, at most 20."""
    expiring: Annotated[tuple[ChainName, ...], Field(max_length=MAX_EXPIRING)] = ()
    """Chains that its policy does not need any more: the job deletes them when the backup counts."""
    expiry: BackupExpiry | None = None
    """What became of them."""


WAL_BACKUP = Kind(
    kind="WALBackup",
    plural="walbackups",
    short_names=("walb",),
    description="One backup of the WAL of a WALCluster on Spark, full or incremental.",
    spec=WALBackupSpec,
    status=WALBackupStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are backed up"),
        PrinterColumn("Stage", "string", ".status.stage", "Where it is"),
        PrinterColumn("Topics", "integer", ".status.topicCounts.total", "Topics that are backed up"),
        PrinterColumn("Records", "integer", ".status.counts.records", "Kafka records that were written"),
        PrinterColumn("Stored", "integer", ".status.counts.storedBytes", "Bytes of its objects"),
        PrinterColumn("Verified", "string", ".status.verified.level", "What was proved of it"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("Parent", "string", ".spec.parentRef.name", "The backup that it continues", priority=1),
        PrinterColumn("Point", "string", ".spec.bracket.name", "The restore point that it makes", priority=1),
        PrinterColumn("Location", "string", ".status.location", "Where it is kept", priority=1),
        PrinterColumn("Manifest", "string", ".status.manifest.name", "What makes it count", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALBackup(Resource[WALBackupSpec, WALBackupStatus]):
    """A WALBackup as read from the API server."""

    KIND = WAL_BACKUP
    KEPT = frozenset({STAGE})

    @property
    def parent(self) -> str | None:
        """The name of the backup that it continues; a spec that cannot be read may say so, too."""
        if isinstance(self.spec, InvalidSpec):
            return self.spec.parent
        return None if self.spec.parent_ref is None else self.spec.parent_ref.name

    @classmethod
    def _invalid_spec(cls, raw: Mapping[str, Any], message: str) -> InvalidSpec:
        return InvalidSpec(message, cluster=name_in(raw.get("clusterRef")), parent=name_in(raw.get("parentRef")))
