"""What the page of a WALCluster is made of: it and all that names it, as far as somebody may read that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from seawall.api.resource import Listing, ResourceT
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.cluster_name import NamingT, of_cluster
from seawall.domain.errors import Refused
from seawall.domain.overview.snapshot import Leader, Snapshot


class Lists(Protocol):
    """Who lists objects: the person who types, or the operator for a person, as far as that person may."""

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        """All objects of a kind in a namespace.

        Raises:
            Refused: the person may not, or there is no such kind.
        """
        ...


def read_snapshot(lists: Lists, cluster: WALCluster, leader: Leader, now: datetime) -> Snapshot:
    """All of it; what may not be read is said in the snapshot, and left out.

    Raises:
        OutsideUnavailable: the API server did not answer.
    """
    key, not_read = cluster.metadata.key, list[str]()

    def those_of(resource: type[NamingT]) -> Sequence[NamingT]:
        try:
            found = lists.list(resource, key.namespace)
        except Refused as error:  # not allowed, or the CRD is not there
            not_read.append(f"{resource.KIND.plural} could not be read: {error}")
            return ()
        return of_cluster(found.items, key.name)

    return Snapshot(
        now,
        cluster,
        leader,
        policies=those_of(WALPurgePolicy),
        purges=those_of(WALPurge),
        holds=those_of(WALHold),
        verifications=those_of(WALVerification),
        backup_policies=those_of(WALBackupPolicy),
        backups=those_of(WALBackup),
        restores=those_of(WALRestore),
        subscriptions=those_of(WALSubscription),
        not_read=tuple(not_read),
    )
