"""WALCluster: a Kafka cluster used as a write-ahead log, and its pool of WAL topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictInt, StrictStr, ValidationError

from seawall.api.meta import (
    APIModel,
    Condition,
    DataKey,
    InvalidSpec,
    Kind,
    Name,
    ObjectMeta,
    PrinterColumn,
    Rule,
    StatusModel,
)
from seawall.api.quantity import Bytes, bytes_rule

MI = 2**20

GUARDED_CONFIGS: dict[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
}
"""Topic configs that every WAL topic has, whatever anybody asks for.

A broker default of seven days deletes rows that were not flushed; compaction destroys the WAL, because keys repeat.
"""

FIELD_CONFIGS: dict[str, str] = {
    "min.insync.replicas": "minInSyncReplicas",
    "max.message.bytes": "maxMessageBytes",
    "segment.bytes": "segmentBytes",
}
"""Topic configs that have a field of their own in `spec.topics`."""

REASSIGNMENT_CONFIGS = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Written by partition reassignments, ours or anybody's: never drift. A reset would unthrottle a running move."""


def _cel_list(keys: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{key}'" for key in sorted(keys)) + "]"


CONFIG_KEY = r"^[a-z][a-z0-9.]{0,127}$"
ConfigKey = Annotated[str, Field(min_length=1, max_length=128, pattern=CONFIG_KEY)]
ConfigText = Annotated[StrictStr, Field(max_length=1024)]
Endpoint = Annotated[str, Field(min_length=3, max_length=261, pattern=r"^[^\s,:/]+:[0-9]{1,5}$")]


class SecretKeyRef(APIModel):
    """One key of a Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    key: DataKey = "ca.crt"
    """Key in the Secret's data."""


class ClientCertSecretRef(APIModel):
    """A client certificate and its private key in a Secret in the same namespace (type kubernetes.io/tls fits)."""

    name: Name
    """Name of the Secret."""
    cert_key: DataKey = "tls.crt"
    """Key of the PEM certificate chain."""
    key_key: DataKey = "tls.key"
    """Key of the PEM private key."""


class CredentialsSecretRef(APIModel):
    """A user name and password in a Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    username_key: DataKey = "username"
    """Key of the user name."""
    password_key: DataKey = "password"  # noqa: S105 - the name of a key, no password
    """Key of the password."""


class KafkaTLS(APIModel):
    """TLS to the brokers. PEM material is read from Secrets again at every reconciliation."""

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign the brokers' certificates; absent means the system's trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate for mutual TLS; absent means none."""


class KafkaSASL(APIModel):
    """SASL authentication to the brokers."""

    mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] = "SCRAM-SHA-512"
    """SASL mechanism."""
    credentials_secret_ref: CredentialsSecretRef
    """Where the user name and password are."""
    insecure: bool = False
    """Allows PLAIN without TLS, which sends the password in clear text over the network."""


class ExternalKafka(APIModel):
    """A Kafka cluster that somebody else runs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.sasl) || self.sasl.mechanism != 'PLAIN' || has(self.tls) || self.sasl.insecure",
            "SASL PLAIN without TLS sends the password in clear text: set tls, or sasl.insecure: true",
            lambda kafka: (
                kafka.sasl is None or kafka.sasl.mechanism != "PLAIN" or kafka.tls is not None or kafka.sasl.insecure
            ),
        ),
    )

    bootstrap_servers: Annotated[tuple[Endpoint, ...], Field(min_length=1, max_length=32)]
    """Addresses (host:port) of some of the brokers."""
    cluster_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Guard: the cluster id that Kafka must report. Absent: the id seen at first contact is pinned in the status."""
    tls: KafkaTLS | None = None
    """TLS to the brokers; absent means plaintext."""
    sasl: KafkaSASL | None = None
    """SASL authentication; absent means none."""


class KafkaSpec(APIModel):
    """The Kafka cluster."""

    external: ExternalKafka
    """A Kafka cluster that exists already."""


