"""Somebody else writes to a mirror's target: the source keeps all that the mirror itself has not written there."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import MirroredTopic, Producer, StopReason, SubscriptionState
from seawall.domain.kafka_log import ProducerState, TopicFailure, TopicTrouble
from seawall.domain.subscription.written import Written, find_written
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.subscription.test_promotion import promoted, promotion_of, topic_of
from tests.subscription.test_subscription import condition, granted
from tests.worlds.purge_world import TOPICS
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

ROW = MirroredTopic(name="wal_0", source_id="s", target_id="t", start=10)
OURS = Producer(id=7, epoch=0)


def blind() -> SubscriptionWorld:
    """All is copied; from now on jobs copy nothing, and see nothing."""
    world = SubscriptionWorld()
    world.streaming()
    world.stride, world.is_blind = 0, True
    return world


def in_doubt(world: SubscriptionWorld) -> Any:
    found = world.live(lambda: why(world.subscription())[0] == "CopyInDoubt", ticks=90)
    assert why(found)[0] == "CopyInDoubt"
    return found


def test_records_of_somebody_else_do_not_move_the_hold_before_the_job_says_so() -> None:
    world = blind()
    world.write("wal_0", 30)
    world.write_to_target("wal_0", 9)
    found = in_doubt(world)
    assert why(found)[1] == (
        "of topic wal_0 it is not certain how far they are, and the source keeps the rest: "
        "wal_0 of the target has 9 records that this mirror did not write"
    )
    found = world.live(ticks=40)
    assert granted(world)["wal_0"] == 40
    assert found.status.lag is not None
    assert (found.status.lag.entries, found.status.worst[0].applied) == (30, 40)
    assert condition(found, ConditionType.STREAMING)[0] == "True"
    world.is_blind = False
    found = world.live_until(SubscriptionState.STOPPED)
    assert {row.name: row.stopped for row in found.status.topics}["wal_0"] is StopReason.DIVERGED
    assert granted(world)["wal_0"] == 40


def test_records_of_somebody_else_beyond_the_source_are_told_too() -> None:
    world = blind()
    world.write_to_target("wal_0", 9)
    in_doubt(world)
    assert granted(world)["wal_0"] == 40


def test_what_somebody_else_writes_when_the_producer_is_forgotten_moves_nothing() -> None:
    world = blind()
    world.forget_producers("wal_0")
    world.write("wal_0", 30)
    found = world.live(ticks=40)
    assert why(found)[0] in {"Streaming", "Lagging"}  # nothing was appended since: no doubt
    world.write_to_target("wal_0", 9)
    assert "does not know the producer of this mirror: from 40 on" in why(in_doubt(world))[1]
    assert granted(world)["wal_0"] == 40


def test_a_producer_that_was_forgotten_meanwhile_is_known_again_with_the_next_record() -> None:
    """The operator was away for so long that it never saw how far the copy came."""
    world = SubscriptionWorld()
    world.streaming()
    world.write("wal_0", 25)
    for _ in range(3):
        world.run_spark()
    world.forget_producers("wal_0")
    in_doubt(world)
    assert granted(world)["wal_0"] == 40
    world.write("wal_0", 1)
    world.live(world.is_even)
    assert granted(world)["wal_0"] == 66


def test_a_topic_that_somebody_else_wrote_to_before_the_first_batch_is_held() -> None:
    world = SubscriptionWorld(stride=0, is_blind=True)
    world.subscribe()
    world.live(lambda: world.runs(1))
    world.write_to_target("wal_0", 30)
    in_doubt(world)
    assert granted(world)["wal_0"] == 0


def test_a_hold_that_is_gone_is_placed_where_the_source_begins_while_nothing_is_certain() -> None:
    world = blind()
    world.forget_producers("wal_0")
    world.write_to_target("wal_0", 5)
    world.purged("wal_0", 20)
    world.kube.remove(DR, WALHold)
    in_doubt(world)
    assert granted(world) == {"wal_0": 20, "wal_1": 40, "wal_2": 40}


def test_a_hold_that_is_placed_anew_begins_where_it_was_without_known_producers() -> None:
    world = SubscriptionWorld()
    world.streaming()
    for topic in TOPICS:
        world.forget_producers(topic)
    world.recreate("wal_1")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    found = world.live(lambda: bool(world.holds()) and len(granted(world)) == 2, ticks=90)
    assert granted(world) == {"wal_0": 40, "wal_2": 40}
    assert {row.name: row.held for row in found.status.topics} == dict.fromkeys(TOPICS, 40)


def what_the_target_does_not_tell_is_in_doubt() -> None:
    """Seawall's user may not read there."""
    world = SubscriptionWorld()
    refused = TopicFailure(TopicTrouble.REFUSED, "Broker: Topic authorization failed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_producer", lambda *_: dict.fromkeys(TOPICS, refused))
        world.subscribe()
        found = in_doubt(world)
        assert "Topic authorization failed" in why(found)[1]
        assert granted(world) == dict.fromkeys(TOPICS, 0)
    world.live(world.is_even)


def test_what_the_target_does_not_tell_is_in_doubt() -> None:
    what_the_target_does_not_tell_is_in_doubt()


def test_what_somebody_else_wrote_is_no_copy_when_it_is_promoted() -> None:
    world = blind()
    world.write("wal_0", 30)
    world.write_to_target("wal_0", 9)
    found = promoted(world)
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end, row.pad_to) == (40, 70, 70)
    assert promotion_of(found).lost_entries == 30
    assert world.target.topics["wal_0"].log.end == 70


def test_a_switchover_waits_while_it_is_not_certain_that_all_is_copied() -> None:
    world = blind()
    world.write("wal_0", 9)
    world.write_to_target("wal_0", 9)
    world.subscribe(promote="Switchover")
    assert in_doubt(world).status.promotion is None


@pytest.mark.parametrize(
    ("end", "held", "state", "applied", "doubt"),
    [
        (0, 0, None, 10, ""),
        (30, 30, None, 30, ""),
        (25, 30, None, 25, ""),
        (40, 30, ProducerState(0, 39), 40, ""),
        (40, 30, ProducerState(0, 45), 40, ""),
        (40, 30, ProducerState(0, 34), 35, "5 records"),
        (40, 30, ProducerState(0, 19), 20, "20 records"),
        (40, 30, ProducerState(None), 30, "does not know the producer"),
        (40, 0, ProducerState(None), 10, "does not know the producer"),
        (40, 30, ProducerState(1, 0), 30, "epoch 1"),
        (40, 30, None, 30, "nobody asked"),
        (40, 30, TopicFailure(TopicTrouble.UNANSWERED, "no leader"), 30, "no leader"),
        (2**31 + 2, 30, ProducerState(0, 1), 2**31 + 2, ""),
        (2**31 + 2, 30, ProducerState(0, 2**31 - 1), 2**31, "2 records"),
    ],
)
def test_how_much_of_a_log_is_ours(end: int, held: int, state: Any, applied: int, doubt: str) -> None:
    found = find_written(ROW, end, held, OURS, state)
    assert found.applied == applied
    assert doubt in found.doubt
    assert bool(doubt) == bool(found.doubt)


def test_what_a_hold_said_that_is_over_is_not_forgotten() -> None:
    row = ROW.model_copy(update={"held": 33})
    assert find_written(row, 33, 0, OURS, ProducerState(None)) == Written(33)
    assert find_written(ROW, 40, 0, None, ProducerState(0, 39)).applied == 10
