"""A subscription that hands rows on dies at every call to the outside: the next process ends at the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from tests.subscription.lives import Story, deaths_of
from tests.subscription.test_records_sink import lose_and_purge, make_table, progress_topic
from tests.worlds.records_world import RecordsWorld
from tests.worlds.subscription_world import DR


def end_state(world: RecordsWorld) -> Any:
    """All that outlives processes, but for numbers that are others at each look."""
    status, hold = world.subscription().status, world.kube.get(WALHold, DR)
    rows = [(row.name, row.generation, row.start, row.stopped, row.message) for row in status.topics]
    return (
        (status.state, status.resync, status.generation, status.run and status.run.number, sorted(rows)),
        # A hold that was moved is Extended for a while, and then Active.
        [(found.type, found.status, found.reason) for found in status.conditions if found.type != "Held"],
        None if hold is None else dict(hold.status.granted),
        {name: (topic.partitions, sorted(topic.configs.items())) for name, topic in world.target.topics.items()},
        sorted(key.name for key in world.spark.applications),
        # A run of which a topic has not begun yet may be frozen or not.
        [(request["run"], request["tables"], request["topics"]) for request in world.requests()][-1:],
        sorted((generation, offset) for _, generation, offset in world.handed),
    )


def is_even(world: RecordsWorld) -> bool:
    return world.is_even()


def begins(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    world.subscribe()
    return is_even


def meets_a_new_table(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    world.subscribe(tables={"include": ["public.*"]})
    world.live(world.is_even)
    make_table(world)
    return lambda each: len(each.rows_of("wal_0")) == 45 and each.is_even()


def begins_a_topic_anew(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    lose_and_purge(world)
    world.subscribe(resync="again", lagBudget={"maxBytes": "1Mi"})
    return lambda each: each.subscription().status.resync == "again" and each.is_even()


def begins_all_anew(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    world.streaming()
    world.lose_target(progress_topic(world))
    world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    world.subscribe(resync="again")
    return lambda each: each.subscription().status.resync == "again" and each.is_even()


def grows(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    world.streaming()
    world.grow("wal_3")
    return lambda each: each.runs(2) and each.is_even()


def is_edited_again(world: RecordsWorld) -> Callable[[RecordsWorld], bool]:
    """The request of the first run goes once the third one works."""
    world.streaming()
    world.subscribe(tables={"include": ["public.*"]})
    world.live(lambda: world.runs(2) and world.is_even())
    world.subscribe(tables={"include": ["public.t*"]})
    return lambda each: each.runs(3) and each.is_even() and [found["run"] for found in each.requests()] == [2, 3]


STORIES = (begins, meets_a_new_table, begins_a_topic_anew, begins_all_anew, grows, is_edited_again)


@pytest.mark.parametrize("story", STORIES)
def test_a_death_at_any_call_of_a_subscription_of_rows_changes_nothing_about_the_end(
    story: Story[RecordsWorld],
) -> None:
    assert deaths_of(RecordsWorld(), story, end_state) > 3


def test_two_operators_at_once_hand_each_row_on_once() -> None:
    world = RecordsWorld()
    world.subscribe()
    processes = [world.subscriber(), world.subscriber()]
    for number in range(200):
        world.live(process=processes[number % 2], ticks=1)
    assert world.is_even()
    assert (len(world.spark.specs), len(world.requests())) == (1, 1)
