"""Kafka's own topics get the replicas that they lack, by the run that moves the pool's, if a person lets it."""

from __future__ import annotations

from seawall.api.v1alpha1.reassignment import ReassignmentStage
from tests.worlds.reassignment_world import World

OFFSETS = "__consumer_offsets"


def new_world() -> World:
    """A pool with replication factor 3, and a topic of Kafka's own with one replica of each of its partitions."""
    world = World(lambda number: tuple((number + each) % 4 + 1 for each in range(3)))
    topic = world.kafka.add_topic(OFFSETS, replicas=(1,), partitions=5)
    for partition in range(5):
        topic.place(partition, (partition % 4 + 1,))
    return world


def factors(world: World) -> list[int]:
    topic = world.kafka.topics[OFFSETS]
    return [len(topic.replicas_of(partition)) for partition in range(topic.partitions)]


def test_nothing_of_kafkas_own_is_moved_unless_a_person_lets_it() -> None:
    world = new_world()
    world.settle()
    assert factors(world) == [1] * 5
    assert world.status() is None


def test_every_partition_gets_the_replicas_that_it_lacks_under_the_throttle() -> None:
    world = new_world()
    before = {partition: world.kafka.topics[OFFSETS].replicas_of(partition)[0] for partition in range(5)}
    world.internal_topics = {"repair": True}
    world.declare()
    world.settle(until=lambda: bool(world.kafka.moves.ongoing))
    assert {partition.topic for partition in world.kafka.moves.ongoing} == {OFFSETS}
    assert "follower.replication.throttled.replicas" in world.kafka.topics[OFFSETS].configs
    assert len(world.kafka.moves.ongoing) <= world.most
    world.settle()
    assert factors(world) == [3] * 5
    assert all(first in world.kafka.topics[OFFSETS].replicas_of(partition) for partition, first in before.items())
    assert world.run().stage is ReassignmentStage.COMPLETED
    assert world.is_unthrottled()


def test_a_topic_of_kafkas_own_never_loses_replicas() -> None:
    world = new_world()
    topic = world.kafka.topics[OFFSETS]
    for partition in range(5):
        topic.place(partition, (1, 2, 3))
    world.internal_topics = {"replicationFactor": 2, "repair": True}
    world.declare()
    world.settle()
    assert factors(world) == [3] * 5
    assert world.status() is None


def test_the_pool_and_kafkas_own_topics_grow_in_one_run() -> None:
    world = World()
    world.kafka.add_topic(OFFSETS, replicas=(1,), partitions=3)
    world.internal_topics = {"repair": True}
    world.declare(replicationFactor=3)
    world.settle()
    assert (world.factors(), factors(world)) == ({3}, [3] * 3)
    assert world.run().partitions.done == 9  # type: ignore[union-attr]
    assert world.is_unthrottled()


def test_a_topic_that_is_drained_and_grows_at_once_needs_one_run() -> None:
    """In mid-move a partition shows the replica that goes and the one that comes: it does not want four replicas."""
    world = new_world()
    topic = world.kafka.topics[OFFSETS]
    for partition in range(2):
        topic.place(partition, (4, 2, 3))
    world.internal_topics = {"repair": True}
    world.declare({"excludeBrokers": [4]})
    world.settle()
    assert factors(world) == [3] * 5
    assert len(world.reported("ReassignmentOngoing")) == 1
    assert not world.reported("ReassignmentAborting")
