"""WALSubscription: takes the WAL elsewhere as it is written, and keeps at the source what was not taken yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule
from seawall.api.quantity import MAX_LARGE, LargeBytes, bytes_rule
from seawall.api.resource import Resource
from seawall.api.v1alpha1.purge_template import ClusterRef, TopicGlob, matches_any
from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.subscription_sinks import Sink, StartSpec, TableSelection
from seawall.api.v1alpha1.subscription_status import WALSubscriptionStatus
from seawall.api.v1alpha1.verification_template import MAX_TOPICS, SnapshotSpec


class LagBudget(APIModel):
    """How much the source keeps for a copy that does not keep up."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        bytes_rule("maxBytes", MAX_LARGE),
        duration_rule("maxAge"),
        Rule(
            "has(self.maxBytes) || has(self.maxAge)",
            "set maxBytes, maxAge or both: a dead mirror would else fill the disks of the source",
            lambda budget: budget.max_bytes is not None or budget.max_age is not None,
        ),
    )

    max_bytes: LargeBytes | None = None
    """Bytes of the source that are kept at most."""
    max_age: Duration | None = None
    """How old the oldest record that is kept may become."""


class Promotion(StrEnum):
    """How the copying ends."""

    FAILOVER = "Failover"
    SWITCHOVER = "Switchover"


class WALSubscriptionSpec(APIModel):
    """What is copied, and where to."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self.clusterRef == oldSelf.clusterRef", "clusterRef is immutable: create another WALSubscription"),
        Rule(
            "has(self.sink.mirror) == has(oldSelf.sink.mirror) && has(self.sink.table) == has(oldSelf.sink.table)",
            "the kind of sink is immutable: create another WALSubscription",
        ),
        Rule(
            "!has(self.sink.mirror) || !has(oldSelf.sink.mirror)"
            " || self.sink.mirror.target == oldSelf.sink.mirror.target",
            "sink.mirror.target is immutable: create another WALSubscription",
        ),
        Rule(
            "!has(self.sink.records) || !has(oldSelf.sink.records)"
            " || (self.sink.records.target == oldSelf.sink.records.target"
            " && self.sink.records.topic == oldSelf.sink.records.topic"
            " && self.sink.records.partitions == oldSelf.sink.records.partitions"
            " && self.sink.records.by == oldSelf.sink.records.by)",
            "target, topic, partitions and by of sink.records are immutable: create another WALSubscription",
        ),
        Rule(
            "!has(self.sink.table) || !has(oldSelf.sink.table) || self.sink.table.target == oldSelf.sink.table.target",
            "sink.table.target is immutable: create another WALSubscription",
        ),
        Rule(
            "!has(self.tables) || !has(self.sink.mirror)",
            "tables is not for sink.mirror: a mirror copies the whole log",
            lambda spec: spec.tables is None or spec.sink.mirror is None,
        ),
        Rule(
            "!has(self.start) || !has(self.sink.mirror)",
            "start is not for sink.mirror: a mirror begins where the log starts",
            lambda spec: spec.start is None or spec.sink.mirror is None,
        ),
        Rule(
            "!has(self.promote) || has(self.sink.mirror)",
            "promote is for sink.mirror only: no database can go on with rows",
            lambda spec: spec.promote is None or spec.sink.mirror is not None,
        ),
        Rule(
            "!has(oldSelf.promote) || (has(self.promote) && self.promote == oldSelf.promote)",
            "promote cannot be taken back: nothing is copied any more, and the database may write to the copy",
        ),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics are copied. Its `spec.subscription` says by which code, and where they may go."""
    topics: Annotated[tuple[TopicGlob, ...], Field(min_length=1, max_length=MAX_TOPICS)] = ("*",)
    """Which topics of the pool: names, in which `*` stands for any characters and `?` for one."""
    tables: TableSelection | None = None
    """Whose rows are handed on; absent: those of all tables. Not for a mirror."""
    start: StartSpec | None = None
    """With what a topic begins; absent: with the log, from where it starts. Not for a mirror."""
    sink: Sink
    """Where they go."""
    lag_budget: LagBudget
    """How much the source keeps for it. Beyond that the hold is Lost, and purges go on."""
    suspend: StrictBool = False
    """Nothing is copied while it is set. The source keeps what is not copied, within lagBudget."""
    resync: Annotated[str, Field(max_length=253)] = ""
    """Each value other than the one that was met last begins anew what is Lost or stopped, as in
    `resync: after the outage of 3 May`. A topic whose copy has a gap begins anew only when a person has deleted its
    topic in the target."""
    promote: Promotion | None = None
    """Ends the copying, so that a database can go on with the copy: `Failover` at once, as when the source is lost;
    `Switchover` when all of a source that nobody writes to any more is copied. It cannot be taken back."""
    spark: SparkOverrides = SparkOverrides()
    """How large the Spark application is, where it differs from what the WALCluster says."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return matches_any(topic, self.topics)

    @property
    def snapshot(self) -> SnapshotSpec | None:
        """What topics begin with, beside the log."""
        return None if self.start is None else self.start.snapshot

    @property
    def selection(self) -> TableSelection:
        """Whose rows are handed on."""
        return self.tables or TableSelection()


WAL_SUBSCRIPTION = Kind(
    kind="WALSubscription",
    plural="walsubscriptions",
    short_names=("walsub",),
    description="What follows the WAL of a WALCluster: a copy in a second Kafka cluster, or a topic of its rows.",
    spec=WALSubscriptionSpec,
    status=WALSubscriptionStatus,
    columns=(
        PrinterColumn("Source", "string", ".spec.clusterRef.name", "WALCluster whose topics are copied"),
        PrinterColumn("Target", "string", ".spec.sink.*.target", "Kafka cluster or bucket that they go to"),
        PrinterColumn("State", "string", ".status.state", "Where it is"),
        PrinterColumn("Topics", "integer", ".status.counts.total", "Topics that are copied"),
        PrinterColumn("Stopped", "integer", ".status.counts.stopped", "Topics that need a person"),
        PrinterColumn("Lag", "integer", ".status.lag.seconds", "Seconds that the worst topic is behind"),
        PrinterColumn("Held", "integer", ".status.lag.bytes", "Bytes that the source keeps for it"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALSubscription(Resource[WALSubscriptionSpec, WALSubscriptionStatus]):
    """A WALSubscription as read from the API server."""

    KIND = WAL_SUBSCRIPTION
    KEPT = frozenset({"producer", "targetClusterId", "topics", "resync", "state", "promotion", "records", "generation"})
