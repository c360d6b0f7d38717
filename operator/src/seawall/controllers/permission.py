"""What is asked once more right before an action: who froze since it was decided may wake up in another world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.identity import is_about_the_claim
from seawall.domain.dataplane.flush import Flushed, why_followed, why_less_flushed
from seawall.domain.dataplane.identity import why_of_another
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.ledger.actions import ClaimDatabase
from seawall.domain.ledger.observation import ObservedCluster, Unavailable, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.domain.min_isr import why_not_cancel, why_not_fewer
from seawall.domain.partitions import Partition, PartitionId
from seawall.domain.sharing import Sharing
from seawall.domain.times import ACT_ASKED_WITHIN_MS
from seawall.observe.claims import current_licence, list_verifications, policy_versions
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.observe.sharing import observe_sharing
from seawall.ports import Clock, IntentStore, Kube, PartitionReassigner, Stopwatch, Strimzi


def require_licence(kube: Kube, clock: Clock, key: Key, decided: ObservedCluster) -> WALCluster:
    """The WALCluster, if it is the one that was decided about, by the same declarations, judged by the clocks of now.

    Raises:
        Conflict: it is another, it is paused or being deleted, or a declaration was made, retracted or has expired.
    """
    cluster = _require_managed(kube, key, decided.uid, decided.generation)
    if current_licence(cluster, clock, follows_readopt=decided.licence.readoption is not None) != decided.licence:
        raise Conflict(f"what is declared on WALCluster {key} changed or expired since it was decided")
    return cluster


def require_managed(kube: Kube, cluster: WALCluster) -> WALCluster:
    """The object as it is now: annotations may have changed, and they are no part of the generation.

    Raises:
        Conflict: it is not the one that was decided about, is paused, or is being deleted.
    """
    return _require_managed(kube, cluster.metadata.key, cluster.metadata.uid, cluster.metadata.generation)


def _require_managed(kube: Kube, key: Key, uid: str, generation: int) -> WALCluster:
    cluster = kube.get(WALCluster, key)
    if cluster is None or (cluster.metadata.uid, cluster.metadata.generation) != (uid, generation):
        raise Conflict(f"WALCluster {key} is no longer the one that was decided about")
    if cluster.metadata.deletion_timestamp is not None:
        raise Conflict(f"WALCluster {key} is being deleted")
    if cluster.metadata.is_paused:
        raise Conflict(f"WALCluster {key} is paused")
    return cluster


def require_soon(stopwatch: Stopwatch, began: int, within: int = ACT_ASKED_WITHIN_MS) -> None:
    """That all that was asked since `began`, in milliseconds, is no older than it takes to ask.

    Raises:
        Conflict: the process was frozen meanwhile, and what it was answered may be of long before.
    """
    if stopwatch.milliseconds() - began > within:
        raise Conflict("it took too long to ask whether that may be done now")


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


def require_unmanaged(
    strimzi: Strimzi | None, cluster: WALCluster, topics: Iterable[str], *, may_be_unknown: bool = False
) -> None:
    """That no KafkaTopic manages any of these topics of the WALCluster's Kafka.

    With `may_be_unknown` it is enough that nobody knows of one: to guard and to repair goes on, whoever may look.

    Raises:
        Refused: one does; the sentence says how it lets go. Or it cannot be known, and has to be.
    """
    kafka = cluster.status.kafka
    sharing = None if kafka is None else observe_sharing(strimzi, kafka.cluster_id)
    match sharing:
        case Sharing() if why := sharing.why_not_ours(sorted(topics)):
            raise Refused(why)
        case str() if not may_be_unknown:
            raise Refused(sharing)


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

    A database that started anew may run with other settings, and delete by itself.

    Raises:
        Conflict: one of them is not.
        OutsideUnavailable: somebody did not answer.
    """
    opened = require_open(observer, cluster)
    try:
        observer.clusters.require_same(cluster, opened, decided.revision)
    except Blocked as blocked:
        raise Conflict(blocked.found.message) from blocked
    require_settings(opened, decided)
    return opened


def require_policies(kube: Kube, cluster: WALCluster, decided: ObservedCluster) -> None:
    """That right now the WALPurgePolicies are those that were decided by: another one may keep more.

    Raises:
        Conflict: one was made, edited or removed, or not all can be read.
        SeawallError: the API server did not answer, or refused.
    """
    try:
        now = policy_versions(kube, cluster)
    except Blocked as blocked:
        raise Conflict(blocked.found.message) from blocked
    if now != decided.policies:
        raise Conflict(f"the WALPurgePolicies of WALCluster {cluster.metadata.key} changed since it was decided")


