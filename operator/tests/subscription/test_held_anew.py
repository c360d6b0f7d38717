"""A hold that ended for another reason than the budget is placed anew at once, whatever nobody knows meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import StopReason
from tests.subscription.test_lag_budget import dies, lives_again, purged_to
from tests.subscription.test_subscription import granted
from tests.worlds.subscription_world import DR, SubscriptionWorld

COPIED = 40
Deed = Callable[[SubscriptionWorld], None]


def is_deleted(world: SubscriptionWorld) -> None:
    world.kube.remove(DR, WALHold)


def another_topic_is_made_again(world: SubscriptionWorld) -> None:
    world.recreate("wal_2")


def it_is_cut(world: SubscriptionWorld) -> None:
    """As an unclean election leaves the source."""
    world.foreign.add("wal_0")
    world.kafka.topics["wal_0"].log.truncate(35)


def held_anew(world: SubscriptionWorld, how_it_ends: Deed) -> dict[str, Any]:
    """What is granted once the hold has ended, and another one is there."""
    first = world.kube.get(WALHold, DR)
    assert first is not None
    how_it_ends(world)

    def is_another() -> bool:
        now = world.kube.get(WALHold, DR)
        return now is not None and now.metadata.uid != first.metadata.uid and bool(now.status.granted)

    world.live(is_another, ticks=60)
    assert is_another(), "nothing is held"
    return granted(world)


def a_hold_is_deleted_while_a_partition_of_the_target_has_no_leader() -> None:
    """Of that topic nobody knows how far it is: it is kept from as early on as it can be."""
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_0", 30)
    world.target.topics["wal_1"].views_until_led = 10_000
    assert held_anew(world, is_deleted) == {"wal_0": COPIED, "wal_1": 0, "wal_2": COPIED}
    assert purged_to(world, "meanwhile") == COPIED
    world.target.topics["wal_1"].views_until_led, world.stride = 0, 25
    world.live(world.is_even)
    assert all(row.stopped is None for row in world.subscription().status.topics)


def a_hold_ends_by_a_topic_that_is_made_again_while_the_target_is_silent() -> None:
    """The others are held from where they surely were, and that one has no place any more."""
    world = SubscriptionWorld()
    world.streaming()
    dies(world)
    world.spark_operator_runs = False  # no job says anything
    world.write("wal_0", 30)
    assert held_anew(world, another_topic_is_made_again) == {"wal_0": COPIED, "wal_1": COPIED}
    lives_again(world)
    world.spark_operator_runs = True
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    stops = {row.name: row.stopped for row in world.subscription().status.topics}
    assert stops == {"wal_0": None, "wal_1": None, "wal_2": StopReason.IDENTITY_FENCE_BROKEN}


def a_topic_is_cut_while_nothing_runs() -> None:
    """Only a driver can say that it is another copy now; until one does, all others are held."""
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications)
    world.write("wal_1", 30)
    assert held_anew(world, it_is_cut) == {"wal_0": 35, "wal_1": COPIED, "wal_2": COPIED}
    world.subscribe(suspend=False)
    world.live(lambda: granted(world)["wal_1"] == COPIED + 30)
    stops = {row.name: row.stopped for row in world.subscription().status.topics}
    assert stops == {"wal_0": StopReason.DIVERGED, "wal_1": None, "wal_2": None}


def a_topic_is_cut_of_which_it_is_in_doubt_how_far_it_is() -> None:
    """Somebody writes to the target, which has forgotten the producer."""
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications)
    world.write_to_target("wal_0", 5)
    world.forget_producers("wal_0")
    assert held_anew(world, it_is_cut) == {"wal_0": 35, "wal_1": COPIED, "wal_2": COPIED}


def test_a_hold_is_deleted_while_a_partition_of_the_target_has_no_leader() -> None:
    a_hold_is_deleted_while_a_partition_of_the_target_has_no_leader()


def test_a_hold_ends_by_a_topic_that_is_made_again_while_the_target_is_silent() -> None:
    a_hold_ends_by_a_topic_that_is_made_again_while_the_target_is_silent()


def test_a_topic_is_cut_while_nothing_runs() -> None:
    a_topic_is_cut_while_nothing_runs()


def test_a_topic_is_cut_of_which_it_is_in_doubt_how_far_it_is() -> None:
    a_topic_is_cut_of_which_it_is_in_doubt_how_far_it_is()
