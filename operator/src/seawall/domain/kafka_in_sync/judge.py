"""Whether a node of a managed Kafka is in sync, by what its pod and Kafka say; pure.

What is not known changes nothing: the condition of the pod stays as it is. That the container of which it was said is
gone is known without Kafka, and that its claim goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.kafka_in_sync.reasons import SENTENCES, NodeReason
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundPod, InSync, KafkaAnswer
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.roll_facts import is_caught_up
from seawall.domain.partitions import BrokerState


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One container of one pod: what is said of it does not hold for the next one."""

    pod_uid: str
    container: str


def run_of(pod: FoundPod) -> Run:
    """What runs in a pod now."""
    return Run(pod.uid, pod.container)


def said_of(pod: FoundPod, reason: NodeReason) -> InSync:
    """The condition that says so of what runs in a pod."""
    message = f"{pod.name} {SENTENCES[reason]}; said of container {pod.container or '(none)'}"
    return InSync(reason is NodeReason.IN_SYNC, reason.value, message)


def is_said_of(pod: FoundPod) -> bool:
    """Whether a pod's condition is about the container that runs in it."""
    return pod.in_sync is not None and bool(pod.container) and pod.in_sync.message.endswith(f" {pod.container}")


def judge(case: Case, node: Node, pod: FoundPod) -> NodeReason | None:
    """How a node is, as this look shows it; None: it is not known."""
    if not pod.container or not pod.is_ready:
        return NodeReason.NOT_RUNNING
    if case.loses_volume(node):  # others may soon have to do without it
        return NodeReason.VOLUME_GOES
    answer = case.observed.kafka
    if isinstance(answer, str):
        return None
    found: list[NodeReason | None] = []
    if node.pool.is_broker:
        found.append(_of_broker(answer, node))
    if node.pool.is_controller:
        found.append(_of_controller(case, answer, node))
    wrong = (each for each in found if each is not NodeReason.IN_SYNC)
    return next(wrong, NodeReason.IN_SYNC)


def _of_broker(answer: KafkaAnswer, node: Node) -> NodeReason | None:
    broker, partitions = answer.brokers.get(node.id), answer.partitions
    if broker is None or broker.state is not BrokerState.ONLINE:
        return NodeReason.NOT_HEARD
    if partitions is None or isinstance(partitions, str):
        return None
    own = (each for each in partitions if node.id in frozenset(each.replicas) - answer.adding.get(each.id, frozenset()))
    return NodeReason.IN_SYNC if all(node.id in each.isr for each in own) else NodeReason.NOT_IN_SYNC


def _of_controller(case: Case, answer: KafkaAnswer, node: Node) -> NodeReason | None:
    if isinstance(answer.quorum, str):
        return None
    return NodeReason.IN_SYNC if is_caught_up(case, answer, node) else NodeReason.NOT_CAUGHT_UP
