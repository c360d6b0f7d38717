"""What a WALCluster's controller decides: a pure function of the object and of what was observed.

A living object goes through these gates, in this order; the first that is shut ends the tick:

    spec valid → finalizer as deletionPolicy says → may look → Kafka answers → it is the expected cluster
    → its id is pinned → no older WALCluster owns the pool → status tells the truth → actions → nothing to do

An object that is being deleted goes through `deletion.decide_deletion` instead.
"""

from __future__ import annotations

from seawall.api.meta import TOPICS_FINALIZER, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.topic_pool import DeletionPolicy
from seawall.domain.cluster.actions import (
    AddFinalizer,
    ClusterAction,
    MarkRecords,
    RecordLogs,
    RemoveFinalizer,
    WriteConfigMap,
)
from seawall.domain.cluster.deletion import decide_deletion
from seawall.domain.cluster.identity import pinned_id, why_wrong
from seawall.domain.cluster.lost import MissingTopics
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.cluster.reasons import Reason
from seawall.domain.cluster.recorded import Recorded
from seawall.domain.cluster.sharing import left_alone
from seawall.domain.cluster.status import ClusterDecision, events_of, status_of, without_pool
from seawall.domain.cluster.verdict import (
    Case,
    is_grave,
    judge,
    judge_unreachable,
    may_create_topics,
)
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.decision import Decision, Published
from seawall.domain.kafka import KafkaView, NoKafka
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.managed_kafka.decide import standing
from seawall.domain.topics.actions import GuardRetention
from seawall.domain.topics.pool import Creation, TopicState, plan_topics
from seawall.domain.walconfig.render import is_rendered_for, render_wal_config


def decide(cluster: WALCluster, observed: Observed) -> ClusterDecision:
    """What one tick decides."""
    if cluster.metadata.deletion_timestamp is not None:
        return decide_deletion(cluster, observed)
    spec = cluster.spec
    if isinstance(spec, InvalidSpec):
        return without_pool(cluster, observed, Verdict(Outlook.STALLED, Reason.INVALID_SPEC, spec.message))
    if (finalizer := _finalizer_action(cluster, spec)) is not None:
        return Decision(cluster.status, BEGINS, (finalizer,), without_pool(cluster, observed, BEGINS).publish)
    case = _case(cluster, spec, observed)
    if isinstance(case, Verdict):
        return without_pool(cluster, observed, case)
    return _manage_pool(case)


BEGINS = Verdict(Outlook.PROGRESSING, Reason.NOT_ASKED, "nothing was looked at yet")


def _case(cluster: WALCluster, spec: WALClusterSpec, observed: Observed) -> Case | Verdict:
    """The pool and what was seen of it, or what forbids to look at it."""
    kafka = observed.kafka
    if observed.obstacle is not None:
        return Verdict(Outlook.STALLED, Reason.NOT_ALLOWED, observed.obstacle)
    if isinstance(kafka, NoKafka):
        return standing(cluster) or judge_unreachable(cluster, kafka, observed.now)
    if kafka is None or observed.pool is None:
        raise TypeError("a valid spec was observed only in part")
    blocked = _identity_gate(cluster, spec, kafka, observed)
    if blocked is not None:
        return blocked
    wal_config = _wanted_config_map(cluster, spec, observed)
    return Case(cluster, spec, kafka, observed.pool, observed, wal_config)


def _manage_pool(case: Case) -> ClusterDecision:
    verdict = judge(case)

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        status = status_of(case, found)
        return Published(status, events_of(case.cluster, status))

    return Decision(
        case.cluster.status,
        verdict,
        tuple(plan_actions(case)),
        publish,
        publishes_first=True,
        published_in=ConditionType.READY,
        outranks_failures=is_grave(case),
    )


