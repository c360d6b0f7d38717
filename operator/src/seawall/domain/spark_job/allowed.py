"""What a job may run, and as which user of Kafka: its WALCluster declares both, the object itself only sizes.

Whoever may create a WALVerification or a WALBackup must not get a user of Kafka by it. So no image, account or setting
of Spark that could hand the user on comes from there, and the user itself can be one that may only read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import JobDeclaration, KafkaUserRefs
from seawall.api.v1alpha1.spark_spec import SparkOverrides, SparkSpec

DECLARED = {
    "image": "image",
    "image_pull_policy": "imagePullPolicy",
    "image_pull_secrets": "imagePullSecrets",
    "service_account_name": "serviceAccountName",
}
"""What only the WALCluster says, by the names in the model and in the API."""


class KindOfJob(Protocol):
    """How a kind is called in sentences."""

    @property
    def noun(self) -> str:
        """Its name, which is that of the WALCluster's field too."""

    @property
    def may(self) -> str:
        """What it may do with the WALCluster."""


SIZES = ("executors", "cores", "memory", "driver_memory", "cpu_request")


def why_not_allowed(
    asked: SparkOverrides, declared: JobDeclaration | None, cluster: WALCluster, kind: KindOfJob
) -> str | None:
    """Why the WALCluster does not let this run, in one sentence; None: it does.

    What needs no WALCluster, the keys of `spark.conf`, is a rule of the model, so that admission refuses it.
    """
    name = cluster.metadata.name
    if declared is None:
        return f"WALCluster {name} does not say what may {kind.may}: set its spec.{kind.noun}.spark.image"
    differing = [field for field in DECLARED if _differs(asked, declared.spark, field)]
    if not differing:
        return None
    fields = " and ".join(f"spark.{DECLARED[field]}" for field in differing)
    verb = "is not what" if len(differing) == 1 else "are not what"
    return (
        f"{fields} {verb} WALCluster {name} declares in spec.{kind.noun}.spark, "
        "and nothing else gets its user of Kafka: leave out what the WALCluster says"
    )


def effective_spark(asked: SparkOverrides, declared: SparkSpec) -> SparkSpec:
    """What the WALCluster declares, in the sizes that the object asks for."""
    sizes = {field: value for field in SIZES if (value := getattr(asked, field)) is not None}
    return declared.model_copy(update={**sizes, "conf": {**declared.conf, **asked.conf}})


def kafka_of_job(cluster: Key, spec: WALClusterSpec, own: KafkaUserRefs | None) -> ExternalKafka:
    """The Kafka of the WALCluster as the job reaches it: with a user of its own, where one is declared."""
    access = spec.kafka.access(cluster)
    return access if own is None else as_user(access, own)


def as_user(kafka: ExternalKafka, own: KafkaUserRefs) -> ExternalKafka:
    """The same Kafka as another user reaches it, where one is declared."""
    tls, sasl = kafka.tls, kafka.sasl
    if sasl is not None and own.kafka_credentials_secret_ref is not None:
        user = {"username": own.kafka_username, "credentials_secret_ref": own.kafka_credentials_secret_ref}
        sasl = sasl.model_copy(update=user)
    if tls is not None and tls.client_cert_secret_ref is not None and own.kafka_client_cert_secret_ref is not None:
        tls = tls.model_copy(update={"client_cert_secret_ref": own.kafka_client_cert_secret_ref})
    return kafka.model_copy(update={"sasl": sasl, "tls": tls})


class User(StrEnum):
    """Whose user of Kafka a job has; the reasons of the condition OwnKafkaUser."""

    OWN = "OwnUser"
    """True. The WALCluster names a user of Kafka for such jobs, and the job is that one."""
    SEAWALLS = "SeawallsUser"
    """False. The job is Seawall's own user, which may delete records: declare one that may only read, by the field that
    the message names (docs/kafka-acls.md#the-job-of-a-verification)."""


@dataclass(frozen=True, slots=True)
class KafkaUser:
    """Whose user of Kafka the job has, in one sentence."""

    whose: User
    message: str


def kafka_user(
    cluster: WALCluster, spec: WALClusterSpec, own: JobDeclaration | None, field: str, does: str = "reads the log"
) -> KafkaUser | None:
    """Who the job is to Kafka, and what it does as that; None: Kafka asks nobody who they are."""
    key = cluster.metadata.key
    used = _identities(spec.kafka.access(key))
    if not used:
        return None
    of_job = _identities(kafka_of_job(key, spec, own))
    shared = [ref for ref, secret in used.items() if of_job[ref] == secret or _is_same_name(spec, own, ref)]
    if not shared:
        secrets = " and ".join(secret for secret, *_ in of_job.values())
        return KafkaUser(User.OWN, f"the job {does} as the user of Secret {secrets}")
    secrets = " and ".join(used[ref][0] for ref in shared)
    fields = " and ".join(f"spec.{field}.{ref}" for ref in shared)
    return KafkaUser(
        User.SEAWALLS,
        f"the job {does} as Seawall's own user (Secret {secrets}), which may delete records: "
        f"set {fields} of WALCluster {cluster.metadata.name}",
    )


def _is_same_name(spec: WALClusterSpec, own: JobDeclaration | None, ref: str) -> bool:
    """Whether both say the same name: of a copy of a Secret, too, the user is one."""
    sasl = None if spec.kafka.external is None else spec.kafka.external.sasl
    named = None if sasl is None else sasl.username
    return ref == CREDENTIALS and named is not None and own is not None and own.kafka_username == named


def own_secrets(own: KafkaUserRefs) -> tuple[str, ...]:
    """The Secrets that only the jobs need."""
    refs = (own.kafka_credentials_secret_ref, own.kafka_client_cert_secret_ref)
    return tuple(ref.name for ref in refs if ref is not None)


def _differs(asked: SparkOverrides, declared: SparkSpec, field: str) -> bool:
    value = getattr(asked, field)
    return value is not None and value != getattr(declared, field)


CREDENTIALS = "kafkaCredentialsSecretRef"


def _identities(kafka: ExternalKafka) -> dict[str, tuple[str, ...]]:
    """By the field that stands in for it: the Secret and the keys by which a client proves who it is."""
    found: dict[str, tuple[str, ...]] = {}
    if kafka.sasl is not None:
        ref = kafka.sasl.credentials_secret_ref
        found[CREDENTIALS] = (ref.name, ref.username_key, ref.password_key)
    if kafka.tls is not None and kafka.tls.client_cert_secret_ref is not None:
        cert = kafka.tls.client_cert_secret_ref
        found["kafkaClientCertSecretRef"] = (cert.name, cert.cert_key, cert.key_key)
    return found
