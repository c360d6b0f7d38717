"""Rolls of Kafka nodes in the small world, while nodes die and lag, answers are old, and another operator sleeps.

The laws (K1, K2, K3, K7) are judged as each node goes; when the faults are over the roll ends.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.kafka_nodes.gate import KafkaAction
from seawall.domain.kafka_nodes.reasons import KafkaCause
from seawall.domain.rollout.decision import Roll
from seawall.domain.step import Act
from tests.domain.kafka_nodes.world import START, KafkaRoll, World, combined, separate

KINDS = ("run", "crash", "lag", "stale", "silent", "pause", "move", "cut", "budget", "edit", "late", "operator")
Fault = tuple[str, int]
FAULTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 40)), max_size=16)
WORLDS = (separate, combined)


class Chaos:
    """A world with a second operator that sleeps between deciding and acting.

    It reads the status again before it acts, as every controller does.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.asleep: list[tuple[int, KafkaRoll, tuple[KafkaAction, ...]]] = []

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.world.tick()
            for late in list(self.asleep):
                at, roll, actions = late
                if at <= self.world.now:
                    self.asleep.remove(late)
                    if roll == self.world.roll:
                        self.world.act(actions)

    def fault(self, kind: str, number: int) -> None:
        world = self.world
        match kind:
            case "run":
                self.run(number)
            case "crash":
                world.crash(self.some(number))
            case "lag":
                world.fall_behind(self.some(number), number)
            case "late":
                self.fall_asleep(number)
            case "edit":
                world.template += 1
            case _:
                self.change(kind, number)
        self.run(1)

    def change(self, kind: str, number: int) -> None:
        world, then = self.world, {False: True, True: None, None: False}
        match kind:
            case "stale":
                world.stale = number % 11
            case "silent":
                world.is_silent = not world.is_silent
            case "pause":
                world.is_paused = not world.is_paused
            case "move":
                world.is_moving = then[world.is_moving]
            case "cut":
                world.is_cut = then[world.is_cut]
            case "budget":
                world.forbids = None if world.forbids else "it would violate the pod's disruption budget"
            case "operator":
                world.cause = KafkaCause.OPERATOR_CHANGED if number % 2 else KafkaCause.TEMPLATE_CHANGED

    def some(self, number: int) -> int:
        return self.world.nodes[number % len(self.world.nodes)].id

    def fall_asleep(self, number: int) -> None:
        step = self.world.decide()
        if isinstance(step, Act):
            self.asleep.append((self.world.now + number % 5, self.world.roll, step.actions))

    def settle(self) -> None:
        """The faults are over."""
        world = self.world
        world.is_silent, world.is_paused, world.is_moving, world.is_cut = False, False, False, False
        world.stale, world.forbids, world.cause = 0, None, KafkaCause.TEMPLATE_CHANGED
        for _ in range(600):
            self.run(1)
            if world.roll.status.stage in {None, RollStage.COMPLETED} and not self.asleep:
                break
        self.run(45)  # who fell behind last has caught up

    def judge(self) -> None:
        """What must be so in the end."""
        world = self.world
        assert world.roll.status.stage in {None, RollStage.COMPLETED}
        assert world.roll.entry is None
        assert {node.template for node in world.nodes} == {world.template}
        assert all(world.is_well(node) for node in world.nodes)


@settings(max_examples=80)
@given(FAULTS, st.sampled_from(WORLDS))
def test_whatever_happens_one_node_at_a_time_and_never_below_what_writes_need(
    faults: list[Fault], make: Callable[[], World]
) -> None:
    chaos = Chaos(make())
    chaos.world.template = 1
    for kind, number in faults:
        chaos.fault(kind, number)
    chaos.settle()
    chaos.judge()


def rolled(world: World) -> World:
    world.template = 1
    chaos = Chaos(world)
    chaos.run(2)
    chaos.settle()
    chaos.judge()
    return world


def test_followers_of_the_quorum_then_brokers_then_the_active_controller() -> None:
    assert rolled(separate()).evicted == [101, 102, 0, 1, 2, 100]


def test_of_combined_nodes_the_active_controller_is_last() -> None:
    assert rolled(combined()).evicted == [1, 2, 0]


def test_a_node_that_is_down_comes_first() -> None:
    world = separate()
    world.node(1).is_broken = True
    world.crash(1)
    world.template = 1
    while not world.evicted:
        world.tick()
    assert world.evicted == [1]


def test_a_broker_that_is_down_keeps_all_others_up_although_it_has_no_replicas() -> None:
    world = separate(brokers=4)
    world.node(3).is_broken = True
    world.template = world.node(3).newest = 1
    world.crash(3)
    for _ in range(60):
        world.tick()
    assert world.evicted == []
    assert "wal-3-0" in world.roll.status.message
    world.node(3).is_broken = False
    assert len(rolled(world).evicted) == 6


