"""The database that a WALCluster names: by its addresses, or by a GreptimeDBCluster, which is read anew each time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.data_plane import GreptimeDB
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.domain.dataplane.connection import NoDataPlane, NotReached
from seawall.domain.dataplane.declared import Database
from seawall.domain.dataplane.greptimedb_cluster import (
    KIND,
    Absence,
    DeclaredBeside,
    GreptimeDBCluster,
    found_database,
)
from seawall.domain.errors import Forbidden
from seawall.domain.rollout.workload import StatefulSet
from seawall.ports import Kube


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A StatefulSet of datanodes, and what a GreptimeDBCluster declares of it; without one both are None."""

    key: Key
    cluster: str | None = None
    declared_partition: int | None = None

    def gate(self, found: StatefulSet) -> StatefulSet:
        """As it was read, with what is declared; one that another owner controls is never gated."""
        is_its = self.cluster is not None and found.controller == f"{KIND} {self.cluster}"
        return replace(found, declared_partition=self.declared_partition) if is_its else found


def named_sets(kube: Kube, cluster: WALCluster) -> tuple[NamedSet, ...] | str:
    """The StatefulSets of the datanodes, by the newest spec; a sentence: why nobody knows them.

    Raises:
        OutsideUnavailable: the API server did not answer.
    """
    spec, namespace = cluster.spec, cluster.metadata.namespace
    if isinstance(spec, InvalidSpec) or spec.data_plane is None:
        return ()
    if spec.data_plane.datanodes is not None:
        return (NamedSet(Key(namespace, spec.data_plane.datanodes.stateful_set_ref.name)),)
    found = find_database(kube, cluster)
    if isinstance(found, NoDataPlane):
        return found.message
    if not isinstance(found, Database) or found.cluster is None:
        return ()
    return tuple(NamedSet(Key(namespace, each.stateful_set), found.cluster, each.partition) for each in found.datanodes)


def read_cluster(kube: Kube, cluster: WALCluster) -> GreptimeDBCluster | Absence | str | None:
    """The GreptimeDBCluster that is named; a sentence: the operator may not read it; None: none is named."""
    spec = cluster.spec
    if isinstance(spec, InvalidSpec) or spec.data_plane is None or spec.data_plane.cluster_ref is None:
        return None
    name = spec.data_plane.cluster_ref.name
    try:
        return kube.get_greptimedb_cluster(Key(cluster.metadata.namespace, name))
    except Forbidden:
        cure = "set greptimedbOperator.enabled: true in the chart's values"
        return f"the operator may not read GreptimeDBCluster {name}: {cure}"


def find_database(kube: Kube, cluster: WALCluster) -> Database | HTTPDatabase | NoDataPlane | None:
    """The database, or why it cannot be found; None: the spec is invalid, or names none.

    Raises:
        OutsideUnavailable: the API server did not answer.
    """
    spec, found = cluster.spec, read_cluster(kube, cluster)
    if isinstance(spec, InvalidSpec):
        return None
    if spec.greptimedb is None:
        return spec.http
    if found is None or spec.greptimedb.cluster_ref is None:
        return declared_database(spec.greptimedb)
    if isinstance(found, str):
        return NoDataPlane(NotReached.CLUSTER_MISSING, found)
    return found_database(beside(spec.greptimedb), spec.greptimedb.cluster_ref.name, found, spec.topics.prefix)


def declared_database(greptimedb: GreptimeDB) -> Database:
    """The database of a spec with addresses. Only to be called for one without `clusterRef`."""
    store = greptimedb.metadata_store
    if greptimedb.version is None or greptimedb.metasrv is None or greptimedb.frontend is None or store is None:
        raise ValueError("no addresses")  # the rule of the model refuses it
    return Database(
        greptimedb.version,
        greptimedb.metasrv,
        greptimedb.frontend,
        store,
        greptimedb.auto_prune,
        greptimedb.tls,
        greptimedb.auth,
        greptimedb.datanode_http_port,
    )


def beside(greptimedb: GreptimeDB) -> DeclaredBeside:
    """What a spec with `clusterRef` says beside that."""
    return DeclaredBeside(greptimedb.auto_prune, greptimedb.version, greptimedb.metadata_store, greptimedb.auth)
