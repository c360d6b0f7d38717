"""Stories of a target that does not tell of one topic: people read of which and why, and the others do not wait."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.errors import Refused
from seawall.domain.kafka_log import Nulls, TopicFailure, TopicTrouble
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.subscription.test_promotion import assert_safe, behind, promoted
from tests.subscription.test_promotion_refusals import until_it_begins
from tests.subscription.test_switchovers import begun, until_it_is_recorded
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why

REFUSED = TopicFailure(TopicTrouble.REFUSED, "Broker: Topic authorization failed")
OFFLINE = TopicFailure(TopicTrouble.UNANSWERED, "Broker: Leader not available")
BAD = "wal_1"


def not_telling(failure: TopicFailure) -> Callable[..., Any]:
    """Nobody says what the leader of one topic remembers of producers."""
    honest = FakeKafkaLogs.describe_producer

    def describe(self: FakeKafkaLogs, topics: Collection[str], producer_id: int) -> Any:
        found = honest(self, topics, producer_id)
        return {name: failure if name == BAD else state for name, state in found.items()}

    return describe


def ends(world: SubscriptionWorld) -> dict[str, int]:
    return {name: topic.log.end for name, topic in world.target.topics.items()}


def a_topic_that_does_not_say_where_it_ends_is_named(failure: TopicFailure, reason: str) -> None:
    world = behind()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_producer", not_telling(failure))
        world.subscribe(promote="Failover")
        found = world.live(ticks=30)
        message = f"it is not known where the copy ends of topic {BAD}: {failure.message}"
        assert (found.status.state, why(found)) == (SubscriptionState.PROMOTING, (reason, message))
    promoted(world)
    assert_safe(world)


def one_that_is_refused_is_a_persons_affair() -> None:
    a_topic_that_does_not_say_where_it_ends_is_named(REFUSED, "TargetAccess")


@pytest.mark.parametrize(("failure", "reason"), [(REFUSED, "TargetAccess"), (OFFLINE, "TargetUnreachable")])
def test_a_topic_of_which_it_is_not_known_where_it_ends_is_named_with_the_cause(
    failure: TopicFailure, reason: str
) -> None:
    a_topic_that_does_not_say_where_it_ends_is_named(failure, reason)


def the_others_are_fenced_and_padded_while_one_has_no_leader() -> None:
    world = behind()
    world.subscribe(promote="Failover")
    process = world.subscriber()
    until_it_begins(world, process)
    until_it_is_recorded(world, process)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_producer", not_telling(OFFLINE))
        found = world.live(process=process, ticks=30)
        message = f"it is not known what the target remembers of topic {BAD}: {OFFLINE.message}"
        assert (found.status.state, why(found)) == (SubscriptionState.PROMOTING, ("TargetUnreachable", message))
        assert ends(world) == {"wal_0": 49, BAD: 40, "wal_2": 41}
    promoted(world)
    assert_safe(world)


def test_the_others_are_fenced_and_padded_while_one_has_no_leader() -> None:
    the_others_are_fenced_and_padded_while_one_has_no_leader()


def test_the_others_are_fenced_where_one_may_not_be_written_to() -> None:
    world, process = begun("Failover")
    honest = FakeKafkaLogs.append_nulls

    def refuse(self: FakeKafkaLogs, nulls: Nulls) -> None:
        if nulls.topic == "wal_0":
            raise Refused("Kafka refused to append to wal_0: Broker: Topic authorization failed")
        honest(self, nulls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "append_nulls", refuse)
        found = world.live(process=process, ticks=9)
        assert "Kafka refused to append to wal_0: Broker: Topic authorization failed" in why(found)[1]
        assert ends(world) == {"wal_0": 40, "wal_1": 41, "wal_2": 41}
    promoted(world)
    assert_safe(world)
