"""What a replay verification is told: the part that a WALVerification and the schedule of a WALCluster share."""

from __future__ import annotations

import re
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Name, Rule
from seawall.api.quantity import MAX_LARGE, MI, LargeBytes, bytes_rule
from seawall.api.v1alpha1.purge_template import TopicGlob
from seawall.api.v1alpha1.verification_level import VerificationLevel

MAX_TOPICS = 1_000
"""Topics of one verification: its status has a row for each."""

LEAST_MEMORY = 512 * MI

Uri = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[a-z][a-z0-9+.-]*:[^\s]+$")]
"""A URI of Hadoop's file systems."""


_CONF = r"^spark[.][a-zA-Z0-9._-]{1,200}$"


def _memory_rule(field: str) -> Rule:
    return Rule(
        f"!has(self.{field}) || quantity(string(self.{field})).compareTo(quantity('512Mi')) >= 0",
        f"{field} must be at least 512Mi: Spark does not start with less",
        lambda spark: (spark.memory if field == "memory" else spark.driver_memory) >= LEAST_MEMORY,
    )


class SparkSpec(APIModel):
    """The Spark application that reads the log."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        bytes_rule("memory", MAX_LARGE),
        bytes_rule("driverMemory", MAX_LARGE),
        _memory_rule("memory"),
        _memory_rule("driverMemory"),
        Rule(
            f"!has(self.conf) || self.conf.all(name, name.matches('{_CONF}') && !name.startsWith('spark.kubernetes.'))",
            "conf takes settings of Spark (spark.<name>), and none of spark.kubernetes: Seawall makes the pods",
            lambda spark: all(
                re.fullmatch(_CONF, name) and not name.startswith("spark.kubernetes.") for name in spark.conf
            ),
        ),
    )

    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s]+$")]
    """Image with Spark, the Kafka connector and Seawall's replay verification."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When the image is pulled."""
    image_pull_secrets: Annotated[tuple[Name, ...], Field(max_length=8)] = ()
    """Secrets of the image's registry."""
    service_account_name: Name = "seawall-replay-verification"
    """Service account of the driver, which makes executors; the chart makes one with no other rights."""
    executors: Annotated[int, Field(strict=True, ge=1, le=1000)] = 2
    """How many executors read."""
    cores: Annotated[int, Field(strict=True, ge=1, le=64)] = 1
    """Tasks that each executor runs at the same time."""
    memory: Annotated[LargeBytes, Field(json_schema_extra={"default": "1Gi"})] = 1024 * MI
    """Heap of each executor, at least 512Mi. Its pod takes 40 percent more, for Python."""
    driver_memory: Annotated[LargeBytes, Field(json_schema_extra={"default": "1Gi"})] = 1024 * MI
    """Heap of the driver, at least 512Mi. Its pod takes 40 percent more, for Python."""
    cpu_request: Annotated[str, Field(max_length=16, pattern=r"^[0-9]{1,6}m?$")] | None = None
    """CPU that the pods of driver and executors request each, as in `500m`; absent: as many as their cores."""
    conf: Annotated[dict[str, Annotated[str, Field(max_length=1024)]], Field(max_length=32)] = Field(
        default_factory=dict
    )
    """Further settings of Spark, such as `spark.executor.defaultJavaOptions`. None of spark.kubernetes."""


KeptTimes = Annotated[int, Field(strict=True, ge=1, le=100)]
"""At least the newest: when it was due is read from its name."""


class SnapshotSpec(APIModel):
    """What the database held, for level Equivalence."""

    uri: Uri
    """Folder with snapshot.json. Of a volume it begins with `file:///snapshot/`."""
    persistent_volume_claim: Name | None = None
    """Claim that driver and executors mount at /snapshot, to read only."""


class ReportSpec(APIModel):
    """Where the report goes: `<verification>-<attempt>.json`, and a page for people beside it (.html)."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.uri) != has(self.persistentVolumeClaim)",
            "exactly one of uri and persistentVolumeClaim must be set",
            lambda report: (report.uri is None) != (report.persistent_volume_claim is None),
        ),
    )

    persistent_volume_claim: Name | None = None
    """Claim that the driver mounts; the report is `<namespace>/<verification>-<attempt>.json` in it."""
    uri: Uri | None = None
    """Folder, as a URI of one of Hadoop's file systems for which the image has what it needs."""


class VerificationTemplate(APIModel):
    """What a verification is told."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.level != 'Equivalence' || has(self.snapshot)",
            "level Equivalence compares with a snapshot: set snapshot",
            lambda spec: spec.level is not VerificationLevel.EQUIVALENCE or spec.snapshot is not None,
        ),
        duration_rule("timeout"),
    )

    topics: Annotated[tuple[TopicGlob, ...], Field(min_length=1, max_length=MAX_TOPICS)] = ("*",)
    """Which topics of the pool: names, in which `*` stands for any characters and `?` for one."""
    level: VerificationLevel = VerificationLevel.INTEGRITY
    """How much is looked at: Coverage (all is there), Integrity (and decodes), Equivalence (and gives the rows)."""
    snapshot: SnapshotSpec | None = None
    """What the database held; only for level Equivalence."""
    spark: SparkSpec
    """The Spark application that reads the log."""
    report: ReportSpec | None = None
    """Where the whole report goes; absent: only the verdict is kept, in the status."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "6h"})] = timedelta(hours=6)
    """How long one attempt may take; the hold on the log lasts no longer."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)


class VerificationSchedule(VerificationTemplate):
    """When verifications begin, and what they are told."""

    RULES: ClassVar[tuple[Rule, ...]] = VerificationTemplate.RULES

    schedule: Annotated[str, Field(min_length=1, max_length=100)]
    """Cron expression with five fields: minute, hour, day of month, month, day of week."""
    time_zone: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_+/-]+$")] | None = None
    """Time zone of the schedule, as in `Europe/Berlin`; absent means UTC."""
    suspend: StrictBool = False
    """No new verifications; those that have begun go on."""
    successful_runs_history_limit: KeptTimes = 3
    """For how many times verifications are kept that completed."""
    failed_runs_history_limit: KeptTimes = 3
    """For how many times verifications are kept of which any failed."""
