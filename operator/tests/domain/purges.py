"""Policies and runs for tests, with everything that a test does not care about filled in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import Condition, ConditionType, ObjectMeta, OwnerReference
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicySpec, WALPurgePolicyStatus
from seawall.api.v1alpha1.purge import RunTopics, Stage, WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.domain.ledger.page import TopicLine
from seawall.domain.ledger.reasons import Reason as Against

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
    """A policy `db/nightly`, made at 11:55, that runs every ten minutes unless it says otherwise."""
    when = {} if {"interval", "trigger"} & spec.keys() else {"schedule": "*/10 * * * *"}
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
    purged: int | None = None,
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
        topics=None if purged is None else RunTopics(total=4, purged=purged),
    )
    spec = WALPurgeSpec.model_validate({"clusterRef": {"name": cluster}})
    return WALPurge(meta(name, created, owner_references=owners, **metadata), spec, status)


def make_line(name: str, size: int | None, reason: Against | None = None) -> TopicLine:
    """A topic of a ledger's page, as large as said; without a reason it can be purged."""
    return TopicLine(
        name=name,
        log_start=0,
        high_watermark=100,
        marker=50,
        floor=50,
        purge_to=50 if reason is None else None,
        reason=reason,
        message="",
        held_by="region 1 on datanode 1",
        hold_lag_entries=None,
        entries_below=50,
        entries_above=50,
        bytes_below=None,
        bytes_above=None,
        entries_to_purge=50 if reason is None else 0,
        bytes_to_purge=None,
        size_bytes=size,
        replay_entries=50,
        replay_bytes=None,
    )
