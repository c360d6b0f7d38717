"""WALPurgePolicy: when the topics of a WALCluster are purged, as a CronJob says when Jobs run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from seawall.api.cron import CronText, TimeZone, cron_rule, time_zone_rule
from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule
from seawall.api.quantity import MAX_LARGE, LargeBytes, bytes_rule
from seawall.api.resource import ObjectStatus, Resource
from seawall.api.v1alpha1.purge_template import PurgeTemplate

HistoryLimit = Annotated[int, Field(strict=True, ge=0, le=100)]


class TriggerSpec(APIModel):
    """What begins a run beside the time."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("topicBytes", MAX_LARGE),)

    topic_bytes: LargeBytes
    """A run begins when the log of any of its topics takes more than this on the disk of the partition's leader (as
    DescribeLogDirs says: of one replica). Kafka frees whole closed segments only, some minutes after a purge, so this
    should be several times segmentBytes. At most one such run begins in each openGrace, and one in ten while none of
    these topics can shrink."""


class WALPurgePolicySpec(PurgeTemplate):
    """When runs begin, and what they are told."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self.clusterRef == oldSelf.clusterRef", "clusterRef is immutable: create another WALPurgePolicy"),
        Rule(
            "!(has(self.schedule) && has(self.interval))",
            "schedule and interval exclude each other",
            lambda policy: policy.schedule is None or policy.interval is None,
        ),
        Rule(
            "has(self.schedule) || has(self.interval) || has(self.trigger)",
            "at least one of schedule, interval and trigger must be set",
            lambda policy: not (policy.schedule is None and policy.interval is None and policy.trigger is None),
        ),
        Rule(
            "!has(self.timeZone) || has(self.schedule)",
            "timeZone belongs to schedule",
            lambda policy: policy.time_zone is None or policy.schedule is not None,
        ),
        duration_rule("interval"),
        cron_rule("schedule"),
        time_zone_rule("timeZone"),
    )

    schedule: CronText | None = None
    """Cron expression with five fields: minute, hour, day of month, month, day of week."""
    time_zone: TimeZone | None = None
    """Time zone of the schedule, as in `Europe/Berlin`; absent means UTC. Clock changes are met as cron does."""
    interval: Duration | None = None
    """Time between the beginnings of runs, in place of a schedule. The first begins that long after the creation."""
    trigger: TriggerSpec | None = None
    """What begins a run beside the time, or in place of it."""
    suspend: StrictBool = False
    """No new runs; one that has begun goes on. Times that pass meanwhile are made up for by one run at its end."""
    concurrency_policy: Literal["Forbid"] = "Forbid"
    """A run that is due while another is not finished begins when that one has ended."""
    successful_runs_history_limit: HistoryLimit = 3
    """How many completed runs are kept."""
    failed_runs_history_limit: HistoryLimit = 3
    """How many failed runs are kept."""


class WALPurgePolicyStatus(ObjectStatus):
    """The observed state of a WALPurgePolicy."""

    active: Annotated[str, Field(max_length=253)] | None = None
    """The run that is not finished."""
    last_run_time: datetime | None = None
    """The time for which the last run was due; of one that a topic's size began, about when that was seen."""
    last_successful_time: datetime | None = None
    """When a run last completed that did not leave every topic alone because something is wrong."""
    next_run_time: datetime | None = None
    """When the next run is due; absent while suspended, and where only a trigger begins runs."""


WAL_PURGE_POLICY = Kind(
    kind="WALPurgePolicy",
    plural="walpurgepolicies",
    short_names=("walpp",),
    description="When the topics of a WALCluster are purged, as a CronJob says when Jobs run.",
    spec=WALPurgePolicySpec,
    status=WALPurgePolicyStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are purged"),
        PrinterColumn("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether all is as declared"),
        PrinterColumn("Schedule", "string", ".spec.schedule", "When runs begin"),
        PrinterColumn("Interval", "string", ".spec.interval", "Time between runs"),
        PrinterColumn(
            "TopicBytes", "string", ".spec.trigger.topicBytes", "Size of a topic that begins a run", priority=1
        ),
        PrinterColumn("Suspend", "boolean", ".spec.suspend", "Whether new runs are stopped"),
        PrinterColumn("Active", "string", ".status.active", "Run that is not finished"),
        PrinterColumn("Last", "date", ".status.lastRunTime", "Time since the last run was due"),
        PrinterColumn("Next", "string", ".status.nextRunTime", "When the next run is due"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("TimeZone", "string", ".spec.timeZone", "Time zone of the schedule", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALPurgePolicy(Resource[WALPurgePolicySpec, WALPurgePolicyStatus]):
    """A WALPurgePolicy as read from the API server."""

    KIND = WAL_PURGE_POLICY
