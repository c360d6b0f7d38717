"""Which partition is submitted first: so that the brokers with the most to copy always have something on its way.

The throttle is each broker's own, so a run takes as long as one broker sends, or fetches, what it has to. Whoever has
nothing on its way loses time that it cannot make good. So a broker gets slots in proportion to the bytes that it has
still to send and to fetch, as a parliament's seats are shared out (D'Hondt): all have done at about the same time.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from seawall.domain.partitions import PartitionId
from seawall.domain.reassignment.journal import PlannedMove
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
