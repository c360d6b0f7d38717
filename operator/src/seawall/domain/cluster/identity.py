"""Which Kafka cluster and which database a WALCluster means: those that were pinned at first contact.

    status.dataPlane.identity   the store's own id, as `etcd/<cluster id>/<prefix>`
    status.dataPlane.claimed    that this WALCluster's UID was found in the store (mode B writes there, and claims it)

Another id, a claim that is gone, or somebody else's claim: nothing is deleted, restarted or granted, until a person
says that it is right (`seawall.dev/readopt`). One annotation adopts once: its token is recorded when all is ours, or
when it never will be followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seawall.api.meta import READOPT_ANNOTATION, InvalidSpec
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.kafka import KafkaView
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.ledger.shards import PoolId


def pinned_id(cluster: WALCluster) -> str | None:
    """The cluster id in the status; None before first contact."""
    return cluster.status.kafka.cluster_id if cluster.status.kafka else None


def pool_of(cluster: WALCluster) -> PoolId | None:
    """The topics of the WALCluster on the Kafka that is pinned; None before first contact."""
    cluster_id, prefix = pinned_id(cluster), cluster.prefix
    return None if cluster_id is None or prefix is None else PoolId(cluster.metadata.namespace, cluster_id, prefix)


def why_wrong(cluster: WALCluster, kafka: KafkaView) -> str | None:
    """Why this Kafka is not the one that is meant, in one sentence; None when nothing speaks against it."""
    external = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.kafka.external
    managed = cluster.status.managed_kafka
    ids = (
        (external and external.cluster_id, "spec.kafka.external.clusterId"),
        (managed and managed.cluster_id, "status.managedKafka"),
        (pinned_id(cluster), "the status"),
    )
    for expected, source in ids:
        if expected is not None and expected != kafka.cluster_id:
            return f"Kafka's cluster id is {kafka.cluster_id}, but {source} says {expected}: nothing is touched"
    return None


WAY_OUT = f"correct dataPlane, or set {READOPT_ANNOTATION}: <reason>@<expiry> if it is right"


@dataclass(frozen=True, slots=True)
class Pin:
    """What is pinned of the database, as the status has it."""

    identity: str | None = None
    claimed: bool = False
    readopted: int | None = None

    @classmethod
    def of(cls, status: DataPlaneStatus | None) -> Pin:
        """What a status has; without any, nothing is pinned."""
        return cls() if status is None else cls(status.identity, status.claimed, status.readopted)


def why_other_database(cluster: WALCluster, store_id: str, claims: Mapping[str, str]) -> Unavailable | None:
    """Why this is not the database that is meant; None: it is.

    Args:
        cluster: the WALCluster, with what is pinned.
        store_id: the id of the metadata store that answers.
        claims: who has claimed topics in it, by their prefix.
    """
    claim = claim_on(cluster, claims)
    pin, name = Pin.of(cluster.status.data_plane), cluster.metadata.name
    if pin.identity is None:
        return Unavailable(UnavailableReason.NO_DATABASE_YET, f"WALCluster {name} has not met its database yet")
    if store_id != pin.identity:
        message = f"the metadata store is {store_id}, and {pin.identity} is pinned: {WAY_OUT}"
        return Unavailable(UnavailableReason.DATABASE_CHANGED, message)
    if claim is not None and claim != cluster.metadata.uid:
        message = f"another WALCluster (UID {claim}) has claimed these topics in the database: delete it, or {WAY_OUT}"
        return Unavailable(UnavailableReason.DATABASE_CLAIMED, message)
    if claim is None and pin.claimed:
        message = f"the claim of WALCluster {name} is gone from the metadata store {store_id}: {WAY_OUT}"
        return Unavailable(UnavailableReason.DATABASE_CHANGED, message)
    return None


def claim_on(cluster: WALCluster, claims: Mapping[str, str]) -> str | None:
    """Who has claimed the topics of the WALCluster; None: nobody."""
    return claims.get(cluster.prefix or "")


def is_about_the_claim(cluster: WALCluster, store_id: str) -> bool:
    """Whether the store is the pinned one: what is wrong is then who has claimed it, which a claim of our own mends."""
    return Pin.of(cluster.status.data_plane).identity == store_id


def next_pin(
    cluster: WALCluster, store_id: str, claims: Mapping[str, str], time: TrustedTime, *, is_whole: bool
) -> Pin:
    """What is to be pinned after an observation of the database.

    Args:
        cluster: the WALCluster, with what is pinned.
        store_id: the id of the metadata store that answers.
        claims: who has claimed topics in it, by their prefix.
        time: by which the annotation is in time, or not.
        is_whole: whether nothing else waits for a readoption: only then an annotation is marked as used.
    """
    pin, readoption = Pin.of(cluster.status.data_plane), read_readoption(cluster, time)
    adoption, refused = readoption.unused, readoption.refused
    pin = pin if refused is None else replace(pin, readopted=refused.token)
    claim = claim_on(cluster, claims)
    is_mine = claim == cluster.metadata.uid
    if pin.identity is None:
        pin = Pin(store_id, is_mine, pin.readopted)
    elif pin.identity != store_id:
        return pin if adoption is None else Pin(store_id, is_mine, pin.readopted)
    is_ours = is_mine or (claim is None and not pin.claimed)
    readopted = adoption.token if adoption is not None and is_ours and is_whole else pin.readopted
    return Pin(store_id, pin.claimed or is_mine, readopted)
