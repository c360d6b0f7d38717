"""What others delete while a run is under way is not its work, and damage is told whatever it deleted before."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.purge import RunTopics, WALPurge
from tests.purge.test_purge_run import FULL, message, skipped
from tests.worlds.purge_world import TOPICS, World

NONE_DELETED = "True Completed: 0 entries of 0 topics were deleted, 3 topics were left alone"


def cut(world: World, start: int, *topics: str) -> None:
    """Somebody else deletes: retention, or kafka-delete-records."""
    world.foreign.update(topics)
    for topic in topics:
        world.kafka.topics[topic].log.log_start = start


def counted(run: WALPurge) -> tuple[RunTopics | None, int | None]:
    """What the run says of itself."""
    return run.status.topics, run.status.entries_deleted


@pytest.mark.parametrize(("stopped", "start"), [(False, 20), (True, 1)])
def test_what_somebody_else_deletes_is_not_what_the_run_deleted(*, stopped: bool, start: int) -> None:
    """Before it wrote any intent."""
    world = World()
    world.start_run()
    process = world.process()
    world.settle_until(process, lambda: world.run().status.frozen)
    if stopped:
        world.annotate(stop_deletes="true")
    cut(world, start, *TOPICS)
    run = world.settle(process)
    assert skipped(run) == dict.fromkeys(TOPICS, "ForeignDelete")
    assert counted(run) == (RunTopics(total=3, skipped=3), 0)
    assert message(run) == NONE_DELETED
    assert set(world.log_starts().values()) == {start}


@pytest.mark.parametrize(("beyond", "reason"), [(1, "ForeignDelete"), (2, "LogStartBeyondReplay")])
def test_damage_is_told_of_a_topic_from_which_the_run_deleted(beyond: int, reason: str) -> None:
    """Somebody deletes beyond what it meant to, before its last observation."""
    world = World()
    world.start_run()
    process = world.process()
    world.settle_until(process, lambda: world.log_starts() == FULL)
    cut(world, FULL["wal_1"] + beyond, "wal_1")
    run = world.settle(process)
    assert skipped(run) == {"wal_1": reason}
    assert counted(run) == (RunTopics(total=3, purged=2, skipped=1), sum(FULL.values()))
