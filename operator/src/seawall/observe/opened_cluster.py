"""The WALCluster that another object names, and its ports, open: its database, its metadata store and its Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from seawall.api.meta import InvalidSpec, Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.cluster.identity import Pin, pinned_id, why_other_database, why_wrong
from seawall.domain.cluster.ownership import find_contender, why_not_ours, why_owner_unknown
from seawall.domain.dataplane.connection import HTTPConnection, NoDataPlane
from seawall.domain.dataplane.declared import Database
from seawall.domain.kafka import KafkaConnection, KafkaView, NoKafka
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.observe.connections import resolve_data_plane, resolve_kafka
from seawall.observe.declared_database import find_database
from seawall.ports import DataPlaneParts, DataPlanes, KafkaAdmin, KafkaClusters, KafkaLogs, Kube


def named_cluster(kube: Kube, obj: AnyResource) -> WALCluster | None:
    """Reads it; None: none is named, there is none, or it is being deleted."""
    if isinstance(obj.spec, InvalidSpec):
        return None
    cluster = kube.get(WALCluster, Key(obj.metadata.namespace, obj.spec.cluster_ref.name))
    is_there = cluster is not None and cluster.metadata.deletion_timestamp is None
    return cluster if is_there else None


class Blocked(Exception):  # noqa: N818 - a finding, which the look turns into a value
    """Nobody can look, or act on what was seen, and why."""

    def __init__(self, why: UnavailableReason, message: str) -> None:
        super().__init__(message)
        self.found = Unavailable(why, message)


@dataclass(frozen=True, slots=True)
class OpenedCluster:
    """What a WALCluster's spec leads to."""

    database: Database | HTTPDatabase
    topics: TopicsSpec
    parts: DataPlaneParts
    admin: KafkaAdmin
    logs: KafkaLogs


@dataclass(frozen=True, slots=True)
class OwnedPool:
    """The pinned Kafka, whose topics of the prefix are this WALCluster's.

    Attributes:
        view: Kafka's metadata.
        contender: a younger WALCluster that claims the same topics: nothing may be deleted while it does.
    """

    view: KafkaView
    contender: Key | None


