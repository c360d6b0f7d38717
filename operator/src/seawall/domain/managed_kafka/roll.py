"""What is decided of the restarts of a managed Kafka's nodes: a roll (`rollout/machine.py`) behind `kafka_nodes`' gate.

    stage       in the status           what is done in the world              what ends it
    ----------  ----------------------  -------------------------------------  ------------------------------------
    (none)      —                       —                                      a node is due (roll_facts.py)
    Waiting     whose turn it is        —                                      the gate is open for one (checks.py)
    Restarting  the pod and its UID     one template is renewed, then that     another pod is Online, in sync, and
                                        pod is evicted                         was so for the dwell: Waiting
    Stalled     the same                an edit: the template once more, and   it is back after all
                                        the pod that did not come back goes;
                                        by a person's word all that do not run
    Completed   what was done           —                                      a node is due

Who the nodes are is known before that: while the identity is unclear, or objects of a former life are there, nothing is
begun, and nothing finished. A tick records or acts, never both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.disruption import DisruptionKind, of_kind
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus
from seawall.api.v1alpha1.rollout import RollStage, RollStatus
from seawall.domain.conditions import Verdict
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.kafka_nodes.facts import KafkaFacts
from seawall.domain.kafka_nodes.gate import KafkaAction, KafkaNodeGate
from seawall.domain.kafka_nodes.reasons import KafkaBlocker
from seawall.domain.managed_kafka.case import Case, pinned_id
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.identity import Identity, find_identity, found_nodes
from seawall.domain.managed_kafka.plan import of_a_former_life
from seawall.domain.rollout import machine
from seawall.domain.rollout.decision import Roll
from seawall.domain.rollout.requests import taken_up
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import ROLLOUT_IDLE_SECONDS, ROLLOUT_POLL_SECONDS, ROLLOUT_WAITING_SECONDS

KafkaRoll = Roll[RollStatus]
RollDecision = Decision[WALClusterStatus, KafkaAction]

WARNINGS = frozenset(
    {
        *(reason.value for reason in KafkaBlocker if reason is not KafkaBlocker.DWELL),
        Reason.DISRUPTION_BUDGET,
        Reason.BUDGET_EXCEEDED,
        Reason.STUCK_TERMINATING,
        *FAILURES,
    }
)
"""Reasons whose beginning is an event, because a person may have to do something."""


@dataclass(frozen=True, slots=True)
class RollObserved:
    """What one tick sees.

    Attributes:
        facts: what a roll is decided from; a sentence: why there are none.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick.
    """

    facts: KafkaFacts | str
    forbidden: str | None = None


def known_case(cluster: WALCluster, observed: Observed) -> Case | str:
    """All that facts are made of; a sentence: why nothing may be restarted, whatever it is made of."""
    managed = cluster.managed_kafka
    if managed is None or cluster.metadata.deletion_timestamp is not None:
        return "there is no managed Kafka, or the WALCluster goes"
    if not observed.is_enabled or cluster.status.managed_kafka is None:
        return "its nodes were not made yet"
    nodes = found_nodes(cluster.metadata.key, managed, observed.found)
    identity = find_identity(nodes, observed, pinned_id(cluster))
    if not isinstance(identity, Identity):
        return "which Kafka it is is not known"
    case = Case(cluster, nodes, observed, identity)
    former = of_a_former_life(case)
    return case if former is None else f"{former} is of an earlier WALCluster of this name"


def roll_of(status: WALClusterStatus) -> KafkaRoll:
    """The roll that a WALCluster's status has."""
    managed = status.managed_kafka
    found = None if managed is None else managed.roll
    return Roll(status=found or RollStatus(), entry=status.disruption)


def is_under_way(cluster: WALCluster, facts: KafkaFacts) -> bool:
    """Whether a node is to be restarted, or one is: only then Kafka is asked for all that a restart takes away."""
    roll = roll_of(cluster.status)
    is_begun = roll.status.stage not in {None, RollStage.COMPLETED}
    is_ours = of_kind(roll.entry, DisruptionKind.KAFKA_NODE_RESTART) is not None
    status = roll.status.model_copy(update={"request": taken_up(roll.status, facts.request, facts.nodes)})
    return is_begun or is_ours or bool(KafkaNodeGate(facts).due(status))


def decide(cluster: WALCluster, observed: RollObserved) -> RollDecision:
    """What one tick decides."""
    facts = observed.facts
    if isinstance(facts, str):
        return silent(cluster, facts, ROLLOUT_IDLE_SECONDS)
    before, gate = roll_of(cluster.status), KafkaNodeGate(facts, observed.forbidden)
    request = taken_up(before.status, facts.request, facts.nodes)
    status = before.status.model_copy(update={"request": request})
    found = machine.decide(Roll(status=status, entry=before.entry), gate)
    if found.status.status.stage is None and found.status == before:
        return _idle(cluster, found)
    publish = partial(_published, cluster, before, found.status)
    changed = cluster.status if found.status == before else _with_roll(cluster.status, found.status)
    verdict = replace(found.verdict, after=_after(found, observed))
    return Decision(changed, verdict, found.actions, publish)


def _idle(cluster: WALCluster, found: Decision[KafkaRoll, KafkaAction]) -> RollDecision:
    """There was no roll yet. What waits for approval is told of the nodes."""
    return silent(cluster, found.verdict.message, ROLLOUT_IDLE_SECONDS)


def _published(
    cluster: WALCluster, before: KafkaRoll, after: KafkaRoll, verdict: Verdict
) -> Published[WALClusterStatus]:
    found = machine.published(before, after, verdict, WARNINGS)
    status = cluster.status if found.status == before else _with_roll(cluster.status, found.status)
    return Published(status, found.events)


def _with_roll(status: WALClusterStatus, roll: KafkaRoll) -> WALClusterStatus:
    """Only these parts of the status are this controller's; the rest stays as it was read."""
    managed = (status.managed_kafka or ManagedKafkaStatus()).model_copy(update={"roll": roll.status})
    return status.model_copy(update={"managed_kafka": managed, "disruption": roll.entry})


def _after(found: Decision[KafkaRoll, KafkaAction], observed: RollObserved) -> float | None:
    stage = found.status.status.stage
    if observed.forbidden is not None:
        return found.verdict.after
    if stage in {None, RollStage.COMPLETED}:
        return ROLLOUT_IDLE_SECONDS
    is_soon = stage is RollStage.RESTARTING or found.verdict.reason == KafkaBlocker.DWELL
    if is_soon and isinstance(observed.facts, KafkaFacts):
        return _until_steady(observed.facts)
    return ROLLOUT_WAITING_SECONDS if stage is RollStage.WAITING else found.verdict.after


def _until_steady(facts: KafkaFacts) -> float:
    """Each look costs Kafka and the API server; what comes after the last dwell need not wait for one more."""
    left = [each.total_seconds() for node in facts.nodes if (each := facts.dwell_left(node))]
    return min(max(left, default=ROLLOUT_POLL_SECONDS), ROLLOUT_POLL_SECONDS)
