"""WALPurge: one run that removes what the database no longer needs from the topics of a WALCluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from seawall.api.meta import Kind, PrinterColumn, Rule, StatusModel
from seawall.api.resource import STAGE, Conditions, ObjectStatus, Resource
from seawall.api.v1alpha1.purge_template import PurgeTemplate


class Stage(StrEnum):
    """Where a run is. It has none until it begins; each member says what comes next."""

    PREPARATION = "Preparation"
    """Reads reports, metadata and offsets, and plans. Then Communication, Verification, Purge or Failed."""
    COMMUNICATION = "Communication"
    """Asks regions to flush and waits for them. Then Verification, Purge or Failed."""
    VERIFICATION = "Verification"
    """Waits for a replay verification that runs, if a policy requires one, a quarter of an hour at most. Then Purge."""
    PURGE = "Purge"
    """Announces, waits for the evidence, and deletes. Then Completed or Failed, with what was done until then."""
    COMPLETED = "Completed"
    """The end: all that could be purged was, or nothing had to be."""
    FAILED = "Failed"
    """The end: it could not go on; the condition Failed says why."""


FINISHED = frozenset({Stage.COMPLETED, Stage.FAILED})


class WALPurgeSpec(PurgeTemplate):
    """What the run is told. Immutable: make another run instead."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self == oldSelf", "the spec of a run is immutable: create another WALPurge"),
    )


class RunTopics(StatusModel):
    """Topics of a run by what became of them."""

    total: Annotated[int, Field(ge=0)]
    """Topics that the run looked at."""
    purged: Annotated[int, Field(ge=0)] = 0
    """Topics from which the run deleted, and that are not damaged."""
    unchanged: Annotated[int, Field(ge=0)] = 0
    """Topics with nothing to purge."""
    skipped: Annotated[int, Field(ge=0)] = 0
    """Topics that were left alone, for the reasons in `skipped`."""
    failed: Annotated[int, Field(ge=0)] = 0
    """Topics whose deletion Kafka refused or did not answer."""


MAX_HELD_BY = 1024
"""Characters of who holds a topic: a person's word about regions is among them."""


class SkippedTopic(StatusModel):
    """A topic that was left alone."""

    topic: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    reason: Annotated[str, Field(max_length=128)]
    """Why, in one CamelCase word."""
    held_by: Annotated[str, Field(max_length=MAX_HELD_BY)] | None = None
    """Who holds it: a region or a WALHold."""


class AskedRegion(StatusModel):
    """A region that is asked to flush."""

    region_id: Annotated[str, Field(max_length=20, pattern=r"^[0-9]+$")]
    """Id of the region, in digits: it may be greater than JSON's numbers are exact."""
    flushed_to: Annotated[int, Field(ge=0)] | None = None
    """Up to where it was flushed when the run began; it is waited for until this moves."""
    unlogged_bytes: Annotated[int, Field(ge=0)] | None = None
    """What it had in memory, if its rows are written without the log (skip_wal): waited for until this is less."""


class FlushStatus(StatusModel):
    """The flushes of a run."""

    start_time: datetime
    """When the run began to ask."""
    regions: Annotated[tuple[AskedRegion, ...], Field(max_length=1000)] = ()
    """The regions that are asked, at most 1,000, those that hold back most first."""


MAX_PARTS = 16
"""ConfigMaps of one run."""


class FrozenTargets(StatusModel):
    """What the run has seen of its topics, as it is kept in ConfigMaps that the run owns. It does not change."""

    topics: Annotated[int, Field(ge=0)]
    """Topics from which something may go."""
    digest: Annotated[str, Field(max_length=32, pattern=r"^[0-9a-f]{32}$")]
    """BLAKE2b of all parts. The ConfigMaps are named `seawall-targets-<UID of the run>-<digest>-<number>`."""
    parts: Annotated[int, Field(ge=1, le=MAX_PARTS)]
    """How many ConfigMaps. If one is gone or was changed the run fails, and deletes nothing more."""


