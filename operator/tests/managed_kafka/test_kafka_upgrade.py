"""A managed Kafka gets another version: nodes by roll, back until its features are finalized, and not afterwards."""

from __future__ import annotations

import copy
from datetime import timedelta
from functools import cache

import pytest

from seawall.domain.brokers.view import METADATA_VERSION
from seawall.domain.managed_kafka import releases
from tests.worlds.kafka_upgrade_world import NEWER, OLDER, UpgradeWorld
from tests.worlds.managed_world import BROKERS, WAL

BROUGHT_UP = UpgradeWorld()
BROUGHT_UP.bring_up()
ORDER = [101, 102, *BROKERS, 100]


@pytest.fixture
def world() -> UpgradeWorld:
    return copy.deepcopy(BROUGHT_UP)


@cache
def _upgraded() -> UpgradeWorld:
    world = copy.deepcopy(BROUGHT_UP)
    world.edit(version=NEWER)
    world.live(until=world.is_rolled)
    world.evicted.clear()
    return world


def upgraded() -> UpgradeWorld:
    """All nodes run the newer version, whose features are not finalized."""
    return copy.deepcopy(_upgraded())


def told(world: UpgradeWorld) -> str:
    found = world.condition()
    return "" if found is None else f"{found[0]} {found[1]}: {found[2]}"


def test_another_version_restarts_each_node_once_in_the_order_of_a_roll(world: UpgradeWorld) -> None:
    world.edit(version=NEWER)
    world.live(until=world.is_rolled)
    assert world.evicted == ORDER
    assert set(world.releases.values()) == {"4.3"}


def test_it_goes_back_until_features_are_finalized_and_what_ends_it_is_told() -> None:
    world = upgraded()
    world.live(ticks=6)
    assert told(world) == (
        "True AllOnline: 6 nodes are Online;"
        " version 4.2 can be gone back to until kafka-features.sh upgrade --release-version 4.3 is run"
    )
    world.edit(version=OLDER)
    world.live(until=world.is_rolled)
    assert world.evicted == ORDER
    assert set(world.releases.values()) == {"4.2"}
    world.live(ticks=6)
    assert told(world) == "True AllOnline: 6 nodes are Online"


def test_what_is_finalized_is_not_gone_back_to_and_an_edit_is_the_way_out() -> None:
    world = upgraded()
    world.finalize()
    world.live(ticks=6)
    assert told(world) == "True AllOnline: 6 nodes are Online"
    world.edit(version=OLDER)
    world.live(ticks=60)
    assert world.evicted == []
    assert told(world) == (
        "False VersionTooOld: metadata.version is finalized at 30, which Kafka 4.3 knows, and 4.2.0 is declared;"
        " nothing is started"
    )
    assert world.roll().reason == "VersionTooOld"
    world.edit(version=NEWER)
    world.live(ticks=60)
    assert (world.evicted, told(world)) == ([], "True AllOnline: 6 nodes are Online")


def test_nobody_lets_a_node_go_that_would_not_come_back() -> None:
    world = upgraded()
    world.finalize()
    expires = (world.time.time + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"it may be away@{expires}")
    world.edit(version=OLDER)
    world.live(ticks=60)
    assert world.evicted == []


def test_features_that_are_finalized_in_mid_roll_stop_the_way_back() -> None:
    world = upgraded()
    world.edit(version=OLDER)
    world.live(until=lambda: len(world.evicted) == 2 and world.entry() is None)
    world.finalize()
    assert world.finalized == releases.LEVELS["4.2"][METADATA_VERSION], "Kafka knows who is too old"
    world.live(until=world.is_rolled)
    assert world.evicted == ORDER


def test_a_node_that_joins_is_not_begun_with_a_version_that_is_too_old() -> None:
    world = upgraded()
    world.finalize()
    world.edit(version=OLDER)
    world.scale(len(BROKERS) + 1)
    world.live(ticks=40)
    assert told(world).startswith("False VersionTooOld")
    assert set(world.objects.pods[WAL]) == {100, 101, 102, *BROKERS}


@pytest.mark.parametrize(
    ("version", "level", "is_too_old", "back"),
    [
        ("4.3.1", 30, False, None),
        ("4.3.1", 29, False, "4.2"),
        ("4.3.1", 28, False, "4.2"),
        ("4.3.1", 25, False, "4.1"),
        ("4.2.0", 29, False, None),
        ("4.2.3", 30, True, None),
        ("4.1.2", 28, True, None),
        ("4.3.0", 31, True, None),
    ],
)
def test_levels_of_releases(version: str, level: int, back: str | None, *, is_too_old: bool) -> None:
    features = {METADATA_VERSION: level}
    assert (releases.why_too_old(version, features) is not None) == is_too_old
    assert releases.goes_back_to(version, features) == back
    assert (releases.why_too_old(version, {}), releases.goes_back_to(version, {})) == (None, None)


@pytest.mark.parametrize(
    ("feature", "level", "is_too_old", "back"),
    [
        ("streams.version", 1, True, "4.2"),
        ("streams.version", 0, False, "4.1"),
        ("share.version", 1, False, "4.1"),
        ("transaction.version", 2, False, "4.1"),
        ("of.tomorrow.version", 1, False, None),
        ("of.tomorrow.version", 0, False, "4.1"),
    ],
)
def test_each_feature_that_is_finalized_counts(feature: str, level: int, back: str | None, *, is_too_old: bool) -> None:
    """What only a newer Kafka knows is promised to none, and accuses nobody who runs already."""
    features = {METADATA_VERSION: 27, feature: level}
    assert releases.goes_back_to("4.3.1", features) == back
    assert releases.why_too_old("4.3.1", features) is None
    assert releases.why_too_old("4.1.2", features) == (
        "streams.version is finalized at 1, which Kafka 4.2 knows, and 4.1.2 is declared" if is_too_old else None
    )


def test_a_feature_of_tomorrow_that_is_finalized_ends_the_promise_of_a_way_back() -> None:
    world = upgraded()
    world.kafka.moves.features["of.tomorrow.version"] = 1
    world.live(ticks=6)
    assert told(world) == "True AllOnline: 6 nodes are Online"
