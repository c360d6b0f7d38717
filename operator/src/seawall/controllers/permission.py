"""What is asked once more right before an action: who froze since it was decided may wake up in another world."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.database import is_about_the_claim
from seawall.domain.dataplane.flushed import Flushed, why_less_flushed
from seawall.domain.dataplane.reports import region_reports
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.ledger.actions import ClaimDatabase
from seawall.domain.ledger.observation import ObservedCluster, Unavailable, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.observe.declarations import current_licence
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.ports import Clock, IntentStore, Kube


def require_licence(kube: Kube, clock: Clock, key: Key, decided: ObservedCluster) -> WALCluster:
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


def claim_database(observer: LedgerObserver, cluster: WALCluster, action: ClaimDatabase) -> None:
    """Claims the database, if the claim is still as it was read, in the store that is pinned.

    Raises:
        Conflict: it is not: observe again.
        OutsideUnavailable: the metadata store did not answer; it may have happened.
    """
    opened = require_open(observer, cluster)
    head = opened.parts.metadata_store.head()
    is_pinned = is_about_the_claim(cluster, head.store_id)
    if not is_pinned or not opened.parts.metadata_store.claim(
        opened.topics.prefix, cluster.metadata.uid, action.before
    ):
        raise Conflict(f"the metadata store of WALCluster {cluster.metadata.key}, or its claim, changed")


def require_open(observer: LedgerObserver, cluster: WALCluster) -> OpenedCluster:
    """The ports of a WALCluster, for those who cannot go on without them.

    Raises:
        OutsideUnavailable: the spec or a Secret does not lead to a connection.
    """
    opened = observer.open(cluster)
    if isinstance(opened, Unavailable):
        raise OutsideUnavailable(opened.message)
    return opened


def require_same(observer: LedgerObserver, cluster: WALCluster, decided: ObservedCluster) -> OpenedCluster:
    """The ports, if right now Kafka, the claims on the topics, and the database are those that were decided by.

    Raises:
        Conflict: one of them is not.
        OutsideUnavailable: somebody did not answer.
    """
    opened = require_open(observer, cluster)
    try:
        observer.clusters.require_same(cluster, opened, decided.revision)
    except Blocked as blocked:
        raise Conflict(blocked.found.message) from blocked
    return opened


def require_flushed(opened: OpenedCluster, decided: Mapping[int, Flushed]) -> None:
    """Reads the reports again: no region has flushed less than was decided by.

    Raises:
        Conflict: one has, or its leader does not report it any more.
        OutsideUnavailable: the metasrv did not answer.
    """
    lower = why_less_flushed(decided, region_reports(opened.parts.data_plane.reports()))
    if lower is not None:
        raise Conflict(lower)


def require_intents(
    intents: IntentStore, pool: PoolId, before: Mapping[str, int], topic_ids: Mapping[str, str]
) -> None:
    """Reads the intents again: who grants a hold now reads the same, and must find at least these.

    Raises:
        Conflict: one is lower, of another log, broken, or gone.
        SeawallError: the API server did not answer, or refused.
    """
    records = read_shards(intents.read(pool, shards_of(before))).of_topics(before)
    for topic, offset in before.items():
        record = records.get(topic)
        is_good = record is not None and record.topic_id == topic_ids[topic] and not record.broken
        if record is None or not is_good or record.intent < offset:
            raise Conflict(f"the intent of topic {topic} is not the one that was written for this delete")
