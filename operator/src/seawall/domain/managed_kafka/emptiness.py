"""Whether a node that is to be taken out is empty, and whether it can be. What is not known counts as not empty.

A broker is when no replica is on it, a controller when it has no vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import KafkaAnswer
from seawall.domain.managed_kafka.node import Node
from seawall.domain.partitions import BrokerState, Partition
from seawall.domain.times import MANAGED_KAFKA_EMPTY_FOR

SHOWN = 3


@dataclass(frozen=True, slots=True)
class RemovalObserved:
    """What one tick sees.

    Attributes:
        case: all that is known of nodes; a sentence: why nothing is taken out.
        stored: by broker that told, how many replicas are in its log directories.
        empty_for: by node for how long each look has found nothing on it.
    """

    case: Case | str
    stored: Mapping[int, int] = field(default_factory=dict)
    empty_for: Mapping[int, timedelta] = field(default_factory=dict)

    @property
    def answer(self) -> KafkaAnswer | str:
        """What Kafka says."""
        return self.case if isinstance(self.case, str) else self.case.observed.kafka

    @property
    def partitions(self) -> tuple[Partition, ...] | str:
        """All of them."""
        answer = self.answer
        found = answer if isinstance(answer, str) else answer.partitions
        return "where its replicas are was not asked" if found is None else found


def why_not_empty(node: Node, observed: RemovalObserved) -> str | None:
    """What is on it, as far as anybody knows; None: nothing."""
    return next(_on_it(node, observed), None)


def _on_it(node: Node, observed: RemovalObserved) -> Iterator[str]:
    if node.pool.is_controller:
        yield from _vote(node, observed.answer)
    if node.pool.is_broker:
        yield from _replicas(node, observed)


def _vote(node: Node, answer: KafkaAnswer | str) -> Iterator[str]:
    """As long as it has one the quorum counts on it."""
    quorum = answer if isinstance(answer, str) else answer.quorum
    if isinstance(quorum, str):
        yield quorum
    elif any(each.id == node.id for each in quorum.voters):
        yield "it has a vote"


def _replicas(node: Node, observed: RemovalObserved) -> Iterator[str]:
    answer, partitions = observed.answer, observed.partitions
    if isinstance(answer, str) or isinstance(partitions, str):
        yield answer if isinstance(answer, str) else str(partitions)
        return
    left = Counter(each.id.topic for each in partitions if node.id in each.replicas)
    if left:
        yield f"{left.total()} replicas of {len(left)} topics ({', '.join(sorted(left)[:SHOWN])}) are on it"
    if answer.is_moving is not False:
        yield "replicas are being moved"
    broker = answer.brokers.get(node.id)
    if broker is not None and broker.state is BrokerState.ONLINE:  # of one that is down nobody can tell
        yield from _stored(observed.stored.get(node.id))


def _stored(replicas: int | None) -> Iterator[str]:
    if replicas is None:
        yield "it has not told what is in its log directories"
    if replicas:
        yield f"{replicas} replicas are in its log directories"


def why_not_twice(node: Node, observed: RemovalObserved) -> str | None:
    """Why it is not known to be empty for long enough; None: it is."""
    found = why_not_empty(node, observed)
    if found is None and observed.empty_for.get(node.id, timedelta()) < MANAGED_KAFKA_EMPTY_FOR:
        return "nothing is on it, which is looked at once more"
    return found


def why_refused(case: Case, node: Node, observed: RemovalObserved) -> str | None:
    """What a person has to change before it can be emptied: a topic needs more brokers than would be left.

    What is being made does not count: the very move that empties it has a replica more until it is done.
    """
    answer, partitions = observed.answer, observed.partitions
    if isinstance(answer, str) or isinstance(partitions, str):
        return None
    here = (each for each in partitions if node.id in each.replicas)
    counts = {each.id: len(set(each.replicas) - answer.adding.get(each.id, frozenset())) for each in here}
    left = sum(each.pool.is_broker and not each.is_leaving for each in case.nodes)
    widest = max(counts, key=counts.__getitem__, default=None)
    if widest is None or counts[widest] <= left:
        return None
    has = f"topic {widest.topic} has {counts[widest]} replicas"
    return f"{left} brokers would be left, and {has}: give it fewer, or raise replicas again"
