"""A second operator ends the run while the first sleeps before a call: no throttle is left, and nobody else's goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.domain.partitions import NO_RATES, Rates
from tests.adversary.lives import Pair, Scenario, live, undisturbed
from tests.adversary.replicas import OF_REPLICAS, ReplicaArena, balancing, growing, reassign
from tests.reassignment.test_reassignment_of_two import OTHER, Two
from tests.worlds.purge_world import Calls
from tests.worlds.reassignment_world import KAFKA_CHANGES, TOPICS, WAL, World

AWAKE = next(move for move in OF_REPLICAS if move.name == "second_operator")
SLEEPS_BEFORE = frozenset({"get_config_map", "throttles", "write_config_map", "alter_throttles"})
"""The calls from which a throttle is decided, and those that write it, here or there."""
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
MEBI = 2**20
OURS = Rates(MEBI, MEBI)


@pytest.mark.parametrize("start", [growing, balancing], ids=["growth", "balance"])
def test_an_operator_that_sleeps_before_a_call_leaves_no_throttle(start: Callable[[], ReplicaArena]) -> None:
    scenario = Scenario("sleeper", start, reassign, OF_REPLICAS)
    began = scenario.start()
    calm = undisturbed(scenario, began)
    asleep = [at for at, name in enumerate(calm.names) if name in SLEEPS_BEFORE]
    assert "alter_throttles" in {calm.names[at] for at in asleep}
    lives = (live(scenario, began, calm, (Pair(at, AWAKE, 1),)) for at in asleep)
    assert next((each for each in lives if each is not None), None) is None


def ended() -> World:
    """A run is over that had set 1Mi."""
    world = World()
    world.declare(replicationFactor=3)
    world.settle()
    assert world.stage() == "Completed"
    assert world.is_unthrottled()
    return world


def leave(world: World, rates: Rates = OURS, topic: str = TOPICS[0]) -> None:
    """What the sleeper does: the throttle of the first batch."""
    world.kafka.moves.rates = rates
    leader, *new = world.kafka.topics[topic].replicas
    world.kafka.topics[topic].configs |= {LEADERS: f"0:{leader}", FOLLOWERS: f"0:{new[0]},0:{new[1]}"}


def rest(world: World) -> None:
    """Until somebody has looked at the lists, which takes ten minutes at most."""
    world.rounds(301)


def test_what_a_sleeper_left_is_removed_within_ten_minutes_and_told() -> None:
    world = ended()
    leave(world)
    rest(world)
    assert world.is_unthrottled()
    assert world.lines.count("ThrottleRemoved: Removed the throttle of reassignments") == 2, "at the end, and once more"


def test_lists_that_are_left_without_rates_go_as_well() -> None:
    world = ended()
    leave(world, NO_RATES)
    rest(world)
    assert world.is_unthrottled()


def test_what_stood_before_the_run_is_what_is_put_back() -> None:
    world = World()
    before = world.kafka.moves.rates = Rates(7, 8)
    world.kafka.topics[TOPICS[1]].configs[LEADERS] = "*"
    world.declare(replicationFactor=3)
    world.settle()
    leave(world, topic=TOPICS[1])
    rest(world)
    assert world.kafka.moves.rates == before
    configs = world.kafka.topics[TOPICS[1]].configs
    assert (configs.get(LEADERS), configs.get(FOLLOWERS)) == ("*", None)


def lists(world: World) -> tuple[str | None, str | None]:
    """What is throttled of the topic."""
    configs = world.kafka.topics[TOPICS[0]].configs
    return configs.get(LEADERS), configs.get(FOLLOWERS)


def test_a_rate_that_no_run_has_set_stays_with_its_lists() -> None:
    world, foreign = ended(), Rates(3 * MEBI, 3 * MEBI)
    leave(world, foreign)
    left = lists(world)
    rest(world)
    assert world.kafka.moves.rates == foreign
    assert lists(world) == left


def test_a_list_of_what_the_run_did_not_move_stays() -> None:
    world = ended()
    leave(world, NO_RATES)
    (apart,) = set(world.kafka.brokers) - set(world.kafka.topics[TOPICS[0]].replicas)
    world.kafka.topics[TOPICS[0]].configs[FOLLOWERS] = f"0:{apart}"
    left = lists(world)
    rest(world)
    assert lists(world) == left


def test_lists_stay_while_a_broker_of_the_run_has_rates_of_its_own() -> None:
    world = ended()
    leave(world)
    left = lists(world)
    world.kafka.moves.broker_rates[2] = Rates(5, 5)
    rest(world)
    assert world.kafka.moves.rates == NO_RATES
    assert lists(world) == left


def test_a_throttle_that_another_wal_cluster_has_just_set_stays() -> None:
    two = Two()
    two.declare_other(3, MEBI)
    calls = Calls(two.check, KAFKA_CHANGES)
    ours, others = two.mover(), two.mover(calls)
    while two.run_of(WAL).stage is not ReassignmentStage.COMPLETED:
        two.tick(ours, WAL)
    while "alter_throttles" not in calls.names:
        others.tick(OTHER)
    throttle = two.world.kafka.moves.rates
    assert throttle == OURS, "the same as ours was"
    assert not two.world.kafka.moves.ongoing, "nothing has been submitted yet"
    for _ in range(4):
        ours.tick(WAL)
    assert two.world.kafka.moves.rates == throttle


def test_nothing_is_removed_while_somebody_moves_replicas_or_a_person_has_paused() -> None:
    world = ended()
    world.pace, world.unthrottled_is_fine = 0, True
    leave(world)
    world.kafka.add_topic("theirs", replicas=(1,))
    world.move_by_hand("theirs", (1, 2))
    rest(world)
    assert world.kafka.moves.rates == OURS
    world.annotate(paused="true")
    world.pace = 2
    rest(world)
    assert world.kafka.moves.rates == OURS
    world.annotate(paused=None)
    rest(world)
    assert world.is_unthrottled()
