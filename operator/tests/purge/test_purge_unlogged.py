"""A run beside a table that was altered to skip its log: it is told, waited for no longer than it flushes, and kept."""

from __future__ import annotations

from datetime import timedelta

from seawall.domain.ledger.observation import Observation
from tests.purge.test_purge_run import skipped
from tests.worlds.purge_world import REGIONS, Calls, World

TOPIC = "wal_1"
REGION = 1025 << 32 | REGIONS - 1
"""The one that has flushed nothing: it has rows of before, which are in the log."""


def problems(world: World) -> tuple[str, ...]:
    found = world.observer(Calls(world.check)).observe(world.cluster())
    assert isinstance(found, Observation)
    return found.problems()


def altered() -> World:
    """It flushes up to the same id for ever."""
    world = World()
    world.store.put_unlogged(REGION)
    world.data_plane.unlogged.add(REGION)
    return world


def test_it_is_waited_for_until_less_is_in_memory_and_its_records_stay() -> None:
    world = altered()
    needs, began = world.data_plane.regions[REGION].flushed, world.time.time
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "1h"})
    run = world.settle()
    assert world.data_plane.regions[REGION].memtable_bytes == 1, "it was asked"
    assert world.time.time - began < timedelta(minutes=10), "and not waited for an hour"
    assert skipped(run).get(TOPIC) in {None, "NothingToPurge"}
    assert world.log_starts()[TOPIC] <= needs + 1, "what is behind its flushed id is read at the next start"


def test_it_is_waited_for_while_it_does_not_flush() -> None:
    world = altered()
    world.data_plane.busy.add(REGION)
    began = world.time.time
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "5m"})
    world.settle()
    assert world.time.time - began >= timedelta(minutes=5)


def test_it_is_told() -> None:
    said = (
        f"rows of 1 regions of topic {TOPIC} are written without the log (skip_wal): "
        "neither purge, backup nor replay protects them; flush before a restart"
    )
    world = altered()
    assert problems(world) == (said,)
    world.store.put_unlogged()
    assert problems(world) == ()
    world.store.put_unlogged(9_999 << 32)
    assert problems(world) == (), "it is in no topic of the pool"
