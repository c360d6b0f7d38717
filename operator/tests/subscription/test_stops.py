"""What stops a topic of a mirror stops that one alone: its reason and offset are in the status, and in one event."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why

BAD, COPIED = "wal_0", 40
Harm = Callable[[SubscriptionWorld], None]


def is_purged_by_somebody(world: SubscriptionWorld) -> None:
    world.foreign.add(BAD)
    world.stride = 0
    world.write(BAD, 30)
    world.kafka.topics[BAD].log.delete_before(60)
    world.stride = 25


def is_made_again(world: SubscriptionWorld) -> None:
    world.recreate(BAD)


def loses_its_copy(world: SubscriptionWorld) -> None:
    world.lose_target(BAD)


def has_another_copy(world: SubscriptionWorld) -> None:
    world.recreate(BAD, world.target)


def gets_a_record_of_somebody(world: SubscriptionWorld) -> None:
    world.write_to_target(BAD, 2)


def is_cut(world: SubscriptionWorld) -> None:
    """As an unclean election leaves the source."""
    world.foreign.add(BAD)
    world.kafka.topics[BAD].log.truncate(35)


def is_promoted_elsewhere(world: SubscriptionWorld) -> None:
    producer = world.subscription().status.producer
    assert producer is not None
    log = world.target.topics[BAD].log
    assert log.append_as(producer.id, producer.epoch + 1, 0, 1) is None
    world.mirrored[log.topic_id] = log.end
    world.write(BAD, 5)


HARMS: tuple[tuple[Harm, StopReason, int | None], ...] = (
    (is_purged_by_somebody, StopReason.SOURCE_GAP, 40),
    (is_made_again, StopReason.IDENTITY_FENCE_BROKEN, 40),
    (loses_its_copy, StopReason.TARGET_LOST, None),
    (has_another_copy, StopReason.TARGET_LOST, None),
    (gets_a_record_of_somebody, StopReason.DIVERGED, 40),
    (is_cut, StopReason.DIVERGED, 35),
    (is_promoted_elsewhere, StopReason.FENCED, 41),
)


def a_topic_stops(harm: Harm, reason: StopReason, offset: int | None) -> None:
    world = SubscriptionWorld()
    world.streaming()
    harm(world)
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.write("wal_1", 7)
    found = world.live(lambda: world.runs(2) and world.target.topics["wal_1"].log.end == 47)
    found = world.live(ticks=100)
    rows = {row.name: (row.stopped, row.offset) for row in found.status.topics}
    assert rows == {BAD: (reason, offset), "wal_1": (None, None), "wal_2": (None, None)}
    assert [(row.reason, row.applied) for row in found.status.worst] == [(reason, offset)]
    events = [event for event in world.kube.events if event.reason == reason]
    assert [(event.type.value, event.message) for event in events] == [("Warning", found.status.worst[0].message)]
    assert (found.status.state, why(found)[0]) == (SubscriptionState.STOPPED, "TopicsStopped")
    assert found.status.worst[0].message in why(found)[1]


def a_purge_stops_it() -> None:
    a_topic_stops(is_purged_by_somebody, StopReason.SOURCE_GAP, COPIED)


@pytest.mark.parametrize(("harm", "reason", "offset"), HARMS)
def test_a_reason_is_in_the_status_with_its_offset_and_in_one_event(
    harm: Harm, reason: StopReason, offset: int | None
) -> None:
    a_topic_stops(harm, reason, offset)


@pytest.mark.parametrize(
    ("records", "partitions", "reason", "message"),
    [
        (
            5,
            1,
            StopReason.TARGET_NOT_EMPTY,
            "the target has wal_0 already, with records up to 5, and nothing is written to it",
        ),
        (0, 2, StopReason.TARGET_UNSUITABLE, "wal_0 has more than one partition in the target"),
    ],
)
def test_a_topic_that_was_there_before_is_not_written_to_and_one_event_says_so(
    records: int, partitions: int, reason: StopReason, message: str
) -> None:
    world = SubscriptionWorld()
    world.target.add_topic(BAD, replicas=(1, 2, 3), partitions=partitions).log.append(records)
    world.subscribe()
    found = world.live(lambda: world.runs(1) and world.target.topics["wal_1"].log.end == 40)
    found = world.live(ticks=100)
    assert [(row.name, row.stopped, row.message) for row in found.status.topics if row.stopped] == [
        (BAD, reason, message)
    ]
    events = [event for event in world.kube.events if event.reason == reason]
    assert [event.message for event in events] == [message]
    assert world.target.topics[BAD].log.end == records
