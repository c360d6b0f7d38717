"""The WALBackup controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.backup import WALBackup, WALBackupStatus
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.controllers.spark_job import SparkJobController
from seawall.domain.backup.kind import Backup
from seawall.domain.backup.parent import sibling_of
from seawall.domain.backup.retention import Surroundings, retention_of
from seawall.domain.backup.runs import hold_key, why_hold_stays
from seawall.ports import BackupMeter


@dataclass(frozen=True, slots=True)
class WALBackupController(SparkJobController[WALBackup, WALBackupStatus]):
    """Observes and acts for WALBackups."""

    resource: ClassVar = WALBackup
    job: ClassVar = Backup()

    meter: BackupMeter
    kind: str = WALBackup.KIND.kind

    def measure(self, obj: WALBackup) -> None:
        """When the log was last backed up."""
        ended, is_good = obj.status.completion_time, obj.status.stage is JobStage.COMPLETED
        if ended is not None and is_good and not isinstance(obj.spec, InvalidSpec):
            self.meter.measure_backup(Key(obj.metadata.namespace, obj.spec.cluster_ref.name), ended)

    def count(self, obj: WALBackup, status: WALBackupStatus) -> None:
        """Its outcome."""
        if not isinstance(obj.spec, InvalidSpec):
            self.meter.count_backup(Key(obj.metadata.namespace, obj.spec.cluster_ref.name), status)

    def parent(self, obj: WALBackup) -> WALBackup | None:
        """The backup that it continues."""
        if isinstance(obj.spec, InvalidSpec) or obj.spec.parent_ref is None:
            return None
        return self.kube.get(WALBackup, Key(obj.metadata.namespace, obj.spec.parent_ref.name))

    def sibling(self, obj: WALBackup) -> str | None:
        """Two that continue one parent would make the chain a fork."""
        if isinstance(obj.spec, InvalidSpec) or obj.spec.parent_ref is None:
            return None
        return sibling_of(obj, obj.spec.parent_ref, self.kube.list(WALBackup, obj.metadata.namespace).items)

    def details(self, obj: WALBackup) -> Surroundings | None:
        """What retention goes by, if a policy made it that declares one."""
        owner = obj.metadata.controller
        if owner is None or owner.kind != WALBackupPolicy.KIND.kind:
            return None
        namespace = obj.metadata.namespace
        policy = self.kube.get(WALBackupPolicy, Key(namespace, owner.name))
        if policy is None or policy.metadata.uid != owner.uid or retention_of(policy) is None:
            return None
        backups = self.kube.list(WALBackup, namespace).items
        return Surroundings(policy, backups, self.kube.list(WALRestore, namespace).items)

    def hold_stays(self, obj: WALBackup) -> str | None:
        """Until the hold of its policy is granted; a backup that nobody continues by itself has none to wait for."""
        owner = obj.metadata.controller
        if owner is None or owner.kind != WALBackupPolicy.KIND.kind or obj.status.stage is not JobStage.RELEASING:
            return None
        return why_hold_stays(obj, self.kube.get(WALHold, hold_key(obj)))
