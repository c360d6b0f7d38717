"""What a replay verification is told: the part that a WALVerification and the schedule of a WALCluster share."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.cron import CronText, TimeZone, cron_rule, time_zone_rule
from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Name, Rule
from seawall.api.text import SPACE
from seawall.api.v1alpha1.purge_template import TopicGlob, matches_any
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, Username, username_rule
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.api.v1alpha1.verification_level import VerificationLevel

MAX_TOPICS = 1_000
"""Topics of one verification: its status has a row for each."""

Uri = Annotated[str, Field(min_length=1, max_length=1024, pattern=rf"^[a-z][a-z0-9+.-]*:[^{SPACE}]+$")]
"""A URI of Hadoop's file systems."""


KeptTimes = Annotated[int, Field(strict=True, ge=1, le=100)]
"""At least the newest: when it was due is read from its name."""


class SnapshotSpec(APIModel):
    """What the database held: its rows, of each region up to an entry."""

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
    report: ReportSpec | None = None
    """Where the whole report goes; absent: only the verdict is kept, in the status."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "6h"})] = timedelta(hours=6)
    """How long one attempt may take; the hold on the log lasts no longer."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return matches_any(topic, self.topics)


class VerificationSchedule(VerificationTemplate):
    """What runs for every verification of the WALCluster and as whom, and when verifications begin by themselves."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *VerificationTemplate.RULES,
        cron_rule("schedule"),
        time_zone_rule("timeZone"),
        username_rule("kafka_username", "kafka_credentials_secret_ref"),
    )

    spark: SparkSpec
    """The Spark application that reads the log. Verifications by hand, too, run this image, account and settings."""
    kafka_username: Username | None = None
    """The user of kafkaCredentialsSecretRef, where that Secret has a password only, as that of a Strimzi KafkaUser."""
    kafka_credentials_secret_ref: CredentialsSecretRef | None = None
    """User of Kafka for the job, which needs Read and Describe on the topics and nothing else; Seawall's operator need
    not be able to read the Secret. Absent: the job has Seawall's own user, and condition OwnKafkaUser says so."""
    kafka_client_cert_secret_ref: ClientCertSecretRef | None = None
    """The same where Kafka knows its clients by certificate: the job's own."""
    schedule: CronText | None = None
    """Cron expression with five fields: minute, hour, day of month, month, day of week. Absent: verifications are made
    by hand only."""
    time_zone: TimeZone | None = None
    """Time zone of the schedule, as in `Europe/Berlin`; absent means UTC."""
    suspend: StrictBool = False
    """No new verifications; those that have begun go on."""
    successful_runs_history_limit: KeptTimes = 3
    """For how many times verifications are kept that completed."""
    failed_runs_history_limit: KeptTimes = 3
    """For how many times verifications are kept of which any failed. One without which an older good one of a topic
    would count again is kept beyond that."""
