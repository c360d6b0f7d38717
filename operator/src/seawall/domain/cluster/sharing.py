"""What a WALCluster says of the Strimzi on its Kafka, and what it leaves alone.

A topic that a KafkaTopic manages is as that says: the Topic Operator takes back every config that is not in it, and
deletes the topic with it. So it is not altered and not deleted here, and what is wrong with it a person has to mend.
"""

from __future__ import annotations

from collections.abc import Callable

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.sharing import LET_GO, Sharing
from seawall.domain.times import CLUSTER_RETRY_SECONDS
from seawall.domain.topics.pool import Pool, TopicState

KIND = ConditionType.SHARED_WITH_STRIMZI
NOT_AS_DECLARED = (
    TopicState.MISSING,
    TopicState.PARTITIONS_DIFFER,
    TopicState.REPLICATION_FACTOR_DIFFERS,
    TopicState.DRIFTED,
)


def left_alone(sharing: Sharing | str | None) -> frozenset[str]:
    """The topics that are not for Seawall to make, alter, move or delete."""
    return frozenset(sharing.managed) if isinstance(sharing, Sharing) else frozenset()


def judge_managed(pool: Pool, sharing: Sharing | str | None) -> Verdict | None:
    """What is wrong with topics that somebody else manages: first that Kafka may remove their records."""
    if not isinstance(sharing, Sharing):
        return None
    unguarded = sharing.among([guard.topic for guard in pool.guards])
    differing = sharing.among(pool.in_state(*NOT_AS_DECLARED))
    if not unguarded and not differing:
        return None
    what = "and Kafka may remove records by itself" if unguarded else "which is not as this WALCluster declares it"
    cure = f"set cleanup.policy, retention.ms and what else is declared in the KafkaTopic, or {LET_GO}"
    message = f"{sharing.who_manages(unguarded or differing)}, {what}; it is left alone: {cure}"
    return Verdict(Outlook.STALLED, Reason.TOPICS_MANAGED, message, CLUSTER_RETRY_SECONDS)


def sharing_conditions(
    cluster: WALCluster, observed: Observed, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    """The condition SharedWithStrimzi; none where nobody asks, or there is no Strimzi."""
    before = find_condition(cluster.status.conditions, KIND)
    if observed.pool is None:  # nobody looked: what was last known stays
        return () if before is None else (before,)
    match observed.sharing:
        case None:
            return ()
        case Sharing() as sharing:
            return (_shared(sharing, observed.pool, build),)
        case sentence:
            return (build(KIND, "Unknown", Reason.STRIMZI_UNKNOWN, sentence),)


def _shared(sharing: Sharing, pool: Pool, build: Callable[..., Condition]) -> Condition:
    managed, rebalances = sharing.among([*pool.states, *pool.foreign]), sharing.who_rebalances()
    found = []
    if managed:
        found.append(f"{sharing.who_manages(managed)}, and who deletes that deletes the log: {LET_GO}")
    if rebalances is not None:
        found.append(f"{rebalances}: no reassignment goes on until it is over")
    if not found:
        message = "no KafkaTopic manages a topic of the pool, and no KafkaRebalance moves replicas"
        if not sharing.is_found:
            message += "; none of the Kafkas that were found is this one: if it is Strimzi's, set strimzi.namespaces"
        return build(KIND, "False", Reason.NOT_SHARED, message)
    return build(KIND, "True", Reason.TOPICS_MANAGED if managed else Reason.REBALANCE_RUNNING, "; ".join(found))
