"""Which Kafka a WALCluster runs: made once, and found again from several places.

    ConfigMap <name>-kafka-identity    all of it; it outlives the WALCluster
    annotations of the volumes         the cluster id; they outlive it, too
    status.managedKafka.clusterId      the cluster id
    Kafka                              the cluster id

None of them: it is made. They agree: that is it. The ConfigMap is lost: it is made again of the volumes, also of those
of nodes that leave, and no node counts as new. They contradict each other: nothing is started and nothing formatted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from seawall.api.meta import Key, StatusModel
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.managed_kafka.found import FoundKafka, FoundObject, Observed, Record
from seawall.domain.managed_kafka.names import MANAGED_ID_ANNOTATION, node_name, volume_name
from seawall.domain.managed_kafka.node import Ids, Node, nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind

IDENTITY = "identity"
"""The key of the ConfigMap."""


class NodeRecord(StatusModel):
    """What is remembered of one node.

    Attributes:
        volume: the UID of its PersistentVolumeClaim; None: nobody knows which it had.
        registered: Kafka has heard from it with this volume: it is never formatted as a new one.
        directory: the directory id of a controller, as the quorum knows it.
        spent: directory ids that volumes before had.
        removed: it was taken out, and its id is not used again.
        answered: what a person said last of a loss of it, by a digest. Kafka has heard from it since: that is not said
            of the next loss.
    """

    volume: str | None = None
    registered: bool = False
    directory: str | None = None
    spent: tuple[str, ...] = ()
    removed: bool = False
    answered: str | None = None


class Identity(StatusModel):
    """Who this Kafka is.

    Attributes:
        initial: the directory ids of the first controllers; each is on one disk, once.
        nodes: by node id; a node that is not in it has never had a volume.
        formed: Kafka has heard from each node: there may be records from then on, and a token is for one pod.
    """

    cluster_id: str
    initial: dict[int, str] = {}  # noqa: RUF012 - pydantic copies it
    nodes: dict[int, NodeRecord] = {}  # noqa: RUF012 - the same
    formed: bool = False

    def with_nodes(self, nodes: Mapping[int, NodeRecord]) -> Identity:
        """The same, knowing more of these nodes."""
        return self.model_copy(update={"nodes": {**self.nodes, **nodes}})

    def written(self) -> dict[str, str]:
        """The data of the ConfigMap."""
        return {IDENTITY: self.model_dump_json(by_alias=True)}


@dataclass(frozen=True, slots=True)
class NoIdentity:
    """There is none yet, and nothing speaks against making one."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Nobody knows which it is, and why, in one sentence."""

    message: str


def found_nodes(cluster: Key, kafka: ManagedKafka, found: FoundKafka) -> tuple[Node, ...]:
    """All nodes, by id, by what is known of ids."""
    return nodes_of(cluster, kafka, _ids_of(cluster, kafka, found))


def _ids_of(cluster: Key, kafka: ManagedKafka, found: FoundKafka) -> Ids:
    """What the identity, and objects, tell of node ids."""
    identity = read_identity(found.identity)
    records = identity.nodes if isinstance(identity, Identity) else {}
    used = frozenset(records) if isinstance(identity, Identity) else _remembered(cluster, kafka, found)
    stopped = {each.node for each in found.objects.values() if each.is_taken_out and each.node is not None}
    removed = frozenset(node for node, record in records.items() if record.removed)
    return Ids(used, removed, frozenset(stopped) - removed)


def _remembered(cluster: Key, kafka: ManagedKafka, found: FoundKafka) -> frozenset[int]:
    """The nodes of which there is a volume, or a StatefulSet, and that are not out: some of them may be leaving."""
    objects = found.objects.values()
    there = (each.node for each in objects if each.name == _name_of(cluster, each) and each.node is not None)
    return frozenset(there) - _gone(kafka)


def _name_of(cluster: Key, found: FoundObject) -> str | None:
    """What a volume, or a StatefulSet, of that node is called: whoever copies one copies its labels."""
    if found.node is None:
        return None
    named = {ObjectKind.VOLUME: volume_name, ObjectKind.STATEFUL_SET: node_name}
    return named[found.kind](cluster.name, found.node) if found.kind in named else None


def _gone(kafka: ManagedKafka) -> frozenset[int]:
    """Ids of nodes that are out, as the status remembers them."""
    return frozenset[int]().union(*(pool.gone for pool in kafka.node_pools))


