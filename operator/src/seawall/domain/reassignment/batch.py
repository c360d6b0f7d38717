"""Which partitions are submitted next, which of them first, and why the others wait.

The throttle is each broker's own, so a run takes as long as one broker sends, or fetches, what it has to. Whoever has
nothing on its way loses time that it cannot make good. So a broker gets slots in proportion to the bytes that it has
still to send and to fetch, as a parliament's seats are shared out (D'Hondt): all have done at about the same time.

What was safe when it was planned is looked at again right before it is submitted: brokers die, leaders change and
somebody may have raised min.insync.replicas meanwhile.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from seawall.domain.min_isr import why_not_cancel, why_not_fewer
from seawall.domain.partitions import Partition, PartitionId
from seawall.domain.reassignment.journal import PlannedMove
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.tracker import MoveTracker, Progress

NEARLY = 0.95
"""What is at least so much of the highest urgency is high enough: thousands of queues are not compared each time."""


class Link(NamedTuple):
    """One direction of a broker's traffic for moved replicas: each may have the bytes a second of the throttle."""

    broker: int
    fetches: bool


Queues = dict[frozenset[Link], deque[tuple[int, PlannedMove]]]
"""The moves that occupy the same links, in their order, which is the number."""


def in_turn(tracker: MoveTracker, moves: Iterable[PlannedMove]) -> Iterator[PlannedMove]:
    """The moves in the order in which they should be submitted, given what is on its way.

    Moves that copy nothing come first: they are done at once. Among equals their order stays.
    """
    under_way = Counter[Link]()
    for move in tracker.moves_in(Progress.IN_FLIGHT):
        under_way.update(_load(_links(tracker, move.id, tracker.kafka.ongoing[move.id].adding), move))
    outstanding, queues = under_way.copy(), Queues()
    for number, move in enumerate(moves):
        replicas = tracker.kafka.partitions[move.id].replicas
        links = _links(tracker, move.id, frozenset(tracker.goal(move)).difference(replicas))
        outstanding.update(_load(links, move))
        queues.setdefault(links, deque()).append((number, move))
    return _shared_out(queues, outstanding, under_way)


def _shared_out(queues: Queues, outstanding: Counter[Link], under_way: Counter[Link]) -> Iterator[PlannedMove]:
    """The queue goes next whose links have the most outstanding for each byte that they would have on its way.

    Whatever is given away makes others only less urgent. So what the heap knows of a queue is the most that it can be:
    the first is computed anew, and taken if it still is as urgent, or nearly so.
    """

    def urgency(links: frozenset[Link]) -> tuple[list[float], int]:
        number, move = queues[links][0]
        load = _load(links, move)
        return sorted(-outstanding[link] / (under_way[link] + load[link]) for link in links), number

    heap = [(*urgency(links), links) for links in queues]
    heapq.heapify(heap)
    while heap:
        known, _, links = heap[0]
        now, number = urgency(links)
        if links and now[0] > NEARLY * known[0]:
            heapq.heapreplace(heap, (now, number, links))
            continue
        _, move = queues[links].popleft()
        under_way.update(_load(links, move))
        if queues[links]:
            heapq.heapreplace(heap, (*urgency(links), links))
        else:
            heapq.heappop(heap)
        yield move


def _links(tracker: MoveTracker, partition: PartitionId, adding: Collection[int]) -> frozenset[Link]:
    """What a move occupies: its leader sends to all that fetch. Without a new replica, nothing."""
    leader = tracker.kafka.partitions[partition].leader
    sending = {Link(leader, fetches=False)} if adding and leader is not None else set()
    return frozenset(sending.union(Link(broker, fetches=True) for broker in adding))


def _load(links: frozenset[Link], move: PlannedMove) -> dict[Link, int]:
    """Bytes that a move takes of each link, as planned. An empty log takes a slot as well."""
    size, fetching = max(1, move.size), sum(link.fetches for link in links)
    return {link: size if link.fetches else size * fetching for link in links}


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
