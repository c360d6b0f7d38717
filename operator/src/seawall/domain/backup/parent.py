"""Whether a backup can be continued: it is there, it counts, and it is of the same log and in the same store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seawall.api.resource import Resource
from seawall.api.v1alpha1.backup import BackedUpTopic, ParentRef, WALBackup, WALBackupSpec
from seawall.api.v1alpha1.backup_template import BackupStorage
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.cluster_name import cluster_name


def as_parent(found: Resource[Any, Any] | None, spec: WALBackupSpec, storage: BackupStorage) -> WALBackup | str:
    """The backup to continue; or why it cannot be continued, as a clause that follows its name."""
    if not isinstance(found, WALBackup):
        return "is not there: what it wrote is still in the store, and a full backup begins another chain"
    status = found.status
    if cluster_name(found) != spec.cluster_ref.name:
        return f"is not of WALCluster {spec.cluster_ref.name}"
    if status.stage is not JobStage.COMPLETED or status.manifest is None or status.chain is None:
        stage = "not begun" if status.stage is None else status.stage.value
        return f"is {stage}: only one that is Completed, and wrote something, is continued"
    if status.location != storage.describe():
        return f"is kept at {status.location}, and the WALCluster declares {storage.describe()}"
    return found


def rows_to_continue(parent: WALBackup) -> dict[str, BackedUpTopic]:
    """By topic what the parent has; a full one begins the chain, whether its operator said so or not."""
    begins = parent.parent is None
    return {
        row.name: row.model_copy(update={"chain_start": row.start}) if begins else row for row in parent.status.topics
    }


def sibling_of(obj: WALBackup, parent: ParentRef, others: Iterable[WALBackup]) -> str | None:
    """The name of another backup that continues this parent: it wrote something that counts, or it was made before.

    One that failed and wrote nothing is none; so whoever comes after it may go on from where it began. One whose spec
    cannot be read waits for a version that reads it, and goes on then.
    """
    for other in others:
        if other.parent != parent.name or other.metadata.uid == obj.metadata.uid:
            continue
        if other.status.manifest is not None or (not other.status.is_over and _age(other) < _age(obj)):
            return other.metadata.name
    return None


def _age(obj: WALBackup) -> tuple[object, ...]:
    return obj.metadata.creation_timestamp, obj.metadata.name
