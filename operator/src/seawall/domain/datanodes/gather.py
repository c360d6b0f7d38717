"""From what was read to the facts that a roll is decided from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from seawall.api.meta import PAUSED_ANNOTATION, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import find_condition
from seawall.domain.datanodes.facts import Facts, Limits
from seawall.domain.datanodes.from_ledger import Sources, datanodes_by_id, datanodes_of_pods
from seawall.domain.datanodes.scans import bad_records
from seawall.domain.kafka import Topic
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.ledger.page import LedgerPage, page_of
from seawall.domain.rollout.requests import parse_override
from seawall.domain.rollout.workload import OVERRIDE_ANNOTATION, RESTART_ANNOTATION

DATANODE_FILE = "datanode.toml"
HASH_DIGITS = 16

NO_KAFKA = frozenset(
    {
        UnavailableReason.KAFKA,
        UnavailableReason.OTHER_KAFKA,
        UnavailableReason.NOT_FIRST_CONTACT,
        UnavailableReason.POOL_OWNED,
        UnavailableReason.NAMESPACE_UNREADABLE,
    }
)
"""Obstacles of a look that are about Kafka."""


@dataclass(frozen=True, slots=True)
class ObservedKafka:
    """What Kafka says of topics, read after the look: replicas, and which of them are being moved."""

    topics: Mapping[str, Topic]
    moving: Collection[str]


@dataclass(frozen=True, slots=True)
class Beside:
    """What was read beside the look, of the WALCluster's own objects."""

    purges: Iterable[WALPurge]
    verifications: Iterable[WALVerification]


def find_older_owner(cluster: WALCluster, others: Iterable[WALCluster]) -> str | None:
    """The older WALCluster of the namespace that names the same datanodes: neither knows whom the other restarts."""
    mine, me = _named(cluster), cluster.metadata
    elders = [
        (other.metadata.creation_timestamp, other.metadata.name)
        for other in others
        if other.metadata.namespace == me.namespace and other.metadata.uid != me.uid and _are_same(mine, _named(other))
    ]
    older = [name for when, name in elders if (when, name) < (me.creation_timestamp, me.name)]
    return min(older, default=None)


def _named(cluster: WALCluster) -> tuple[str | None, str | None]:
    """The StatefulSet that is named, and the object that describes the database."""
    spec = cluster.spec
    if isinstance(spec, InvalidSpec) or spec.data_plane is None:
        return None, None
    plane = spec.data_plane
    statefulset = None if plane.datanodes is None else plane.datanodes.stateful_set_ref.name
    return statefulset, None if plane.cluster_ref is None else plane.cluster_ref.name


def _are_same(one: tuple[str | None, str | None], other: tuple[str | None, str | None]) -> bool:
    """A GreptimeDBCluster `db` has the StatefulSets `db-datanode` and `db-datanode-<group>`."""
    sets, clusters = {one[0], other[0]} - {None}, {one[1], other[1]} - {None}
    if len(sets) == 1 and len(clusters) == 1:
        base = f"{next(iter(clusters))}-datanode"
        return any(name == base or str(name).startswith(f"{base}-") for name in sets)
    return one == other and one != (None, None)


def with_people(
    facts: Facts, time: TrustedTime, cluster: WALCluster, spec: WALClusterSpec, config_map: ConfigMap | None
) -> Facts:
    """The facts with what people asked for: annotations, limits, and the configuration that new pods get."""
    restart = spec.data_plane.restart if spec.data_plane is not None else None
    limits = (
        Limits() if restart is None else Limits(restart.replay_budget, restart.flush_first, restart.on_config_change)
    )
    annotations = cluster.metadata.annotations
    said = annotations.get(OVERRIDE_ANNOTATION)
    override = None if said is None else parse_override(said, time)
    return replace(
        facts,
        request=annotations.get(RESTART_ANNOTATION, "").strip() or None,
        override=None if isinstance(override, str) else override,
        override_problem=override if isinstance(override, str) else None,
        config_hash=None if _is_pasted(spec) else config_hash(cluster, config_map),
        is_paused=cluster.metadata.is_paused,
        limits=limits,
    )


def _is_pasted(spec: WALClusterSpec) -> bool:
    """Whether the configuration reaches the database by a person's edit of the object of it, and not by itself."""
    return spec.data_plane is not None and spec.data_plane.cluster_ref is not None


