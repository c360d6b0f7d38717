"""What is asked once more right before an action: who froze since it was decided may wake up in another world."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.controllers.declarations import read_declarations
from seawall.domain.errors import Conflict
from seawall.domain.ledger.licence import Licence
from seawall.domain.ledger.looked import ClusterSeen
from seawall.ports import Clock, Kube


def require_licence(kube: Kube, clock: Clock, key: Key, decided: ClusterSeen) -> WALCluster:
    """The WALCluster, if it is the one that was decided about, by the same declarations, judged by the clocks of now.

    Raises:
        Conflict: it is another, it is paused or being deleted, or a declaration was made, retracted or has expired.
    """
    cluster = kube.get(WALCluster, key)
    if cluster is None or (cluster.metadata.uid, cluster.metadata.generation) != (decided.uid, decided.generation):
        raise Conflict(f"WALCluster {key} is no longer the one that was decided about")
    if cluster.metadata.deletion_timestamp is not None:
        raise Conflict(f"WALCluster {key} is being deleted")
    if cluster.metadata.is_paused:
        raise Conflict(f"WALCluster {key} is paused")
    if current_licence(cluster, clock, follows_readopt=decided.licence.readoption is not None) != decided.licence:
        raise Conflict(f"what is declared on WALCluster {key} changed or expired since it was decided")
    return cluster


def current_licence(cluster: WALCluster, clock: Clock, *, follows_readopt: bool) -> Licence:
    """The declarations that count now."""
    said = read_declarations(cluster, clock.trusted())
    adoption = said.readoption if follows_readopt and said.readopt_problem is None else None
    return Licence(said.unused, said.dead, adoption)