def test_a_node_that_does_not_come_back_stops_the_roll_and_the_others_keep_their_template() -> None:
    world = separate()
    world.template = 1
    world.node(101).is_broken = True
    for _ in range(700):
        world.tick()
    assert world.evicted == [101]
    assert world.roll.status.stage is RollStage.STALLED
    assert "no other Kafka node is restarted. its pod is not Ready" in world.roll.status.message
    assert {node.newest for node in world.nodes if node.id != 101} == {0}
    world.node(101).is_broken = False
    chaos = Chaos(world)
    chaos.settle()
    chaos.judge()


def test_an_edit_mends_what_an_edit_broke_and_no_other_node_goes_meanwhile() -> None:
    world = separate()
    world.template = 1
    world.node(101).is_broken = True
    for _ in range(700):
        world.tick()
    assert world.roll.status.stage is RollStage.STALLED
    world.template = 2
    while len(world.evicted) < 2:
        world.tick()
    assert world.evicted == [101, 101]
    world.node(101).is_broken = False
    chaos = Chaos(world)
    chaos.settle()
    chaos.judge()
    assert sorted(world.evicted[2:]) == [0, 1, 2, 100, 102]


def a_template_that_was_renewed_for_nothing() -> None:
    """Another node dies between template and eviction: the journal keeps the first until it is as its StatefulSet."""
    chaos = Chaos(separate())
    chaos.world.template = 1
    for kind, number in (("crash", 1), ("crash", 1), ("run", 1), ("crash", 2)):
        chaos.fault(kind, number)
    chaos.settle()
    chaos.judge()


def an_edit_that_is_taken_back() -> None:
    """After the template, and before the eviction: the pod does not come back with what nobody declares any more."""
    world = separate()
    world.template = 1
    while world.node(101).newest == 0:
        world.tick()
    world.template = 0
    for _ in range(120):
        world.tick()
    assert [node.template for node in world.nodes] == [0] * 6
    assert [node.newest for node in world.nodes] == [0] * 6
    assert world.evicted in ([], [101])


def test_a_newer_seawall_restarts_nothing_before_somebody_says_so() -> None:
    world = separate()
    world.template, world.cause = 1, KafkaCause.OPERATOR_CHANGED
    for _ in range(60):
        world.tick()
    assert world.evicted == []
    assert world.roll.status.message == (
        "6 Kafka nodes would change by a newer Seawall: set seawall.dev/approve-rollout: plan to let them"
    )
    world.is_approved = True
    for _ in range(400):
        world.tick()
    assert len(world.evicted) == 6


def test_no_node_goes_while_a_datanode_does_and_its_entry_stays() -> None:
    world = separate()
    other = Disruption(kind="DatanodeRestart", name="datanode-1", uid="uid", start_time=START, budget_seconds=600)
    world.roll = Roll(status=world.roll.status, entry=other)
    world.template = 1
    for _ in range(60):
        world.tick()
    assert (world.evicted, world.roll.entry) == ([], other)
    assert world.roll.status.reason == "SlotTaken"


def late_look() -> None:
    """Kafka's answers are ten seconds old: they tell of a node as it was before it went (K1 and K2 are judged)."""
    for make in WORLDS:
        world = make()
        world.stale = 10
        rolled_stale(world)


def rolled_stale(world: World) -> None:
    world.template = 1
    for _ in range(400):
        world.tick()
    assert len(world.evicted) == len(world.nodes)


def one_behind() -> None:
    """A replica is behind: with another one away, one more that falls behind stops writes."""
    world = separate()
    world.topics = {"wal_0": 1}
    world.fall_behind(0, 300)
    for node in world.nodes:
        if node.is_controller or node.id == 0:
            node.template = node.newest = 1
    world.template = 1
    for _ in range(20):
        world.tick()
    assert world.evicted == []


def voter_behind() -> None:
    """A controller has not caught up."""
    world = separate()
    world.template = world.node(102).template = world.node(102).newest = 1
    world.fall_behind(102, 100)
    for _ in range(60):
        world.tick()
    assert world.evicted == []


def templates() -> None:
    """A node dies by itself in mid-roll: it comes back as it was."""
    world = separate()
    world.template = 1
    while world.roll.entry is None:
        world.tick()
    world.crash(2)
    for _ in range(12):
        world.tick()
    assert world.node(2).template == 0


@pytest.mark.parametrize(
    "story",
    [
        late_look,
        one_behind,
        voter_behind,
        templates,
        a_template_that_was_renewed_for_nothing,
        an_edit_that_is_taken_back,
    ],
)
def test_stories_that_a_guard_makes_true(story: Callable[[], None]) -> None:
    story()
