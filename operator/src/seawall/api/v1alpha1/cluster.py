"""WALCluster: a Kafka cluster used as a write-ahead log, and its pool of WAL topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field
from pydantic.alias_generators import to_snake

from seawall.api.meta import READOPT_ANNOTATION, APIModel, InvalidSpec, Kind, PrinterColumn, Rule, StatusModel
from seawall.api.resource import Conditions, ObjectStatus, Resource, Stops
from seawall.api.v1alpha1.backup_template import BackupSpec
from seawall.api.v1alpha1.data_plane import DataPlane, GreptimeDB, WALConfig
from seawall.api.v1alpha1.data_plane_status import DataPlaneStatus as DataPlaneStatus  # noqa: PLC0414 - as below
from seawall.api.v1alpha1.data_plane_status import read_pinned_database
from seawall.api.v1alpha1.deletion_status import DeletionStatus
from seawall.api.v1alpha1.disruption import Disruption, read_disruption, with_disruption
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.api.v1alpha1.job_rules import job_rules
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, InternalTopicsSpec, KafkaStatus
from seawall.api.v1alpha1.kafka_config_status import KafkaConfigStatus
from seawall.api.v1alpha1.kafka_security_status import KafkaSecurityStatus
from seawall.api.v1alpha1.kafka_spec import KafkaSpec as KafkaSpec  # noqa: PLC0414 - where the spec is
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.api.v1alpha1.managed_kafka_status import (
    ManagedKafkaStatus,
    NodeRemoval,
    VoterChange,
    read_managed_kafka,
)
from seawall.api.v1alpha1.reassignment import ReassignmentSpec, ReassignmentStatus
from seawall.api.v1alpha1.record_shards import RecordShards, read_record_shards
from seawall.api.v1alpha1.rollout import RestartStatus, read_restart
from seawall.api.v1alpha1.subscription_targets import SubscriptionSpec
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.api.v1alpha1.verification_template import VerificationSchedule


class WALClusterSpec(APIModel):
    """The desired state of a WALCluster."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.dataPlane) || !has(self.dataPlane.walConfig) || !has(self.dataPlane.walConfig.maxBatchBytes)"
            " || !quantity(string(self.dataPlane.walConfig.maxBatchBytes))"
            ".isGreaterThan(quantity(string(self.topics.maxMessageBytes)))",
            "dataPlane.walConfig.maxBatchBytes must not exceed topics.maxMessageBytes: Kafka rejects larger records",
            lambda spec: (
                spec.wal_config is None or spec.wal_config.batch_bytes(spec.topics) <= spec.topics.max_message_bytes
            ),
        ),
        Rule(
            "!has(self.kafka.managed) || self.topics.replicationFactor <= self.kafka.managed.nodePools"
            ".filter(p, p.roles.exists(r, r == 'broker')).map(p, p.replicas).sum()",
            "topics.replicationFactor must not exceed the brokers of kafka.managed",
            lambda spec: (
                spec.kafka.managed is None
                or spec.topics.replication_factor <= len(tuple(spec.kafka.managed.broker_ids))
            ),
        ),
        *job_rules("verification"),
        *job_rules("backup"),
        *job_rules("subscription"),
    )

    kafka: KafkaSpec
    """The Kafka cluster that holds the WAL."""
    topics: TopicsSpec = TopicsSpec()
    """The pool of WAL topics."""
    reassignment: ReassignmentSpec = ReassignmentSpec()
    """How replicas are moved when replicationFactor or excludeBrokers need it."""
    internal_topics: InternalTopicsSpec = InternalTopicsSpec()
    """What is expected of Kafka's own topics; the condition ReplicationHealthy says when they are not so."""
    data_plane: DataPlane | None = None
    """The database that writes the WAL."""
    verification: VerificationSchedule | None = None
    """How the WAL is verified by replaying it on Spark, and when; absent: never."""
    backup: BackupSpec | None = None
    """Where backups of the WAL go, and what writes them; absent: there are none."""
    subscription: SubscriptionSpec | None = None
    """Where the WAL may be copied as it is written, and what copies it; absent: nowhere."""

    @property
    def wal_config(self) -> WALConfig | None:
        """The configuration to render, if any."""
        return self.data_plane.wal_config if self.data_plane else None

    @property
    def greptimedb(self) -> GreptimeDB | None:
        """The GreptimeDB to look at, if any."""
        return self.data_plane.greptimedb if self.data_plane else None

    @property
    def http(self) -> HTTPDatabase | None:
        """The database to look at by the contract of docs/any-database.md, if any."""
        return self.data_plane.http if self.data_plane else None

    @property
    def declared_version(self) -> str | None:
        """The version that is declared of the database; None: another object says it, or the database."""
        return None if self.greptimedb is None else self.greptimedb.version

    @property
    def database(self) -> GreptimeDB | HTTPDatabase | None:
        """The database to look at, if any."""
        return self.data_plane.database if self.data_plane else None


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


