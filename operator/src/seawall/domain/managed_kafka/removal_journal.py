"""What the removal of a node does in the journal, where two disruptions cannot stand."""

from __future__ import annotations

from datetime import datetime, timedelta

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.node import Node
from seawall.domain.partitions import BrokerState


def entry_of(case: Case, node: Node) -> Disruption:
    """The restart of this node that does not come back is its removal from now on, and remembers that it was one."""
    pod, entry = case.pod(node), case.cluster.status.disruption
    if entry is not None:
        update = {"kind": DisruptionKind.KAFKA_NODE_REMOVAL.value, "start_time": case.observed.time.shared}
        return entry.model_copy(update=update)
    return Disruption(
        kind=DisruptionKind.KAFKA_NODE_REMOVAL,
        name=node.pod_name,
        uid="" if pod is None else pod.uid,
        start_time=case.observed.time.shared,
        budget_seconds=int(node.kafka.rollout.start_budget.total_seconds()),
    )


def is_own(entry: Disruption, node: Node) -> bool:
    """Whether the journal has this removal, or the restart of the same node, whose pod of before is gone already.

    That restart ends only when the node is back, which it may never be; and it is gone for good when it is stopped.
    """
    if entry.name != node.pod_name:
        return False
    has_gone = entry.kind == DisruptionKind.KAFKA_NODE_RESTART and entry.gone_time is not None
    return has_gone or entry.kind == DisruptionKind.KAFKA_NODE_REMOVAL


def stands_beside(entry: Disruption | None, case: Case, node: Node) -> bool:
    """Whether the restart of another node, whose pod has not gone, keeps nobody from stopping one that is down already.

    Nothing is on it, so its stop takes nothing away, and that restart may wait for just this: its gate lets nobody go
    while another is down. The entry stays.
    """
    restart, answer = of_kind(entry, DisruptionKind.KAFKA_NODE_RESTART), case.observed.kafka
    if restart is None or restart.gone_time is not None or restart.name == node.pod_name or isinstance(answer, str):
        return False
    if not node.pool.is_broker:  # no registration tells of it: down is what the gate of that restart has for down
        pod = case.pod(node)
        return pod is None or pod.is_terminating or not (pod.is_started and pod.is_ready)
    broker = answer.brokers.get(node.id)
    return broker is None or broker.state is BrokerState.FENCED


def stop_is_late_after(case: Case, node: Node) -> datetime | None:
    """Until when the pod of a node that is stopped may take to end; None: nobody deletes it yet.

    Beside the restart of another node it has no entry: that one's is as old as may be, and says nothing of this pod.
    """
    entry, pod = of_kind(case.cluster.status.disruption, DisruptionKind.KAFKA_NODE_REMOVAL), case.pod(node)
    if entry is not None and entry.name == node.pod_name:
        return entry.start_time + timedelta(seconds=entry.budget_seconds)
    return None if pod is None or pod.gone_by is None else pod.gone_by + node.kafka.rollout.start_budget


def without_own(cluster: WALCluster) -> Disruption | None:
    """The journal without a removal: there is none any more."""
    entry = cluster.status.disruption
    return None if of_kind(entry, DisruptionKind.KAFKA_NODE_REMOVAL) is not None else entry


def handed_back(case: Case) -> Disruption | None:
    """The journal without a removal whose node is not stopped: what was a restart is one again.

    No restart is taken back before its node is (rollout/finish.py).
    """
    entry = of_kind(case.cluster.status.disruption, DisruptionKind.KAFKA_NODE_REMOVAL)
    is_there = entry is not None and entry.name in {node.pod_name for node in case.nodes}
    if entry is None or entry.gone_time is None or not is_there:
        return without_own(case.cluster)
    return entry.model_copy(update={"kind": DisruptionKind.KAFKA_NODE_RESTART.value})
