"""What all kinds share: the API group, the model base class, conditions and references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

GROUP = "seawall.dev"
VERSION = "v1alpha1"

PAUSED_ANNOTATION = f"{GROUP}/paused"
"""On a WALCluster, a policy or a run, `"true"`: no writes to Kafka or ConfigMaps; the status is still observed, and a
deletion is released with the topics kept."""

STOP_DELETES_ANNOTATION = f"{GROUP}/stop-deletes"
"""On a WALCluster, whatever its value: no records of its topics are deleted. It is looked at before every batch."""

READOPT_ANNOTATION = f"{GROUP}/readopt"
"""On a WALCluster, `<reason>@<expiry>`: a person says that logs which the identity fence found broken are right, or
which database is meant (docs/purging.md#walintact-is-false, docs/purging.md#which-database)."""

UNUSED_ANNOTATION = f"{GROUP}/purge-unused-topics"
"""On a WALCluster, `<topics>: <reason>@<expiry>`: a person says that nobody needs what is in topics without regions
(docs/purging.md#topics-that-nobody-writes-to). What is wrong with it is in the message of `WALIntact`."""

DEAD_ANNOTATION = f"{GROUP}/dead-regions"
"""On a WALCluster, `<region ids>: <reason>@<expiry>`: a person says that nobody has these regions, nor will have
(docs/purging.md#regions-that-nobody-has-any-more). What is wrong with it is in the message of `WALIntact`."""

VERSION_ANNOTATION = f"{GROUP}/version"
"""On the operator's Lease, the version of the operator that leads."""

PAGE_KEY_ANNOTATION = f"{GROUP}/page-key"
"""On the operator's Lease: the key to the pages of the process that leads, for all who may read the Lease."""

TOPICS_FINALIZER = f"{GROUP}/topics"
"""Stands on a WALCluster only while its deletion has topics to delete."""
REASSIGNMENT_FINALIZER = f"{GROUP}/reassignment"
"""Stands on a WALCluster only while replicas are moved: a throttle must not outlive it."""
MAINTENANCE_FINALIZER = f"{GROUP}/maintenance"
"""Stands on a WALCluster only while its database is in maintenance for a restart: that must not outlive it."""
SCRATCH_FINALIZER = f"{GROUP}/scratch-topics"
"""Stands on a WALRestore into scratch topics from before they are made until they are gone."""

APPROVE_ANNOTATION = f"{GROUP}/approve-reassignment"
"""On a WALCluster, the digest of a planned reassignment: a person lets it begin (reassignment.approval: Manual)."""
RESTORE_ANNOTATION = f"{GROUP}/approve"
"""On a WALRestore, the digest of its plan: a person lets it begin (docs/disaster.md)."""
SNAPSHOT_ANNOTATION = f"{GROUP}/snapshot-done"
"""On a WALBackup with a bracket, what the snapshot of the database is called: it is taken, and the backup goes on."""
MAX_SNAPSHOT = 253
ABORT_ANNOTATION = f"{GROUP}/abort-reassignment"
"""On a WALCluster, whatever its value: the reassignment under way goes back, and none begins while it is set."""
REBALANCE_ANNOTATION = f"{GROUP}/rebalance"
"""On a WALCluster: each new value asks for one reassignment that makes brokers' loads even."""
MAX_REBALANCE = 253

MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Rule:
    """One `x-kubernetes-validations` entry, and the same check for pydantic.

    The API server evaluates `cel`, pydantic calls `holds` with the model; crds/examples prove that they agree.
    A rule about `oldSelf` has no `holds`: only the API server knows the old object.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None


class APIModel(BaseModel):
    """A part of a custom resource: immutable, camelCase on the wire, unknown fields refused.

    Attribute docstrings are the field descriptions of the CRD and of the reference documentation.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        validate_default=True,
    )
    RULES: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for rule in self.RULES:
            if rule.holds is not None and not rule.holds(self):
                raise ValueError(rule.message)
        return self


