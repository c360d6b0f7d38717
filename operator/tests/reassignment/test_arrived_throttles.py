"""Something stops a run when its batch arrives: what has arrived is throttled no longer, however long that lasts."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.domain.partitions import Partition, PartitionId, Rates, Replica, ThrottledReplicas, Throttles
from seawall.domain.reassignment.actions import ClearThrottle
from seawall.domain.reassignment.journal import Journal, PlannedMove
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.throttling import arrived_throttle
from seawall.domain.reassignment.tracker import Direction, MoveTracker
from tests.fakes.kafka_moves import advance
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.reassignment.test_reassignment_run import of_three
from tests.worlds.reassignment_world import START, TOPICS, World

THEIRS = ThrottledReplicas(every_leader=True, every_follower=True)
MEBI = 2**20


def under_way(world: World | None = None) -> World:
    """The first batch is on its way, and somebody else begins to move another topic, which takes long."""
    world = world or World()
    world.kafka.add_topic("other", replicas=(1,))
    world.pace = 0
    world.declare(replicationFactor=3)
    world.settle(until=lambda: len(world.kafka.moves.ongoing) == 2)
    assert set(listed(world)) == {"wal_0", "wal_5"}
    world.move_by_hand("other", (2,))
    return world


def arrive(world: World, *topics: str) -> None:
    """Replicas of these are in sync now, and no others get on."""
    waiting = {found: move for found, move in world.kafka.moves.ongoing.items() if found.topic not in topics}
    for found in waiting:
        del world.kafka.moves.ongoing[found]
    for _ in range(2):  # each gets two new replicas
        advance(world.kafka)
    world.kafka.moves.ongoing.update(waiting)
    assert not any(PartitionId(topic, 0) in world.kafka.moves.ongoing for topic in topics)


def listed(world: World) -> dict[str, ThrottledReplicas]:
    """What is throttled of which topics."""
    return dict(FakeReassigner(world.kafka).throttles(TOPICS).topics)


def removals(world: World) -> list[str]:
    """The events that tell of throttles that went."""
    return world.reported("ThrottleRemoved")


def test_what_has_arrived_is_not_throttled_while_the_run_waits() -> None:
    world = under_way()
    arrive(world, "wal_0", "wal_5")
    world.rounds(4)
    assert "it waits: somebody else moves 1 partition (other-0)" in world.run().message
    assert listed(world) == {}
    told = "ThrottleRemoved: Took 2 topics out of the throttle of reassignments; the rates stay"
    assert removals(world) == [told]
    assert world.kafka.moves.rates == Rates(MEBI, MEBI)
    world.rounds(20)
    assert removals(world) == [told], "once"
    world.pace = 2
    world.settle()
    assert world.factors() == {3}
    assert world.is_unthrottled()


def test_what_is_on_its_way_stays_throttled() -> None:
    world = under_way()
    arrive(world, "wal_0")
    world.rounds(4)
    assert set(listed(world)) == {"wal_5"}


def test_what_others_had_listed_before_is_put_back_when_it_arrives() -> None:
    world = World()
    FakeReassigner(world.kafka).alter_throttles(None, {"wal_0": THEIRS})
    under_way(world)
    arrive(world, "wal_0", "wal_5")
    world.rounds(4)
    assert listed(world) == {"wal_0": THEIRS}


def test_what_others_list_meanwhile_stays() -> None:
    """As Kafka's own tool does for what it is about to move: other replicas, or rates of single brokers."""
    world = under_way()
    arrive(world, "wal_0", "wal_5")
    world.rounds(4)
    leader, new, _ = world.kafka.topics["wal_0"].replicas
    (apart,) = set(world.kafka.brokers) - set(world.kafka.topics["wal_0"].replicas)
    theirs = {
        "wal_0": ThrottledReplicas(frozenset({Replica(0, leader)}), frozenset({Replica(0, apart)})),
        "wal_5": THEIRS,
    }
    FakeReassigner(world.kafka).alter_throttles(None, theirs)
    world.rounds(4)
    assert listed(world) == theirs
    own = {"wal_0": ThrottledReplicas(frozenset({Replica(0, leader)}), frozenset({Replica(0, new)}))}
    FakeReassigner(world.kafka).alter_throttles(None, own | {"wal_5": ThrottledReplicas()})
    world.kafka.moves.broker_rates = {1: Rates(5_000, 5_000)}
    world.rounds(4)
    assert listed(world) == own


def test_a_pause_leaves_the_throttle_as_it_is() -> None:
    world = under_way()
    world.annotate(paused="true")
    arrive(world, "wal_0", "wal_5")
    world.rounds(4)
    assert set(listed(world)) == {"wal_0", "wal_5"}
    world.annotate(paused=None)
    world.rounds(4)
    assert listed(world) == {}


def test_a_run_that_has_throttled_nothing_takes_no_list_of_others() -> None:
    """Replicas that go copy nothing: what somebody lists of them is his, whatever it names."""
    world = World(of_three, most=1)
    world.kafka.add_topic("other", replicas=(1,))
    world.declare(replicationFactor=2)
    world.settle(until=lambda: world.factors() == {2, 3})
    world.pace = 0
    world.move_by_hand("other", (2,))
    world.rounds(2)
    theirs = {"wal_0": ThrottledReplicas(frozenset({Replica(0, 1)}), frozenset({Replica(0, 2)}))}
    FakeReassigner(world.kafka).alter_throttles(None, theirs)
    world.rounds(4)
    assert world.stage() == "Ongoing"
    assert listed(world) == theirs


def test_what_cannot_be_cancelled_yet_stays_throttled_and_what_has_arrived_does_not() -> None:
    world = under_way()
    advance(world.kafka)
    arrive(world, "wal_0")
    world.kafka.topics["wal_5"].configs["min.insync.replicas"] = "2"
    world.kafka.refuse = lambda _topic, key, _value: "no" if key == "min.insync.replicas" else None
    world.declare(replicationFactor=1)
    world.rounds(4)
    assert world.stage() == "Aborting"
    assert "it waits" in world.run().message
    assert set(listed(world)) == {"wal_5"}


def test_what_kafka_does_not_tell_of_stays_throttled() -> None:
    move = PlannedMove(PartitionId("wal_0", 0), (1,), (1, 2))
    journal = Journal(START, ("Raise",), frozenset(), (move,))
    throttles = Throttles(topics={"wal_0": ThrottledReplicas(frozenset({Replica(0, 1)}), frozenset({Replica(0, 2)}))})
    unknown = KafkaState({}, {}, silent={"wal_0": "it did not answer"}, throttles=throttles)
    settled = replace(unknown, partitions={move.id: Partition(move.id, (1, 2), frozenset({1, 2}), 1)}, silent={})
    run = ReassignmentStatus(rates_set=(MEBI,))
    assert arrived_throttle(MoveTracker(journal, unknown, Direction.FORWARD), run, {}) is None
    found = arrived_throttle(MoveTracker(journal, settled, Direction.FORWARD), run, {})
    assert found == ClearThrottle(None, {"wal_0": ThrottledReplicas()})
