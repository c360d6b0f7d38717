"""A process is frozen while it asks whether it may delete: what it was answered then is of long before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.adapters import clock
from seawall.adapters.clock import MonotonicStopwatch
from seawall.controllers.purge import WALPurgeController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.errors import Conflict
from tests.cluster.test_topic_deletion import controller, going, until_it_acts
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS, Calls, World


def frozen_after(*last: str) -> Calls:
    """The calls of a run up to the end of the tick in which its process was frozen, when these calls were the last."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    calls, frozen = Calls(lambda _: None), list[str]()

    def freeze(name: str) -> None:
        if calls.names[-len(last) :] == [*last] and not frozen:
            frozen.append(name)
            world.time.time += timedelta(hours=1)

    calls.before = freeze
    world.start_run()
    world.settle_until(world.process(calls), lambda: frozen)
    return calls


def test_records_are_not_deleted_by_answers_of_an_hour_ago() -> None:
    """The last that is asked of Kafka: after it only the run and the WALCluster are read once more."""
    calls = frozen_after("read", "describe_topics")
    assert calls.names[-2:] == ["get", "get"]


def test_markers_are_not_moved_by_answers_of_an_hour_ago() -> None:
    """A datanode may have started from an older manifest since its report was read: the store does not show it."""
    calls = frozen_after("wal_settings", "reports")
    assert "advance_markers" not in calls.names
    assert calls.names[-2:] == ["get", "get"]


def test_topics_are_not_deleted_by_answers_of_an_hour_ago() -> None:
    world, calls = going(), Calls(lambda _: None)
    process = controller(world, calls)
    obj, step = until_it_acts(world, process)

    def freeze(name: str) -> None:
        if name == "list_claims":
            world.time.time += timedelta(hours=1)

    calls.before = freeze
    with pytest.raises(Conflict, match="it took too long to ask"):
        process.perform(obj, step.actions[0])
    assert set(TOPICS) <= world.kafka.topics.keys()


def test_the_time_for_which_the_machine_slept_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "since_boot", lambda: 12.5)
    assert MonotonicStopwatch().milliseconds() == 12_500


def test_the_guards_are_missed() -> None:
    mutants = (
        (
            rewritten(WALPurgeController, "_delete", "require_soon(self.stopwatch, began)", "pass"),
            test_records_are_not_deleted_by_answers_of_an_hour_ago,
        ),
        (
            rewritten(WALPurgeController, "_announce", "require_soon(self.stopwatch, began)", "pass"),
            test_markers_are_not_moved_by_answers_of_an_hour_ago,
        ),
        (
            rewritten(TopicDeletion, "delete", "require_soon(self.observer.stopwatch, began)", "pass"),
            test_topics_are_not_deleted_by_answers_of_an_hour_ago,
        ),
    )
    assert find_survivors(mutants) == []
