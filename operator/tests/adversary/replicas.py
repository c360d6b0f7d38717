"""A reassignment of replicas with an adversary: writes go on, and no throttle is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.reconciler import Outcome
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Violation
from tests.adversary.lives import ALL, CLOCK, Adversary, Move
from tests.fakes.kafka_moves import advance
from tests.support.watched import watched
from tests.worlds.reassignment_world import CHANGES, START, WAL, World

CLUSTER, TOPIC = "kube:WALCluster", "wal_1"
ROUNDS = 60
THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


@dataclass
class ReplicaReferee:
    """Judges each change by the checks of the world, until the adversary itself broke what they check."""

    arena: ReplicaArena
    is_excused: bool = False

    def guard(self, port: Any) -> Any:
        """The same port, judged."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call of the operator, and what it did."""
        try:
            return function(*args, **kwargs)
        finally:
            if name in CHANGES:
                self.judge(name)

    def judge(self, after: str) -> None:
        """Writes go on, no more moves than allowed, nothing is copied without a throttle."""
        if self.is_excused:
            return
        try:
            World.check(self.arena, after)
        except AssertionError as error:
            raise Violation(f"R: {error}") from error

    def moved(self) -> None:
        """The adversary made a move."""
        with contextlib.suppress(Violation):
            self.judge("a move")
            return
        self.is_excused = True


@dataclass
class ReplicaArena(World):
    """All that outlives a process."""

    time: Clocks = field(default_factory=lambda: Clocks(START))

    def __post_init__(self) -> None:
        self.referee = ReplicaReferee(self, is_excused=True)
        super().__post_init__()
        self.referee.is_excused = False
        self.kube._now = self.time.true

    def check(self, after: str = "") -> None:
        """The referee checks after each change."""
        self.referee.judge(after)

    def round(self, process: list[Any]) -> None:
        """All controllers tick until they wait, and replicas arrive."""
        for each in process:
            for _ in range(20):
                if each.tick(WAL).outcome not in {Outcome.RECORDED, Outcome.ACTED, Outcome.CONFLICT}:
                    break
        advance(self.kafka, self.pace)
        self.time.time += timedelta(seconds=2)


def growing() -> ReplicaArena:
    """The replication factor is to grow from 1 to 3."""
    arena = ReplicaArena(pace=3)
    arena.declare(replicationFactor=3)
    return arena


def balancing() -> ReplicaArena:
    """A fourth broker has joined."""
    arena = ReplicaArena(lambda number: THREE[number % 3])
    arena.annotate(rebalance="now")
    return arena


def reassign(arena: ReplicaArena, adversary: Adversary) -> None:
    """It goes on to its end; then nothing of it is left."""
    process = [adversary.acting(each) for each in arena.process(adversary)]
    for _ in _until_quiet(arena):
        arena.round(process)
        adversary.between()
    arena.annotate(paused=None)
    arena.time.ahead, arena.kafka.offline = timedelta(0), set()
    for _ in _until_quiet(arena):
        arena.round(process)
    run = arena.status()
    is_over = run is None or not run.is_active
    if is_over and not arena.is_unthrottled() and not arena.referee.is_excused:
        raise Violation("T: a throttle is left")


def _until_quiet(arena: ReplicaArena) -> Iterator[None]:
    quiet = 0
    for _ in range(ROUNDS):
        yield
        run = arena.status()
        quiet = 0 if run is not None and run.is_active else quiet + 1
        if quiet > 2:
            return


def pause(arena: ReplicaArena) -> None:
    arena.annotate(paused="true")


def abort(arena: ReplicaArena) -> None:
    arena.annotate(abort_reassignment="")


def shrink_again(arena: ReplicaArena) -> None:
    arena.declare(replicationFactor=1)


def raise_min_isr(arena: ReplicaArena) -> None:
    """By hand, where that stops no writes now."""
    for topic in arena.kafka.topics.values():
        if len(arena.kafka.led(topic, 0)[0]) > 1:
            topic.configs["min.insync.replicas"] = "2"


def delete_topic(arena: ReplicaArena) -> None:
    arena.kafka.topics.pop(TOPIC, None)
    for found in [each for each in arena.kafka.moves.ongoing if each.topic == TOPIC]:
        del arena.kafka.moves.ongoing[found]


def recreate_topic(arena: ReplicaArena) -> None:
    """It is empty, and has no throttle: there is nothing to copy either."""
    delete_topic(arena)
    arena.unthrottled_is_fine = True
    arena.kafka.add_topic(TOPIC, replicas=(1, 2, 3))


def broker_goes(arena: ReplicaArena) -> None:
    arena.kafka.offline = {4}


def delete_cluster(arena: ReplicaArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.kube.remove(WAL)


def recreate_cluster(arena: ReplicaArena) -> None:
    delete_cluster(arena)
    if ("WALCluster", WAL) not in arena.kube._objects:
        arena._apply()


def moves_by_hand(arena: ReplicaArena) -> None:
    """Somebody else moves another topic."""
    if not any(found.topic == TOPIC for found in arena.kafka.moves.ongoing) and TOPIC in arena.kafka.topics:
        arena.move_by_hand(TOPIC, (2, 3, 4))
        arena.referee.is_excused = True  # without a throttle, and beyond what is allowed


def second_operator(arena: ReplicaArena) -> None:
    process = arena.process(arena.referee)
    for _ in range(4):
        arena.round(process)


def skew(hours: int) -> Callable[[ReplicaArena], None]:
    def make(arena: ReplicaArena) -> None:
        arena.time.ahead = timedelta(hours=hours)

    return make


def sleep_long(arena: ReplicaArena) -> None:
    arena.time.time += timedelta(hours=30)


def _move(make: Callable[[ReplicaArena], object], *touches: str, name: str = "") -> Move:
    return Move(name or make.__name__, frozenset(touches), make)


OF_REPLICAS = (
    *(_move(make, CLUSTER) for make in (pause, abort, shrink_again, delete_cluster, recreate_cluster)),
    *(_move(make, "kafka") for make in (raise_min_isr, delete_topic, recreate_topic, broker_goes, moves_by_hand)),
    *(_move(make, ALL) for make in (second_operator, sleep_long)),
    _move(skew(2), CLOCK, name="clock is 2 h ahead"),
    _move(skew(-2), CLOCK, name="clock is 2 h behind"),
)
