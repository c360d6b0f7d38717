"""Rolls in the small world while all goes wrong: two operators, lost writes, late actions, brokers, edits.

The laws: never two datanodes down, maintenance is given back, and when the faults are over the roll ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes import gate, maintenance
from seawall.domain.datanodes.actions import RolloutAction, SetMaintenance
from seawall.domain.datanodes.roll import decide
from seawall.domain.decision import step_of
from seawall.domain.rollout.workload import UpdateStrategy
from seawall.domain.step import Act
from seawall.domain.times import MAINTENANCE_ON_ITS_WAY
from tests.domain.datanodes.builders import METASRV, make_statefulset
from tests.domain.datanodes.world import World
from tests.support.mutants import find_survivors

KINDS = ("run", "late", "lost", "broker", "budget", "pause", "request", "configure", "metasrv")
Fault = tuple[str, int]
FAULTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 60)), max_size=14)


class Chaos:
    """A world with a second operator that sleeps between deciding and acting."""

    def __init__(self, strategy: UpdateStrategy) -> None:
        partition = 3 if strategy is UpdateStrategy.ROLLING_UPDATE else 0
        self.world = World(statefulset=make_statefulset(strategy=strategy, partition=partition))
        self.asleep: list[tuple[datetime, RolloutAction]] = []
        self.edits = 0

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.world.tick()
            for wakes, action in list(self.asleep):
                if wakes <= self.world.now:
                    self.asleep.remove((wakes, action))
                    self.world.perform(action)
            self.world.check()

    def fault(self, kind: str, number: int) -> None:
        world = self.world
        match kind:
            case "run":
                self.run(number)
            case "late":
                self._fall_asleep(number)
            case "lost":  # it dies before its write, or before it acts
                world.pass_time(timedelta(seconds=1))
            case "broker":
                world.brokers_down = not world.brokers_down
            case "budget":
                world.forbids = None if world.forbids else "it would violate the pod's disruption budget"
            case "pause":
                world.facts = replace(world.facts, is_paused=not world.facts.is_paused)
            case "request":
                self.edits += 1
                world.request(f"request {self.edits}")
            case "configure":
                self.edits += 1
                world.configure(f"hash-{self.edits}")
            case "metasrv":
                other = "http://other:4000" if world.facts.metasrv == METASRV else METASRV
                world.facts = replace(world.facts, metasrv=other)
        world.check()

    def _fall_asleep(self, seconds: int) -> None:
        """Another operator decides the same, and does it later; a request has a deadline, a thread that sleeps none."""
        step = step_of(self.world.roll, decide(self.world.roll, self.world.observe()))
        if isinstance(step, Act):
            for action in step.actions:
                longest = int(MAINTENANCE_ON_ITS_WAY.total_seconds()) - 2 if isinstance(action, SetMaintenance) else 600
                self.asleep.append((self.world.now + timedelta(seconds=min(seconds * 5, longest)), action))

    def settle(self) -> None:
        """The faults are over."""
        world = self.world
        world.brokers_down, world.forbids = False, None
        world.facts = replace(world.facts, is_paused=False)
        self.run(5)
        for _ in range(150):
            if world.status.stage in {None, RollStage.COMPLETED} and not self.asleep:
                break
            self.run(5)
        self.run(5)

    def judge(self) -> None:
        """What must be so in the end."""
        world = self.world
        assert world.status.stage in {None, RollStage.COMPLETED}
        assert world.entry is None
        assert world.status.maintenance is None
        assert not world.maintenance
        assert not world.other_maintenance
        assert world.status.request is None
        if world.facts.request is not None:
            assert world.status.done_request == world.facts.request
            assert all(node.pod.uid.startswith("new") for node in world.nodes)
        if world.statefulset.template.config_hash is not None:
            assert {node.pod.config_hash for node in world.nodes} == {world.facts.config_hash}
        if world.statefulset.strategy is UpdateStrategy.ROLLING_UPDATE:
            assert world.statefulset.partition == 3


def play(faults: list[Fault], strategy: UpdateStrategy = UpdateStrategy.ON_DELETE) -> None:
    chaos = Chaos(strategy)
    chaos.run(2)
    for kind, number in faults:
        chaos.fault(kind, number)
    chaos.settle()
    chaos.judge()


@settings(max_examples=60)
@given(FAULTS, st.sampled_from(UpdateStrategy))
def test_whatever_happens_one_datanode_at_a_time_and_nothing_is_left_behind(
    faults: list[Fault], strategy: UpdateStrategy
) -> None:
    play(faults, strategy)


def acting_ticks() -> list[int]:
    """The ticks of a roll that act: who sleeps before a write of the status finds in the end that it changed."""
    world = World()
    world.request("monday")
    found = [tick for tick in range(400) if isinstance(world.tick(), Act)]
    assert world.status.stage is RollStage.COMPLETED
    return found


@pytest.mark.parametrize("seconds", [1, 7, 40])
def test_an_operator_that_sleeps_before_any_act_of_a_roll_does_no_harm(seconds: int) -> None:
    """It decides, and acts later, while another one goes on."""
    ticks = acting_ticks()
    for tick in ticks:
        chaos = Chaos(UpdateStrategy.ON_DELETE)
        chaos.world.request("monday")
        chaos.run(tick)
        chaos.fault("late", seconds)
        assert chaos.asleep
        chaos.settle()
        chaos.judge()
    print(f"acts of a roll before which an operator slept {5 * seconds} s: {len(ticks)}")  # noqa: T201 - the evidence


def roll_then_broker() -> None:
    """A broker dies as the pod is in the status, and an operator that did not hear of it evicts late."""
    chaos = Chaos(UpdateStrategy.ON_DELETE)
    chaos.run(2)
    chaos.fault("request", 1)
    while chaos.world.status.stage is not RollStage.RESTARTING:
        chaos.run(1)
    chaos.fault("late", 60)
    chaos.world.brokers_down = True
    chaos.run(60)
    assert chaos.world.evicted == [], "the gate is shut"
    assert not chaos.world.maintenance, "nobody restarts"
    chaos.settle()
    chaos.judge()


def stale_report() -> None:
    """A pod is Ready and its old process's report is the newest one."""
    chaos = Chaos(UpdateStrategy.ON_DELETE)
    chaos.fault("request", 1)
    while not any(node.reports_at for node in chaos.world.nodes):
        chaos.run(1)
    assert chaos.world.status.stage is RollStage.REPLAYING
    chaos.run(1)
    assert chaos.world.entry is not None


