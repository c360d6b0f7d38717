"""That a region was made is in its topic's record: metadata of before it, restored from an older copy, are noticed."""

from __future__ import annotations

from dataclasses import replace

from seawall.domain.ledger import identities
from seawall.domain.ledger.fence import ObservedLog, first_record
from seawall.domain.ledger.identities import identify
from seawall.domain.ledger.reasons import Reason
from tests.ledger.test_ledger_watch import look, watch
from tests.support.clock import START
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import World

YOUNG = 9 << 32


def observed() -> World:
    """A process has recorded its logs, and the database works on."""
    world = World()
    look(world, watch(world), times=3)
    world.store.put_switch(enabled=True)
    world.store.put_switch(enabled=False)
    return world


def test_a_copy_of_after_the_last_purge_that_lacks_a_table_purges_nothing() -> None:
    """The store's revision is higher than when the logs were first recorded, and no purge has recorded it since."""
    world = observed()
    copy = world.store._now
    world.add_region("wal_1", YOUNG, datanode=0)
    world.write("wal_1", 20)
    look(world, watch(world), times=1)
    for region in world.data_plane.regions.keys() - {YOUNG}:
        world.flush(region)
    world.store._now = copy
    del world.data_plane.regions[YOUNG]  # datanodes that start anew open what the metadata name
    world.start_run()
    run = world.settle()
    assert world.kafka.topics["wal_1"].log.log_start <= min(world.rows[YOUNG]), "a row that nobody has flushed is gone"
    reasons = {one.topic: one.reason for one in run.status.skipped}
    assert reasons["wal_1"] == Reason.FENCE_BROKEN.value
    assert reasons["wal_0"] == Reason.FENCE_BROKEN_ELSEWHERE.value


def test_a_region_that_is_made_or_moved_is_recorded_once_and_a_checkpoint_is_not() -> None:
    world = observed()
    watching = watch(world)
    world.add_region("wal_1", YOUNG, datanode=0)
    look(world, watching, times=1)
    revision, records = world.store.head().revision, world.records()
    assert records["wal_1"].revision == revision > (records["wal_0"].revision or 0)
    world.store.put_checkpoint("wal_1", YOUNG, 3)
    look(world, watching, times=2)
    assert world.records() == records
    world.store.put_route(YOUNG, 1)
    look(world, watching, times=1)
    assert world.records()["wal_1"].revision == world.store.head().revision


def test_a_route_that_is_newer_than_all_that_was_read_is_not_recorded_again_and_again() -> None:
    """Of PostgreSQL while a transaction is open; the log grows meanwhile, so each record would be another."""
    log = ObservedLog("A" * 22, 0, 0, 40, None, revision=7)
    found = identify(
        first_record(log), replace(log, high_watermark=50, newest_route=9), None, None, START, shared_now=START
    )
    assert not found.is_urgent


def test_every_guard_is_missed() -> None:
    mutants = (
        (
            rewritten(identities, "_is_outdated", "_lacks_regions(record, observed) or ", ""),
            test_a_copy_of_after_the_last_purge_that_lacks_a_table_purges_nothing,
        ),
        (
            rewritten(identities, "_lacks_regions", "min(observed.newest_route, now)", "observed.newest_route"),
            test_a_route_that_is_newer_than_all_that_was_read_is_not_recorded_again_and_again,
        ),
    )
    assert find_survivors(mutants) == []
