"""A whole run over 20,000 topics, which never fitted into a status: nothing of it is larger for them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

import pytest

from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.domain.purge import stages
from seawall.reconciler import Outcome
from tests.fakes.dataplane import FakeRegion
from tests.worlds.purge_world import RUN, Calls, World

TOPICS = 5_000
MOST_TOPICS = 20_000
ENTRIES, MARKER = 40, 38
WAITS = 50.0
"""Seconds that pass when the operator waits: reports stay fresh for 60 s, and looks are few."""


@dataclass
class ManyTopics(World):
    """Topics with one region each, which has not flushed its last row; the database moves the markers.

    Attributes:
        count: of topics.
        largest: bytes of the largest status that was written.
    """

    auto_prune: str = "Logical"
    count: int = TOPICS
    largest: int = 0

    def make_topics(self) -> None:
        """Instead of the three of four regions each."""
        regions = {f"wal_{number}": ((1024 << 32) + number, number % 3) for number in range(self.count)}
        self.store.put_many(regions, MARKER)
        for topic, (region, datanode) in regions.items():
            made = self.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
            made.log.now = self.time.now
            made.log.append(ENTRIES)
            self.data_plane.regions[region] = FakeRegion(datanode, MARKER, ENTRIES - 1, 100)

    def check(self, after: str = "") -> None:
        """The last row of each region is not flushed; and what a status is."""
        if after == "delete_records":
            assert max(self.log_starts().values()) <= MARKER
        if after == "replace_status":
            self.largest = max(self.largest, len(json.dumps(self.kube.raw_status(RUN, WALPurge))))


def live(world: ManyTopics, calls: Calls) -> WALPurge:
    """Ticks until the run is over."""
    process = world.process(calls)
    while True:
        ticked = process.tick(RUN)
        assert ticked.outcome is not Outcome.ERROR
        if ticked.outcome is Outcome.WAITING and world.run().status.is_finished:
            return world.run()
        world.time.time += timedelta(seconds=WAITS if ticked.after else 0.05)


@pytest.mark.parametrize("count", [TOPICS, pytest.param(MOST_TOPICS, marks=pytest.mark.soak)])
def test_a_run_over_many_topics_deletes_from_all_of_them(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """In one batch and not in twenty: before each everything is read, which takes a second of this test."""
    monkeypatch.setattr(stages, "DELETE_BATCH", count)
    world = ManyTopics(count=count)
    world.start_run(flush={"whenBehindEntries": 10_000})
    calls = Calls(world.check)
    run = live(world, calls)
    assert set(world.log_starts().values()) == {MARKER}
    assert run.status.stage is Stage.COMPLETED
    assert run.status.frozen is not None
    assert (run.status.frozen.topics, run.status.frozen.parts) == (count, 1)
    assert run.status.topics is not None
    assert (run.status.topics.purged, run.status.entries_deleted) == (count, count * MARKER)
    assert calls.names.count("delete_records") == 1
    assert world.targets().keys() == set(world.kafka.topics)
    assert 0 < world.largest < 20_000, "bytes: a status does not grow with the topics"


@pytest.mark.parametrize("restarts", [False, True])
def test_more_refusals_than_a_status_names_are_all_counted_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, *, restarts: bool
) -> None:
    """An operator that starts anew asks once more for those that the status does not name."""
    monkeypatch.setattr(stages, "DELETE_BATCH", 40)
    world, asked = ManyTopics(count=130), Counter[str]()

    def refuse(topic: str) -> str | None:
        asked[topic] += 1
        return "Broker: Topic authorization failed" if int(topic.removeprefix("wal_")) < 120 else None

    world.kafka.refuse_delete = refuse
    world.start_run()
    process = world.process()
    while len(asked) < 100:
        process.tick(RUN)
        world.time.time += timedelta(seconds=20)
    run = world.settle(world.process() if restarts else process)
    assert run.status.topics is not None
    assert (run.status.topics.failed, run.status.topics.purged) == (120, 10)
    assert len(run.status.refused) == 50
    assert set(asked) == set(world.kafka.topics)
    named = {row.topic for row in run.status.refused}
    assert {asked[topic] for topic in named} == {1}
    assert max(asked.values()) == (2 if restarts else 1)
