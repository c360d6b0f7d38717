"""Policies and runs for tests, with everything that a test does not care about filled in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import Condition, ConditionType, ObjectMeta, OwnerReference
from seawall.api.v1alpha1.wal_purge import Stage, WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.api.v1alpha1.wal_purge_policy import WALPurgePolicy, WALPurgePolicySpec, WALPurgePolicyStatus

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CREATED = NOON - timedelta(minutes=5)


def meta(name: str, created: datetime = CREATED, **more: Any) -> ObjectMeta:
    """Metadata of `db/<name>`."""
    return ObjectMeta(
        namespace=more.pop("namespace", "db"),
        name=name,
        uid=more.pop("uid", f"uid-{name}"),
        generation=more.pop("generation", 1),
        resource_version="1",
        creation_timestamp=created,
        **more,
    )


def make_policy(
    status: WALPurgePolicyStatus | None = None,
    *,
    name: str = "nightly",
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> WALPurgePolicy:
    """A policy `db/nightly` that runs every ten minutes, made at 11:55."""
    when = {} if "interval" in spec else {"schedule": "*/10 * * * *"}
    declared = WALPurgePolicySpec.model_validate({"clusterRef": {"name": "wal"}, **when, **spec})
    return WALPurgePolicy(meta(name, **(metadata or {})), declared, status or WALPurgePolicyStatus())


def make_run(
    name: str,
    stage: Stage | None = None,
    *,
    created: datetime = NOON,
    policy: WALPurgePolicy | None = None,
    cluster: str = "wal",
    why: str = "",
    **metadata: Any,
) -> WALPurge:
    """A run; one with a policy is controlled by it."""
    owners: tuple[OwnerReference, ...] = ()
    if policy is not None:
        owner = policy.metadata
        owners = (OwnerReference(kind="WALPurgePolicy", name=owner.name, uid=owner.uid, controller=True),)
    failed = Condition(
        type=ConditionType.FAILED.value, status="True", reason="Tested", message=why, last_transition_time=NOON
    )
    status = WALPurgeStatus(
        stage=stage,
        completion_time=created + timedelta(minutes=1) if stage is Stage.COMPLETED else None,
        conditions=(failed,) if stage is Stage.FAILED else (),
    )
    spec = WALPurgeSpec.model_validate({"clusterRef": {"name": cluster}})
    return WALPurge(meta(name, created, owner_references=owners, **metadata), spec, status)
