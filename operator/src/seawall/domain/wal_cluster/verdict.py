"""One verdict on a WALCluster: the first finding that stands between it and Ready.

Each check looks at one thing and returns a verdict or None; their order is the order of `CHECKS`, so what a person sees
is always the first thing to mend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from seawall.api.meta import PAUSED_ANNOTATION, ConditionType
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterSpec
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import KafkaView, NoKafka, Unreachable
from seawall.domain.topics.actions import listed
from seawall.domain.topics.pool import Pool, TopicState
from seawall.domain.wal_cluster.observed import Failure, Observed
from seawall.domain.wal_cluster.reasons import Reason
from seawall.domain.walconfig.render import render_wal_config

LEADER_POLL_SECONDS = 0.5
RETRY_SECONDS = 5.0


class Outlook(StrEnum):
    """What will become of it; each is one of kstatus's answers."""

    READY = "Ready"
    """All is as declared (Current)."""
    PROGRESSING = "Progressing"
    """Seawall or Kafka is on its way there (InProgress)."""
    STALLED = "Stalled"
    """A person has to do something (Failed)."""
    PAUSED = "Paused"
    """A person stopped it (InProgress)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a WALCluster in one reason and one sentence; `after` is when to look again, in seconds."""

    outlook: Outlook
    reason: str
    message: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A WALCluster whose spec is valid and whose Kafka answered, with its pool."""

    cluster: WALCluster
    spec: WALClusterSpec
    kafka: KafkaView
    pool: Pool
    observed: Observed

    @property
    def paused(self) -> bool:
        """Whether a person stopped all writes."""
        return self.cluster.metadata.annotations.get(PAUSED_ANNOTATION) == "true"


def judge(case: Case) -> Verdict:
    """The first finding, or Ready."""
    found = next(filter(None, (check(case) for check in CHECKS)), None)
    if found is None:
        return Verdict(Outlook.READY, Reason.READY, _ready_message(case))
    if case.paused:
        return Verdict(Outlook.PAUSED, Reason.PAUSED, f"{PAUSED_ANNOTATION} is set; {found.message}")
    return found


def judge_unreachable(problem: NoKafka) -> Verdict:
    """The verdict while Kafka cannot be asked: only silence mends itself, and is asked again soon.

    A wrong password is tried again at the resync only: trying often locks accounts.
    """
    if problem.why is Unreachable.NOT_ANSWERING:
        return Verdict(Outlook.PROGRESSING, problem.why.value, problem.message, after=RETRY_SECONDS)
    return Verdict(Outlook.STALLED, problem.why.value, problem.message)


def may_create_topics(case: Case) -> bool:
    """Whether there are brokers enough for the replicas of a new topic."""
    return case.spec.topics.replication_factor <= len(case.kafka.online)


def _replication_factor_too_high(case: Case) -> Verdict | None:
    wanted, known = case.spec.topics.replication_factor, len(case.kafka.known_brokers())
    if wanted <= known:
        return None
    message = f"replicationFactor {wanted} needs {wanted} brokers and Kafka has {known}"
    return Verdict(Outlook.STALLED, Reason.REPLICATION_FACTOR_TOO_HIGH, message)


def judge_failure(failure: Failure) -> Verdict:
    """The verdict when an action failed."""
    if failure.final:
        return Verdict(Outlook.STALLED, Reason.REFUSED, failure.message)
    return Verdict(Outlook.PROGRESSING, Reason.UNANSWERED, failure.message, after=RETRY_SECONDS)


def _failure(case: Case) -> Verdict | None:
    return judge_failure(case.observed.failure) if case.observed.failure is not None else None


def _still_refused(case: Case) -> Verdict | None:
    """A refusal of this generation stands until nothing is left to do; else the status would flap at each retry."""
    before = find_condition(case.cluster.status.conditions, ConditionType.STALLED)
    open_work = case.pool.changes or case.pool.in_state(TopicState.MISSING) or _config_map_outdated(case)
    same = before is not None and before.observed_generation == case.cluster.metadata.generation
    if before is None or before.reason != Reason.REFUSED or not same or not open_work:
        return None
    return Verdict(Outlook.STALLED, Reason.REFUSED, before.message)


def _config_map_taken(case: Case) -> Verdict | None:
    found = case.observed.config_map
    if found is None or case.spec.data_plane is None or found.controller_uid == case.cluster.metadata.uid:
        return None
    message = f"ConfigMap {found.key.name} exists and was not made by this WALCluster: choose another configMapName"
    return Verdict(Outlook.STALLED, Reason.CONFIG_MAP_TAKEN, message)


def _partitions_differ(case: Case) -> Verdict | None:
    names = case.pool.in_state(TopicState.PARTITIONS_DIFFER)
    message = f"{listed(names)} has more than one partition; entry ids are offsets of partition 0" if names else ""
    return Verdict(Outlook.STALLED, Reason.PARTITIONS_DIFFER, message) if names else None


def _replication_factor_differs(case: Case) -> Verdict | None:
    names = case.pool.in_state(TopicState.REPLICATION_FACTOR_DIFFERS)
    wanted = case.spec.topics.replication_factor
    message = f"the replication factor of {listed(names)} is not {wanted}" if names else ""
    return Verdict(Outlook.STALLED, Reason.REPLICATION_FACTOR_DIFFERS, message) if names else None


def _brokers_missing(case: Case) -> Verdict | None:
    wanted, online, known = case.spec.topics.replication_factor, case.kafka.online, case.kafka.known_brokers()
    if len(online) >= wanted:
        return None
    missing = ", ".join(map(str, sorted(known - online)))
    message = f"{len(online)} of {len(known)} brokers are online (missing: {missing}), replicationFactor is {wanted}"
    return Verdict(Outlook.PROGRESSING, Reason.BROKERS_MISSING, message, after=RETRY_SECONDS)


def _in_state(state: TopicState, reason: Reason, what: str, after: float) -> Callable[[Case], Verdict | None]:
    def check(case: Case) -> Verdict | None:
        names = case.pool.in_state(state)
        if not names:
            return None
        return Verdict(Outlook.PROGRESSING, reason, f"{len(names)} of {len(case.pool.states)} topics {what}", after)

    return check


def _config_map_outdated(case: Case) -> Verdict | None:
    if case.spec.data_plane is None:
        return None
    found = case.observed.config_map
    if found is not None and found.data == render_wal_config(case.spec):
        return None
    name = case.spec.data_plane.wal_config.config_map_name
    return Verdict(Outlook.PROGRESSING, Reason.WRITING_CONFIG, f"ConfigMap {name} is being written", RETRY_SECONDS)


CHECKS: tuple[Callable[[Case], Verdict | None], ...] = (
    _replication_factor_too_high,
    _failure,
    _still_refused,
    _config_map_taken,
    _partitions_differ,
    _replication_factor_differs,
    _brokers_missing,
    _in_state(TopicState.MISSING, Reason.CREATING, "are missing", LEADER_POLL_SECONDS),
    _in_state(TopicState.LEADERLESS, Reason.LEADERLESS, "have no leader", LEADER_POLL_SECONDS),
    _in_state(TopicState.DRIFTED, Reason.REPAIRING, "have configs that differ", RETRY_SECONDS),
    _in_state(TopicState.UNDER_MIN_ISR, Reason.UNDER_MIN_ISR, "are under min.insync.replicas", RETRY_SECONDS),
    _config_map_outdated,
)


def _ready_message(case: Case) -> str:
    parts = [f"{len(case.pool.states)} topics are ready"]
    if case.pool.under_replicated:
        parts.append(f"{case.pool.under_replicated} under-replicated")
    if case.pool.foreign:
        parts.append(f"{listed(list(case.pool.foreign))} with the prefix beyond count left alone")
    return "; ".join(parts)
