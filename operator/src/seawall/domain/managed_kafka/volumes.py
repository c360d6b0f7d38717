"""How the volume of each node is, and whether something would be lost if an empty one took its place.

New        nobody has made it yet
Unrecorded it is there, and the identity does not know it yet
First      it may be formatted as a new node's, until Kafka has heard from the node; of a Kafka that is formed, if Kafka
           knows nobody by its id (`is_known`): the identity may be older than the node
Held       Kafka has heard from the node with this volume
Lost       the identity knows another one, or it is empty: nothing is formatted before that is known to lose nothing.
           Another claim with the disk that the node had is Held again when Kafka hears from the node (tokens.py)
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from seawall.domain.kafka import by_number
from seawall.domain.managed_kafka.found import FoundObject, FoundPod, KafkaAnswer
from seawall.domain.managed_kafka.identity import NodeRecord
from seawall.domain.managed_kafka.node import Node
from seawall.domain.partitions import BrokerState, Partition, PartitionId, Quorum, QuorumReplica
from seawall.domain.text import few
from seawall.domain.times import MANAGED_KAFKA_CLEARED_MS


class VolumeState(Enum):
    """How a volume is."""

    NEW = auto()
    UNRECORDED = auto()
    FIRST = auto()
    HELD = auto()
    LOST = auto()


def volume_state(record: NodeRecord | None, volume: FoundObject | None, pod: FoundPod | None) -> VolumeState:
    """How the volume of a node is.

    Args:
        record: what the identity knows of the node.
        volume: the PersistentVolumeClaim that there is.
        pod: the pod that there is, which may say that the volume is empty.
    """
    if record is None:
        return VolumeState.NEW if volume is None else VolumeState.UNRECORDED
    if volume is None or volume.uid != record.volume:
        return VolumeState.LOST
    if not record.registered:
        return VolumeState.FIRST
    return VolumeState.LOST if pod is not None and pod.has_empty_volume else VolumeState.HELD


def is_on(pod: FoundPod, volume: FoundObject) -> bool:
    """Whether the pod mounts this claim, and not one of the same name that somebody took from it by force."""
    return pod.placed is not None and volume.created is not None and volume.created <= pod.placed


def is_known(node: Node, answer: KafkaAnswer | str) -> bool | None:
    """Whether Kafka has heard of a node of this id before, whatever the identity knows of it; None: nobody knows.

    The API server may have been restored from a backup that is older than the node: its claim is gone, and what was on
    its disk may be needed. An id is never used twice, so a node that is new has none that Kafka knows.
    """
    if isinstance(answer, str):
        return None
    found = [_has_vote(node, answer.quorum)] if node.pool.is_controller else []
    found += [_is_of_brokers(node, answer)] if node.pool.is_broker else []
    return True if True in found else None if None in found else False


def _has_vote(node: Node, quorum: Quorum | str) -> bool | None:
    return None if isinstance(quorum, str) else any(each.id == node.id for each in quorum.voters)


def _is_of_brokers(node: Node, answer: KafkaAnswer) -> bool | None:
    """Whether it is registered, or in the replicas of a partition."""
    if node.id in answer.brokers:
        return True
    if answer.partitions is None or isinstance(answer.partitions, str):
        return None
    return any(node.id in each.replicas for each in answer.partitions)


def why_not_without(node: Node, answer: KafkaAnswer | str) -> str | None:
    """Why an empty volume must not take the place of a lost one by itself; None: nothing is lost by it.

    An emptied disk that is the last of its partition leads with an empty log, and everybody truncates to it. What is
    not known counts as lost. The node is down from before the look, so it can only leave ISRs until it is formatted.
    """
    if node.pool.is_controller and (vote := _why_vote_stands(node, answer)) is not None:
        return vote
    if isinstance(answer, str):
        return f"what else has its records is not known: {answer}"
    if not node.pool.is_broker:
        return None
    broker = answer.brokers.get(node.id)
    if broker is not None and broker.state is BrokerState.ONLINE:
        return "Kafka still hears from it"
    if answer.partitions is None or isinstance(answer.partitions, str):
        return f"what else has its records is not known: {answer.partitions or 'nobody asked for partitions'}"
    lost = only_on(node.id, answer.partitions, answer)
    return None if not lost else f"nobody else is known to have all records of {_named(lost)}"


def _why_vote_stands(node: Node, answer: KafkaAnswer | str) -> str | None:
    """Why an empty disk may still vote in the place of the lost one; None: the lost one has no vote any more.

    It would have forgotten how it voted, and what it had acknowledged.
    """
    if len(tuple(node.kafka.controller_ids)) == 1:
        return "it is the only controller, and nobody else has Kafka's metadata (docs/kafka.md#a-volume-is-lost)"
    quorum = answer if isinstance(answer, str) else answer.quorum
    if isinstance(quorum, str):
        return f"whether it still has a vote is not known: {quorum}"
    if any(each.id == node.id for each in quorum.voters):
        return "it may have voted, and an empty disk forgets that: its vote is taken first"
    is_there = any(each.id == node.id and is_heard(each) for each in quorum.observers)
    return "Kafka still hears from it" if is_there else None


def is_heard(replica: QuorumReplica) -> bool:
    """Whether the quorum's leader has heard from it lately, so that its disk is there."""
    return replica.behind_ms is not None and replica.behind_ms < MANAGED_KAFKA_CLEARED_MS


def only_on(node: int, partitions: Iterable[Partition], answer: KafkaAnswer) -> tuple[PartitionId, ...]:
    """The partitions of which no other replica that Kafka hears from is in sync, or eligible to lead.

    Of brokers that are down nobody knows whether their disks are still there: two that are lost at once would each be
    the reason why the other loses nothing, and with both formatted Kafka elects the last known leader.
    """
    eligible = answer.eligible or {}
    online = {each.id for each in answer.brokers.values() if each.state is BrokerState.ONLINE}  # not the node
    return tuple(
        each.id
        for each in partitions
        if node in each.replicas and not (each.isr | eligible.get(each.id, frozenset())) & online
    )


def _named(partitions: tuple[PartitionId, ...]) -> str:
    names = sorted((f"{topic}-{partition}" for topic, partition in partitions), key=by_number)
    return few(names)
