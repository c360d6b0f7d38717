"""The contract with the Spark application `wal-backup`: the request, version 1, and the verdict of its driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.backup import BackupCounts, BackupExpiry, BackupFinding, BackupManifest, RestorePoint
from seawall.api.v1alpha1.backup_policy import BackupChain
from seawall.api.v1alpha1.backup_template import BackupLevel, BackupStorage
from seawall.domain.backup.retention import Expiry
from seawall.domain.spark_job.bucket import KEY_FOLDER, STORE_FOLDER, s3_of
from seawall.domain.spark_job.request import JobSummary, Subject, store
from seawall.domain.spark_job.selection import TopicRange

VERSION = 1

EXPIRY_FOLDER = f"{STORE_FOLDER}/expiry"
"""Where the access key is that may delete, in a driver that deletes."""
CLAIM_FOLDER = "/backups"


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """What a backup is, beside the ranges that it copies.

    Attributes:
        name: what its objects are called: the WALBackup's name and the beginning of its UID, because objects of another
            one of that name must never be written over.
        parent: the manifest that it continues.
        level: what is proved of it.
        database_version: "major.minor" or with the patch, whose reader level Integrity follows; None: not known.
        config: of all topics, for whoever makes them again.
        point: the restore point that it makes; None: it makes none.
        expiry: which chains go when it counts; None: none does.
    """

    name: str
    chain: str
    storage: BackupStorage
    parent: BackupManifest | None
    level: BackupLevel
    database_version: str | None
    config: Mapping[str, str]
    point: RestorePoint | None
    expiry: Expiry | None = None


def backup_name(subject: Subject) -> str:
    """What the objects of a WALBackup are called in the store."""
    return f"{subject.name}-{subject.uid[:8]}"


def write_request(
    subject: Subject, plan: BackupPlan, kafka: Mapping[str, object], topics: tuple[TopicRange, ...]
) -> bytes:
    """The request as it is stored, compressed; the same input gives the same bytes."""
    parent = plan.parent
    return store(
        {
            "version": VERSION,
            "backup": {"name": plan.name, "attempt": subject.attempt},
            "object": {"namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
            "chain": plan.chain,
            "parent": None if parent is None else {"name": parent.name, "digest": parent.digest},
            "restorePoint": None if plan.point is None else _point(plan.point),
            "expire": None if plan.expiry is None else _expire(plan.storage, plan.expiry),
            "verify": plan.level.value,
            "databaseVersion": plan.database_version,
            "kafka": kafka,
            "storage": storage_of(plan.storage),
            "topics": [topic.to_json(config=dict(plan.config)) for topic in topics],
        }
    )


def _expire(storage: BackupStorage, expiry: Expiry) -> dict[str, object]:
    def rows(chains: tuple[BackupChain, ...]) -> list[dict[str, object]]:
        return [{"name": each.name, "full": {"name": each.full.name, "digest": each.full.digest}} for each in chains]

    return {"storage": storage_of(storage, expires=True), "chains": rows(expiry.chains), "stays": rows(expiry.stays)}


def _point(point: RestorePoint) -> dict[str, object]:
    return {
        "name": point.name,
        "snapshot": point.snapshot,
        "heldTime": point.held_time.isoformat(),
        "snapshotTime": None if point.snapshot_time is None else point.snapshot_time.isoformat(),
        "readsFrom": {topic.name: topic.reads_from for topic in point.topics},
    }


def storage_of(storage: BackupStorage, *, expires: bool = False) -> dict[str, object]:
    """The `storage` of a request; with `expires` as whoever may delete."""
    s3 = storage.s3
    if s3 is None:
        return {"folder": {"path": CLAIM_FOLDER}}
    expires = expires and s3.expiry_credentials_secret_ref is not None
    has_key, folder = expires or s3.credentials_secret_ref is not None, EXPIRY_FOLDER if expires else KEY_FOLDER
    return {"s3": s3_of(s3, folder, has_key=has_key)}


class SummaryFinding(StatusModel):
    """A finding, as the driver writes it."""

    kind: Annotated[str, Field(max_length=64)]
    object: str | None = None
    topic: Annotated[str, Field(max_length=249)] | None = None
    offset: Annotated[int, Field(ge=0)] | None = None
    message: str = ""

    def as_status(self) -> BackupFinding:
        """As the status has it."""
        return BackupFinding(
            kind=self.kind,
            object=None if self.object is None else self.object[:1024],
            topic=self.topic,
            offset=self.offset,
            message=self.message[:1024],
        )


class SummaryExpired(StatusModel):
    """What became of the chains that were to go, as the driver writes it."""

    gone: tuple[str, ...] = ()
    problem: str | None = None
    message: str = ""

    def as_status(self, asked: tuple[str, ...]) -> BackupExpiry:
        """As the status has it: of chains that were asked for."""
        problem = None if self.problem is None else self.problem[:64]
        gone = tuple(name for name in asked if name in self.gone)
        return BackupExpiry(gone=gone, problem=problem, message=self.message[:1024])


class Summary(JobSummary):
    """The verdict."""

    version: Literal[1]
    manifest: BackupManifest | None = None
    verified: BackupLevel | None = None
    restore_point: Annotated[str, Field(max_length=63)] | None = None
    """The name of the restore point that the manifest has."""
    counts: BackupCounts | None = None
    expired: SummaryExpired | None = None
    findings: tuple[SummaryFinding, ...] = ()
