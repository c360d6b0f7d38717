"""A subscription dies at every call to the outside: the next process ends at the same place, and so do two at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.spark_job.application import Ended
from tests.subscription.lives import Story, deaths_of
from tests.worlds.subscription_world import DR, SubscriptionWorld


def end_state(world: SubscriptionWorld) -> Any:
    """All that outlives processes, but for numbers that are others at each look, and how many ids were taken."""
    status, hold = world.subscription().status, world.kube.get(WALHold, DR)
    names = {topic.log.topic_id: name for name, topic in world.target.topics.items()}
    rows = [(row.name, names.get(row.target_id or ""), row.start, row.stopped, row.message) for row in status.topics]
    return (
        (status.state, status.resync, status.target_cluster_id, status.run and status.run.number, sorted(rows)),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
        None if hold is None else (hold.status.state, dict(hold.status.granted)),
        {name: (topic.log.end, sorted(topic.configs.items())) for name, topic in world.target.topics.items()},
        sorted(key.name for key in world.spark.applications),
        [
            (request["run"], [(each["name"], each["from"]) for each in request["topics"]])
            for request in world.requests()
        ],
    )


def is_even(world: SubscriptionWorld) -> bool:
    return world.is_even()


def begins(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.subscribe()
    return is_even


def stops_a_topic(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.streaming()
    world.diverged = {"wal_1"}
    return lambda each: each.runs(2) and each.subscription().status.state is SubscriptionState.STOPPED


def is_suspended(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.streaming()
    world.subscribe(suspend=True)
    return lambda each: each.subscription().status.state is SubscriptionState.STOPPED and not each.spark.applications


def is_resynced(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.streaming()
    world.lose_target("wal_2")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.subscribe(resync="again")
    return lambda each: each.subscription().status.resync == "again" and each.is_even()


def grows(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.streaming()
    world.grow("wal_3")
    return lambda each: each.runs(2) and each.is_even()


def is_lost(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 175)
    return lambda each: each.subscription().status.state is SubscriptionState.LOST and not each.spark.applications


def begins_anew_after_a_purge(world: SubscriptionWorld) -> Callable[[SubscriptionWorld], bool]:
    is_over = is_lost(world)
    world.live(lambda: is_over(world))
    world.purged("wal_0", 120)
    world.subscribe(resync="after the outage")
    return lambda each: each.runs(2) and any(row.stopped for row in each.subscription().status.topics)


STORIES = [begins, stops_a_topic, is_suspended, is_resynced, grows, is_lost, begins_anew_after_a_purge]


@pytest.mark.parametrize("story", STORIES)
def test_a_death_at_any_call_of_a_subscription_changes_nothing_about_the_end(story: Story[SubscriptionWorld]) -> None:
    assert deaths_of(SubscriptionWorld(), story, end_state) > 3


def test_two_operators_at_once_make_one_copy() -> None:
    world = SubscriptionWorld()
    world.subscribe()
    processes = [world.subscriber(), world.subscriber()]
    for number in range(200):
        world.live(process=processes[number % 2], ticks=1)
    assert world.is_even()
    assert (len(world.spark.specs), len(world.requests())) == (1, 1)


def test_a_word_that_was_missed_comes_again() -> None:
    """The node of a driver dies with what it said: the next one says the same."""
    world = SubscriptionWorld()
    world.streaming()
    world.diverged = {"wal_1"}
    world.run_spark()
    (key,) = world.spark.applications
    world.spark.report(key, "RUNNING", driver=Ended(137, ""))
    found = world.live_until(SubscriptionState.STOPPED)
    assert [row.name for row in found.status.topics if row.stopped] == ["wal_1"]
