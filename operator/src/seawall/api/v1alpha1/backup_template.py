"""Where backups of the WAL go, and what a WALCluster declares for them."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Name, Rule
from seawall.api.v1alpha1.object_storage import AccessKeySecretRef, S3Bucket
from seawall.api.v1alpha1.purge_template import TopicGlob, matches_any
from seawall.api.v1alpha1.secret_refs import (
    ClientCertSecretRef,
    CredentialsSecretRef,
    Username,
    username_rule,
)
from seawall.api.v1alpha1.spark_spec import SparkOverrides, SparkSpec
from seawall.api.v1alpha1.verification_template import MAX_TOPICS


class S3Storage(S3Bucket):
    """A bucket of S3, or of a server that speaks S3."""

    expiry_credentials_secret_ref: AccessKeySecretRef | None = None
    """The access key that may delete, for `retention` of a WALBackupPolicy: only drivers that delete mount it.
    Absent: whoever writes deletes, too. While the Secret is missing nothing is deleted, and backups go on."""


class BackupStorage(APIModel):
    """Where backups are kept."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.s3) != has(self.persistentVolumeClaim)",
            "exactly one of s3 and persistentVolumeClaim must be set",
            lambda storage: (storage.s3 is None) != (storage.persistent_volume_claim is None),
        ),
    )

    s3: S3Storage | None = None
    """A bucket."""
    persistent_volume_claim: Name | None = None
    """A claim that driver and executors mount; on more than one node it must be ReadWriteMany."""

    def describe(self) -> str:
        """The place in one word: what a person types to find it, and what an incremental backup compares."""
        if self.s3 is None:
            return f"claim:{self.persistent_volume_claim}"
        return self.s3.describe()


class BackupLevel(StrEnum):
    """How much of a backup is proved, right after it was written; each includes those before."""

    NONE = "None"
    """Nothing is read again."""
    CHECKSUMS = "Checksums"
    """All objects are read again: sizes, SHA-256, every section's records, every offset."""
    INTEGRITY = "Integrity"
    """And every record decodes as the database would read it."""


class BackupVerification(APIModel):
    """What of a backup is proved."""

    level: BackupLevel = BackupLevel.CHECKSUMS
    """None, Checksums or Integrity."""


class BackupTemplate(APIModel):
    """What a backup is told: the part that a WALBackup and a WALBackupPolicy share."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("timeout"),)

    topics: Annotated[tuple[TopicGlob, ...], Field(min_length=1, max_length=MAX_TOPICS)] = ("*",)
    """Which topics of the pool: names, in which `*` stands for any characters and `?` for one."""
    verify: BackupVerification = BackupVerification()
    """What is proved of a backup, right after it was written."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "6h"})] = timedelta(hours=6)
    """How long one attempt may take; the hold on the log lasts no longer."""
    spark: SparkOverrides = SparkOverrides()
    """How large the Spark application is, where it differs from what the WALCluster says."""

    def selects(self, topic: str) -> bool:
        """Whether it is about this topic of the pool."""
        return matches_any(topic, self.topics)


class RestoreUser(APIModel):
    """Who a restore is to Kafka: it writes what a backup may only read."""

    RULES: ClassVar[tuple[Rule, ...]] = (username_rule("kafka_username", "kafka_credentials_secret_ref"),)

    kafka_username: Username | None = None
    """The user of kafkaCredentialsSecretRef, where that Secret has a password only, as that of a Strimzi KafkaUser."""
    kafka_credentials_secret_ref: CredentialsSecretRef | None = None
    """User of Kafka for the job, which needs Read, Write, Delete, Describe and DescribeConfigs on the topics. Absent:
    the job has Seawall's own user, and condition OwnKafkaUser says so."""
    kafka_client_cert_secret_ref: ClientCertSecretRef | None = None
    """The same where Kafka knows its clients by certificate: the job's own."""


class BackupSpec(APIModel):
    """What runs for every backup of the WALCluster, as whom, and where backups go.

    Whoever may create a WALBackup could else send the log to a place of their own.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (username_rule("kafka_username", "kafka_credentials_secret_ref"),)

    storage: BackupStorage
    """Where backups are kept. When this changes, the next backup must be a full one."""
    spark: SparkSpec
    """The Spark application that reads the log and writes objects."""
    kafka_username: Username | None = None
    """The user of kafkaCredentialsSecretRef, where that Secret has a password only, as that of a Strimzi KafkaUser."""
    kafka_credentials_secret_ref: CredentialsSecretRef | None = None
    """User of Kafka for the job, which needs Read and Describe on the topics and nothing else. Absent:
    the job has Seawall's own user, and condition OwnKafkaUser says so."""
    kafka_client_cert_secret_ref: ClientCertSecretRef | None = None
    """The same where Kafka knows its clients by certificate: the job's own."""
    restore: RestoreUser = RestoreUser()
    """Who writes a backup back (WALRestore)."""