def find_identity(nodes: Iterable[Node], observed: Observed, pinned: str | None) -> Identity | NoIdentity | Unclear:
    """The identity by all that tells of it.

    Args:
        nodes: all that there are (`found_nodes`).
        observed: what was found.
        pinned: the cluster id in the status.
    """
    nodes = tuple(nodes)
    kept = read_identity(observed.found.identity)
    volumes = _volumes(nodes, observed.found, is_kept=kept is not None)
    contradiction = kept if isinstance(kept, Unclear) else _contradiction(kept, volumes.values(), pinned, observed)
    if kept is None or contradiction is not None:
        return contradiction or _without_record(nodes, volumes, _sources(None, volumes.values(), pinned, observed))
    return kept


def _volumes(nodes: tuple[Node, ...], found: FoundKafka, *, is_kept: bool) -> dict[int, FoundObject]:
    """Those of the nodes, by id; where nothing else tells which there were, those of nodes of no pool as well."""
    ids = {node.id for node in nodes}
    if not is_kept:
        ids |= _remembered(nodes[0].cluster, nodes[0].kafka, found)
    names = {each: volume_name(nodes[0].cluster.name, each) for each in sorted(ids)}
    return {each: volume for each, name in names.items() if (volume := found.volume(name)) is not None}


def _contradiction(
    kept: Identity | None, volumes: Collection[FoundObject], pinned: str | None, observed: Observed
) -> Unclear | None:
    for volume in volumes:
        if MANAGED_ID_ANNOTATION not in volume.annotations:
            return Unclear(
                f"PersistentVolumeClaim {volume.name} was not made for a Kafka of Seawall: remove or rename it"
            )
    sources = _sources(kept, volumes, pinned, observed)
    for where, other in sources[1:]:
        first, cluster_id = sources[0]
        if other != cluster_id:
            return Unclear(f"{first} says {cluster_id} and {where} says {other}: nothing is started or formatted")
    return None


def _without_record(
    nodes: tuple[Node, ...], volumes: Mapping[int, FoundObject], sources: list[tuple[str, str]]
) -> Identity | NoIdentity | Unclear:
    """The ConfigMap is not there; what else tells of the identity agrees."""
    if not sources:
        return NoIdentity()
    first, cluster_id = sources[0]
    if not any(node.id in volumes for node in nodes if not node.is_leaving):
        return Unclear(
            f"{first} says {cluster_id}, and neither volumes of declared nodes nor the identity are there: bring them "
            "back, or delete this WALCluster, and volumes that are left of it, and make it anew"
        )
    return _rebuilt(cluster_id, nodes, volumes)


def read_identity(record: Record | None) -> Identity | Unclear | None:
    """What its ConfigMap says; None: it is not there."""
    if record is None:
        return None
    try:
        return Identity.model_validate_json(record.data.get(IDENTITY, ""))
    except ValidationError:
        return Unclear(
            "the ConfigMap of the identity cannot be read: bring it back, or delete it to have it made again"
        )


def _sources(
    kept: Identity | None, volumes: Iterable[FoundObject], pinned: str | None, observed: Observed
) -> list[tuple[str, str]]:
    """Who says which cluster id."""
    found = [] if kept is None else [("the ConfigMap of the identity", kept.cluster_id)]
    found += [(f"PersistentVolumeClaim {each.name}", each.annotations[MANAGED_ID_ANNOTATION]) for each in volumes]
    if pinned is not None:
        found.append(("the status", pinned))
    if not isinstance(observed.kafka, str):
        found.append(("Kafka", observed.kafka.cluster_id))
    return found


def _rebuilt(cluster_id: str, nodes: tuple[Node, ...], volumes: Mapping[int, FoundObject]) -> Identity:
    """No node counts as new: one without a volume has lost it. Who is out stays out."""
    ids = {*(node.id for node in nodes), *volumes}
    known = {node: volumes[node].uid if node in volumes else None for node in sorted(ids)}
    records = {node: NodeRecord(volume=uid, registered=True) for node, uid in known.items()}
    out = {node: NodeRecord(removed=True) for node in sorted(_gone(nodes[0].kafka))}
    return Identity(cluster_id=cluster_id, nodes={**records, **out}, formed=True)
