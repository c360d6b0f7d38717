"""WALBackupPolicy: when the topics of a WALCluster are backed up, and what keeps the log until they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.cron import CronText, TimeZone, cron_rule, time_zone_rule
from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule, StatusModel
from seawall.api.quantity import MAX_LARGE, LargeBytes, bytes_rule
from seawall.api.resource import Conditions, ObjectStatus, Resource
from seawall.api.v1alpha1.backup import BackupManifest
from seawall.api.v1alpha1.backup_template import BackupLevel, BackupTemplate
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.restore import ScratchTopics
from seawall.api.v1alpha1.verification_template import KeptTimes


class BackupHold(APIModel):
    """How long the log is kept for the next backup."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        duration_rule("ttl"),
        duration_rule("maxLagAge"),
        bytes_rule("maxLagBytes", MAX_LARGE),
    )

    max_lag_bytes: LargeBytes | None = None
    """Beyond this many bytes that are not backed up the log is kept no longer, and the next backup is a full one.
    Absent: never."""
    max_lag_age: Duration | None = None
    """Once a record that is not backed up is older than this, by its own timestamp, the same. Absent: never."""
    ttl: Annotated[Duration, Field(json_schema_extra={"default": "168h"})] = timedelta(days=7)
    """How long after a backup the log is kept for the next one."""


class DrillSchedule(ScratchTopics):
    """When the newest backup is restored into scratch topics of the same Kafka, which are deleted afterwards."""

    RULES: ClassVar[tuple[Rule, ...]] = (*ScratchTopics.RULES, duration_rule("timeout"), cron_rule("schedule"))

    schedule: CronText
    """Cron expression with five fields, in the policy's time zone."""
    topics: Annotated[int, Field(strict=True, ge=1, le=64)] = 4
    """How many topics come back at most; over drills all have their turn."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "6h"})] = timedelta(hours=6)
    """How long one attempt may take, and how long it may wait for its beginning."""


MAX_CHAINS = 400
"""Some 200 KB of a status."""


class Retention(APIModel):
    """Which chains are deleted in the store."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("recoveryWindow"),)

    recovery_window: Duration
    """How far one must be able to go back, from the newest backup that completed (never from now): a chain goes once a
    newer full one, which was proved, is older than this."""
    minimum_fulls: Annotated[int, Field(strict=True, ge=1, le=16)] = 2
    """How many chains stay at least of which the full backup was proved: the newest ones."""


class WALBackupPolicySpec(BackupTemplate):
    """When backups begin, and what they are told."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *BackupTemplate.RULES,
        Rule("self.clusterRef == oldSelf.clusterRef", "clusterRef is immutable: create another WALBackupPolicy"),
        Rule(
            "!has(self.retention) || !has(self.verify) || !has(self.verify.level) || self.verify.level != 'None'",
            "retention counts full backups that were proved: verify.level must not be None",
            lambda spec: spec.retention is None or spec.verify.level is not BackupLevel.NONE,
        ),
        cron_rule("schedule"),
        cron_rule("fullSchedule"),
        time_zone_rule("timeZone"),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics are backed up. Its `spec.backup` says where to, and by which code."""
    schedule: CronText
    """Cron expression with five fields: minute, hour, day of month, month, day of week."""
    full_schedule: CronText | None = None
    """When a backup is a full one, and begins a chain; absent: when the last chain has ended."""
    immediate: StrictBool = False
    """The first backup begins at once, not when it is first due: before it, nothing keeps the log for one."""
    time_zone: TimeZone | None = None
    """Time zone of both, as in `Europe/Berlin`; absent means UTC. Clock changes are met as cron does."""
    suspend: StrictBool = False
    """No new backups; one that has begun goes on, and the log stays held as long as `hold` allows."""
    hold: BackupHold = BackupHold()
    """How long the log is kept for the next backup."""
    drill: DrillSchedule | None = None
    """When it is proved that the newest backup comes back; absent: never. A drill is a WALRestore with `scratch`."""
    retention: Retention | None = None
    """Which chains of this policy are deleted in the store; absent: none ever is."""
    successful_runs_history_limit: KeptTimes = 3
    """How many completed WALBackups are kept; the newest always is. What is in the store stays. As many drills that
    passed are kept."""
    failed_runs_history_limit: KeptTimes = 3
    """How many failed WALBackups are kept, and as many failed drills."""


class LastBackup(StatusModel):
    """The newest backup that completed."""

    name: Annotated[str, Field(max_length=253)]
    """Name of the WALBackup."""
    chain: Annotated[str, Field(max_length=253)]
    """Its chain."""
    time: datetime
    """When it completed."""
    verified: BackupLevel = BackupLevel.NONE
    """What was proved of it."""