class WALStatus(StatusModel):
    """What the ledger says of the WAL, when it was last looked at."""

    topics: Annotated[int, Field(ge=0)]
    """Topics of the pool."""
    purgeable: Annotated[int, Field(ge=0)]
    """Topics from which a run that begins now would delete."""
    held_back: Annotated[int, Field(ge=0)]
    """Topics that are left alone for a reason; `seawall ledger` shows each."""
    bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the topics on disk, one replica of each; absent while Kafka does not say."""
    purgeable_bytes: Annotated[int, Field(ge=0)] | None = None
    """About how many of them a run that begins now would delete. Disk is freed later, by whole segments."""
    record_shards: RecordShards = ()
    """The ConfigMaps of intents and identities (seawall-intents-…) that there are. One that goes missing is a finding,
    IntentsLost, and no first contact."""


class WALClusterStatus(ObjectStatus):
    """The observed state of a WALCluster."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus), KafkaReachable, TopicsReady, DataPlaneReachable,
    DataPlaneConfigDiffers, NearLimit, WALIntact, SharedWithStrimzi, VerificationScheduled, ReplicationHealthy,
    QuorumHealthy, DatanodesHealthy, RestartsGated, KafkaNodesHealthy, KafkaNodesInSync, KafkaVolumesSized,
    CertificatesValid, KafkaUsersReady and KafkaConfigApplied."""
    kafka: KafkaStatus | None = None
    """What Kafka says of itself; absent until first contact."""
    managed_kafka: ManagedKafkaStatus | None = None
    """The nodes of a Kafka that Seawall runs; absent without kafka.managed."""
    kafka_security: KafkaSecurityStatus | None = None
    """Certificates and users of a Kafka that Seawall runs; absent without, and with security.insecure."""
    kafka_config: KafkaConfigStatus | None = None
    """Configs that a Kafka that Seawall runs took while it ran; absent where none is declared."""
    topics: TopicsStatus | None = None
    """State of the topic pool; absent until first contact."""
    reassignment: ReassignmentStatus | None = None
    """The reassignment under way, or the last one; absent while none was needed."""
    data_plane: DataPlaneStatus | None = None
    """What the database said when it last answered; absent until then. Without a database in dataPlane only what was
    pinned, and the seawall.dev/readopt that was met last."""
    wal: WALStatus | None = None
    """What the ledger says of the WAL. Until it was looked at, and without a database in dataPlane, only recordShards
    says anything."""
    disruption: Disruption | None = None
    """The one pod that Seawall restarts now, whatever it belongs to; absent: none."""
    restart: RestartStatus | None = None
    """The restart of datanodes under way, or the last, and what each would cost; absent without any."""
    deletion: DeletionStatus | None = None
    """What was decided when its deletion began; absent until then, and with deletionPolicy Retain."""
    stops: Stops = ()
    """Which of seawall.dev/paused and seawall.dev/stop-deletes were set when it was written: one that goes is told."""

    @property
    def observed_wal(self) -> WALStatus | None:
        """What a look at the ledger has found; None: there was none, and at most records are known."""
        return self.wal if self.wal is not None and self.wal.topics else None

    @property
    def recorded_shards(self) -> frozenset[int]:
        """The shards of identity records that there were once: one that is not there any more is lost."""
        return frozenset() if self.wal is None else frozenset(self.wal.record_shards)

    @property
    def removal(self) -> NodeRemoval | None:
        """The node of a managed Kafka that is being taken out, if any."""
        return None if self.managed_kafka is None else self.managed_kafka.removal

    @property
    def kafka_nodes(self) -> tuple[int, ...]:
        """The ids of the nodes of a managed Kafka that there are, those that leave among them."""
        return () if self.managed_kafka is None else tuple(each.id for each in self.managed_kafka.nodes)

    @property
    def voter_change(self) -> VoterChange | None:
        """The controller of a managed Kafka whose vote is to change, if any."""
        return None if self.managed_kafka is None else self.managed_kafka.voter_change


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
    selectable_fields=(".spec.topics.prefix",),
)


@dataclass(frozen=True, slots=True)
class WALCluster(Resource[WALClusterSpec, WALClusterStatus]):
    """A WALCluster as read from the API server."""

    KIND = WAL_CLUSTER
    KEPT = frozenset({"reassignment"})

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Ids of nodes of a managed Kafka that were taken out are declared no more; what is pinned is not forgotten."""
        found = super(WALCluster, cls).parse(raw)
        if "dataPlane" in found.unreadable:
            readopt = found.metadata.annotations.get(READOPT_ANNOTATION)
            pinned = read_pinned_database(found.unreadable["dataPlane"], readopt)
            found = replace(found, status=found.status.model_copy(update={"data_plane": pinned}))
        managed, spec = found.status.managed_kafka, found.spec
        if managed is None or not managed.removed or isinstance(spec, InvalidSpec) or spec.kafka.managed is None:
            return found
        kafka = spec.kafka.model_copy(update={"managed": spec.kafka.managed.without(frozenset(managed.removed))})
        return replace(found, spec=spec.model_copy(update={"kafka": kafka}))

    @property
    def managed_kafka(self) -> ManagedKafka | None:
        """The Kafka that Seawall is to run for it; None: somebody else runs it, or the spec does not say it validly."""
        return None if isinstance(self.spec, InvalidSpec) else self.spec.kafka.managed

    @property
    def prefix(self) -> str | None:
        """What its topics are called; an invalid spec, too, may tell."""
        return self.spec.prefix if isinstance(self.spec, InvalidSpec) else self.spec.topics.prefix

    @classmethod
    def _invalid_spec(cls, raw: Mapping[str, Any], message: str) -> InvalidSpec:
        return InvalidSpec(message, prefix=(raw.get("topics") or {}).get("prefix", TopicsSpec().prefix))

    @classmethod
    def _parse_status(cls, raw: Mapping[str, Any]) -> tuple[WALClusterStatus, Mapping[str, Any]]:
        """A part that does not fit is left out, but for guards: of these what can be read of them stays.

        Pins, ids that are not used again, maintenance, a disruption, a deletion, which records exist.
        """
        stored = with_disruption(raw)
        known, wrong = super(WALCluster, cls)._parse_status(stored)
        shards, epoch = read_record_shards(stored.get("wal")), datetime.fromtimestamp(0, UTC)
        guards: dict[str, Any] = {
            "kafka": _pinned_kafka(stored),
            "managedKafka": read_managed_kafka(stored.get("managedKafka")),
            "wal": WALStatus(topics=0, purgeable=0, held_back=0, record_shards=shards) if shards else None,
            "restart": read_restart(stored.get("restart")),
            "disruption": read_disruption(stored),
            "deletion": DeletionStatus(decided_at=epoch, topics=0) if stored.get("deletion") else None,
        }
        found = {to_snake(name): guard for name, guard in guards.items() if name in wrong}
        return known.model_copy(update=found), wrong


def _pinned_kafka(raw: Mapping[str, Any]) -> KafkaStatus | None:
    found = raw.get("kafka")
    cluster_id = found.get("clusterId") if isinstance(found, Mapping) else None
    return KafkaStatus(cluster_id=str(cluster_id), brokers=BrokersStatus(total=0, online=0)) if cluster_id else None
