"""One verdict on a WALCluster: the first finding that stands between it and Ready.

Each check looks at one thing and returns a verdict or None; their order is the order of `CHECKS`, so what a person sees
is always the first thing to mend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import ABORT_ANNOTATION, PAUSED_ANNOTATION, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.domain.cluster.data_plane import why_other_view
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.cluster.sharing import judge_managed
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.dataplane.identity import is_older_than_declared
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.decision import Failure
from seawall.domain.kafka import KafkaView, NoKafka, Unreachable
from seawall.domain.kafka_config.decide import standing as standing_of_config
from seawall.domain.kafka_security.status import standing as standing_of_users
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import UnavailableReason
from seawall.domain.managed_kafka.decide import standing
from seawall.domain.managed_kafka.reasons import Reason as NodesReason
from seawall.domain.reassignment.unreadable import UNREADABLE, is_unreadable
from seawall.domain.text import listed
from seawall.domain.times import CLUSTER_PATIENT_SECONDS, CLUSTER_RECENT, CLUSTER_RETRY_SECONDS, CLUSTER_SOON_SECONDS
from seawall.domain.topics.pool import Pool, TopicState
from seawall.domain.walconfig.render import is_rendered_for


@dataclass(frozen=True, slots=True)
class Case:
    """A WALCluster whose spec is valid and whose Kafka answered, with its pool and the WAL configuration to write."""

    cluster: WALCluster
    spec: WALClusterSpec
    kafka: KafkaView
    pool: Pool
    observed: Observed
    wal_config: ConfigMap | None


def judge(case: Case) -> Verdict:
    """The first finding, or Ready."""
    found = next(filter(None, (check(case) for check in CHECKS)), None)
    if found is None:
        return Verdict(Outlook.READY, Reason.READY, _ready_message(case))
    if case.cluster.metadata.is_paused:
        return Verdict(Outlook.PAUSED, Reason.PAUSED, f"{PAUSED_ANNOTATION} is set; {found.message}")
    return found


def is_grave(case: Case) -> bool:
    """Whether what was found comes before failures."""
    return any(check(case) is not None for check in GRAVE)


def judge_unreachable(cluster: WALCluster, problem: NoKafka, now: datetime) -> Verdict:
    """The verdict while Kafka cannot be asked: only silence mends itself, and is asked again soon.

    A wrong password is tried again at the resync only: trying often locks accounts.
    """
    if problem.why is Unreachable.NOT_ANSWERING:
        is_new = _is_recent(cluster, ConditionType.KAFKA_REACHABLE, now)
        after = CLUSTER_RETRY_SECONDS if is_new else CLUSTER_PATIENT_SECONDS
        return Verdict(Outlook.PROGRESSING, problem.why.value, problem.message, after)
    return Verdict(Outlook.STALLED, problem.why.value, problem.message)


def _is_recent(cluster: WALCluster, kind: ConditionType, now: datetime) -> bool:
    """Whether a condition that does not hold has not held for a short time only."""
    found = find_condition(cluster.status.conditions, kind)
    return found is None or found.status == "True" or now - found.last_transition_time < CLUSTER_RECENT


def may_create_topics(case: Case) -> bool:
    """Whether there are brokers enough for the replicas of a new topic, and none whose disk may be formatted again."""
    return case.observed.forming is None and case.spec.topics.replication_factor <= len(case.kafka.online)


def _log_lost(case: Case) -> Verdict | None:
    """The topic is lost, or another one."""
    disaster, missing = case.observed.disaster(), case.observed.missing
    if disaster is None:
        return None
    lost = () if missing is None else missing.lost
    is_all = len(case.pool.in_state(TopicState.READY)) + len(lost) == len(case.pool.states)
    return Verdict(Outlook.STALLED, *disaster, None if is_all else CLUSTER_RETRY_SECONDS)


def _record_unreadable(case: Case) -> Verdict | None:
    missing = case.observed.missing
    if missing is None or not missing.unclear:
        return None
    return Verdict(Outlook.STALLED, Reason.TOPIC_RECORD_UNREADABLE, missing.unclear_sentence(), CLUSTER_RETRY_SECONDS)


def _managed_by_strimzi(case: Case) -> Verdict | None:
    return judge_managed(case.pool, case.observed.sharing)


def _replication_factor_too_high(case: Case) -> Verdict | None:
    wanted, known = case.spec.topics.replication_factor, len(case.kafka.known_brokers())
    if wanted <= known:
        return None
    message = f"replicationFactor {wanted} needs {wanted} brokers and Kafka has {known}"
    return Verdict(Outlook.STALLED, Reason.REPLICATION_FACTOR_TOO_HIGH, message)


def _config_map_taken(case: Case) -> Verdict | None:
    found = case.observed.config_map
    if found is None or case.wal_config is None or is_rendered_for(case.cluster.metadata.uid, found):
        return None
    message = (
        f"ConfigMap {found.key.name} exists and is not this WALCluster's for the database: choose another configMapName"
    )
    return Verdict(Outlook.STALLED, Reason.CONFIG_MAP_TAKEN, message)


def _partitions_differ(case: Case) -> Verdict | None:
    names = case.pool.in_state(TopicState.PARTITIONS_DIFFER)
    message = f"{listed(names)} has more than one partition; entry ids are offsets of partition 0" if names else ""
    return Verdict(Outlook.STALLED, Reason.PARTITIONS_DIFFER, message) if names else None


def _reassignment_unreadable(case: Case) -> Verdict | None:
    if not is_unreadable(case.cluster):
        return None
    return Verdict(Outlook.STALLED, Reason.REASSIGNMENT_UNREADABLE, UNREADABLE, CLUSTER_RETRY_SECONDS)


def _reassigning(case: Case) -> Verdict | None:
    """What the run that moves replicas says of itself."""
    run = case.cluster.status.reassignment
    if run is None:
        return None
    if run.failed_change is not None:
        found = run.failed_change
        return Failure.with_reason(found.reason, found.message).verdict
    if run.stage is ReassignmentStage.AWAITING_APPROVAL:
        return Verdict(Outlook.PAUSED, Reason.AWAITING_APPROVAL, run.message, CLUSTER_RETRY_SECONDS)
    if run.is_active:
        return Verdict(Outlook.PROGRESSING, Reason.REASSIGNING, run.message, CLUSTER_RETRY_SECONDS)
    if run.infeasible is not None:
        return Verdict(Outlook.STALLED, Reason.REASSIGNMENT_INFEASIBLE, run.infeasible, CLUSTER_RETRY_SECONDS)
    return None


def _replication_factor_differs(case: Case) -> Verdict | None:
    names, run = case.pool.in_state(TopicState.REPLICATION_FACTOR_DIFFERS), case.cluster.status.reassignment
    if not names:
        return None
    message = f"the replication factor of {listed(names)} is not {case.spec.topics.replication_factor}"
    if case.cluster.metadata.aborts_reassignment:
        message += f": remove {ABORT_ANNOTATION} to let it be changed"
    elif run is not None and run.refused:
        message += f": {run.refused[0].message}"
    else:
        return Verdict(
            Outlook.PROGRESSING, Reason.REASSIGNING, f"{message}: it is being planned", CLUSTER_RETRY_SECONDS
        )
    return Verdict(Outlook.STALLED, Reason.REPLICATION_FACTOR_DIFFERS, message, CLUSTER_RETRY_SECONDS)


def _brokers_missing(case: Case) -> Verdict | None:
    """They come back by themselves, unless a managed Kafka says that a person has to bring them."""
    wanted, online, known = case.spec.topics.replication_factor, case.kafka.online, case.kafka.known_brokers()
    if len(online) >= wanted:
        return None
    if (nodes := _nodes_need_a_person(case)) is not None:
        return nodes
    missing = ", ".join(map(str, sorted(known - online)))
    message = f"{len(online)} of {len(known)} brokers are online (missing: {missing}), replicationFactor is {wanted}"
    return Verdict(Outlook.PROGRESSING, Reason.BROKERS_MISSING, message, after=CLUSTER_RETRY_SECONDS)


def _unguarded(case: Case) -> Verdict | None:
    names = [guard.topic for guard in case.pool.guards]
    message = f"Kafka may remove records of {listed(names)} by itself" if names else ""
    return Verdict(Outlook.PROGRESSING, Reason.REPAIRING, message, CLUSTER_RETRY_SECONDS) if names else None


def _in_state(state: TopicState, reason: Reason, what: str) -> Callable[[Case], Verdict | None]:
    def check(case: Case) -> Verdict | None:
        names = case.pool.in_state(state)
        if not names:
            return None
        is_new = _is_recent(case.cluster, ConditionType.TOPICS_READY, case.observed.now)
        after = CLUSTER_SOON_SECONDS if is_new else CLUSTER_RETRY_SECONDS
        return Verdict(Outlook.PROGRESSING, reason, f"{len(names)} of {len(case.pool.states)} topics {what}", after)

    return check


def _forming(case: Case) -> Verdict | None:
    """A managed Kafka that does not take records yet."""
    why, names = case.observed.forming, case.pool.in_state(TopicState.MISSING)
    if why is None or not names:
        return None
    message = f"{len(names)} of {len(case.pool.states)} topics are missing: {why}"
    return Verdict(Outlook.PROGRESSING, NodesReason.BRINGING_UP, message, CLUSTER_SOON_SECONDS)


def _config_map_outdated(case: Case) -> Verdict | None:
    wanted, found = case.wal_config, case.observed.config_map
    if wanted is None or (found is not None and found.data == wanted.data):
        return None
    message = f"ConfigMap {wanted.key.name} is being written"
    return Verdict(Outlook.PROGRESSING, Reason.WRITING_CONFIG, message, CLUSTER_RETRY_SECONDS)


def _database_changed(case: Case) -> Verdict | None:
    view = case.observed.data_plane
    other = why_other_view(case.cluster, view) if isinstance(view, DataPlaneView) else None
    if other is None:
        return None
    is_claim = other.why is UnavailableReason.DATABASE_CLAIMED
    reason = Reason.DATABASE_CLAIMED if is_claim else Reason.DATABASE_CHANGED
    return Verdict(Outlook.STALLED, reason, f"{other.message}; nothing is deleted, granted or restarted")


def _version_differs(case: Case) -> Verdict | None:
    view, declared = case.observed.data_plane, case.spec.declared_version
    if case.spec.http is not None or not isinstance(view, DataPlaneView) or view.version is None:
        return None
    version = case.observed.declared_version(declared)
    if version is None or not is_older_than_declared(view.version, version):
        return None
    where = "dataPlane.greptimedb.version declares" if declared else "the GreptimeDBCluster's image declares"
    message = f"GreptimeDB {view.version} runs and {where} {version}"
    return Verdict(Outlook.STALLED, Reason.VERSION_DIFFERS, f"{message}: declare what runs, or finish the upgrade")


def _contested(case: Case) -> Verdict | None:
    other = case.observed.contender
    if other is None:
        return None
    message = f"WALCluster {other} claims the same topics: delete one of the two; nothing is deleted from them"
    return Verdict(Outlook.STALLED, Reason.PREFIX_CONTESTED, message, CLUSTER_RETRY_SECONDS)


def _kafka_nodes(case: Case) -> Verdict | None:
    """What a managed Kafka cannot mend by itself, although it answers."""
    return _nodes_need_a_person(case) or standing_of_users(case.cluster) or standing_of_config(case.cluster)


def _nodes_need_a_person(case: Case) -> Verdict | None:
    found = standing(case.cluster)
    return found if found is not None and found.outlook is Outlook.STALLED else None


GRAVE: tuple[Callable[[Case], Verdict | None], ...] = (
    _database_changed,
    _log_lost,
    _replication_factor_too_high,
    _brokers_missing,
)
"""What has to be mended before it is worth a word that something could not be changed."""

CHECKS: tuple[Callable[[Case], Verdict | None], ...] = (
    *GRAVE,
    _kafka_nodes,
    _record_unreadable,
    _managed_by_strimzi,
    _config_map_taken,
    _partitions_differ,
    _reassignment_unreadable,
    _reassigning,
    _replication_factor_differs,
    _unguarded,
    _forming,
    _in_state(TopicState.MISSING, Reason.CREATING, "are missing"),
    _in_state(TopicState.LEADERLESS, Reason.LEADERLESS, "have no leader"),
    _in_state(TopicState.DRIFTED, Reason.REPAIRING, "have configs that differ"),
    _in_state(TopicState.UNDER_MIN_ISR, Reason.UNDER_MIN_ISR, "are under min.insync.replicas"),
    _config_map_outdated,
    _version_differs,
    _contested,
)


def _ready_message(case: Case) -> str:
    parts = [f"{len(case.pool.states)} topics are ready"]
    if case.pool.under_replicated:
        parts.append(f"{case.pool.under_replicated} under-replicated")
    if case.pool.foreign:
        parts.append(f"{listed(list(case.pool.foreign))} with the prefix beyond count left alone")
    return "; ".join(parts)