class PlannedTopic(StatusModel):
    """A topic from which something may go, as it was seen."""

    topic: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    log_start: Annotated[int, Field(ge=0)]
    """Where the log began."""
    purge_to: Annotated[int, Field(ge=0)]
    """Records before this offset were to go."""
    declared: Annotated[str, Field(max_length=512)] | None = None
    """Why a topic that no region writes to is purged: who declared it unused, and until when."""
    dead: Annotated[str, Field(max_length=512)] | None = None
    """Which regions of the topic did not count, because a person declared them dead, and until when."""


class RefusedTopic(StatusModel):
    """A topic whose deletion Kafka refused; it is not asked again."""

    topic: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    reason: Annotated[str, Field(max_length=64)] = "DeleteRefused"
    """NotSupportedByKafka or DeleteRefused."""
    message: Annotated[str, Field(max_length=512)]
    """Why, in Kafka's own words."""


class WALPurgeStatus(ObjectStatus):
    """How far the run is."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus); Complete and Failed, as a Job has them; Waiting."""
    stage: Stage | None = None
    """Where the run is; absent until it begins."""
    start_time: datetime | None = None
    """When it began."""
    completion_time: datetime | None = None
    """When it ended."""
    topics: RunTopics | None = None
    """Topics by what became of them; absent until they are known."""
    entries_deleted: Annotated[int, Field(ge=0)] | None = None
    """Entries that the run deleted, over all topics: what is gone beyond its intents somebody else deleted."""
    bytes_before: Annotated[int, Field(ge=0)] | None = None
    """Bytes of these topics on the leaders' disks when the run began, or up to 10 s before."""
    bytes_after: Annotated[int, Field(ge=0)] | None = None
    """The same when it ended. Closed segments only free disk space, and some minutes later."""
    flush: FlushStatus | None = None
    """The flushes that the run asks for; absent until it asks."""
    verification_time: datetime | None = None
    """When it began to wait for a replay verification; absent if it did not."""
    seen_time: datetime | None = None
    """When it was recorded what was seen; the evidence is waited for from then on."""
    frozen: FrozenTargets | None = None
    """What was seen of all topics, in ConfigMaps of the run; absent until then, and of a dry run."""
    planned: Annotated[tuple[PlannedTopic, ...], Field(max_length=50)] = ()
    """What may go, of at most 50 topics: those by a person's word first, then by entries. Of a dry run, its plan."""
    refused: Annotated[tuple[RefusedTopic, ...], Field(max_length=50)] = ()
    """Topics whose deletion Kafka refused, at most 50; all are counted in `topics.failed` at the end."""
    skipped: Annotated[tuple[SkippedTopic, ...], Field(max_length=50)] = ()
    """Topics that were left alone, at most 50, the worst first."""

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended, well or not."""
        return self.stage in FINISHED


WAL_PURGE = Kind(
    kind="WALPurge",
    plural="walpurges",
    short_names=("walp",),
    description="One run that removes what the database no longer needs from the topics of a WALCluster.",
    spec=WALPurgeSpec,
    status=WALPurgeStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are purged"),
        PrinterColumn("Stage", "string", ".status.stage", "Where the run is"),
        PrinterColumn("Purged", "integer", ".status.topics.purged", "Topics from which it deleted"),
        PrinterColumn("Topics", "integer", ".status.topics.total", "Topics that the run looks at"),
        PrinterColumn("Entries", "integer", ".status.entriesDeleted", "Entries deleted"),
        PrinterColumn("DryRun", "boolean", ".spec.dryRun", "Whether it only plans and reports", priority=1),
        PrinterColumn(
            "Policy",
            "string",
            ".metadata.ownerReferences[?(@.controller==true)].name",
            "WALPurgePolicy that made it",
            priority=1,
        ),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALPurge(Resource[WALPurgeSpec, WALPurgeStatus]):
    """A WALPurge as read from the API server."""

    KIND = WAL_PURGE
    KEPT = frozenset({STAGE})