@dataclass(frozen=True, slots=True)
class ClusterOpener:
    """Opens WALClusters. Nothing is sent to the database or to Kafka by opening them."""

    kube: Kube
    kafka_clusters: KafkaClusters
    data_planes: DataPlanes

    def open(self, cluster: WALCluster) -> OpenedCluster:
        """Reads the Secrets and opens the connections.

        Raises:
            Blocked: the spec or a Secret does not lead to a connection.
            PartRefused: a certificate or key of the data plane makes no sense.
        """
        key, spec = cluster.metadata.key, cluster.spec
        if isinstance(spec, InvalidSpec):
            raise Blocked(UnavailableReason.INVALID_SPEC, f"WALCluster {key.name}: {spec.message}")
        if spec.database is None:
            raise Blocked(
                UnavailableReason.NO_DATA_PLANE,
                f"WALCluster {key.name} names no database to look at: set dataPlane.greptimedb, or http",
            )

        kafka = resolve_kafka(spec.kafka.access(key), partial(self._secret, key))
        if not isinstance(kafka, KafkaConnection):
            raise Blocked(UnavailableReason.KAFKA, kafka.message)
        found = find_database(self.kube, cluster)
        parts = found if isinstance(found, NoDataPlane) else self._connect(cluster, found)
        if not isinstance(parts, DataPlaneParts) or not isinstance(found, Database | HTTPDatabase):
            message = "the spec names no database" if not isinstance(parts, NoDataPlane) else parts.message
            raise Blocked(UnavailableReason.DATA_PLANE, message)
        admin, logs = self.kafka_clusters.connect(key, kafka), self.kafka_clusters.logs(key, kafka)
        return OpenedCluster(found, spec.topics, parts, admin, logs)

    def open_database(self, cluster: WALCluster) -> DataPlaneParts | NoDataPlane | None:
        """Only the database, whatever is wrong with all else; None: the spec is invalid, or names none.

        Raises:
            PartRefused: a certificate or key makes no sense.
            SeawallError: the API server did not answer.
        """
        found = find_database(self.kube, cluster)
        return found if isinstance(found, NoDataPlane) else self._connect(cluster, found)

    def _connect(
        self, cluster: WALCluster, database: Database | HTTPDatabase | None
    ) -> DataPlaneParts | NoDataPlane | None:
        if database is None:
            return None
        key = cluster.metadata.key
        connection = resolve_data_plane(database, partial(self._secret, key))
        if isinstance(connection, HTTPConnection):  # who is asked to change something compares it with its own
            connection = replace(connection, database=Pin.of(cluster.status.data_plane).identity)
        return connection if isinstance(connection, NoDataPlane) else self.data_planes.connect(key, connection)

    def _secret(self, key: Key, name: str) -> Mapping[str, bytes] | None:
        return self.kube.get_secret(Key(key.namespace, name))

    def view(self, cluster: WALCluster, opened: OpenedCluster) -> OwnedPool:
        """Kafka's metadata, if it is the pinned Kafka and the topics are this WALCluster's; and who else claims them.

        Raises:
            Blocked: it is not, or it does not answer.
        """
        return own_pool(self.kube, cluster, opened.admin, opened.topics.prefix)

    def require_same(self, cluster: WALCluster, opened: OpenedCluster, revision: int) -> None:
        """Asks again, right before a change that destroys: Kafka, who claims the topics, and the metadata store.

        `revision` is the store's by which the change was decided: tables come back with an older copy of it.

        Raises:
            Blocked: the Kafka, the topics or the database are not this WALCluster's, somebody else claims them, or the
                metadata store was restored.
            PartUnavailable, PartRefused: the metadata store did not answer.
        """
        contender = self.view(cluster, opened).contender
        if contender is not None:
            raise Blocked(UnavailableReason.POOL_OWNED, f"WALCluster {contender} claims the same topics")
        head = opened.parts.metadata_store.head()
        other = why_other_database(cluster, head.store_id, head.claims)
        if other is not None:
            raise Blocked(other.why, other.message)
        if head.issued_revision < revision:
            message = f"the metadata store's revision went back from {revision} to {head.issued_revision}"
            raise Blocked(UnavailableReason.DATA_PLANE, message)


def pinned_view(cluster: WALCluster, admin: KafkaAdmin) -> KafkaView:
    """Kafka's metadata, if it is the pinned Kafka.

    Raises:
        Blocked: it is not, or it does not answer.
    """
    view = admin.view()
    if isinstance(view, NoKafka):
        raise Blocked(UnavailableReason.KAFKA, view.message)
    if pinned_id(cluster) is None:
        message = f"WALCluster {cluster.metadata.name} has not met its Kafka cluster yet"
        raise Blocked(UnavailableReason.NOT_FIRST_CONTACT, message)
    wrong = why_wrong(cluster, view)
    if wrong is not None:
        raise Blocked(UnavailableReason.OTHER_KAFKA, wrong)
    return view


def own_pool(kube: Kube, cluster: WALCluster, admin: KafkaAdmin, prefix: str) -> OwnedPool:
    """Kafka's metadata, if it is the pinned Kafka and the topics of the prefix are this WALCluster's.

    Raises:
        Blocked: it is not, or it does not answer.
    """
    view = pinned_view(cluster, admin)
    claims = kube.list_claims(prefix)
    unknown = why_owner_unknown(claims.unreadable)
    if unknown is not None:
        raise Blocked(UnavailableReason.NAMESPACE_UNREADABLE, unknown)
    why_not = why_not_ours(cluster, view, claims.items)
    if why_not is not None:
        raise Blocked(UnavailableReason.POOL_OWNED, why_not)
    return OwnedPool(view, find_contender(cluster, view, claims.items))
