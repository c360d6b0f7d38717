"""All kinds of this version."""

from __future__ import annotations

from seawall.api.meta import Kind
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification

RESOURCES: tuple[type[AnyResource], ...] = (
    WALCluster,
    WALPurgePolicy,
    WALPurge,
    WALHold,
    WALVerification,
    WALBackup,
    WALBackupPolicy,
    WALRestore,
    WALSubscription,
)

KINDS: tuple[Kind, ...] = tuple(resource.KIND for resource in RESOURCES)
