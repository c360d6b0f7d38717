"""Dead regions: declared by a person and watched without a sign of life they do not count; else they do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seawall.domain.dataplane.metadata import LeaderState, Route
from seawall.domain.ledger.declarations import (
    DeadRegions,
    Grounds,
    Unused,
    contradicted_problem,
    named_dead,
    parse_dead,
)
from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.ledger import announcements, plan
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.page import topic_lines
from seawall.domain.ledger.reasons import Reason
from tests.domain.ledger.simulation.world import GRACE, STALE_AFTER, World
from tests.domain.ledger.test_rules import HEALTHY, MODE_B, TOPIC_AT_10, as_inputs
from tests.domain.ledger.test_scenarios import grown, purge, sentence, until
from tests.domain.two_clocks import agreed

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MODES = [Mode.B, Mode.C]
DEAD = 1
"""The region that is declared, on node 1; region 0 is on node 0."""


def declared(*regions: int) -> DeadRegions:
    found = parse_dead(f"{', '.join(map(str, regions))}: disk lost@2026-11-21T13:00:00Z", agreed(NOW))
    assert isinstance(found, DeadRegions)
    return found


def declare(world: World, *regions: int) -> None:
    """A person says that these are dead."""
    world.given_up |= set(regions)
    for operator in world.operators:
        operator.dead = declared(*regions)


def orphaned(mode: Mode) -> World:
    """A world in which region 0 has flushed and the node of region 1 is not heard of any more."""
    world = grown(mode)
    world.database.flush(0)
    world.database.cut_off.add(1)
    world.beat(2 * GRACE // 5)
    return world


def oldest_row(world: World) -> int:
    """The first row that only the log has of the declared region."""
    return min(offset for _, offset in world.database.regions[DEAD].needed())


def problems(world: World) -> tuple[str, ...]:
    return world.operators[0].observation.dead_problems


@pytest.mark.parametrize("mode", MODES)
def test_a_region_that_nobody_reports_holds_its_topic_until_it_is_declared_dead(mode: Mode) -> None:
    world = orphaned(mode)
    assert purge(world) <= oldest_row(world)
    assert sentence(world) == "RegionStale"
    declare(world, DEAD)
    last_of_the_living = max(world.database.regions[0].acknowledged[0])
    assert purge(world) >= last_of_the_living
    assert problems(world) == ()


@pytest.mark.parametrize("mode", MODES)
def test_the_rows_of_the_other_regions_stay(mode: Mode) -> None:
    world = orphaned(mode)
    needed = [world.database.write(0, 0) for _ in range(3)]
    assert needed[0] is not None
    declare(world, DEAD)
    assert oldest_row(world) < purge(world) <= needed[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_region_that_is_declared_dead_and_reports_keeps_its_rows(mode: Mode) -> None:
    world = grown(mode)
    world.database.flush(0)
    declare(world, DEAD)
    assert purge(world) <= oldest_row(world)
    assert sentence(world) == "DeclarationContradicted"
    assert problems(world) == (
        "seawall.dev/dead-regions: region 1 is declared dead and reports: the declaration is ignored",
    )


@pytest.mark.parametrize("mode", MODES)
def test_an_operator_that_starts_does_not_take_what_it_has_not_seen_yet_for_dead(mode: Mode) -> None:
    world = grown(mode)
    world.database.flush(0)
    declare(world, DEAD)
    world.operators[0].start()
    world.operators[0].step()
    world.database.cut_off.add(1)
    for _ in range(GRACE // 20):
        world.beat()
        assert not world.operators[0].observation.inputs.freshness.dead.any()
        assert sentence(world) == "RegionStale"


@pytest.mark.parametrize("mode", MODES)
def test_a_declaration_counts_only_after_a_whole_grace_of_watching(mode: Mode) -> None:
    world = orphaned(mode)
    since = world.database.now
    declare(world, DEAD)
    while not world.operators[0].observation.inputs.freshness.dead.any():
        world.beat()
    assert world.operators[0].read.began - since >= max(GRACE, STALE_AFTER)


@pytest.mark.parametrize(("mode", "call"), [(Mode.B, "announce"), (Mode.B, "record seen"), (Mode.C, "record seen")])
def test_a_region_that_comes_back_in_the_middle_keeps_its_rows(mode: Mode, call: str) -> None:
    """The slow datanode lived all the time: what it has in memory may only be in the log, whatever the marker says."""
    world = orphaned(mode)
    declare(world, DEAD)
    needed = oldest_row(world)
    until(world, call)
    world.operators[0].step()
    world.database.cut_off.clear()
    world.beat(2)
    assert sentence(world) == "DeclarationContradicted"
    assert purge(world) <= needed


def expire(world: World, *regions: int) -> None:
    """The annotation stands as it was, and declares nothing any more."""
    for operator in world.operators:
        operator.dead, operator.lapsed = None, frozenset(regions)


@pytest.mark.parametrize("restarts", [False, True])
def test_one_that_is_back_behind_the_marker_keeps_its_rows_when_the_declaration_has_expired(*, restarts: bool) -> None:
    """Nothing but the annotation knows that the marker was announced beyond what it has flushed."""
    world = orphaned(Mode.B)
    declare(world, DEAD)
    needed = oldest_row(world)
    until(world, "announce")
    world.operators[0].step()
    world.database.cut_off.clear()
    expire(world, DEAD)
    if restarts:
        world.operators[0].start()
    assert purge(world) <= needed
    assert sentence(world) == "DeclarationContradicted"
    said = "region 1 was declared dead, reports again and has flushed less than the marker"
    assert said in problems(world)[0]
    world.database.flush(DEAD)
    world.beat(3)
    assert purge(world) > needed, "it has all that the marker goes beyond"
    assert problems(world) == ()


def test_one_that_is_back_counts_as_any_other_when_a_person_takes_it_out_of_the_annotation() -> None:
    world = orphaned(Mode.B)
    declare(world, DEAD)
    needed = oldest_row(world)
    until(world, "announce")
    world.operators[0].step()
    world.database.cut_off.clear()
    expire(world)
    assert purge(world) > needed


def test_what_the_annotation_names_is_known_also_when_it_declares_nothing() -> None:
    for text in ("7, 8: lost@2026-11-21T11:00:00Z", " 8,7 : lost", "7,8,*: @never", "8, 7:"):
        assert named_dead(text) == {7, 8}
    for text in ("", "*: lost@2026-11-21T11:00:00Z", "7@2026-11-21T11:00:00Z"):
        assert named_dead(text) == frozenset()


def test_other_regions_are_another_sentence_also_where_not_all_are_named() -> None:
    found = declared(*range(400))
    assert found.sentence([*range(100, 108), 200]) != found.sentence([*range(100, 108), 300])
    assert found.sentence(range(9)) == found.sentence(reversed(range(9)))


@pytest.mark.parametrize("mode", MODES)
def test_an_operator_that_starts_meanwhile_leaves_one_that_came_back_alone_too(mode: Mode) -> None:
    world = orphaned(mode)
    declare(world, DEAD)
    needed = oldest_row(world)
    until(world, "announce" if mode is Mode.B else "record seen")
    world.operators[0].step()
    world.database.cut_off.clear()
    world.operators[0].start()
    assert purge(world) <= needed


@pytest.mark.parametrize("mode", MODES)
def test_a_datanode_that_starts_anew_may_be_opening_it(mode: Mode) -> None:
    """The new process reports no region yet, and reads the log from where the marker was when it began."""
    world = orphaned(mode)
    declare(world, DEAD)
    needed = oldest_row(world)
    world.beat(2)
    world.database.processes[1].outbox.clear()
    world.database.cut_off.clear()
    world.database.kill(1)
    openings, world.database.openings = world.database.openings, []
    world.beat(2)
    assert problems(world)[0].endswith("started anew, a moment ago: the declaration is ignored")
    world.database.openings = openings
    assert purge(world) <= needed
    assert not world.database.failed_opens


def test_a_follower_that_reports_it_is_a_sign_of_life() -> None:
    world = orphaned(Mode.B)
    declare(world, DEAD)
    held = world.database.processes[1].regions[DEAD]
    world.database.processes[0].regions[DEAD] = replace(held, leads=False)
    assert purge(world) <= oldest_row(world)
    assert "region 1 is declared dead and reports" in problems(world)[0]


def test_a_route_that_is_being_moved_is_none_of_a_dead_region() -> None:
    world = orphaned(Mode.B)
    database = world.database
    database.routes[DEAD] = Route(1, LeaderState.DOWNGRADING, database.touch())
    declare(world, DEAD)
    assert purge(world) <= oldest_row(world)
    assert "region 1 is declared dead and is being opened, moved or staged" in problems(world)[0]


def test_a_table_whose_drop_may_be_rolled_back_is_not_dead() -> None:
    world = orphaned(Mode.B)
    world.database.drop(DEAD)
    declare(world, DEAD)
    assert purge(world) <= oldest_row(world)
    assert "region 1 is declared dead and is being dropped" in problems(world)[0]


def test_a_pause_in_the_looks_is_no_watching() -> None:
    world = orphaned(Mode.B)
    declare(world, DEAD)
    world.beat()
    world.database.now += 2 * GRACE
    world.operators[0].cycle()
    assert not world.operators[0].observation.inputs.freshness.dead.any()


@pytest.mark.parametrize("mode", MODES)
def test_when_all_regions_are_dead_the_topic_is_one_without_regions(mode: Mode) -> None:
    world = orphaned(mode)
    world.database.cut_off.add(0)
    declare(world, 0, 1)
    start = purge(world)
    assert sentence(world) == "NoRegions"
    world.operators[0].unused = Unused(("wal_0",), Grounds("all lost", NOW))
    assert purge(world) == world.logs["wal_0"].high_watermark - 1 > start


def test_a_hold_keeps_what_it_claims_of_a_topic_with_a_dead_region() -> None:
    world = orphaned(Mode.B)
    world.place_hold("spark", Claim({"wal_0": 4}))
    declare(world, DEAD)
    assert purge(world) == 4


def test_what_a_dead_region_can_not_replay_is_no_disaster_until_the_declaration_ends() -> None:
    """In mode C nothing but its manifest says where it would begin to read."""
    world = orphaned(Mode.C)
    declare(world, DEAD)
    assert purge(world) > oldest_row(world)
    assert sentence(world) != "LogStartBeyondReplay"
    world.operators[0].dead = None
    world.broken_since["wal_0"] = world.database.now
    world.beat(2)
    assert sentence(world) == "LogStartBeyondReplay"


def test_a_region_of_no_topic_of_the_pool_is_named_and_nothing_else_happens() -> None:
    world = orphaned(Mode.B)
    declare(world, 7, 2**64 - 1)
    assert purge(world) <= oldest_row(world)
    assert sentence(world) == "RegionStale"
    assert problems(world) == (
        f"seawall.dev/dead-regions: regions 7, {2**64 - 1} are in no topic of this pool, nothing is declared by that",
    )


def test_the_other_regions_of_the_topic_still_show_a_disaster() -> None:
    gone = replace(HEALTHY, dead=True, reported=False)
    lost = replace(TOPIC_AT_10, regions=(gone, *TOPIC_AT_10.regions), log_start=12)
    inputs, _ = as_inputs(replace(MODE_B, mode="C"), [lost])
    assert plan(inputs).reason(0) is Reason.LOG_START_BEYOND_REPLAY


def test_people_see_who_holds_it_and_which_region_does_not_count() -> None:
    gone = replace(HEALTHY, dead=True, reported=False, stale=True)
    inputs, _ = as_inputs(MODE_B, [replace(TOPIC_AT_10, regions=(gone, *TOPIC_AT_10.regions))])
    (line,) = topic_lines(plan(inputs))
    assert line.held_by == "region 1 on datanode 1 (declared dead)"


def test_a_topic_whose_declaration_is_contradicted_is_not_announced() -> None:
    alive = replace(HEALTHY, contradicted=True)
    inputs, _ = as_inputs(MODE_B, [replace(TOPIC_AT_10, regions=(alive, *TOPIC_AT_10.regions))])
    assert announcements(plan(inputs)) == ()


def test_a_declaration_names_regions_a_reason_and_an_expiry() -> None:
    found = parse_dead(" 4398046511104, 7: disk: gone @ home@2026-11-21T15:00:00+01:00 ", agreed(NOW))
    assert isinstance(found, DeadRegions)
    assert found.regions == {4398046511104, 7}
    until_and_why = "by annotation until 2026-11-21T14:00:00Z (disk: gone @ home)"
    assert found.sentence([7]) == f"region 7 is declared dead {until_and_why}"
    ten = found.sentence(range(10))
    assert ten.startswith("regions 0, 1, 2, 3, 4, 5, 6, 7 and 2 more (digest ")
    assert ten.endswith(f") are declared dead {until_and_why}")


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        ("", "must be <region ids>: <reason>@<expiry>"),
        ("7@2026-11-21T13:00:00Z", "must be <region ids>: <reason>@<expiry>"),
        ("7: @2026-11-21T13:00:00Z", "must be <region ids>: <reason>@<expiry>"),
        ("7,: gone@2026-11-21T13:00:00Z", "'' is no region id"),
        ("*: gone@2026-11-21T13:00:00Z", "'*' is no region id"),
        ("-7: gone@2026-11-21T13:00:00Z", "'-7' is no region id"),
        ("18446744073709551616: gone@2026-11-21T13:00:00Z", "'18446744073709551616' is no region id"),
        ("7: gone@tomorrow", "'tomorrow' is no time"),
        ("7: gone@2026-11-21T13:00:00", "has no time zone"),
        ("7: gone@2026-11-21T12:00:00Z", "has expired"),
        ("7: gone@2026-11-22T12:05:01Z", "more than 24 hours ahead"),
    ],
)
def test_what_declares_nothing_says_why(annotation: str, said: str) -> None:
    found = parse_dead(annotation, agreed(NOW))
    assert isinstance(found, str)
    assert said in found
    assert "seawall.dev/dead-regions" in found


def test_a_declaration_is_for_a_day_at_most() -> None:
    longest = (NOW + timedelta(hours=24)).isoformat()
    assert isinstance(parse_dead(f"7: gone@{longest}", agreed(NOW)), DeadRegions)


def test_many_declarations_that_are_ignored_are_one_sentence() -> None:
    said = contradicted_problem([9, 7, 8], "reports")
    assert said.endswith(": region 7 (and 2 more) is declared dead and reports: the declaration is ignored")