class StatusModel(APIModel):
    """A part of a status. A newer operator may have written fields that this one does not know: they are dropped."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One `additionalPrinterColumns` entry; priority 1 shows with `kubectl get -o wide` only."""

    name: str
    type: Literal["string", "integer", "boolean", "date"]
    json_path: str
    description: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind appears in the API: the input of the CRD generator and of the API client."""

    kind: str
    plural: str
    short_names: tuple[str, ...]
    description: str
    spec: type[APIModel]
    status: type[StatusModel]
    columns: tuple[PrinterColumn, ...]
    selectable_fields: tuple[str, ...] = ()
    """JSON paths by which the API server picks the objects of a list (field selectors, Kubernetes 1.31 and newer)."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Namespace and name of an object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OwnerReference(StatusModel):
    """The part of an owner reference that Seawall reads."""

    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(StatusModel):
    """The part of an object's metadata that Seawall reads."""

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller_uid(self) -> str | None:
        """The UID of the object that controls this one."""
        return None if self.controller is None else self.controller.uid

    @property
    def controller(self) -> OwnerReference | None:
        """The object that controls this one."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.namespace, self.name)

    @property
    def stops_deletes(self) -> bool:
        """Whether a person stopped all deletes of records."""
        return STOP_DELETES_ANNOTATION in self.annotations

    def approves(self, digest: str) -> bool:
        """Whether a person lets the reassignment with this plan begin."""
        return self.annotations.get(APPROVE_ANNOTATION, "").strip() == digest

    def approves_restore(self, digest: str) -> bool:
        """Whether a person lets the restore with this plan begin."""
        return self.annotations.get(RESTORE_ANNOTATION, "").strip() == digest

    @property
    def snapshot(self) -> str | None:
        """What a person calls the snapshot of the database that is taken."""
        return self.annotations.get(SNAPSHOT_ANNOTATION, "").strip() or None

    @property
    def aborts_reassignment(self) -> bool:
        """Whether a person wants no reassignment."""
        return ABORT_ANNOTATION in self.annotations

    @property
    def rebalance_asked(self) -> str | None:
        """What a person wrote to have replicas balanced once, as long as the status can repeat it."""
        return self.annotations.get(REBALANCE_ANNOTATION, "").strip()[:MAX_REBALANCE] or None

    @property
    def is_paused(self) -> bool:
        """Whether a person stopped all writes, however they spell true."""
        return self.annotations.get(PAUSED_ANNOTATION, "").strip().lower() == "true"


@dataclass(frozen=True, slots=True)
class InvalidSpec:
    """A spec that the API server let through and the models refuse: its CRD is older or newer than the operator.

    `prefix` is what a WALCluster calls its topics all the same: an object that cannot be served still owns its pool.
    `cluster` is the WALCluster that an object of another kind refers to all the same, `parent` what a backup continues.
    `only_unknown`: nothing is wrong with it but fields that the models do not know.
    """

    message: str
    prefix: str | None = None
    cluster: str | None = None
    parent: str | None = None
    only_unknown: bool = False


Name = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
"""A Kubernetes object name (RFC 1123 subdomain)."""

DataKey = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
"""A key of a Secret's or ConfigMap's data."""


class ConditionType(StrEnum):
    """Condition types; the first three are kstatus's, so `kubectl wait` and Flux understand them."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    KAFKA_REACHABLE = "KafkaReachable"
    TOPICS_READY = "TopicsReady"
    DATA_PLANE_REACHABLE = "DataPlaneReachable"
    DATA_PLANE_CONFIG_DIFFERS = "DataPlaneConfigDiffers"
    NEAR_LIMIT = "NearLimit"
    WAL_INTACT = "WALIntact"
    VERIFICATION_SCHEDULED = "VerificationScheduled"
    REPLICATION_HEALTHY = "ReplicationHealthy"
    QUORUM_HEALTHY = "QuorumHealthy"
    KAFKA_NODES_HEALTHY = "KafkaNodesHealthy"
    KAFKA_NODES_IN_SYNC = "KafkaNodesInSync"
    KAFKA_VOLUMES_SIZED = "KafkaVolumesSized"
    CERTIFICATES_VALID = "CertificatesValid"
    KAFKA_USERS_READY = "KafkaUsersReady"
    KAFKA_CONFIG_APPLIED = "KafkaConfigApplied"
    DATANODES_HEALTHY = "DatanodesHealthy"
    RESTARTS_GATED = "RestartsGated"
    SHARED_WITH_STRIMZI = "SharedWithStrimzi"
    OWN_KAFKA_USER = "OwnKafkaUser"
    BACKED_UP = "BackedUp"
    RETENTION_APPLIED = "RetentionApplied"
    BRACKETED = "Bracketed"
    DRILL_PASSED = "DrillPassed"
    STREAMING = "Streaming"
    HELD = "Held"
    WITHIN_BUDGET = "WithinBudget"
    TARGET_SAFE = "TargetSafe"
    WAITING = "Waiting"
    COMPLETE = "Complete"
    FAILED = "Failed"
    GRANTED = "Granted"
    AT_RISK = "AtRisk"
    LOST = "Lost"
    EXPIRY_JUDGED = "ExpiryJudged"


class Condition(StatusModel):
    """A metav1.Condition."""

    type: Annotated[str, Field(max_length=64)]
    """Type of the condition, in CamelCase."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition holds."""
    reason: Annotated[str, Field(max_length=128)]
    """Why, in one CamelCase word: a member of the closed set of reasons."""
    message: Annotated[str, Field(max_length=32768)] = ""
    """Why, in one sentence for people."""
    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """The metadata.generation that this condition was computed from."""
    last_transition_time: datetime
    """When the status last changed between True, False and Unknown."""
