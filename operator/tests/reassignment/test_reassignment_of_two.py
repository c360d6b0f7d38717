"""Two WALClusters on one Kafka want to move replicas at once: one after the other does, whoever sleeps, and wherever.

One operator sleeps before a call by which it learns of the other or tells of itself, while the other one goes on
to the end of its run, if it may. This is done for every such call, whichever of the two is older, and however far the
other was before. Throttles are the cluster's, so whoever takes the other's for what stood before would leave it behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.domain.partitions import NO_RATES, Rates
from seawall.reconciler import Reconciler
from tests.fakes.kafka_moves import advance
from tests.worlds.purge_world import Calls
from tests.worlds.reassignment_world import KAFKA_CHANGES, WAL, World

OTHER = Key("db", "other")
COUNT = 2
MEBI = 2**20
RATES = {"wal": MEBI, "other": 2 * MEBI}
SLEEPS_BEFORE = frozenset({"list", "throttles", "replace_status", "alter_throttles", "reassign"})
HEAD_START = 8
"""Ticks after which a run has partitions on their way."""
TICKS = 12
NAP = 40
"""Ticks of the other one meanwhile: more than its run has."""
MAX_ROUNDS = 200


class Story(Enum):
    """How far the other one is."""

    FRESH = "nobody has planned yet"
    UNDER_WAY = "the other one has partitions on their way"
    BOTH_BEGIN = "both were Pending when they decided to begin, and the other one's write comes late"


@dataclass
class Two:
    """The world with a second WALCluster, `other`, which is younger. Both are told to have three replicas."""

    world: World = field(default_factory=lambda: World(lambda _: (1,), most=6))
    ticks_left: int = NAP

    def __post_init__(self) -> None:
        for number in range(COUNT):
            self.world.kafka.add_topic(f"other_{number}", replicas=(2,)).log.append(100)
        self.declare_other(1)
        for process in self.world.process():
            while process.tick(OTHER).after == 0.0:
                pass
        self.declare_other(3)
        self.world.declare(replicationFactor=3)

    def declare_other(self, replication_factor: int, rate: int = RATES["other"]) -> None:
        """Somebody edits the spec of the other one."""
        topics = {"prefix": "other", "count": COUNT, "replicationFactor": replication_factor}
        kafka = {"external": {"bootstrapServers": ["kafka:9092"]}}
        reassignment = {"throttleBytesPerSecond": f"{rate // MEBI}Mi"}
        self.world.kube.apply(OTHER, {"kafka": kafka, "topics": topics, "reassignment": reassignment})

    def mover(self, guard: Calls | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A process of the controller that moves replicas."""
        return self.world.process(guard)[1]

    def tick(self, process: Reconciler[Any, Any, Any, Any], key: Key) -> None:
        """One tick, and replicas arrive."""
        process.tick(key)
        self.check()
        advance(self.world.kafka, 2)

    def run_of(self, key: Key) -> ReassignmentStatus:
        """The run."""
        found = self.world.kube.get(WALCluster, key)
        assert found is not None
        return found.status.reassignment or ReassignmentStatus()

    def check(self, _: str = "") -> None:
        """One at a time has partitions on their way, under its own throttle, and took nothing for what stood before."""
        moving = {found.topic.split("_")[0] for found in self.world.kafka.moves.ongoing}
        assert len(moving) <= 1, f"both move: {sorted(self.world.kafka.moves.ongoing)}"
        rates = self.world.kafka.moves.rates
        for owner in moving:
            assert rates == Rates(RATES[owner], RATES[owner]), f"{owner} moves at {rates}"
        for key in (WAL, OTHER):
            before = self.run_of(key).rates_before
            assert before is None or (before.leader, before.follower) == (None, None), f"{key.name} will restore a rate"

    def is_nap_over(self, story: Story, waker: Key) -> bool:
        """It lasts to the end of the other's run or, where both begin, until that one throttles; or for long enough."""
        self.ticks_left -= 1
        throttles = story is Story.BOTH_BEGIN and self.world.kafka.moves.rates != NO_RATES
        return throttles or self.run_of(waker).stage is ReassignmentStage.COMPLETED or self.ticks_left < 0

    def wait_for_turns(self, process: Reconciler[Any, Any, Any, Any]) -> None:
        """Both are Pending: the younger first, which then sees an older one that has planned nothing."""
        for key in (OTHER, WAL):
            while self.run_of(key).stage is not ReassignmentStage.PENDING:
                self.tick(process, key)

    def begin(self, key: Key) -> None:
        """What it decided when nobody had begun is written only now."""
        status = self.world.kube.raw_status(key, WALCluster)
        run = {**status["reassignment"], "stage": ReassignmentStage.ONGOING.value}
        self.world.kube.write_raw_status(key, WALCluster, {**status, "reassignment": run})

    def settle(self) -> None:
        """Both go on to their ends."""
        process = self.mover()
        for _ in range(MAX_ROUNDS):
            if {self.run_of(key).stage for key in (WAL, OTHER)} == {ReassignmentStage.COMPLETED}:
                return
            for key in (WAL, OTHER):
                self.tick(process, key)
        raise AssertionError(f"it does not end: {self.run_of(WAL).message}; {self.run_of(OTHER).message}")


def sleep_once(story: Story, sleeper: Key, at: int) -> bool:
    """One story; whether the sleeper came to this call before replicas of its own were on their way."""
    two = Two()
    waker = OTHER if sleeper == WAL else WAL
    calls, recorded = Calls(two.check, KAFKA_CHANGES | {"replace_status"}), [0]
    asleep, awake = two.mover(calls), two.mover()

    def sleep(name: str) -> None:
        recorded[0] += name in SLEEPS_BEFORE
        if name in SLEEPS_BEFORE and recorded[0] == at + 1:
            if story is Story.BOTH_BEGIN:
                two.begin(waker)
            while not two.is_nap_over(story, waker):
                two.tick(awake, waker)

    if story is Story.BOTH_BEGIN:
        two.wait_for_turns(awake)
        two.begin(sleeper)
    for _ in range(HEAD_START if story is Story.UNDER_WAY else 0):
        two.tick(awake, waker)
    calls.before = sleep
    for _ in range(TICKS):
        if "reassign" not in calls.names:
            two.tick(asleep, sleeper)
    two.settle()
    assert two.world.kafka.moves.rates == NO_RATES
    assert two.world.is_unthrottled()
    return recorded[0] > at


@pytest.mark.parametrize("story", Story)
@pytest.mark.parametrize("sleeper", [WAL, OTHER], ids=["the older sleeps", "the younger sleeps"])
def test_two_runs_on_one_kafka_never_move_at_once_whoever_sleeps(story: Story, sleeper: Key) -> None:
    at = 0
    while sleep_once(story, sleeper, at):
        at += 1
    assert at > 5
