"""The addresses of Kafka lead elsewhere from one call to the next: what was looked at is deleted, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.support.mutants import find_survivors
from tests.worlds.purge_world import TOPICS, Calls, World


def test_a_delete_that_comes_to_another_cluster_deletes_nothing() -> None:
    """The topics were described by a connection to the right one, right before; this one resolved the names anew."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    calls = Calls(lambda _: None)

    def lead_elsewhere(name: str) -> None:
        if name == "delete_records":
            for topic in TOPICS:
                world.kafka.topics.pop(topic)
                other = world.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
                other.log.append(1000)

    calls.before = lead_elsewhere
    world.start_run()
    process = world.process(calls)
    world.settle_until(process, lambda: "delete_records" in calls.names)
    assert "delete_records" in calls.names
    assert world.log_starts() == dict.fromkeys(TOPICS, 0)


def no_id_is_compared_by_who_deletes(patch: pytest.MonkeyPatch) -> None:
    real = FakeKafkaLogs.delete_records

    def without_ids(self: FakeKafkaLogs, before: Mapping[str, int], *_: object) -> object:
        return real(self, before)

    patch.setattr(FakeKafkaLogs, "delete_records", without_ids)


def test_the_comparison_is_needed() -> None:
    assert (
        find_survivors(
            [(no_id_is_compared_by_who_deletes, test_a_delete_that_comes_to_another_cluster_deletes_nothing)]
        )
        == []
    )