def switch_on_its_way() -> None:
    """The request to turn maintenance on arrives after the gate shut."""
    chaos = Chaos(UpdateStrategy.ON_DELETE)
    chaos.fault("request", 1)
    while chaos.world.status.stage is not RollStage.MAINTENANCE:
        chaos.run(1)
    chaos.fault("late", 2)
    assert chaos.asleep
    chaos.world.facts = replace(chaos.world.facts, is_paused=True)
    chaos.run(60)
    assert not chaos.world.maintenance


@pytest.mark.parametrize("story", [roll_then_broker, stale_report, switch_on_its_way])
def test_stories_that_a_guard_makes_true(story: Callable[[], None]) -> None:
    story()


def no_gate_before_the_eviction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "refusal", lambda *_, **__: None)


def any_report_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        gate.DatanodeGate, "is_back", lambda self, entry, pod: pod.uid != entry.uid and self.facts.serves(pod)
    )


def maintenance_is_dropped_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(maintenance, "MAINTENANCE_ON_ITS_WAY", timedelta(0))


def maintenance_is_not_given_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "give_back", lambda *_: None)


def test_a_roll_without_any_one_of_its_guards_is_noticed() -> None:
    mutants = [
        (no_gate_before_the_eviction, roll_then_broker),
        (any_report_counts, stale_report),
        (maintenance_is_dropped_at_once, switch_on_its_way),
        (maintenance_is_not_given_back, roll_then_broker),
    ]
    assert find_survivors(mutants) == []