class DeletionPolicy(StrEnum):
    """What becomes of the topics when the WALCluster is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class TopicsSpec(APIModel):
    """The pool of WAL topics: `<prefix>_0` to `<prefix>_<count-1>`, one partition each."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        # `has` is for the empty default object only, which the API server checks before it fills in its fields.
        Rule(
            "!has(self.prefix) || self.prefix == oldSelf.prefix",
            "prefix is immutable: regions remember the names of their topics",
        ),
        Rule(
            "!has(self.count) || self.count >= oldSelf.count",
            "count only grows: a topic that was dropped from the pool may still hold rows that were not flushed",
        ),
        Rule(
            "!has(self.minInSyncReplicas) || self.minInSyncReplicas < self.replicationFactor"
            " || (self.replicationFactor == 1 && self.minInSyncReplicas == 1)",
            "minInSyncReplicas must be below replicationFactor (or both 1): otherwise one lost broker stops all writes",
            lambda topics: (
                topics.min_in_sync_replicas is None
                or topics.min_in_sync_replicas < topics.replication_factor
                or topics.replication_factor == topics.min_in_sync_replicas == 1
            ),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, key.matches('{CONFIG_KEY}'))",
            "config keys are Kafka topic configs such as flush.messages",
            lambda topics: all(re.match(CONFIG_KEY, key) for key in topics.config),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(GUARDED_CONFIGS)}))",
            f"config must not set {', '.join(sorted(GUARDED_CONFIGS))}: Seawall guards them on every WAL topic",
            lambda topics: topics.config.keys().isdisjoint(GUARDED_CONFIGS),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(FIELD_CONFIGS)}))",
            "config must not set what has a field: "
            + ", ".join(f"{key} is {field}" for key, field in sorted(FIELD_CONFIGS.items())),
            lambda topics: topics.config.keys().isdisjoint(FIELD_CONFIGS),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(REASSIGNMENT_CONFIGS)}))",
            "config must not set replication throttles: they belong to partition reassignments",
            lambda topics: topics.config.keys().isdisjoint(REASSIGNMENT_CONFIGS),
        ),
        Rule(
            "!has(self.ignoredConfigs) || self.ignoredConfigs.all(key,"
            f" !(key in {_cel_list({**GUARDED_CONFIGS, **FIELD_CONFIGS})})"
            " && (!has(self.config) || !(key in self.config)))",
            "ignoredConfigs must not name a guarded config, one that has a field, or one that config sets",
            lambda topics: set(topics.ignored_configs).isdisjoint({*GUARDED_CONFIGS, *FIELD_CONFIGS, *topics.config}),
        ),
        bytes_rule("maxMessageBytes"),
        bytes_rule("segmentBytes"),
        Rule(
            "!has(self.segmentBytes) || !quantity(string(self.segmentBytes)).isLessThan(quantity('1Mi'))",
            "segmentBytes must be at least 1Mi: Kafka refuses smaller segments",
            lambda topics: topics.segment_bytes >= MI,
        ),
    )

    prefix: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[a-zA-Z0-9._-]+$")] = "greptimedb_wal_topic"
    """Start of the topic names. Immutable."""
    count: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 64
    """How many topics the pool has. It only grows."""
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=32)] = 3
    """Replicas of each topic. More than the cluster has brokers is refused by the condition Stalled."""
    min_in_sync_replicas: Annotated[int, Field(strict=True, ge=1, le=32)] | None = None
    """Replicas that must have a write before it is acknowledged. Default: replicationFactor - 1, at least 1."""
    max_message_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "1Mi"})] = 1 * MI
    """Largest record batch that the brokers accept (max.message.bytes)."""
    segment_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "64Mi"})] = 64 * MI
    """Size of a log segment (segment.bytes). Only closed segments free disk space after a purge."""
    config: Annotated[dict[str, StrictInt | ConfigText], Field(max_length=64)] = Field(default_factory=dict)
    """Any other topic config. Quote booleans: the values are integers or strings."""
    ignored_configs: Annotated[tuple[ConfigKey, ...], Field(max_length=64, json_schema_extra={"set": True})] = ()
    """Topic configs that belong to somebody else: neither set nor reset."""
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    """Whether the topics stay (Retain) or are deleted (Delete) when this WALCluster is deleted."""

    def topic_names(self) -> list[str]:
        """The names of the pool's topics, in order."""
        return [f"{self.prefix}_{index}" for index in range(self.count)]

    def index_of(self, topic: str) -> int | None:
        """The index of a topic with this prefix, in the pool or beyond it; None for any other topic."""
        suffix = topic.removeprefix(f"{self.prefix}_")
        is_index = suffix != topic and suffix.isascii() and suffix.isdigit() and (suffix == "0" or suffix[0] != "0")
        return int(suffix) if is_index else None

    def effective_min_in_sync_replicas(self) -> int:
        """The value that is written to topics with the wanted replication factor."""
        return self.min_in_sync_replicas or max(1, self.replication_factor - 1)


class WALConfig(APIModel):
    """The database's `[wal]` configuration, rendered into a ConfigMap."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("maxBatchBytes"),)

    config_map_name: Name
    """ConfigMap to write: keys metasrv.toml, datanode.toml and standalone.toml."""
    max_batch_bytes: Bytes | None = None
    """Largest batch that the database writes (max_batch_bytes). Default: maxMessageBytes, at most 1Mi."""

    def batch_bytes(self, topics: TopicsSpec) -> int:
        """The max_batch_bytes that is rendered."""
        return self.max_batch_bytes or min(topics.max_message_bytes, MI)


class DataPlane(APIModel):
    """The database that writes the WAL."""

    wal_config: WALConfig
    """Renders the database's WAL configuration."""


