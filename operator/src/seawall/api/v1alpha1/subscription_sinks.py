"""Where a subscription takes the log: a second Kafka, a topic of rows or a bucket of rows, and which rows."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Rule
from seawall.api.quantity import MI, Bytes, bytes_rule
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.api.v1alpha1.subscription_targets import TargetName
from seawall.api.v1alpha1.verification_template import SnapshotSpec

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


class StartFrom(StrEnum):
    """What a topic begins with."""

    EARLIEST = "Earliest"
    SNAPSHOT = "Snapshot"


class StartSpec(APIModel):
    """With what topics begin whose rows are handed on, also those that begin anew."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.from == 'Snapshot') == has(self.snapshot)",
            "snapshot goes with from: Snapshot, and with nothing else",
            lambda start: (start.from_ is StartFrom.SNAPSHOT) == (start.snapshot is not None),
        ),
    )

    from_: Annotated[StartFrom, Field(alias="from")] = StartFrom.EARLIEST
    """`Earliest`: the log, from where it starts. `Snapshot`: first the rows of a snapshot, then of the log what that
    does not have."""
    snapshot: SnapshotSpec | None = None
    """The snapshot. It is made when the WALHold of the subscription is Granted, and must stay until all topics have
    passed it."""


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
