"""WALRestore: puts the WAL of a backup back into empty topics, each record at the offset that it had."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.instant import Instant
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule
from seawall.api.quantity import MAX_LARGE, LargeBytes, bytes_rule
from seawall.api.resource import STAGE, Resource
from seawall.api.v1alpha1.backup import PointName
from seawall.api.v1alpha1.purge_template import ClusterRef, TopicGlob, matches_any
from seawall.api.v1alpha1.restore_status import WALRestoreStatus
from seawall.api.v1alpha1.spark_job import TtlSeconds
from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.verification_template import MAX_TOPICS

MAX_OFFSET = 2**53
"""What JSON and CEL count without loss; a log that takes 10⁶ records a second needs 285 years for as many."""

Offset = Annotated[int, Field(strict=True, ge=0, le=MAX_OFFSET)]
OffsetByTopic = Annotated[dict[str, Offset], Field(min_length=1, max_length=MAX_TOPICS)]
_TOPIC = r"^[a-zA-Z0-9._-]{1,249}$"


def _names_rule(field: str, attribute: str) -> Rule:
    """A rule that the keys of a map are names of topics."""

    def holds(model: object) -> bool:
        found: dict[str, int] | None = getattr(model, attribute)
        return all(re.fullmatch(_TOPIC, name) for name in found or ())

    return Rule(
        f"!has(self.{field}) || self.{field}.all(name, name.matches('{_TOPIC}'))",
        f"{field} are offsets by names of topics",
        holds,
    )


class RestoreSource(APIModel):
    """Which backup comes back. It is where `spec.backup.storage` of the WALCluster says."""

    cluster_id: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")]
    """Id of the Kafka whose log was backed up. It must be said: the log of another one is another database's."""
    chain: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9][a-z0-9.-]*$")] | None = None
    """The chain, as `status.chain` of a WALBackup has it; absent: the only one in the store."""
    backup: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9][a-z0-9.-]*\.json\.gz$")] | None = (
        None
    )
    """The manifest of a backup, as `status.manifest.name` of a WALBackup has it; absent: the newest of the chain."""


class RestoreTarget(APIModel):
    """Up to where each topic comes back: exactly one of the four."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.latest), has(self.point), has(self.time), has(self.offsets)].exists_one(given, given)",
            "exactly one of latest, point, time and offsets must be set",
            lambda target: [target.latest, target.point, target.time, target.offsets].count(None) == 3,  # noqa: PLR2004
        ),
        _names_rule("offsets", "offsets"),
    )

    latest: Literal[True] | None = None
    """All that the backup has."""
    point: PointName | None = None
    """The restore point of this name (`bracket` of a WALBackup), of whichever chain; what was written later is given
    up. The database's own files and metadata must be those of its snapshot before it is started again."""
    time: Instant | None = None
    """Each topic ends before its first record that is later, by the clocks of whoever wrote them: this is no cut across
    topics."""
    offsets: OffsetByTopic | None = None
    """Where each topic ends, exclusive."""


class ScratchTopics(APIModel):
    """Topics of its own, which a restore writes to in place of those that were backed up, and deletes at its end."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("maxBytes", MAX_LARGE),)

    max_bytes: Annotated[LargeBytes, Field(json_schema_extra={"default": "10Gi"})] = 10 * 2**30
    """Bytes that may be written at most: those of keys, values and headers that come back, and one for each record of
    null (up to where the log began, mostly). A larger plan ends it before anything is made."""
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=32)] = 1
    """Replicas of each scratch topic. What they have is in the store, too; some Kafka services take no less than 3."""
    decode: StrictBool = True
    """Whether all that was read back is decoded, too, as the database would read it (GreptimeDB's format)."""


class WALRestoreSpec(APIModel):
    """What comes back, and where to. Immutable: make another one instead."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        duration_rule("timeout"),
        _names_rule("padTo", "pad_to"),
        Rule(
            "!has(self.target.point) || self.topics == ['*']",
            "a restore point has all topics: leave topics out",
            lambda spec: spec.target.point is None or spec.topics == ("*",),
        ),
        Rule(
            "!has(self.target.point) || !has(self.padAboveFlushed) || !self.padAboveFlushed",
            "padAboveFlushed is for a database that lives: the files of a restore point are older than its log",
            lambda spec: spec.target.point is None or not spec.pad_above_flushed,
        ),
        Rule(
            "!has(self.scratch) || ((!has(self.padAboveFlushed) || !self.padAboveFlushed) && !has(self.padTo))",
            "scratch topics are not padded: leave padAboveFlushed and padTo out",
            lambda spec: spec.scratch is None or (not spec.pad_above_flushed and spec.pad_to is None),
        ),
        Rule("self == oldSelf", "the spec of a restore is immutable: create another WALRestore"),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics come back. Its `spec.backup` says where backups are, and which code reads them."""
    source: RestoreSource
    """Which backup comes back."""
    target: RestoreTarget
    """Up to where."""
    topics: Annotated[tuple[TopicGlob, ...], Field(min_length=1, max_length=MAX_TOPICS)] = ("*",)
    """Which topics of the pool: names, in which `*` stands for any characters and `?` for one. None of them may exist:
    nothing is ever written to a topic that is there."""
    pad_above_flushed: StrictBool = False
    """The database's own files are newer than the backup: each log ends above all that the database says it has, with
    records of null. New rows would else get offsets that the next replay skips. The database must run until it is
    planned, so that it says so; where it cannot, `padTo` says it."""
    pad_to: OffsetByTopic | None = None
    """Where logs end at least, exclusive, for who knows better than the database says."""
    scratch: ScratchTopics | None = None
    """A drill: the backup comes back into scratch topics, is read back, and they are deleted. The topics of the pool
    and the database are neither asked nor touched, and nobody has to approve the plan."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "6h"})] = timedelta(hours=6)
    """How long one attempt may take; with `scratch`, how long it may wait for its beginning, too."""
    spark: SparkOverrides = SparkOverrides()
    """How large the Spark application is, where it differs from what the WALCluster says."""
    ttl_seconds_after_finished: TtlSeconds | None = None
    """Seconds after the end at which the object is deleted, with its applications. Absent: never."""

    @property
    def goes_back(self) -> bool:
        """Whether the database's own files will be those of an earlier time, too."""
        return self.target.latest is None and not self.pad_above_flushed

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return matches_any(topic, self.topics)


WAL_RESTORE = Kind(
    kind="WALRestore",
    plural="walrestores",
    short_names=("walrs",),
    description="Puts the WAL of a backup back into empty topics, each record at the offset that it had.",
    spec=WALRestoreSpec,
    status=WALRestoreStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics come back"),
        PrinterColumn("Stage", "string", ".status.stage", "Where it is"),
        PrinterColumn("Topics", "integer", ".status.plan.topics", "Topics that come back"),
        PrinterColumn("Records", "integer", ".status.plan.records", "Records that come back"),
        PrinterColumn("LostAtMost", "integer", ".status.plan.lostAtMost", "Offsets whose records do not come back"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("Plan", "string", ".status.plan.digest", "What seawall.dev/approve must say", priority=1),
        PrinterColumn("Snapshot", "string", ".status.plan.restorePoint.snapshot", "What belongs to it", priority=1),
        PrinterColumn("Location", "string", ".status.location", "Where the backup is kept", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALRestore(Resource[WALRestoreSpec, WALRestoreStatus]):
    """A WALRestore as read from the API server."""

    KIND = WAL_RESTORE
    KEPT = frozenset({STAGE})
