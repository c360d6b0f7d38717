"""Stories of promotions that wait, or are refused: no topic is forgotten, and people read which one and why."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from tests.subscription.test_promotion import SILENT, assert_safe, behind, promoted, promotion_of
from tests.worlds.purge_world import TOPICS
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

FOREIGN = 5
"""Records of somebody else in a topic of the target."""


def ends(world: SubscriptionWorld) -> dict[str, int]:
    return {name: topic.log.end for name, topic in world.target.topics.items()}


def until_it_begins(world: SubscriptionWorld, process: Any) -> None:
    """Nothing is copied any more from now on, and nothing is fenced yet."""
    for _ in range(9):
        if world.subscription().status.promotion is not None:
            return
        process.tick(DR)
    raise AssertionError("it does not begin to promote")


def is_refused_and_left_out(world: SubscriptionWorld, name: str, how: str = "Failover") -> None:
    """It is never promoted with this topic, and is without it."""
    before = ends(world)
    world.subscribe(promote=how)
    found = world.live(ticks=60)
    assert why(found)[0] == "CannotPromote"
    assert why(found)[1].startswith(
        f"topic {name} would be forgotten, for want of a copy of its own: leave it out of spec.topics"
    )
    assert (found.status.promotion, ends(world)) == (None, before)
    world.subscribe(topics=[other for other in TOPICS if other != name])
    found = promoted(world, how)
    assert name not in {row.name for row in promotion_of(found).topics}
    assert ends(world).get(name) == before.get(name)


def somebody_elses_topic_is_not_promoted(how: str = "Failover") -> None:
    world = SubscriptionWorld()
    world.target.add_topic("wal_0", replicas=(1, 2, 3)).log.append(FOREIGN)
    world.subscribe()
    world.live(lambda: world.runs(1) and ends(world) == {"wal_0": FOREIGN, "wal_1": 40, "wal_2": 40})
    is_refused_and_left_out(world, "wal_0", how)


@pytest.mark.parametrize("how", ["Failover", "Switchover"])
def test_a_topic_that_is_somebody_elses_in_the_target_is_not_promoted_and_can_be_left_out(how: str) -> None:
    somebody_elses_topic_is_not_promoted(how)


def test_a_topic_that_had_not_begun_when_the_source_died_is_not_forgotten() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.grow("wal_3")
    world.kafka.unreachable = SILENT
    is_refused_and_left_out(world, "wal_3")


def test_a_topic_that_does_not_exist_yet_hinders_nobody() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.pool_size += 1
    world.declare(world.declared)
    assert len(promotion_of(promoted(world)).topics) == len(TOPICS)
    assert_safe(world)


def lose_wal_3(world: SubscriptionWorld) -> None:
    """The pool gets a topic, the database writes and flushes, and Kafka loses it: nothing of it was copied."""
    world.grow("wal_3")
    world.flush(9 << 32)
    del world.kafka.topics["wal_3"]


LOST = "topic wal_3 is gone at the source, was never copied, and had entries: "


def a_topic_that_the_source_lost_before_it_was_copied_is_not_forgotten(how: str = "Failover") -> None:
    """The source answers that it has none, and the database has flushed ids of it. Until then all is copied on."""
    world = SubscriptionWorld()
    world.streaming()
    lose_wal_3(world)
    world.subscribe(promote=how)
    found = world.live(ticks=60)
    assert (why(found)[0], why(found)[1].startswith(LOST), found.status.promotion) == ("CannotPromote", True, None)
    world.write("wal_0", 7)
    world.live(world.is_even)
    world.subscribe(topics=list(TOPICS))
    assert {row.name for row in promotion_of(promoted(world, how)).topics} == set(TOPICS)


@pytest.mark.parametrize("how", ["Failover", "Switchover"])
def test_a_topic_that_the_source_lost_before_it_was_copied_is_not_forgotten(how: str) -> None:
    a_topic_that_the_source_lost_before_it_was_copied_is_not_forgotten(how)


@pytest.mark.parametrize("how", ["Failover", "Switchover"])
def test_a_topic_that_the_source_loses_when_the_copying_has_ended_is_not_forgotten(how: str) -> None:
    world = behind() if how == "Failover" else SubscriptionWorld()
    if how == "Switchover":
        world.streaming()
    world.subscribe(promote=how)
    process = world.subscriber()
    until_it_begins(world, process)
    lose_wal_3(world)
    found = world.live(lambda: LOST in why(world.subscription())[1], process)
    assert found.status.promotion is None or not found.status.promotion.topics
    world.subscribe(topics=list(TOPICS))
    assert {row.name for row in promotion_of(promoted(world, how)).topics} == set(TOPICS)


def a_topic_that_the_pool_gets_after_the_copying_ended_is_not_forgotten() -> None:
    world = behind()
    world.subscribe(promote="Failover")
    process = world.subscriber()
    until_it_begins(world, process)
    world.grow("wal_3")
    found = world.live(lambda: why(world.subscription())[0] == "CannotPromote", process)
    assert "topic wal_3 would be forgotten" in why(found)[1]
    assert (promotion_of(found).topics, world.target.topics["wal_0"].log.end) == ((), 40)
    world.subscribe(topics=list(TOPICS))
    assert {row.name for row in promotion_of(promoted(world)).topics} == set(TOPICS)


def test_a_topic_that_the_pool_gets_after_the_copying_ended_is_not_forgotten() -> None:
    a_topic_that_the_pool_gets_after_the_copying_ended_is_not_forgotten()


def a_topic_that_cannot_begin_is_named() -> None:
    """The database is silent, so nobody knows from where on it can be held."""
    world = SubscriptionWorld()
    world.streaming()
    world.grow("wal_3")
    world.store.is_silent = True
    found = world.live(ticks=20)
    assert (why(found)[0], found.status.state) == ("WaitingForHold", SubscriptionState.STREAMING)
    assert why(found)[1].startswith("nothing is copied yet of topic wal_3: ")
    world.store.is_silent = False
    found = world.live(world.is_even)
    assert why(found) == ("Streaming", "4 topics are copied to dr")


def test_a_topic_that_cannot_begin_is_named() -> None:
    a_topic_that_cannot_begin_is_named()
