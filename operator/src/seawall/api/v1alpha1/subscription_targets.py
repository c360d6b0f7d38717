"""What a WALCluster declares for subscriptions: the code that copies its log, and the Kafka clusters it may go to."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from seawall.api.meta import APIModel, Rule
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.object_storage import AccessKeySecretRef, S3Bucket
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, Username, username_rule
from seawall.api.v1alpha1.spark_spec import SparkSpec

TargetName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""What a Kafka cluster is called among those that the log of a WALCluster may go to."""


class TargetKafka(APIModel):
    """A Kafka cluster that the log, or rows of it, may go to."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        username_rule("kafka_username", "kafka_credentials_secret_ref"),
        Rule(
            "!has(self.kafkaCredentialsSecretRef) || has(self.kafka.sasl)",
            "kafkaCredentialsSecretRef needs kafka.sasl, which says how a user is authenticated",
            lambda target: target.kafka_credentials_secret_ref is None or target.kafka.sasl is not None,
        ),
        Rule(
            "!has(self.kafkaClientCertSecretRef) || (has(self.kafka.tls) && has(self.kafka.tls.clientCertSecretRef))",
            "kafkaClientCertSecretRef stands in for kafka.tls.clientCertSecretRef: set that, too",
            lambda target: (
                target.kafka_client_cert_secret_ref is None
                or (target.kafka.tls is not None and target.kafka.tls.client_cert_secret_ref is not None)
            ),
        ),
    )

    name: TargetName
    """What it is called: `target` of a sink of a WALSubscription."""
    kafka: ExternalKafka
    """How Seawall reaches it. It makes the topics there, and reads where they end."""
    kafka_username: Username | None = None
    """The user of kafkaCredentialsSecretRef, where that Secret has a password only, as that of a Strimzi KafkaUser."""
    kafka_credentials_secret_ref: CredentialsSecretRef | None = None
    """User of that Kafka for the job, which needs Describe, Read and Write on the topics and nothing else. Absent: the
    job has Seawall's own user there."""
    kafka_client_cert_secret_ref: ClientCertSecretRef | None = None
    """The same where that Kafka knows its clients by certificate: the job's own."""


class TableBucket(S3Bucket):
    """A bucket that tables may go to."""

    reader_credentials_secret_ref: AccessKeySecretRef | None = None
    """The access key by which Seawall itself reads how far tables are: it lists, and gets, below `chains`. Absent:
    that of the job; without one the identity of Seawall's pod."""


class TargetBucket(APIModel):
    """A bucket that rows may go to, as tables."""

    name: TargetName
    """What it is called: `target` of `sink.table` of a WALSubscription."""
    s3: TableBucket
    """The bucket."""


class SubscriptionSpec(APIModel):
    """What runs for every subscription of the WALCluster, as whom, and where the log may go.

    Whoever may create a WALSubscription could else send the log to a Kafka cluster of their own.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        username_rule("kafka_username", "kafka_credentials_secret_ref"),
        Rule(
            "!has(self.targets) || self.targets.all(one, self.targets.exists_one(other, other.name == one.name))",
            "targets names each Kafka cluster once",
            lambda spec: len({one.name for one in spec.targets}) == len(spec.targets),
        ),
        Rule(
            "!has(self.buckets) || self.buckets.all(one, self.buckets.exists_one(other, other.name == one.name))",
            "buckets names each bucket once",
            lambda spec: len({one.name for one in spec.buckets}) == len(spec.buckets),
        ),
        Rule(
            "(has(self.targets) && size(self.targets) > 0) || (has(self.buckets) && size(self.buckets) > 0)",
            "set targets, buckets or both: else the log may go nowhere",
            lambda spec: bool(spec.targets or spec.buckets),
        ),
    )

    spark: SparkSpec
    """The Spark application that copies the log."""
    targets: Annotated[tuple[TargetKafka, ...], Field(max_length=8)] = ()
    """The Kafka clusters that it may go to."""
    buckets: Annotated[tuple[TargetBucket, ...], Field(max_length=8)] = ()
    """The buckets that rows of it may go to."""
    kafka_username: Username | None = None
    """The user of kafkaCredentialsSecretRef, where that Secret has a password only, as that of a Strimzi KafkaUser."""
    kafka_credentials_secret_ref: CredentialsSecretRef | None = None
    """User of the WALCluster's Kafka for the job, which needs Read and Describe on the topics and nothing else. Absent:
    the job has Seawall's own user, and condition OwnKafkaUser says so."""
    kafka_client_cert_secret_ref: ClientCertSecretRef | None = None
    """The same where Kafka knows its clients by certificate: the job's own."""

    def target(self, name: str) -> TargetKafka | None:
        """The Kafka cluster of this name; None: there is none."""
        return next((each for each in self.targets if each.name == name), None)

    def bucket(self, name: str) -> TargetBucket | None:
        """The bucket of this name; None: there is none."""
        return next((each for each in self.buckets if each.name == name), None)
