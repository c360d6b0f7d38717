"""What is decided of the votes of a managed Kafka's controllers.

    change     in the status          what is done in the world          what ends it
    ---------  ---------------------  ---------------------------------  ---------------------------------------------
    (none)     —                      —                                  a disk with a vote is lost, or is of one that
                                                                         leaves: Remove; one follows: Add
    Remove     the disk; the journal  Kafka takes its vote               the quorum does not have it any more: (none)
               has it before the act
    Add        the same               Kafka lets it vote                 the quorum has it: (none)

So a lost disk is replaced by itself: its vote goes, then the volume is formatted by token (tokens.py), the controller
follows, and gets a vote. Which change is next is derived from the quorum, so whoever comes next goes on, also without
the status. The journal's entry stands for seconds: it is written when nothing is against the act, and taken back when
something is. Beside a restart that is overdue a lost disk is replaced without one, and beside one that waits for it
the vote of who leaves and is down goes. A tick records or acts, never both.
"""

from __future__ import annotations

from datetime import timedelta

from seawall.api.meta import PAUSED_ANNOTATION
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.managed_kafka import node_host
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus, VoterChange, VoterStep
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.properties import CONTROLLER_LISTENER, CONTROLLER_PORT
from seawall.domain.managed_kafka.voter_actions import AddVoter, RemoveVoter, VoterAction
from seawall.domain.managed_kafka.voters import (
    VotersObserved,
    VoterWish,
    has_caught_up,
    is_replacement,
    quorum_of,
    why_not,
    wished,
)
from seawall.domain.partitions import NewVoter
from seawall.domain.step import Event, EventType
from seawall.domain.times import MANAGED_KAFKA_IDLE_SECONDS, MANAGED_KAFKA_POLL_SECONDS

_RESTARTS = frozenset({DisruptionKind.DATANODE_RESTART, DisruptionKind.KAFKA_NODE_RESTART})

VotersDecision = Decision[WALClusterStatus, VoterAction]


def decide(cluster: WALCluster, observed: VotersObserved) -> VotersDecision:
    """What one tick decides."""
    case = observed.case
    if isinstance(case, str):
        return silent(cluster, case, MANAGED_KAFKA_IDLE_SECONDS)
    change, wish = cluster.status.voter_change, wished(case)
    if wish is None and isinstance(unknown := quorum_of(case), str):  # nobody knows what is next
        return (
            silent(cluster, unknown, MANAGED_KAFKA_POLL_SECONDS)
            if change is None
            else _waiting(cluster, change, unknown)
        )
    if wish is None or (change is not None and _wish_of(change) != wish):
        return _ended(cluster, change)
    if change is None:
        begins = VoterChange(
            node=wish.node,
            directory_id=wish.directory_id,
            step=wish.step,
            start_time=case.observed.time.shared,
        )
        return _record(cluster, begins, cluster.status.disruption, "it is to be changed")
    return _go_on(case, observed, change, wish)


def _go_on(case: Case, observed: VotersObserved, change: VoterChange, wish: VoterWish) -> VotersDecision:
    cluster, entry = case.cluster, case.cluster.status.disruption
    node = next(each for each in case.nodes if each.id == wish.node)
    why = f"{PAUSED_ANNOTATION} is set" if cluster.metadata.is_paused else why_not(wish, observed)
    own = of_kind(entry, DisruptionKind.KAFKA_VOTER_CHANGE)
    if own is not None and (why is not None or not _is_of(own, node, wish)):  # others may be disrupted meanwhile
        return _record(cluster, change, None, why or "an earlier change of a vote is over")
    if why is not None:
        return _waiting(cluster, change, why)
    if (
        entry is not None
        and not _is_of(entry, node, wish)
        and not (_stands_beside(entry, case, wish) or _is_waited_for(entry, case, wish))
    ):
        what = f"status.disruption has {entry.kind} of {entry.name}"
        return _waiting(cluster, change, f"{what}, and two disruptions cannot stand")
    if entry is None:
        return _record(cluster, change, _begins(case, node, wish), "its turn has come")
    return _decision(cluster, change, "Kafka is asked for it", _action(node, wish))


def _begins(case: Case, node: Node, wish: VoterWish) -> Disruption:
    return Disruption(
        kind=DisruptionKind.KAFKA_VOTER_CHANGE,
        name=node.pod_name,
        uid=wish.directory_id,
        start_time=case.observed.time.shared,
        budget_seconds=int(node.kafka.rollout.start_budget.total_seconds()),
    )