def config_hash(cluster: WALCluster, config_map: ConfigMap | None) -> str | None:
    """Of the configuration that datanodes get when they start now; None: none is rendered, or it is not ours."""
    if config_map is None or config_map.controller_uid != cluster.metadata.uid:
        return None
    text = config_map.data.get(DATANODE_FILE)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def with_ledger(
    facts: Facts,
    cluster: WALCluster,
    observation: Observation | Unavailable,
    kafka: ObservedKafka | str,
    beside: Beside,
) -> Facts:
    """The facts with what the ledger and Kafka say of the pods' datanodes. What is not known stays unknown."""
    kafka_problem = kafka if isinstance(kafka, str) else None
    purges = tuple(beside.purges)
    if isinstance(observation, Unavailable):
        if observation.why in NO_KAFKA:
            kafka_problem = observation.message
        return replace(facts, kafka_problem=kafka_problem, observation_problem=observation.message)
    ledger = plan(observation.assessment.inputs)
    sources = Sources(
        ledger,
        observation.read,
        {} if isinstance(kafka, str) else kafka.topics,
        () if isinstance(kafka, str) else kafka.moving,
        cut_topics(purges, observation),
    )
    by_id = datanodes_by_id(sources)
    ids = datanodes_of_pods(facts.pods, observation.read.snapshot.datanodes, _remembered(cluster.status))
    datanodes = {name: by_id[number] for name, number in ids.items() if number in by_id}
    topic_ids = {name: log.topic_id for name, log in observation.read.logs.items() if log.topic_id is not None}
    return replace(
        facts,
        datanodes=datanodes,
        kafka_problem=kafka_problem,
        wal_problem=_wal_problem(cluster, page_of(observation, ledger)),
        bad_records=bad_records(beside.verifications, topic_ids, datanodes),
        paused_run=paused_run(purges),
    )


def cut_topics(purges: Iterable[WALPurge], observation: Observation) -> frozenset[str]:
    """Topics of runs that delete now: an intent is written, and the log does not start there yet.

    Of one that is paused too: what it sent before may be on its way, and nobody can say when that is over.
    """
    running = running_purges(purges)
    found: set[str] = set()
    for name in observation.topics:
        if not any(isinstance(run.spec, InvalidSpec) or run.spec.selects(name) for run in running):
            continue
        log_start, record = observation.read.logs[name].log_start, observation.read.records.get(name)
        is_behind = record is not None and (log_start is None or record.intent > log_start)
        if is_behind or name in observation.read.unreadable_records:
            found.add(name)
    return frozenset(found)


def paused_run(purges: Iterable[WALPurge]) -> str | None:
    """The first of these runs that a person has paused in the middle, and what ends that, as a clause."""
    name = min((run.metadata.name for run in running_purges(purges) if run.metadata.is_paused), default=None)
    if name is None:
        return None
    ends = f"kubectl annotate walpurge/{name} {PAUSED_ANNOTATION}-"
    return f"WALPurge {name} is paused in the middle, so this does not end by itself: `{ends}`, or delete it"


def running_purges(purges: Iterable[WALPurge]) -> list[WALPurge]:
    """Those that may delete: their targets are recorded, and they are not over."""
    return [run for run in purges if run.status.frozen is not None and not run.status.is_finished]


def _remembered(status: WALClusterStatus) -> dict[str, int]:
    """Which datanode a pod was: one that was made anew tells its address only when it has started."""
    rows = () if status.restart is None else status.restart.datanodes
    found, entry = {row.pod: row.datanode for row in rows}, status.disruption
    return found if entry is None or entry.datanode is None else {**found, entry.name: entry.datanode.id}


def _wal_problem(cluster: WALCluster, page: LedgerPage) -> str | None:
    """What this look found first; then what the condition says, which may have been seen by another process."""
    damaged = page.damaged()
    if damaged:
        return f"{damaged[0].name}: {damaged[0].message}"
    said = find_condition(cluster.status.conditions, ConditionType.WAL_INTACT)
    if said is None:
        return "WALIntact was not looked at yet"
    return None if said.status == "True" else f"WALIntact is {said.status}: {said.message}"
