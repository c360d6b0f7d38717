"""What the page is made of: objects as the API server has them, and what of them could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification


@dataclass(frozen=True, slots=True)
class Leader:
    """What the operator's Lease says.

    Attributes:
        lease: namespace and name of the Lease.
        holder: the pod that leads; None: nobody does, or it is not known.
        renew_time: when it last said so.
        problem: why it is not known; None: it is.
    """

    lease: str
    holder: str | None = None
    renew_time: datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A WALCluster and what belongs to it.

    Attributes:
        now: when it was read.
        cluster: the WALCluster.
        leader: who tends it.
        policies: the WALPurgePolicies that name it; so with the others.
        purges: its runs.
        holds: the claims on its topics.
        verifications: the replay verifications of it.
        backup_policies: the WALBackupPolicies that name it.
        backups: the backups of it.
        restores: the restores of it.
        subscriptions: the copies of it.
        not_read: a sentence for each kind that could not be listed.
    """

    now: datetime
    cluster: WALCluster
    leader: Leader
    policies: Sequence[WALPurgePolicy] = ()
    purges: Sequence[WALPurge] = ()
    holds: Sequence[WALHold] = ()
    verifications: Sequence[WALVerification] = ()
    backup_policies: Sequence[WALBackupPolicy] = ()
    backups: Sequence[WALBackup] = ()
    restores: Sequence[WALRestore] = ()
    subscriptions: Sequence[WALSubscription] = ()
    not_read: tuple[str, ...] = ()