def plan_actions(case: Case) -> list[ClusterAction]:
    """Everything to do now; nothing while paused.

    Leaders are asked where logs end after all that they need not be asked for: one that is silent holds up no other
    topic. The WAL configuration follows the topics that it names, and their records.
    """
    if case.cluster.metadata.is_paused:
        return []
    topics = plan_topics(case.spec.topics, case.pool.without(left_alone(case.observed.sharing)), _creation(case))
    recorded, missing = case.observed.recorded or Recorded(), case.observed.missing or MissingTopics()
    actions: list[ClusterAction] = [action for action in topics if isinstance(action, GuardRetention)]
    standing = read_readoption(case.cluster, case.observed.time).standing
    if standing is not None and (unmarked := (*recorded.unmarked, *missing.unmarked)):
        actions.append(MarkRecords(unmarked, standing.token))
    actions += [action for action in topics if not isinstance(action, GuardRetention)]
    if recorded.to_begin:
        actions.append(RecordLogs(recorded.to_begin))
    elif (write := _config_map_action(case)) is not None and not case.pool.in_state(TopicState.MISSING):
        actions.append(write)
    return actions


def _creation(case: Case) -> Creation | None:
    """What may be made of what is missing; None: nothing, because brokers are missing or nobody read the records."""
    missing = case.observed.missing
    if missing is None or not may_create_topics(case):
        return None
    return Creation(missing.kept, missing.readopted, missing.grounds)


def _finalizer_action(cluster: WALCluster, spec: WALClusterSpec) -> ClusterAction | None:
    wanted = spec.topics.deletion_policy is DeletionPolicy.DELETE
    stands = TOPICS_FINALIZER in cluster.metadata.finalizers
    if wanted and not stands:
        return AddFinalizer()
    if stands and not wanted:
        return RemoveFinalizer("deletionPolicy is Retain")
    return None


def _identity_gate(cluster: WALCluster, spec: WALClusterSpec, kafka: KafkaView, observed: Observed) -> Verdict | None:
    if (wrong := why_wrong(cluster, kafka)) is not None:
        return Verdict(Outlook.STALLED, Reason.WRONG_CLUSTER, wrong)
    if pinned_id(cluster) is None:
        return Verdict(Outlook.PROGRESSING, Reason.FIRST_CONTACT, f"reached Kafka cluster {kafka.cluster_id}")
    return _claim_gate(cluster, spec, observed)


def _claim_gate(cluster: WALCluster, spec: WALClusterSpec, observed: Observed) -> Verdict | None:
    """A claim that was seen stands until it is seen to be gone."""
    if observed.conflicting_owner is not None:
        message = (
            f"the older WALCluster {observed.conflicting_owner} owns the prefix {spec.topics.prefix} on this Kafka"
        )
        return Verdict(Outlook.STALLED, Reason.PREFIX_CLAIMED, message)
    before = find_condition(cluster.status.conditions, ConditionType.READY)
    if observed.unreadable and before is not None and before.reason == Reason.PREFIX_CLAIMED:
        return Verdict(Outlook.STALLED, Reason.PREFIX_CLAIMED, before.message)
    return None


def _config_map_action(case: Case) -> WriteConfigMap | None:
    wanted, found = case.wal_config, case.observed.config_map
    if wanted is None:
        return None
    if found is not None and (not is_rendered_for(case.cluster.metadata.uid, found) or found.data == wanted.data):
        return None
    return WriteConfigMap(wanted)


def _wanted_config_map(cluster: WALCluster, spec: WALClusterSpec, observed: Observed) -> ConfigMap | None:
    """Rendered once a tick; it replaces the version that was found.

    What was rendered for a database that another object describes stays while that is not found: its version may decide
    the text.
    """
    if spec.wal_config is None:
        return None
    found = observed.config_map
    version = observed.declared_version(spec.declared_version)
    key = Key(cluster.metadata.namespace, spec.wal_config.config_map_name)
    is_known = spec.data_plane is None or spec.data_plane.cluster_ref is None or version is not None
    data = render_wal_config(cluster.metadata.key, spec, version) if is_known or found is None else found.data
    return ConfigMap(key, data, cluster.metadata.uid, found.resource_version if found else None)
