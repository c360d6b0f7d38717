"""Tables that were dropped and may be undropped: their topics stay, and it is told why, and until when."""

from __future__ import annotations

from datetime import UTC, datetime

from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.page import TopicLine, build_page
from seawall.domain.ledger.reasons import Reason
from tests.purge.test_purge_run import FULL, skipped
from tests.worlds.purge_world import REGIONS, World

TOPIC = "wal_1"
TABLE = 1025
UNTIL = datetime(2026, 12, 7, 12, 0, tzinfo=UTC)


def dropped(until: datetime | None = UNTIL) -> World:
    """All regions of a topic are of one table, which somebody dropped; their datanodes have closed them."""
    world = World()
    for index in range(REGIONS):
        region = TABLE << 32 | index
        world.store.drop_softly(TOPIC, region, until)
        del world.data_plane.regions[region]
    return world


def line(world: World) -> TopicLine:
    found = world.observer().observe(world.cluster())
    assert isinstance(found, Observation)
    return next(line for line in build_page(found).lines if line.name == TOPIC)


def test_it_is_told_until_when_it_may_come_back_and_nobody_is_to_start_a_datanode() -> None:
    found = line(dropped())
    assert found.reason is Reason.REGION_DROPPED
    assert found.message.endswith("Found: dropped, may be undropped: table 1025 until 2026-12-07T12:00:00Z.")
    assert line(dropped(None)).message.endswith("Found: dropped, may be undropped: table 1025.")


def test_its_topic_is_left_alone_at_once_and_the_others_are_purged() -> None:
    """An undropped region opens by its flushed id, and reads no marker. Days are not waited for."""
    world = dropped()
    world.start_run()
    run = world.settle()
    assert skipped(run) == {TOPIC: "RegionDropped"}
    assert world.log_starts() == {**FULL, TOPIC: 0}


def test_a_region_that_nobody_reports_is_missing_before_another_is_dropped() -> None:
    world = dropped()
    world.store.put_region(TOPIC, 2_000 << 32, leader=1, checkpoint=None)
    assert line(world).reason is Reason.REGION_MISSING


def test_a_table_that_is_only_being_dropped_is_missing() -> None:
    world = World()
    world.store.bury_region(TOPIC, TABLE << 32)
    del world.data_plane.regions[TABLE << 32]
    assert line(world).reason is Reason.REGION_MISSING


def test_when_it_is_purged_its_topic_goes_as_any_without_regions() -> None:
    world = dropped()
    for index in range(REGIONS):
        world.store.drop_region(TOPIC, TABLE << 32 | index)
    assert line(world).reason is Reason.NO_REGIONS