class DrillStatus(StatusModel):
    """How drills go. How the last one ended is in the condition DrillPassed."""

    since: datetime
    """When the schedule was first read: times before it count for nothing."""
    active: Annotated[str, Field(max_length=253)] | None = None
    """The WALRestore that is not over."""
    last: Annotated[str, Field(max_length=253)] | None = None
    """The WALRestore that was over last."""
    records: Annotated[int, Field(ge=0)] | None = None
    """Records that came back in it, or were to come back."""
    last_topic: Annotated[str, Field(max_length=249)] | None = None
    """The last topic of the newest one that passed, or was too large alone: the next one begins after it."""
    last_run_time: datetime | None = None
    """The time for which the last one was due."""
    last_passed_time: datetime | None = None
    """When one last passed."""
    next_run_time: datetime | None = None
    """When the next one is due."""


class BackupChain(StatusModel):
    """A full backup of this policy, and what continues it, in the store."""

    name: Annotated[str, Field(max_length=253)]
    """Its folder."""
    location: Annotated[str, Field(max_length=1024)]
    """Where it is kept."""
    cluster_id: Annotated[str, Field(max_length=64)]
    """Which Kafka it is of."""
    full: BackupManifest
    """The manifest of its full backup: it is known by that."""
    full_time: datetime
    """When the full backup completed; never before what is known of the time of older ones."""
    newest_time: datetime
    """When the newest one completed."""
    backups: Annotated[int, Field(ge=1)] = 1
    """How many there are."""
    stored_bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of their objects, as far as that is known."""
    verified: BackupLevel = BackupLevel.NONE
    """What was proved of the full backup; None also if it left topics out, or had not all that regions read."""
    kept_by: Annotated[str, Field(max_length=253)] | None = None
    """The WALBackup whose `keep` keeps it. It stays so if that object is deleted."""
    broken_by: Annotated[str, Field(max_length=253)] | None = None
    """The WALRestore, a drill or another one, that found it broken, or could not decode it: its full backup does not
    count as proved any more. It stays so if that object is deleted."""
    gone: bool = False
    """It is deleted; its objects of Kubernetes go next."""


class WALBackupPolicyStatus(ObjectStatus):
    """The observed state of a WALBackupPolicy."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus); BackedUp: whether the last backup completed, and its chain goes on;
    DrillPassed: whether the last drill passed; RetentionApplied: whether chains that nobody needs any more are
    deleted."""
    active: Annotated[str, Field(max_length=253)] | None = None
    """The backup that is not over."""
    last: LastBackup | None = None
    """The newest one that completed, and wrote something."""
    last_success_time: datetime | None = None
    """When one last completed, also one that found nothing to back up."""
    last_run_time: datetime | None = None
    """The time for which the last backup was due."""
    last_full_time: datetime | None = None
    """The time for which the last full backup was due that completed."""
    next_run_time: datetime | None = None
    """When the next one is due; absent while suspended."""
    drill: DrillStatus | None = None
    """How drills go; absent where none are declared."""
    last_drill_time: datetime | None = None
    """When a drill last passed."""
    lag_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the topics that are not backed up, as far as that is known; replicas are not counted."""
    chains: Annotated[tuple[BackupChain, ...], Field(max_length=MAX_CHAINS)] = ()
    """Its chains in the store, the oldest first, at most 400; what is not here is never deleted."""
    chain_count: Annotated[int, Field(ge=0)] | None = None
    """How many there are."""
    stored_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of their objects, as far as that is known."""
    retention_time: datetime | None = None
    """From when `retention.recoveryWindow` counts back: when the newest backup completed. Each one moves it on by at
    most twice the time between two, whatever a clock says."""


WAL_BACKUP_POLICY = Kind(
    kind="WALBackupPolicy",
    plural="walbackuppolicies",
    short_names=("walbp",),
    description="When the topics of a WALCluster are backed up, and what keeps the log until they are.",
    spec=WALBackupPolicySpec,
    status=WALBackupPolicyStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are backed up"),
        PrinterColumn("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether all is as declared"),
        PrinterColumn(
            "BackedUp", "string", '.status.conditions[?(@.type=="BackedUp")].status', "Whether the last one completed"
        ),
        PrinterColumn("Schedule", "string", ".spec.schedule", "When backups begin"),
        PrinterColumn("Suspend", "boolean", ".spec.suspend", "Whether new backups are stopped"),
        PrinterColumn("Active", "string", ".status.active", "Backup that is not over"),
        PrinterColumn("Last", "date", ".status.last.time", "Time since the last one completed"),
        PrinterColumn("Verified", "string", ".status.last.verified", "What was proved of it"),
        PrinterColumn("Fulls", "integer", ".status.chainCount", "Its chains in the store"),
        PrinterColumn("Size", "integer", ".status.storedBytes", "Bytes of their objects"),
        PrinterColumn("Lag", "integer", ".status.lagBytes", "Bytes that are not backed up"),
        PrinterColumn("Drilled", "date", ".status.lastDrillTime", "Time since a drill last passed"),
        PrinterColumn("Next", "string", ".status.nextRunTime", "When the next one is due"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("Chain", "string", ".status.last.chain", "The chain that goes on", priority=1),
        PrinterColumn("Full", "string", ".spec.fullSchedule", "When backups are full ones", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="BackedUp")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALBackupPolicy(Resource[WALBackupPolicySpec, WALBackupPolicyStatus]):
    """A WALBackupPolicy as read from the API server."""

    KIND = WAL_BACKUP_POLICY
