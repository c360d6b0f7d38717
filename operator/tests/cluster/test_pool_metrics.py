"""What is measured of a pool is of the Kafka that is meant, and of a spec that can be read."""

from __future__ import annotations

from typing import cast

from tests.cluster.test_topic_deletion import controller, live
from tests.fakes.meters import FakeMeters
from tests.worlds.purge_world import CLUSTER, WAL, World


def test_another_kafka_is_none_that_is_reached_and_its_topics_are_not_ours() -> None:
    world = World()
    process = controller(world)
    meters = cast("FakeMeters", process.meter)
    live(world, process, ticks=6)
    assert meters.pools[WAL] is not None
    world.kafka.cluster_id = "another"
    live(world, process, ticks=2)
    assert meters.pools[WAL] is None


def test_of_a_spec_that_cannot_be_read_nothing_is_measured() -> None:
    world = World()
    process = controller(world)
    meters = cast("FakeMeters", process.meter)
    live(world, process, ticks=6)
    assert WAL in meters.pools
    world.kube.apply(WAL, {**CLUSTER, "topics": {"prefix": 7}})
    live(world, process, ticks=2)
    assert WAL not in meters.pools
