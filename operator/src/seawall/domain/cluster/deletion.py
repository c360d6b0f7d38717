"""The deletion of a WALCluster whose finalizer stands, and whether its topics are still those that were decided to go.

    the topics and their records can be read → each log is the recorded one → decided (`going.py`)
    → nobody needs them (`needed.py`) → nobody wrote to them since

Nobody wrote: the log ends where it ended when it was decided. Where a database is declared, that may have written until
its tables were dropped; there the log ends where it ended when the database was asked, right before.

What differs stops the deletion of the whole pool: the decision is an old one then, and so it may be for the others.

Topics are deleted only by their owner, on the cluster that was pinned, and only with deletionPolicy Delete. A deletion
that cannot be finished must not hold a namespace for ever, so the finalizer is released, with an event, when

    the policy no longer says Delete · a person paused the object · the namespace itself is terminating
    · another WALCluster owns the pool · Kafka was never reached, or not for ten minutes on end · the spec is invalid

Which logs go is decided first, and written down (`going.py`). While they are not those any more, while
a region, a WALHold or a person needs them (`needed.py`), or nobody can see whether they do, neither goes, and no time
ends that: the condition says what to do.

The finalizer also goes when Kafka itself said that no topic of the pool is left: what its metadata show may be old, or
filtered by rights.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, ConditionType, InvalidSpec
from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.deletion_status import DeletionStatus
from seawall.api.v1alpha1.topic_pool import DeletionPolicy
from seawall.domain.clocks import prolonged
from seawall.domain.cluster.actions import DecideDeletion, FinishDeletion, RemoveFinalizer
from seawall.domain.cluster.going import PoolNow, decided, records_to_decide
from seawall.domain.cluster.identity import pinned_id, why_wrong
from seawall.domain.cluster.needed import WAY_OUT as RETAIN
from seawall.domain.cluster.needed import why_needed
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.ownership import why_owner_unknown
from seawall.domain.cluster.reasons import Reason
from seawall.domain.cluster.status import ClusterDecision, without_pool
from seawall.domain.cluster.verdict import judge_unreachable
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision, silent
from seawall.domain.kafka import KafkaView, NoKafka
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.step import EventType
from seawall.domain.times import (
    CLUSTER_GIVE_UP_AFTER,
    CLUSTER_RETRY_SECONDS,
    CLUSTER_SILENT_SECONDS,
    SILENCE_LONGEST_BREAK,
)
from seawall.domain.topics.actions import DeleteTopics

NOT_OBSERVED = Verdict(
    Outlook.PROGRESSING, Reason.USE_UNKNOWN, "nobody has looked yet at the topics", CLUSTER_RETRY_SECONDS
)


def why_unclear(pool: PoolNow) -> Verdict | None:
    """What cannot be read of the topics."""
    if not pool.unclear:
        return None
    name, sentence = next(iter(pool.unclear.items()))
    message = f"it cannot be seen whether topic {name} is the one that is to go: {sentence}; mend that, {RETAIN}"
    return Verdict(Outlook.PROGRESSING, Reason.USE_UNKNOWN, message, CLUSTER_RETRY_SECONDS)


def why_remade(cluster: WALCluster, pool: PoolNow) -> Verdict | None:
    """The first topic that is another one than is recorded, or was made since the deletion was decided."""
    for name, log in pool.logs.items():
        record = pool.records.get(name)
        if record is not None and record.topic_id != log.topic_id:
            return _changed(f"topic {name} was made anew: its id is {log.topic_id} and was {record.topic_id}")
        if cluster.status.deletion is not None and decided(cluster, record) is None:
            return _changed(f"topic {name} was made since this deletion was decided")
    return None


def why_written(cluster: WALCluster, pool: PoolNow, observation: Observation | Unavailable | None) -> Verdict | None:
    """The first topic that somebody wrote to since its log was decided to go, or of which nobody knows whether.

    See above for databases.
    """
    for name, log in pool.logs.items():
        if _end_is_unknown(observation, name):
            message = f"it cannot be seen where topic {name} ended when the database was asked: wait, {RETAIN}"
            return Verdict(Outlook.PROGRESSING, Reason.USE_UNKNOWN, message, CLUSTER_RETRY_SECONDS)
        then, now = _end_then(cluster, pool, observation, name), log.offsets.high_watermark
        if then is not None and then != now:
            return _changed(f"somebody writes to topic {name}: it ended at {then} and ends at {now}")
    return None


def _end_is_unknown(observation: Observation | Unavailable | None, name: str) -> bool:
    """Kafka did not tell it in the look at the database, and there is nothing to compare with."""
    if not isinstance(observation, Observation):
        return False
    log = observation.read.logs.get(name)
    return log is None or log.high_watermark is None


def _end_then(
    cluster: WALCluster, pool: PoolNow, observation: Observation | Unavailable | None, name: str
) -> int | None:
    if isinstance(observation, Observation):
        log = observation.read.logs.get(name)
        return None if log is None else log.high_watermark
    going = decided(cluster, pool.records.get(name))
    return None if going is None else going.end


def _changed(what: str) -> Verdict:
    return Verdict(
        Outlook.STALLED,
        Reason.TOPICS_CHANGED,
        f"{what}; nothing is deleted: if nobody needs the topics delete them by hand, {RETAIN}",
    )


BATCH = 1000
"""Topics that one action deletes: the object is read again, and the Lease looked at, before each."""


def decide_deletion(cluster: WALCluster, observed: Observed) -> ClusterDecision:
    """What one tick of a deletion decides. A person sees in the status what it waits for."""
    spec = cluster.spec
    if TOPICS_FINALIZER not in cluster.metadata.finalizers:
        return silent(cluster, "deletion has nothing to do")
    released = _release(cluster, observed)
    if released is not None or isinstance(spec, InvalidSpec):
        actions = () if released is None else (released,)
        return Decision(cluster.status, LET_GO, actions, without_pool(cluster, observed, LET_GO).publish)
    blocker = _blocker(cluster, observed)
    if blocker is not None:
        waits = without_pool(_with_silence(cluster, observed), observed, blocker)
        return replace(waits, at_latest=CLUSTER_SILENT_SECONDS)
    return _delete_pool(cluster, observed, spec.topics.topic_names())


LET_GO = Verdict(Outlook.PROGRESSING, Reason.DELETING, "the topics stay")


def _delete_pool(cluster: WALCluster, observed: Observed, topics: list[str]) -> ClusterDecision:
    needs = observed.needs
    pool = None if needs is None else needs.pool
    if needs is None or pool is None:
        return without_pool(cluster, observed, NOT_OBSERVED)
    changed = why_unclear(pool) or why_remade(cluster, pool)
    if changed is not None:
        return without_pool(cluster, observed, changed)
    left = [name for name in topics if name in pool.logs]
    message = f"{len(left)} of {len(topics)} topics are left to delete"
    verdict = Verdict(Outlook.PROGRESSING, Reason.DELETING, message)
    if cluster.status.deletion is None:
        return _decide_which(cluster, observed, pool, verdict)
    kept = why_needed(cluster, topics, needs) or why_written(cluster, pool, needs.observation)
    if kept is not None:
        return without_pool(cluster, observed, kept)
    action = DeleteTopics(tuple(left[:BATCH])) if left else FinishDeletion(tuple(topics))
    return replace(
        without_pool(cluster, observed, verdict, action), publishes_first=True, published_in=ConditionType.READY
    )


def _decide_which(cluster: WALCluster, observed: Observed, pool: PoolNow, verdict: Verdict) -> ClusterDecision:
    """The records first, whoever needs the topics meanwhile; then the status says that they are complete."""
    undecided = records_to_decide(cluster, pool)
    if undecided:
        return without_pool(cluster, observed, verdict, DecideDeletion(tuple(undecided)))
    deletion = DeletionStatus(decided_at=observed.now.replace(microsecond=0), topics=len(pool.logs))
    decided = replace(cluster, status=cluster.status.model_copy(update={"deletion": deletion}))
    return without_pool(decided, observed, verdict)


def _blocker(cluster: WALCluster, observed: Observed) -> Verdict | None:
    """What the deletion has to wait for."""
    kafka = observed.kafka
    if observed.obstacle is not None:
        return Verdict(Outlook.STALLED, Reason.NOT_ALLOWED, observed.obstacle, CLUSTER_RETRY_SECONDS)
    if isinstance(kafka, NoKafka):
        return judge_unreachable(cluster, kafka, observed.now)
    if kafka is None:
        raise TypeError("a valid spec was observed only in part")
    if (wrong := why_wrong(cluster, kafka)) is not None:
        return Verdict(Outlook.STALLED, Reason.WRONG_CLUSTER, wrong)
    if (unknown := why_owner_unknown(observed.unreadable)) is not None:
        return Verdict(Outlook.STALLED, Reason.NOT_ALLOWED, unknown, CLUSTER_RETRY_SECONDS)
    return None


def _release(cluster: WALCluster, observed: Observed) -> RemoveFinalizer | None:
    spec = cluster.spec
    if isinstance(spec, InvalidSpec):
        return RemoveFinalizer(f"the topics stay, because the spec is invalid: {spec.message}", EventType.WARNING)
    reasons = (
        (spec.topics.deletion_policy is not DeletionPolicy.DELETE, "deletionPolicy is Retain"),
        (cluster.metadata.is_paused, f"{PAUSED_ANNOTATION} is set"),
        (observed.namespace_terminating, "the namespace is being deleted"),
        (pinned_id(cluster) is None, "Kafka was never reached"),
        (observed.conflicting_owner is not None, f"WALCluster {observed.conflicting_owner} owns them"),
        (_gave_up(cluster, observed), "its Kafka could not be asked for 10 minutes"),
    )
    why = next((why for holds, why in reasons if holds), None)
    return RemoveFinalizer(f"the topics stay, because {why}", EventType.WARNING) if why else None


def _gave_up(cluster: WALCluster, observed: Observed) -> bool:
    silence = _silence(cluster, observed)
    return silence is not None and observed.time.shared - silence.from_time >= CLUSTER_GIVE_UP_AFTER


def _silence(cluster: WALCluster, observed: Observed) -> Stretch | None:
    """For how long this deletion has found nobody to ask, again and again; None: the Kafka that is meant answers.

    Not since when KafkaReachable is False: in between, while no operator ran, Kafka may have been well.
    """
    kafka, pinned = observed.kafka, cluster.status.kafka
    answers = observed.obstacle is None and isinstance(kafka, KafkaView) and why_wrong(cluster, kafka) is None
    if answers or pinned is None:
        return None
    return prolonged(pinned.unanswered, observed.time.shared, SILENCE_LONGEST_BREAK)


def _with_silence(cluster: WALCluster, observed: Observed) -> WALCluster:
    """An answer ends it (`status._kafka`)."""
    silence, pinned = _silence(cluster, observed), cluster.status.kafka
    if silence is None or pinned is None:
        return cluster
    kafka = pinned.model_copy(update={"unanswered": silence})
    return replace(cluster, status=cluster.status.model_copy(update={"kafka": kafka}))
