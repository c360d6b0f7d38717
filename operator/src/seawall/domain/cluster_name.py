"""The WALCluster that an object of another kind names, and all that name one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification

NamingT = TypeVar(
    "NamingT",
    WALBackup,
    WALBackupPolicy,
    WALHold,
    WALPurge,
    WALPurgePolicy,
    WALRestore,
    WALSubscription,
    WALVerification,
)


def cluster_name(
    obj: WALBackup
    | WALBackupPolicy
    | WALHold
    | WALPurge
    | WALPurgePolicy
    | WALRestore
    | WALSubscription
    | WALVerification,
) -> str | None:
    """Its name; None: the spec cannot be read, and does not even say that."""
    return obj.spec.cluster if isinstance(obj.spec, InvalidSpec) else obj.spec.cluster_ref.name


def of_cluster(objects: Iterable[NamingT], name: str) -> tuple[NamingT, ...]:
    """Those that name the WALCluster of this name, also when their spec cannot be read."""
    return tuple(each for each in objects if cluster_name(each) == name)
