"""How each node of a managed Kafka is: what its pod says, and what Kafka says of its registration."""

from __future__ import annotations

from seawall.api.v1alpha1.managed_kafka_status import ManagedNodeStatus, NodeState
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundPod, KafkaAnswer
from seawall.domain.managed_kafka.identity import NodeRecord
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.plan import is_outdated
from seawall.domain.managed_kafka.roll_facts import cause_of
from seawall.domain.managed_kafka.tokens import heard_of
from seawall.domain.managed_kafka.volumes import VolumeState, is_known, why_not_without
from seawall.domain.partitions import BrokerState
from seawall.domain.times import BROKERS_BEHIND_MS

LONGEST = 500


def node_statuses(case: Case) -> tuple[ManagedNodeStatus, ...]:
    """All nodes, by id."""
    before = case.cluster.status.managed_kafka
    was = {} if before is None else {each.id: each.state for each in before.nodes}
    return tuple(
        ManagedNodeStatus(
            id=node.id,
            pool=node.pool.name,
            roles=node.pool.roles,
            state=node_state(case, node, was.get(node.id)),
            outdated=_is_outdated(case, node),
            old_certificate=case.has_old_certificate(node),
            old_certificate_expires=case.old_certificate_expires(node),
            leaving=node.is_leaving,
            message=describe(case, node)[:LONGEST],
        )
        for node in case.nodes
    )


def _is_outdated(case: Case, node: Node) -> bool:
    """What its pod runs with; of one that has none, or does not tell, what it would."""
    pod = case.pod(node)
    says_its_template = pod is not None and pod.template is not None
    return cause_of(case, node) is not None if says_its_template else is_outdated(case, node)


def node_state(case: Case, node: Node, before: NodeState | None) -> NodeState:
    """How a node is. While Kafka does not answer, one whose pod is ready stays what it was."""
    pod = case.pod(node)
    if pod is None:
        return NodeState.OFFLINE
    if pod.is_terminating:
        return NodeState.STOPPING
    answer = case.observed.kafka
    if isinstance(answer, str):
        return before or NodeState.OFFLINE if pod.is_ready else NodeState.OFFLINE
    if node.pool.is_broker:
        return _of_broker(node, pod, answer)
    return _of_controller(case.identity.nodes.get(node.id, NodeRecord()), node, pod, answer)


def _of_broker(node: Node, pod: FoundPod, answer: KafkaAnswer) -> NodeState:
    broker = answer.brokers.get(node.id)
    if broker is None or not pod.is_started:
        return NodeState.OFFLINE
    return NodeState.ONLINE if broker.state is BrokerState.ONLINE else NodeState.FENCED


def _of_controller(record: NodeRecord, node: Node, pod: FoundPod, answer: KafkaAnswer) -> NodeState:
    quorum = answer.quorum
    heard = heard_of(quorum, node.id, record)
    if isinstance(quorum, str) or heard is None or not pod.is_started:
        return NodeState.OFFLINE
    is_heard = heard.id == quorum.leader or heard.keeps_up(BROKERS_BEHIND_MS)
    return NodeState.ONLINE if is_heard else NodeState.FENCED


def describe(case: Case, node: Node) -> str:
    """What a node waits for; empty: nothing."""
    return "; ".join(filter(None, (_of_volume(case, node), _of_scale(case, node)))) or _of_pod(case.pod(node))


def _of_volume(case: Case, node: Node) -> str:
    if case.volume_state(node) is VolumeState.LOST:
        return _of_lost(case, node)
    if case.is_newcomer(node) and is_known(node, case.observed.kafka) is None:
        return f"its volume is empty; {why_not_without(node, case.observed.kafka)}"
    return "" if case.volume(node) is not None else f"its volume {node.volume} is not there yet"


def _of_scale(case: Case, node: Node) -> str:
    """Somebody who scales one to 0 has a reason, such as another volume, so it is theirs to scale it back."""
    statefulset = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    if statefulset is None or statefulset.replicas != 0 or statefulset.is_taken_out:
        return ""
    back = f"kubectl scale statefulset {node.name} --replicas=1 -n {case.key.namespace}"
    return f"its StatefulSet has replicas 0, and not by Seawall: {back} brings it back"


def _of_pod(pod: FoundPod | None) -> str:
    return "it has no pod yet" if pod is None else pod.said or pod.trouble


def _of_lost(case: Case, node: Node) -> str:
    volume, pod = case.volume(node), case.pod(node)
    what = f"its volume {node.volume} is {'gone' if volume is None else 'another one'}"
    if pod is not None and pod.has_empty_volume:
        what = "its volume is empty"
    elif case.loses_volume(node):
        what = _of_losing(case, node)
    why_not = why_not_without(node, case.observed.kafka)
    if case.may_format(node):
        return f"{what}; it is formatted anew"
    change = case.cluster.status.voter_change
    if change is not None and change.node == node.id and change.message and why_not is not None:
        why_not = f"{why_not}: {change.message}"
    return f"{what}; {why_not or 'whether something is lost by it is looked at once more'}"


def _of_losing(case: Case, node: Node) -> str:
    """What its claim is, and what a person must not do."""
    claim = case.observed.found.objects.get((ObjectKind.VOLUME, node.volume))
    if claim is not None and not claim.is_terminating:
        what = "another one than its pod has: delete the pod only if this one has the same disk"
    else:
        keeps = "only its pod keeps it: do not delete the pod before its PersistentVolume is set to Retain"
        what = f"{'gone' if claim is None else 'being deleted'}, and {keeps}"
    return f"its volume {node.volume} is {what} (docs/kafka.md#a-claim-is-deleted)"