class WALClusterSpec(APIModel):
    """The desired state of a WALCluster."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.dataPlane) || !has(self.dataPlane.walConfig.maxBatchBytes)"
            " || !quantity(string(self.dataPlane.walConfig.maxBatchBytes))"
            ".isGreaterThan(quantity(string(self.topics.maxMessageBytes)))",
            "dataPlane.walConfig.maxBatchBytes must not exceed topics.maxMessageBytes: Kafka rejects larger records",
            lambda spec: (
                spec.data_plane is None
                or spec.data_plane.wal_config.batch_bytes(spec.topics) <= spec.topics.max_message_bytes
            ),
        ),
    )

    kafka: KafkaSpec
    """The Kafka cluster that holds the WAL."""
    topics: TopicsSpec = TopicsSpec()
    """The pool of WAL topics."""
    data_plane: DataPlane | None = None
    """The database that writes the WAL."""


class BrokersStatus(StatusModel):
    """Brokers of the Kafka cluster."""

    total: Annotated[int, Field(ge=0)]
    """Known brokers: the live ones and those that replica lists name."""
    online: Annotated[int, Field(ge=0)]
    """Brokers that Kafka reports as alive."""


class KafkaStatus(StatusModel):
    """What Kafka says of itself."""

    cluster_id: Annotated[str, Field(max_length=64)]
    """Cluster id, pinned at first contact. Another id later stops every write."""
    brokers: BrokersStatus
    """Brokers of the Kafka cluster."""


class TopicsStatus(StatusModel):
    """State of the topic pool."""

    desired: Annotated[int, Field(ge=0)]
    """Topics that the pool should have."""
    ready: Annotated[int, Field(ge=0)]
    """Topics that exist as declared and accept writes."""
    drifted: Annotated[int, Field(ge=0)]
    """Topics whose configs, partitions or replication factor differ from what is declared."""
    foreign: Annotated[int, Field(ge=0)]
    """Topics with the prefix beyond count: guarded and reported, never deleted."""
    under_replicated: Annotated[int, Field(ge=0)]
    """Topics with fewer in-sync replicas than replicas."""
    min_in_sync_replicas: Annotated[int, Field(ge=1)]
    """The effective minInSyncReplicas."""


class WALClusterStatus(StatusModel):
    """The observed state of a WALCluster."""

    observed_generation: Annotated[int, Field(ge=0)] = 0
    """The metadata.generation that this status was computed from."""
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra={"map_keys": ["type"]})] = ()
    """Ready, Reconciling and Stalled (kstatus), KafkaReachable and TopicsReady."""
    kafka: KafkaStatus | None = None
    """What Kafka says of itself; absent until first contact."""
    topics: TopicsStatus | None = None
    """State of the topic pool; absent until first contact."""


WAL_CLUSTER = Kind(
    kind="WALCluster",
    plural="walclusters",
    short_names=("walc",),
    description="A Kafka cluster used as a write-ahead log, and its pool of WAL topics.",
    spec=WALClusterSpec,
    status=WALClusterStatus,
    columns=(
        PrinterColumn("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether all is as declared"),
        PrinterColumn("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', "Why, in one word"),
        PrinterColumn("Topics", "integer", ".status.topics.ready", "Topics that are ready"),
        PrinterColumn("Desired", "integer", ".spec.topics.count", "Topics that the pool should have"),
        PrinterColumn("RF", "integer", ".spec.topics.replicationFactor", "Desired replication factor"),
        PrinterColumn("Brokers", "integer", ".status.kafka.brokers.online", "Brokers online"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALCluster:
    """A WALCluster as read from the API server."""

    metadata: ObjectMeta
    spec: WALClusterSpec | InvalidSpec
    status: WALClusterStatus

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> WALCluster:
        """Reads the object as the API server gives it; a spec that does not fit the models becomes an InvalidSpec."""
        spec: WALClusterSpec | InvalidSpec
        try:
            spec = WALClusterSpec.model_validate(raw.get("spec", {}))
        except ValidationError as error:
            first, *others = error.errors(include_url=False, include_input=False)
            where = ".".join(map(str, ("spec", *first["loc"])))
            more = f" (and {len(others)} more)" if others else ""
            spec = InvalidSpec(f"{where}: {first['msg']}{more}")
        return cls(
            metadata=ObjectMeta.model_validate(raw["metadata"]),
            spec=spec,
            status=WALClusterStatus.model_validate(raw.get("status") or {}),
        )
