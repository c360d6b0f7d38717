"""Replicas are balanced when a broker joins or somebody asks, and at no other time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from seawall.adapters.kafka.errors import failure_of_partition
from seawall.domain.errors import Refused
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import PartitionId
from seawall.domain.times import REASSIGNMENT_LEADERS_WAIT
from tests.fakes.kafka_reassigner import PREFERRED_LEADER_NOT_AVAILABLE, FakeReassigner
from tests.worlds.reassignment_world import ROUND_SECONDS, TOPICS, WAL, World

THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


def with_new_broker() -> World:
    """Six topics with three replicas on the brokers 1 to 3; a fourth has just joined."""
    return World(lambda number: THREE[number % 3])


def loads(world: World) -> list[int]:
    """Replicas of the pool by broker."""
    found = Counter(broker for replicas in world.placed().values() for broker in replicas)
    return [found[broker] for broker in (1, 2, 3, 4)]


def leads(world: World) -> list[int]:
    """Preferred leaders by broker."""
    found = Counter(replicas[0] for replicas in world.placed().values())
    return sorted(found[broker] for broker in (1, 2, 3, 4))


def runs(world: World) -> int:
    """How many runs there have been."""
    return len(world.reported("ReassignmentOngoing"))


def test_a_broker_that_joins_gets_nothing_unless_that_is_declared() -> None:
    world = with_new_broker()
    world.rounds(60)
    assert loads(world) == [6, 6, 6, 0]
    assert world.status() is None


def test_a_broker_that_joins_gets_its_share_if_that_is_declared() -> None:
    world = with_new_broker()
    world.declare({"rebalance": "OnExpansion"})
    world.settle()
    assert sorted(loads(world)) == [4, 4, 5, 5]
    assert leads(world) == [1, 1, 2, 2]
    assert (world.stage(), runs(world), world.is_unthrottled()) == ("Completed", 1, True)
    world.rounds(60)
    assert runs(world) == 1


def test_a_broker_that_is_taken_back_gets_its_share_again() -> None:
    world = World(lambda number: ((1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2))[number % 4])
    world.declare({"rebalance": "OnExpansion", "excludeBrokers": [4]})
    world.settle()
    assert loads(world) == [6, 6, 6, 0]
    world.declare({"excludeBrokers": []})
    world.settle()
    assert sorted(loads(world)) == [4, 4, 5, 5]


def test_what_is_uneven_without_a_new_broker_stays() -> None:
    """Broker 4 has one replica: it has not just joined."""
    world = World(lambda number: (1, 2, 4) if number == 0 else (1, 2, 3))
    world.declare({"rebalance": "OnExpansion"})
    world.rounds(60)
    assert loads(world) == [6, 6, 5, 1]


def test_a_pool_that_is_too_small_for_all_brokers_stays_where_it_is() -> None:
    """Topics 0 to 5 with one replica on six brokers of seven: nobody could have an equal share of one or more."""
    world = World(lambda number: (number % 2 + 1,), brokers=7)
    world.declare({"rebalance": "OnExpansion"})
    world.rounds(60)
    assert world.status() is None


def test_an_annotation_asks_for_one_balance_and_a_new_value_for_another() -> None:
    world = with_new_broker()
    world.annotate(rebalance="after broker 4 came")
    world.settle()
    assert sorted(loads(world)) == [4, 4, 5, 5]
    assert (runs(world), world.run().rebalanced_for) == (1, "after broker 4 came")
    world.unthrottled_is_fine = True
    for topic in TOPICS[:4]:
        world.move_by_hand(topic, (1, 2, 3))
        world.settle()
    world.unthrottled_is_fine = False
    uneven = loads(world)
    assert max(uneven) - min(uneven) > 1
    world.rounds(60)
    assert loads(world) == uneven
    world.annotate(rebalance="again")
    world.settle()
    assert sorted(loads(world)) == [4, 4, 5, 5]


def test_an_annotation_on_what_is_even_is_answered_without_a_run() -> None:
    world = World(lambda number: THREE[number % 3], brokers=3)
    world.annotate(rebalance="please")
    world.settle()
    assert (world.run().rebalanced_for, world.run().stage) == ("please", None)


def test_a_balance_that_was_aborted_is_not_begun_again() -> None:
    world = with_new_broker()
    world.annotate(rebalance="now")
    world.settle(until=lambda: bool(world.kafka.moves.ongoing))
    world.annotate(abort_reassignment="")
    world.settle()
    assert loads(world) == [6, 6, 6, 0]
    world.annotate(abort_reassignment=None)
    world.rounds(60)
    assert (loads(world), world.stage()) == ([6, 6, 6, 0], "Aborted")


def test_a_balance_that_waits_for_approval_moves_nothing() -> None:
    world = with_new_broker()
    world.declare({"rebalance": "OnExpansion", "approval": "Manual"})
    world.rounds(60)
    assert (world.stage(), loads(world)) == ("AwaitingApproval", [6, 6, 6, 0])
    world.annotate(approve_reassignment=world.run().digest)
    world.settle()
    assert sorted(loads(world)) == [4, 4, 5, 5]


def test_a_higher_factor_and_a_balance_are_one_run() -> None:
    world = World(lambda number: (number % 2 + 1, 3), brokers=4)
    world.annotate(rebalance="both")
    world.declare(replicationFactor=3)
    world.settle()
    assert world.factors() == {3}
    assert sorted(loads(world)) == [4, 4, 5, 5]


def led(world: World) -> list[int]:
    """Who leads each topic."""
    found = (world.kafka.led(topic, 0)[1] for _, topic in sorted(world.kafka.topics.items()))
    return [leader for leader in found if leader is not None]


def restarted(world: World, broker: int) -> None:
    """A broker was down and is back: others lead what it led, and Kafka does not change that by itself."""
    for topic in world.kafka.topics.values():
        if topic.replicas[0] == broker:
            topic.leaders[0] = topic.replicas[1]


def test_leaders_stay_after_a_restart_until_somebody_asks_and_nothing_is_moved_for_it() -> None:
    world = World(lambda number: THREE[number % 3], brokers=3)
    restarted(world, 2)
    world.rounds(30)
    assert led(world) == [1, 3, 3, 1, 3, 3]
    world.annotate(rebalance="after the restart")
    world.settle()
    assert led(world) == [1, 2, 3, 1, 2, 3]
    assert world.run().rebalanced_for == "after the restart"
    assert (runs(world), world.stage()) == (0, None)
    assert world.reported("LeadersElected") == [
        "LeadersElected: Elected the preferred leaders of 2 partitions (wal_1-0, wal_4-0)"
    ]
    restarted(world, 2)
    world.rounds(30)
    assert led(world) == [1, 3, 3, 1, 3, 3], "it was answered"


def test_a_run_for_balance_has_the_preferred_leaders_elected_of_what_it_does_not_move_as_well() -> None:
    world = with_new_broker()
    for name in TOPICS:
        world.kafka.topics[name].leaders[0] = 3
    world.annotate(rebalance="after broker 4 came")
    world.settle()
    assert (world.stage(), runs(world)) == ("Completed", 1)
    assert led(world) == [replicas[0] for replicas in world.placed().values()]


def test_a_refused_election_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda number: THREE[number % 3], brokers=3)
    restarted(world, 2)

    def refuses(_: FakeReassigner, __: object) -> None:
        raise Refused("Kafka refused to elect leaders: Cluster authorization failed.")

    with monkeypatch.context() as patch:
        patch.setattr(FakeReassigner, "elect_preferred_leaders", refuses)
        world.annotate(rebalance="now")
        world.rounds(20)
        failed = world.run().failed_change
        assert failed is not None
        assert "Cluster authorization failed" in failed.message
        assert world.run().rebalanced_for is None, "it is not answered"
    world.settle()
    assert led(world) == [1, 2, 3, 1, 2, 3]


REFUSAL = "The preferred leader was not available."


def elects_none(_: FakeReassigner, partition: PartitionId) -> TopicFailure:
    """As Kafka does while the preferred leader shuts down."""
    return failure_of_partition(partition, PREFERRED_LEADER_NOT_AVAILABLE, REFUSAL)


def waiting_for_leaders() -> World:
    """Leaders were asked for, and are not elected."""
    world = World(lambda number: THREE[number % 3], brokers=3)
    restarted(world, 2)
    world.annotate(rebalance="now")
    ticks(world, timedelta(seconds=40))
    assert world.run().rebalanced_for is None, "it is not answered"
    return world


def ticks(world: World, time: timedelta) -> None:
    """So much time, in which a tick may act each time and change nothing."""
    moves, end = world.process()[1], world.time.time + time
    while world.time.time < end:
        moves.tick(WAL)
        world.time.time += timedelta(seconds=ROUND_SECONDS)


def passes(world: World, time: timedelta) -> None:
    """So much time."""
    world.rounds(int(time.total_seconds() / ROUND_SECONDS))


def test_where_kafka_elects_none_that_is_told_as_no_success_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeReassigner, "_elect", elects_none)
    world = waiting_for_leaders()
    failed = world.run().failed_change
    assert failed is not None
    assert REFUSAL in failed.message
    assert failed.reason == "ChangeUnanswered", "it passes"
    passes(world, REASSIGNMENT_LEADERS_WAIT)
    run, asked = world.run(), world.kafka.requests["elect_preferred_leaders"]
    assert (run.rebalanced_for, run.failed_change, run.election_time) == ("now", None, None)
    assert run.election_message.startswith("2 partitions (wal_1-0, wal_4-0) are not led by their preferred leaders yet")
    assert run.election_message.endswith(REFUSAL)
    assert world.reported("LeadersElected") == []
    passes(world, REASSIGNMENT_LEADERS_WAIT)
    assert world.kafka.requests["elect_preferred_leaders"] == asked, "it was answered"
    monkeypatch.undo()
    world.annotate(rebalance="again")
    world.settle()
    assert (world.run().rebalanced_for, world.run().election_message) == ("again", "")


def silent_in_between(patch: pytest.MonkeyPatch) -> None:
    """Kafka is not reached for a moment while leaders are waited for."""
    patch.setattr(FakeReassigner, "_elect", elects_none)
    world = waiting_for_leaders()
    since = world.run().election_time
    assert since is not None
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "no broker answered")
    passes(world, timedelta(seconds=40))
    world.kafka.unreachable = None
    passes(world, since + REASSIGNMENT_LEADERS_WAIT + timedelta(seconds=60) - world.time.time)
    assert world.run().rebalanced_for == "now", "it is answered when its time is over"


def test_a_silence_of_kafka_does_not_begin_the_wait_for_leaders_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    silent_in_between(monkeypatch)


def test_one_that_is_elected_beside_others_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = FakeReassigner._elect

    def elects_one(reassigner: FakeReassigner, partition: PartitionId) -> TopicFailure | None:
        return honest(reassigner, partition) if partition.topic == "wal_1" else elects_none(reassigner, partition)

    monkeypatch.setattr(FakeReassigner, "_elect", elects_one)
    world = waiting_for_leaders()
    passes(world, timedelta(seconds=10))
    assert led(world) == [1, 2, 3, 1, 3, 3]
    assert len(world.reported("LeadersElected")) == 1
    failed = world.run().failed_change
    assert failed is not None
    assert "wal_4" in failed.message


def test_leaders_are_elected_for_so_long_after_a_pause_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(FakeReassigner, "_elect", lambda *_: None)
        world = waiting_for_leaders()
        world.annotate(paused="true")
        passes(world, 2 * REASSIGNMENT_LEADERS_WAIT)
    assert led(world) == [1, 3, 3, 1, 3, 3]
    world.annotate(paused=None)
    world.settle()
    assert led(world) == [1, 2, 3, 1, 2, 3]
    assert (world.run().rebalanced_for, world.run().message) == ("now", "")
