"""A hold with maxLagBytes beside purges: what Kafka has not freed yet is not kept for it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.domain.hold import view
from seawall.domain.ledger import record_sizes
from tests.hold.test_wal_hold import granter, place, read, settle, stay
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import World

RECORD = 100
"""Bytes of each."""
KEPT = 10
"""Entries that are kept for the hold."""


def purged_up_to_the_hold(limit: int) -> tuple[World, WALHold]:
    """A hundred times of what a hold keeps is deleted, and all of it is on Kafka's disk still."""
    world = World()
    world.write("wal_0", 1_000)
    for region in world.data_plane.regions:
        world.flush(region)
    end = world.kafka.topics["wal_0"].log.end
    process = granter(world)
    place(world, topics={"wal_0": end - KEPT}, maxLagBytes=limit)
    assert settle(world, process).status.lag_bytes == KEPT * RECORD
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] == end - KEPT
    assert world.kafka.topics["wal_0"].log.size == end * RECORD
    return world, stay(world, process, 20)


def test_a_large_purge_ends_no_hold() -> None:
    world, hold = purged_up_to_the_hold(limit=2 * KEPT * RECORD)
    assert (hold.status.state, hold.status.lag_bytes) == (HoldState.EXTENDED, KEPT * RECORD)
    late = stay(world, granter(world), 20)  # another process, which knows nothing of the time before
    assert late.status.state is HoldState.EXTENDED
    assert (late.status.lag_bytes or 0) <= KEPT * RECORD


@pytest.mark.parametrize("more", [5, 40])
def test_what_is_kept_for_it_counts(more: int) -> None:
    world = World()
    end = world.kafka.topics["wal_0"].log.end
    process = granter(world)
    place(world, topics={"wal_0": end - KEPT}, maxLagBytes=2 * KEPT * RECORD)
    settle(world, process)
    world.write("wal_0", more)
    world.time.time += timedelta(minutes=1)
    assert (stay(world, process, 5).status.state is HoldState.LOST) == (more == 40)
    assert (read(world).status.lag_bytes or 0) >= KEPT * RECORD


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(
            view,
            "_held_topic",
            "log.record_bytes",
            "None if not log.size_bytes else log.size_bytes / max(1, (log.high_watermark or 0) - (log.log_start or 0))",
        ),
        test_a_large_purge_ends_no_hold,
    ),
    (
        rewritten(record_sizes, "_mean", "return least", "return size / entries"),
        test_a_large_purge_ends_no_hold,
    ),
)


def test_a_hold_is_measured_by_what_is_left() -> None:
    assert find_survivors(MUTANTS) == []
