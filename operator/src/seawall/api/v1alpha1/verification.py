"""WALVerification: one replay verification of the WAL on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from seawall.api.meta import Kind, PrinterColumn, Rule, StatusModel
from seawall.api.resource import STAGE, Resource
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.spark_job import MAX_NOT_READ, JobStatus, NotReadTopic, TtlSeconds
from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.verification_template import MAX_TOPICS, VerificationTemplate

MAX_FINDINGS = 20


class WALVerificationSpec(VerificationTemplate):
    """What the verification is told. Immutable: make another one instead."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *VerificationTemplate.RULES,
        Rule("self == oldSelf", "the spec of a verification is immutable: create another WALVerification"),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics are read."""
    spark: SparkOverrides = SparkOverrides()
    """How large the Spark application is, where it differs from what the WALCluster says."""
    ttl_seconds_after_finished: TtlSeconds | None = None
    """Seconds after the end at which the object is deleted, with its application; absent means never. One
    that found a topic bad stays while another one is there that would count without it."""


class VerifiedTopic(StatusModel):
    """One topic of the request."""

    name: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    topic_id: Annotated[str, Field(max_length=64)]
    """Which log it was: a topic that is created again has another id."""
    verified_from: Annotated[int, Field(ge=0)]
    """The offset that it is read from: the first that any region would read. If verified, the log from here on replays,
    so that what lies before may go."""
    end: Annotated[int, Field(ge=0)]
    """The offset before which it is read; what lies beyond was not looked at."""
    verified: StrictBool = False
    """Whether the level was proved of this topic."""


class Counts(StatusModel):
    """What the application counted."""

    records: Annotated[int, Field(ge=0)]
    """Kafka records that were read."""
    bytes: Annotated[int, Field(ge=0)]
    """Bytes of their keys and values."""
    entries: Annotated[int, Field(ge=0)]
    """WAL entries that they make."""
    errors: Annotated[int, Field(ge=0)]
    """Findings because of which a topic is not verified."""
    warnings: Annotated[int, Field(ge=0)]
    """Findings that a person should know of."""
    regions_not_compared: Annotated[int, Field(ge=0)] = 0
    """Regions that level Equivalence could not compare."""


class Finding(StatusModel):
    """Something that is wrong with the log."""

    kind: Annotated[str, Field(max_length=64)]
    """What, in one CamelCase word."""
    severity: Literal["Error", "Warning"]
    """An error keeps its topic from being verified."""
    topic: Annotated[str, Field(max_length=249)] | None = None
    """Name of the topic."""
    offset: Annotated[int, Field(ge=0)] | None = None
    """The first bad offset."""
    region: Annotated[str, Field(max_length=20, pattern=r"^[0-9]+$")] | None = None
    """Id of the region, in digits: it may be greater than JSON's numbers are exact."""
    message: Annotated[str, Field(max_length=1024)]
    """The same in one sentence."""


class TopicCounts(StatusModel):
    """Topics of the verification by what became of them."""

    total: Annotated[int, Field(ge=0)] = 0
    """Topics that are read."""
    verified: Annotated[int, Field(ge=0)] = 0
    """Topics of which the level was proved."""
    idle: Annotated[int, Field(ge=0)] = 0
    """Topics that no region writes to: nothing of them is replayed."""
    not_read: Annotated[int, Field(ge=0)] = 0
    """Topics that were not read for the reasons in `notRead`."""


class WALVerificationStatus(JobStatus):
    """How far the verification is, and its verdict."""

    verdict_time: datetime | None = None
    """When the driver ended whose verdict it is, by its node's clock, and never after the verdict was read. What is
    verified is so old, however late that was."""
    report: Annotated[str, Field(max_length=2048)] | None = None
    """Where the report is, as a URI."""
    topic_counts: TopicCounts | None = None
    """Topics by what became of them."""
    topics: Annotated[tuple[VerifiedTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics of the request, from where and to where they are read."""
    not_read: Annotated[tuple[NotReadTopic, ...], Field(max_length=MAX_NOT_READ)] = ()
    """Topics that were selected and not read, at most 50."""
    counts: Counts | None = None
    """What the application counted."""
    findings: Annotated[tuple[Finding, ...], Field(max_length=MAX_FINDINGS)] = ()
    """The worst of what it found, at most 20; all of it is in the report."""


WAL_VERIFICATION = Kind(
    kind="WALVerification",
    plural="walverifications",
    short_names=("walv",),
    description="One replay verification of the WAL of a WALCluster on Spark.",
    spec=WALVerificationSpec,
    status=WALVerificationStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are read"),
        PrinterColumn("Level", "string", ".spec.level", "How much is looked at"),
        PrinterColumn("Stage", "string", ".status.stage", "Where it is"),
        PrinterColumn("Verified", "integer", ".status.topicCounts.verified", "Topics that replay"),
        PrinterColumn("Topics", "integer", ".status.topicCounts.total", "Topics that are read"),
        PrinterColumn("Errors", "integer", ".status.counts.errors", "Findings that are errors"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("Application", "string", ".status.applicationName", "Its SparkApplication", priority=1),
        PrinterColumn("Report", "string", ".status.report", "Where the report is", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALVerification(Resource[WALVerificationSpec, WALVerificationStatus]):
    """A WALVerification as read from the API server."""

    KIND = WAL_VERIFICATION
    KEPT = frozenset({STAGE})