def require_verdicts(kube: Kube, cluster: WALCluster, decided: ObservedCluster) -> None:
    """That no verification has found a log bad since, where a policy asks for any.

    Raises:
        Conflict: one has.
        SeawallError: the API server did not answer, or refused.
    """
    if decided.found_bad is None:
        return
    new = (list_verifications(kube, cluster).found_bad or frozenset()) - decided.found_bad
    if new:
        topic = min(each.topic for each in new)
        raise Conflict(f"a verification found that topic {topic} does not replay, after it was decided")


def require_settings(opened: OpenedCluster, decided: ObservedCluster) -> None:
    """Asks the database again what it runs with, or can do.

    Raises:
        Conflict: with other settings than those decided by.
        OutsideUnavailable: it did not say.
    """
    if opened.parts.data_plane.wal_settings() != decided.wal:
        raise Conflict("the database runs with other settings than those that were decided by")


def require_flushed(opened: OpenedCluster, decided: ObservedCluster, flushed: Mapping[int, Flushed]) -> None:
    """Reads the reports again: they are of the database decided about, and no region has flushed less than then.

    Where somebody said to follow whom no route named, the routes are read again, too: it may be a follower by now.

    Raises:
        Conflict: they are another's, one has, its leader does not report it any more, or it has a new follower.
        OutsideUnavailable: the database did not answer.
    """
    reports = opened.parts.data_plane.reports()
    why = why_of_another(None if decided.wal is None else decided.wal.database, reports)
    why = why or why_less_flushed(flushed, region_reports(reports))
    unsure = {region: before for region, before in flushed.items() if before.unnamed}
    if why is None and unsure:
        why = why_followed(unsure, opened.parts.metadata_store.snapshot().routes)
    if why is not None:
        raise Conflict(why)


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
        if record is None or not record.is_good_for(topic_ids[topic]) or record.intent < offset:
            raise Conflict(f"the intent of topic {topic} is not the one that was written for this delete")


WhyNot = Callable[[Partition, Collection[int], int | None], str | None]


def require_replicas(reassigner: PartitionReassigner, targets: Mapping[PartitionId, tuple[int, ...]]) -> None:
    """Of the partitions that lose replicas by a batch, all may.

    Raises:
        Conflict: one may not, or Kafka does not tell of one: decide again.
        SeawallError: Kafka did not answer, or refused.
    """
    found = _read(reassigner, targets)
    fewer = {each: goal for each, goal in targets.items() if len(goal) < len(found[each].replicas)}
    _require(reassigner, found, fewer, why_not_fewer)


def require_cancel(reassigner: PartitionReassigner, partitions: Collection[PartitionId]) -> None:
    """All moves of these partitions may be cancelled; one that has arrived meanwhile is refused by Kafka.

    Raises:
        Conflict: one may not, or Kafka does not tell of one: decide again.
        SeawallError: Kafka did not answer, or refused.
    """
    ongoing = reassigner.ongoing()
    original = {each: ongoing[each].original for each in partitions if each in ongoing}
    found = _read(reassigner, original)
    _require(reassigner, found, original, why_not_cancel)


def _read(reassigner: PartitionReassigner, asked: Collection[PartitionId]) -> dict[PartitionId, Partition]:
    """All of these.

    Raises:
        Conflict: Kafka does not tell of one.
    """
    described = reassigner.partitions(sorted({each.topic for each in asked})) if asked else {}
    partitions = {
        found.id: found
        for reported in described.values()
        if not isinstance(reported, TopicFailure)
        for found in reported
    }
    unknown = sorted(each for each in asked if each not in partitions)
    if unknown:
        why = described.get(unknown[0].topic)
        said = why.message if isinstance(why, TopicFailure) else "it is not among those of its topic"
        raise Conflict(f"Kafka does not tell of the replicas of {unknown[0].topic}-{unknown[0].partition}: {said}")
    return partitions


def _require(
    reassigner: PartitionReassigner,
    found: Mapping[PartitionId, Partition],
    left: Mapping[PartitionId, Collection[int]],
    why_not: WhyNot,
) -> None:
    """min.insync.replicas is the last that Kafka is asked."""
    if not left:
        return
    reported = reassigner.min_insync_replicas(sorted({each.topic for each in left}))
    for each, replicas in sorted(left.items()):
        min_isr = reported.get(each.topic)
        why = why_not(found[each], replicas, min_isr if isinstance(min_isr, int) else None)
        if why is not None:
            raise Conflict(why)
