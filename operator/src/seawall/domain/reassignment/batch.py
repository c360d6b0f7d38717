"""Which partitions are submitted next, and why the others wait.

What was safe when it was planned is looked at again right before it is submitted: brokers die, leaders change and
somebody may have raised min.insync.replicas meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from seawall.domain.min_isr import why_not_cancel, why_not_fewer
from seawall.domain.partitions import Partition, PartitionId
from seawall.domain.reassignment.journal import PlannedMove
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.order import in_turn
from seawall.domain.reassignment.tracker import MoveTracker, Progress

ASKED_AT_ONCE = 500
"""Topics whose min.insync.replicas one look reads: Kafka takes half a second for them."""

REFILLED = 10
"""What is on its way is filled up when this part of it is free."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What to submit now, with the replicas to have; and how many others wait, with the sentence of the first."""

    targets: Mapping[PartitionId, tuple[int, ...]]
    waiting: int = 0
    why: str = ""


def next_batch(tracker: MoveTracker, max_concurrent: int) -> Batch:
    """Fills up what is on its way once a tenth has arrived: so brokers stay busy, and requests and events few."""
    free = max_concurrent - tracker.count(Progress.IN_FLIGHT, Progress.TO_CANCEL)
    slots = free if free * REFILLED >= max_concurrent else 0
    may: list[PlannedMove] = []
    first = ""
    open_moves = tracker.moves_in(Progress.OPEN)
    for move in open_moves:
        why = why_not_now(tracker.kafka.partitions[move.id], tracker.goal(move), tracker.kafka)
        if why is None:
            may.append(move)
        else:
            first = first or why
    chosen = islice(in_turn(tracker, may), slots) if slots else ()
    return Batch({move.id: tracker.goal(move) for move in chosen}, len(open_moves) - len(may), first)


def why_not_now(found: Partition, goal: tuple[int, ...], kafka: KafkaState) -> str | None:
    """Why a partition must not get these replicas now, in one sentence; None: it may."""
    name = f"{found.id.topic}-{found.id.partition}"
    adding = [broker for broker in goal if broker not in found.replicas]
    offline = [broker for broker in adding if not kafka.is_online(broker)]
    if offline:
        return f"{name} waits for broker {offline[0]}, which is not online"
    if found.leader is None:
        return f"{name} has no leader"
    if len(goal) >= len(found.replicas):
        return None
    return why_not_fewer(found, goal, kafka.min_isr.get(found.id.topic))


def topics_that_lose_replicas(tracker: MoveTracker) -> frozenset[str]:
    """The topics whose min.insync.replicas has to be known before moves are cancelled, and before the next batch."""
    found: dict[str, None] = {}
    for move in (*tracker.moves_in(Progress.TO_CANCEL), *tracker.moves_in(Progress.OPEN)):
        if loses_replicas(tracker, move):
            found[move.id.topic] = None
        if len(found) >= ASKED_AT_ONCE:
            break
    return frozenset(found)


def loses_replicas(tracker: MoveTracker, move: PlannedMove) -> bool:
    """Whether a partition has fewer replicas at the end than now."""
    return len(tracker.goal(move)) < len(tracker.kafka.partitions[move.id].replicas)


def may_cancel(tracker: MoveTracker) -> tuple[tuple[PartitionId, ...], str]:
    """What is on its way and may be taken back now; and why the first of the others may not, in one sentence."""
    kafka = tracker.kafka
    whys = {
        move.id: why_not_cancel(
            kafka.partitions[move.id], kafka.ongoing[move.id].original, kafka.min_isr.get(move.id.topic)
        )
        for move in tracker.moves_in(Progress.TO_CANCEL)
    }
    return tuple(found for found, why in whys.items() if why is None), next(filter(None, whys.values()), "")
