"""Which partitions are submitted first: how long that takes brokers that send and fetch no faster than the throttle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle

import pytest

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Reassigning
from seawall.domain.reassignment.batch import in_turn, next_batch
from seawall.domain.reassignment.journal import Journal, PlannedMove
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.throttling import estimate_seconds
from seawall.domain.reassignment.tracker import Direction, MoveTracker

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
POLL_SECONDS = 2
SLOTS = 10
RATE = 6
"""Of each broker, in the unit of sizes."""


@dataclass
class Copying:
    """Brokers that copy what is submitted, as fast as the throttle lets them."""

    moves: Sequence[PlannedMove]
    brokers: int
    left: dict[tuple[PartitionId, int], int] = field(default_factory=dict)
    submitted: set[PartitionId] = field(default_factory=set)

    def tracker(self) -> MoveTracker:
        """The run as it stands."""
        partitions, ongoing = {}, {}
        for move in self.moves:
            is_under_way = any((move.id, broker) in self.left for broker in move.adding)
            replicas = move.wanted if move.id in self.submitted else move.original
            partitions[move.id] = Partition(move.id, replicas, frozenset(move.original), move.original[0])
            if is_under_way:
                ongoing[move.id] = Reassigning(move.wanted, move.adding, frozenset())
        brokers = {number: Broker(number, None, BrokerState.ONLINE) for number in range(self.brokers)}
        journal = Journal(NOW, ("Raise",), frozenset(), tuple(self.moves))
        return MoveTracker(journal, KafkaState(brokers, partitions, ongoing=ongoing), Direction.FORWARD)

    def submit(self) -> None:
        """What the run does at a look."""
        sizes = {move.id: move for move in self.moves}
        for found in next_batch(self.tracker(), SLOTS).targets:
            self.submitted.add(found)
            self.left |= {(found, broker): sizes[found].size for broker in sizes[found].adding}

    def copy_for_a_second(self) -> None:
        """Fetchers take turns, unit by unit, until nobody may send or fetch any more."""
        leaders = {move.id: move.original[0] for move in self.moves}
        sent, fetched = Counter[int](), Counter[int]()
        is_idle = False
        while not is_idle:
            is_idle = True
            for found, broker in list(self.left):
                if sent[leaders[found]] < RATE and fetched[broker] < RATE:
                    sent[leaders[found]] += 1
                    fetched[broker] += 1
                    self.left[found, broker] -= 1
                    is_idle = False
                    if not self.left[found, broker]:
                        del self.left[found, broker]

    def seconds(self) -> int:
        """How long it takes."""
        for second in range(1_000):
            if not self.left and len(self.submitted) == len(self.moves):
                return second
            if second % POLL_SECONDS == 0:
                self.submit()
            self.copy_for_a_second()
        raise AssertionError("it never ends")


def raised(leaders: Sequence[int], brokers: int, sizes: Sequence[int] = (10,)) -> list[PlannedMove]:
    """One replica each becomes three."""
    return [
        PlannedMove(PartitionId(f"wal_{number}", 0), (leader,), _three(leader, number, brokers), size)
        for number, (leader, size) in enumerate(zip(leaders, cycle(sizes), strict=False))
    ]


def _three(leader: int, number: int, brokers: int) -> tuple[int, ...]:
    others = [broker for broker in range(brokers) if broker != leader]
    return leader, *random.Random(number).sample(others, 2)  # noqa: S311 - the same each time


def overhead(moves: Sequence[PlannedMove], brokers: int) -> float:
    """Seconds as a multiple of what the busiest broker needs."""
    least = estimate_seconds(Journal(NOW, (), frozenset(), tuple(moves)), RATE)
    return Copying(moves, brokers).seconds() / least


def test_a_broker_that_leads_more_gets_more_of_the_slots() -> None:
    leaders = [0] * 12 + [1] * 6 + [2] * 2
    moves = raised(leaders, 3)
    chosen = Counter(leaders[moves.index(move)] for move in list(in_turn(Copying(moves, 3).tracker(), moves))[:SLOTS])
    assert chosen == {0: 6, 1: 3, 2: 1}


@pytest.mark.parametrize("seed", range(20))
def test_a_run_takes_hardly_longer_than_its_busiest_broker(seed: int) -> None:
    """Leaders are uneven, as they are where topics were made with one replica, and so are sizes.

    By their names, filled up when half of them has arrived, it takes up to half as much again.
    """
    chance = random.Random(seed)  # noqa: S311 - the same each time
    brokers = chance.choice((3, 3, 5, 8))
    leaders = chance.choices(range(brokers), weights=[chance.randint(1, 3) for _ in range(brokers)], k=10 * brokers)
    moves = raised(leaders, brokers, [chance.randint(6, 14) for _ in leaders])
    assert overhead(moves, brokers) < 1.15


def test_partitions_that_are_led_by_one_broker_one_after_the_other_keep_no_other_broker_idle() -> None:
    """Measured on three real brokers: the first ten by name were led by one of them, and all had to wait for it."""
    assert overhead(raised([1] * 9 + [0] * 6 + [2] * 5, 3), 3) < 1.11


def test_every_move_gets_its_turn_once_and_those_that_copy_nothing_get_it_first() -> None:
    moves = raised([0] * 5 + [1] * 7, 3)
    shrinking = [PlannedMove(PartitionId("a", number), (0, 1, 2), (0, 1), 10) for number in range(3)]
    ordered = list(in_turn(Copying([*moves, *shrinking], 3).tracker(), [*moves, *shrinking]))
    assert ordered[:3] == shrinking
    assert sorted(move.id for move in ordered) == sorted(move.id for move in [*moves, *shrinking])


def test_an_order_of_ten_thousand_partitions_is_computed_while_a_tick_waits() -> None:
    """On thirty brokers, a thousand at once, thousands of pairs of followers: nothing may grow with their product."""
    chance = random.Random(7)  # noqa: S311 - the same each time
    moves = raised(chance.choices(range(30), k=10_000), 30)
    assert len(next_batch(Copying(moves, 30).tracker(), 1_000).targets) == 1_000
