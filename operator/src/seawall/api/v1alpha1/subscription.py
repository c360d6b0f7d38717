"""WALSubscription: takes the WAL elsewhere as it is written, and keeps at the source what was not taken yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule
from seawall.api.quantity import MAX_LARGE, MI, Bytes, LargeBytes, bytes_rule
from seawall.api.resource import Resource
from seawall.api.v1alpha1.purge_template import ClusterRef, TopicGlob, matches_any
from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.subscription_status import WALSubscriptionStatus
from seawall.api.v1alpha1.subscription_targets import TargetName
from seawall.api.v1alpha1.verification_template import MAX_TOPICS

KafkaTopicName = Annotated[str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$")]
"""The name of a topic; not one of Kafka's own, which begin with underscores."""
TableGlob = Annotated[str, Field(min_length=1, max_length=253)]
"""A table as `schema.table`, in which `*` stands for any characters and `?` for one."""
EVERYTHING = "*"


class TargetTopics(APIModel):
    """Where a sink makes topics, and with how many replicas."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.minInSyncReplicas < self.replicationFactor"
            " || (self.replicationFactor == 1 && self.minInSyncReplicas == 1)",
            "minInSyncReplicas must be below replicationFactor (or both 1): otherwise one lost broker stops all writes",
            lambda sink: (
                sink.min_in_sync_replicas < sink.replication_factor
                or sink.replication_factor == sink.min_in_sync_replicas == 1
            ),
        ),
    )

    target: TargetName
    """Which Kafka cluster: a name in `spec.subscription.targets` of the WALCluster. Immutable."""
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=32)] = 3
    """Replicas of each topic that is made there."""
    min_in_sync_replicas: Annotated[int, Field(strict=True, ge=1, le=32)] = 2
    """Replicas that must have a record before it counts."""


class MirrorSink(TargetTopics):
    """A second Kafka cluster, whose topics have the same names, and each record at the same offset."""


class RowOrder(StrEnum):
    """What has its rows in one partition, and so in one order."""

    TOPIC = "Topic"
    TABLE = "Table"


class RecordsSink(TargetTopics):
    """A topic that gets the rows of selected tables, decoded, each of them once for readers of committed records."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *TargetTopics.RULES,
        Rule(
            "!has(self.deadLetters) || self.deadLetters != self.topic",
            "deadLetters must be another topic than topic: readers of rows would get what gives none",
            lambda sink: sink.dead_letters != sink.topic,
        ),
    )

    topic: KafkaTopicName
    """The topic of rows. It is made if it is not there; one that is there is used as it is. Immutable."""
    partitions: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    """Partitions of the topic of rows, if it is made. Immutable."""
    by: RowOrder = RowOrder.TOPIC
    """What has its rows in one partition: `Topic`, all rows of one topic of the log, in its order; `Table`, those of a
    table. Immutable."""
    dead_letters: KafkaTopicName | None = None
    """The topic that gets records of the log which give no rows. Absent: the topic of the log stops there."""


class TableSink(APIModel):
    """A bucket that gets the rows of selected tables as Parquet, each of them once for readers of its commits."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        duration_rule("commitInterval"),
        Rule(
            "!has(self.commitInterval) || duration(self.commitInterval) <= duration('1h')",
            "commitInterval must be at most an hour: so long the source keeps what is not committed",
            lambda sink: sink.commit_interval <= timedelta(hours=1),
        ),
        bytes_rule("maxFileBytes"),
    )

    target: TargetName
    """Which bucket: a name in `spec.subscription.buckets` of the WALCluster. Immutable."""
    commit_interval: Annotated[Duration, Field(json_schema_extra={"default": "30s"})] = timedelta(seconds=30)
    """Between two commits of a topic: so long rows are not there yet."""
    max_file_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "128Mi"})] = 128 * MI
    """When the files of a commit have so many bytes together, it is made at once."""
    dead_letters: StrictBool = False
    """Whether a record of the log that gives no rows is kept as an object; else the topic of the log stops there."""


class TableSelection(APIModel):
    """Whose rows are handed on."""

    include: Annotated[tuple[TableGlob, ...], Field(min_length=1, max_length=100)] = (EVERYTHING,)
    """Tables as `schema.table`, in which `*` stands for any characters and `?` for one."""
    exclude: Annotated[tuple[TableGlob, ...], Field(max_length=100)] = ()
    """Those of them that are left out, in the same form."""

    @property
    def is_everything(self) -> bool:
        """Whether no name of a table matters."""
        return EVERYTHING in self.include and not self.exclude

    def selects(self, table: str) -> bool:
        """Whether it is about this table, as `schema.table`."""
        return matches_any(table, self.include) and not matches_any(table, self.exclude)


class Sink(APIModel):
    """Where the log goes: exactly one of these. Which one is immutable."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.mirror), has(self.records), has(self.table)].filter(is_set, is_set).size() == 1",
            "set exactly one of mirror, records and table",
            lambda sink: [sink.mirror, sink.records, sink.table].count(None) == 2,  # noqa: PLR2004 - all but one
        ),
    )

    mirror: MirrorSink | None = None
    """A second Kafka cluster: the log itself, at the same offsets."""
    records: RecordsSink | None = None
    """A topic of rows."""
    table: TableSink | None = None
    """A bucket of rows."""

    @property
    def topics(self) -> TargetTopics | None:
        """What is made in a Kafka cluster; None: it goes to a bucket."""
        return self.mirror or self.records

    @property
    def target(self) -> str:
        """What it goes to is called."""
        found = self.topics or self.table
        return "" if found is None else found.target


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
    sink: Sink
    """Where they go."""
    lag_budget: LagBudget
    """How much the source keeps for it. Beyond that the hold is Lost, and purges go on."""
    suspend: StrictBool = False
    """Nothing is copied while it is set. The source keeps what is not copied, within lagBudget."""
    resync: Annotated[str, Field(max_length=253)] = ""
    """Each new value begins anew what is Lost or stopped, as in `resync: after the outage of 3 May`. A topic whose copy
    has a gap begins anew only when a person has deleted its topic in the target."""
    promote: Promotion | None = None
    """Ends the copying, so that a database can go on with the copy: `Failover` at once, as when the source is lost;
    `Switchover` when all of a source that nobody writes to any more is copied. It cannot be taken back."""
    spark: SparkOverrides = SparkOverrides()
    """How large the Spark application is, where it differs from what the WALCluster says."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return matches_any(topic, self.topics)

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
