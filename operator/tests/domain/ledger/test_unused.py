"""Topics without regions: they stay until a person declares them unused, and the declaration is about nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seawall.domain.ledger.declarations import Grounds, Unused, parse_unused
from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.ledger import Holder, permit, plan
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.page import topic_lines
from seawall.domain.ledger.reasons import Reason
from tests.domain.ledger import oracle
from tests.domain.ledger.simulation.world import GRACE, World
from tests.domain.ledger.test_rules import HEALTHY, MODE_B, TOPIC_AT_10, as_inputs
from tests.domain.ledger.test_scenarios import grown, purge, sentence, until
from tests.domain.two_clocks import agreed

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DECLARED = Unused(("wal_*",), Grounds("dropped in May", NOW))
NOBODYS = replace(TOPIC_AT_10, regions=(), unused=True, marker=3)
MODES = [Mode.B, Mode.C]


def left(mode: Mode, *, keeps_tombstones: bool = True) -> World:
    """A world in which the tables of a topic were dropped and cannot come back."""
    world = grown(mode, keeps_tombstones=keeps_tombstones)
    for number in (0, 1):
        world.database.drop(number)
        world.database.finish_drop(number, after=GRACE)
    world.beat(GRACE // 5 + 10)
    return world


def declare(world: World) -> None:
    for each in world.operators:
        each.unused = DECLARED


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_that_nobody_writes_to_stays_until_it_is_declared_unused(mode: Mode) -> None:
    world = left(mode)
    assert purge(world) == 0
    assert sentence(world) == "NoRegions"
    declare(world)
    assert purge(world) == world.logs["wal_0"].high_watermark - 1


@pytest.mark.parametrize("mode", MODES)
def test_a_declaration_is_not_about_a_topic_with_regions(mode: Mode) -> None:
    world = grown(mode)
    declare(world)
    assert purge(world) <= 1, "its regions have flushed nothing"
    world.restart_everything()


@pytest.mark.parametrize("mode", MODES)
def test_a_table_that_was_dropped_and_comes_back_keeps_its_rows(mode: Mode) -> None:
    world = grown(mode, keeps_tombstones=mode is Mode.B)
    declare(world)
    for number in (0, 1):
        world.database.drop(number)
    for _ in range(GRACE // 10 - 1):
        world.beat(wait=1)
    for number in (0, 1):
        world.database.roll_back_drop(number, within=GRACE)
    world.beat(3)
    assert purge(world) <= 1
    world.restart_everything()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", ["record seen", "write intents", "delete"])
def test_a_region_that_is_born_meanwhile_keeps_its_rows(mode: Mode, call: str) -> None:
    world = left(mode)
    declare(world)
    until(world, call)
    world.database.create(2, "wal_0", 0, 1, world.logs["wal_0"].high_watermark - 1)
    world.beat(2)
    rows = [world.database.write(2, 0) for _ in range(5)]
    assert None not in rows
    assert purge(world) <= min(row for row in rows if row is not None)
    world.restart_everything()


def test_a_region_that_is_born_before_the_announcement_makes_it_fail() -> None:
    world = left(Mode.B)
    declare(world)
    before = world.database.markers["wal_0"].pruned_entry_id
    until(world, "announce")
    world.database.create(2, "wal_0", 0, 1, 0)
    world.operators[0].step()
    assert world.database.markers["wal_0"].pruned_entry_id == before


def test_a_hold_keeps_what_it_claims_of_a_topic_that_was_declared_unused() -> None:
    world = left(Mode.B)
    world.place_hold("spark", Claim({"wal_0": 4}))
    declare(world)
    assert purge(world) == 4


def test_it_goes_no_further_than_its_log_ended_when_that_was_seen() -> None:
    inputs, _ = as_inputs(replace(MODE_B, mode="C"), [replace(NOBODYS, high_watermark=13, recorded_for_a_grace=True)])
    _, recorded = as_inputs(MODE_B, [replace(NOBODYS, recorded=7)])
    assert permit(inputs, recorded).purge_to.at(0) == 7
    assert plan(inputs).purge_to.at(0) == 12


def test_what_was_seen_is_deleted_one_open_grace_later() -> None:
    soon = replace(NOBODYS, marker=12, recorded=12, recorded_for_a_grace=False)
    inputs, recorded = as_inputs(MODE_B, [soon])
    assert permit(inputs, recorded).reason(0) is Reason.AWAITING_REPORTS
    inputs, recorded = as_inputs(MODE_B, [replace(soon, recorded_for_a_grace=True)])
    assert permit(inputs, recorded).purge_to.at(0) == 12


def test_in_mode_a_the_database_still_says_how_far() -> None:
    inputs, _ = as_inputs(replace(MODE_B, mode="A"), [NOBODYS])
    assert plan(inputs).purge_to.at(0) == 3


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        (replace(NOBODYS, unused=False), Reason.NO_REGIONS),
        (replace(NOBODYS, vanished=True), Reason.REGION_MISSING),
        (replace(NOBODYS, unmapped=True), Reason.REGION_UNMAPPED),
        (replace(NOBODYS, fence_broken=True), Reason.FENCE_BROKEN),
        (replace(NOBODYS, marker=None), Reason.MARKER_MISSING),
        (replace(NOBODYS, has_policy=False), Reason.NO_POLICY),
        (replace(NOBODYS, watched_too_shortly=True), Reason.WATCHED_TOO_SHORTLY),
        (replace(NOBODYS, regions=(replace(HEALTHY, reported=False),)), Reason.REGION_MISSING),
    ],
)
def test_every_other_reason_stands(topic: oracle.Topic, reason: Reason) -> None:
    inputs, _ = as_inputs(MODE_B, [topic])
    assert plan(inputs).reason(0) is reason


def test_people_see_that_nobody_holds_it_and_who_says_so() -> None:
    inputs, _ = as_inputs(MODE_B, [NOBODYS])
    ledger = plan(inputs)
    assert ledger.holder_of(0) is Holder.DECLARED
    (line,) = topic_lines(ledger)
    assert line.held_by == "nobody: declared unused"


def test_a_declaration_names_topics_a_reason_and_an_expiry() -> None:
    found = parse_unused(" wal_7, old_*: table t: dropped @ home@2026-11-21T15:00:00+01:00 ", agreed(NOW))
    assert isinstance(found, Unused)
    assert (found.topics, found.grounds.reason) == (("wal_7", "old_*"), "table t: dropped @ home")
    assert found.sentence == "declared unused by annotation until 2026-11-21T14:00:00Z (table t: dropped @ home)"
    assert [found.is_about(name) for name in ("wal_7", "old_1", "wal_8")] == [True, True, False]


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        ("", "must be <topics>: <reason>@<expiry>"),
        ("wal_7@2026-11-21T13:00:00Z", "must be <topics>: <reason>@<expiry>"),
        ("wal_7: @2026-11-21T13:00:00Z", "must be <topics>: <reason>@<expiry>"),
        ("wal_7: gone", "must be <topics>: <reason>@<expiry>"),
        ("wal 7: gone@2026-11-21T13:00:00Z", "'wal 7' is no name"),
        ("wal_7,: gone@2026-11-21T13:00:00Z", "'' is no name"),
        ("wal_7: gone@tomorrow", "'tomorrow' is no time"),
        ("wal_7: gone@2026-11-21T13:00:00", "has no time zone"),
        ("wal_7: gone@2026-11-21T12:00:00Z", "has expired"),
        ("wal_7: gone@2026-11-22T12:05:01Z", "more than 24 hours ahead"),
    ],
)
def test_what_declares_nothing_says_why(annotation: str, sentence: str) -> None:
    found = parse_unused(annotation, agreed(NOW))
    assert isinstance(found, str)
    assert sentence in found
    assert "seawall.dev/purge-unused-topics" in found


def test_a_declaration_is_for_a_day_at_most() -> None:
    longest = (NOW + timedelta(hours=24)).isoformat()
    assert isinstance(parse_unused(f"wal_7: gone@{longest}", agreed(NOW)), Unused)