def _is_of(entry: Disruption, node: Node, wish: VoterWish) -> bool:
    """Whether the journal has this change, or the restart of the same node, which ends only when it votes again."""
    if entry.name != node.pod_name:
        return False
    is_own = entry.kind == DisruptionKind.KAFKA_VOTER_CHANGE and entry.uid == wish.directory_id
    return is_own or entry.kind == DisruptionKind.KAFKA_NODE_RESTART


def _stands_beside(entry: Disruption, case: Case, wish: VoterWish) -> bool:
    """Whether the restart in the journal, which is overdue, keeps nobody from replacing a disk that is lost.

    Its vote is nobody's, so to take it takes nothing away, and that restart may wait for just this: the gate lets no
    node go while a voter has not caught up. Of a controller only while its pod is there. The entry stays.
    """
    since, budget = entry.gone_time or entry.start_time, timedelta(seconds=entry.budget_seconds)
    if entry.kind not in _RESTARTS or case.observed.time.shared < since + budget or not is_replacement(case, wish):
        return False
    controllers = {node.pod_name for node in case.nodes if node.pool.is_controller}
    return entry.gone_time is None or entry.name not in controllers


def _is_waited_for(entry: Disruption, case: Case, wish: VoterWish) -> bool:
    """Whether the restart in the journal, whose pod has not gone, waits for this vote of one that leaves and is down.

    Its gate lets no node go while a voter has not caught up, and it is never taken back. The entry stays.
    """
    has_begun = entry.kind != DisruptionKind.KAFKA_NODE_RESTART or entry.gone_time is not None
    is_removal = wish.step is VoterStep.REMOVE and not is_replacement(case, wish)
    if has_begun or not is_removal or isinstance(quorum := quorum_of(case), str):
        return False
    return any(not has_caught_up(each, quorum) for each in quorum.voters if each.id == wish.node)


def _action(node: Node, wish: VoterWish) -> VoterAction:
    if wish.step is VoterStep.REMOVE:
        return RemoveVoter(wish.node, wish.directory_id)
    host = node_host(node.cluster.namespace, node.cluster.name, node.id)
    return AddVoter(NewVoter(wish.node, wish.directory_id, CONTROLLER_LISTENER, host, CONTROLLER_PORT))


def _wish_of(change: VoterChange) -> VoterWish:
    return VoterWish(change.node, change.directory_id, change.step)


def _ended(cluster: WALCluster, change: VoterChange | None) -> VotersDecision:
    """The quorum has it, or it is not wished any more."""
    entry = cluster.status.disruption
    own = of_kind(entry, DisruptionKind.KAFKA_VOTER_CHANGE)
    if change is None and own is None:
        return silent(cluster, "all controllers vote that are declared", MANAGED_KAFKA_IDLE_SECONDS)
    return _record(cluster, None, None if own is not None else entry, "it is done, or not wished any more")


def _record(cluster: WALCluster, change: VoterChange | None, entry: Disruption | None, message: str) -> VotersDecision:
    said = None if change is None else change.model_copy(update={"message": message})
    status = _with(cluster.status, said, entry)
    verdict = Verdict(Outlook.PROGRESSING, "", message, MANAGED_KAFKA_POLL_SECONDS)
    return Decision(status, verdict, publish=lambda _: Published(status))


def _waiting(cluster: WALCluster, change: VoterChange, message: str) -> VotersDecision:
    return _decision(cluster, change, message)


def _decision(cluster: WALCluster, change: VoterChange, message: str, *actions: VoterAction) -> VotersDecision:
    status = cluster.status

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        said = change.model_copy(update={"message": found.message[:512]})
        is_new = found.reason in FAILURES and change.message != said.message
        warning = Event(EventType.WARNING, found.reason, found.message)
        return Published(_with(status, said, status.disruption), (warning,) if is_new else ())

    verdict = Verdict(Outlook.PROGRESSING, "", message, MANAGED_KAFKA_POLL_SECONDS)
    return Decision(status, verdict, actions, publish)


def _with(status: WALClusterStatus, change: VoterChange | None, entry: Disruption | None) -> WALClusterStatus:
    managed = (status.managed_kafka or ManagedKafkaStatus()).model_copy(update={"voter_change": change})
    return status.model_copy(update={"managed_kafka": managed, "disruption": entry})
