"""Regions that a datanode says it leads and no metadata know: which topics they stop, for how long, who is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.dataplane.region_reports import EPOCH
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.page import topic_lines
from seawall.domain.ledger.report_history import ReportHistory
from seawall.domain.ledger.unplaced import Unplaced, UnplacedWatch, stopped_topics, watch_unplaced
from seawall.domain.ledger.vanished import Mapped
from tests.domain.ledger.simulation.world import GRACE, World
from tests.domain.ledger.test_scenarios import flush_all, grown, plan_of, purge, sentence

GONE, STRANGER = 3, 99


def says_it_leads(world: World, region: int = STRANGER, at: int = 0, epoch: int = 1) -> None:
    """What the metasrv has of datanode 3 is this; it stays so."""
    when = EPOCH + timedelta(milliseconds=at)
    report = RegionReport(region, GONE, epoch, RegionRole.LEADER, when, "mito", 0, InnerReport(0, None))
    kept = [each for each in world.database.delivered if each.datanode_id != GONE]
    world.database.delivered = [*kept, DatanodeReport(GONE, "node-3", epoch, when, (report,))]


def wait_out(world: World, until: int) -> None:
    """Everybody lives on for so long, and observes often enough."""
    while world.database.now < until:
        world.beat(wait=GRACE // 4)


@pytest.mark.parametrize("restarts", [False, True])
def test_what_a_datanode_that_is_gone_said_of_a_dropped_region_stops_the_pool_for_one_grace(*, restarts: bool) -> None:
    world = grown(Mode.B, operators=1)
    flush_all(world)
    says_it_leads(world)
    began = world.database.now
    if restarts:
        world.operators[0].start()
    world.beat(3)
    assert sentence(world) == "RegionUnmapped"
    wait_out(world, began + GRACE // 2)
    assert world.logs["wal_0"].log_start == 0
    wait_out(world, began + 2 * GRACE)
    assert purge(world) > 1
    world.restart_everything()


def test_the_line_names_the_region_the_datanode_and_for_how_long_it_has_said_nothing_new() -> None:
    world = grown(Mode.B, operators=1)
    says_it_leads(world)
    world.beat()
    (line,) = topic_lines(plan_of(world))
    assert f"(no metadata know region {STRANGER}, which datanode {GONE} says it leads" in line.message
    watch = UnplacedWatch(Unplaced(STRANGER, GONE, 1, 5), since=1_000, topic=None)
    found = stopped_topics([watch], ["wal_0"], 6_900, open_grace=120_000, others_report=True)
    assert found["wal_0"].endswith("in a report that has not changed for 5 s")


@pytest.mark.parametrize("changes", [{"at": 1}, {"epoch": 2}])
def test_a_report_that_changes_counts_for_one_grace_more(changes: dict[str, int]) -> None:
    world = grown(Mode.B, operators=1)
    flush_all(world)
    says_it_leads(world)
    world.beat(3)
    wait_out(world, world.database.now + GRACE // 2)
    says_it_leads(world, **changes)
    wait_out(world, world.database.now + GRACE // 2)
    assert sentence(world) == "RegionUnmapped"


def test_a_region_that_lives_stops_the_pool_for_as_long_as_it_does() -> None:
    """Its metadata are not written yet, or those that are read are another database's."""
    world = grown(Mode.B, operators=1)
    flush_all(world)
    for number in range(8):
        says_it_leads(world, at=number)
        wait_out(world, world.database.now + GRACE // 2)
        assert sentence(world) == "RegionUnmapped"
    assert world.logs["wal_0"].log_start == 0


def test_while_nobody_else_reports_either_silence_is_no_proof() -> None:
    """Whoever answers may repeat what it once heard: of a pool whose regions are all silent nothing is known."""
    report = Unplaced(STRANGER, GONE, 1, 5)
    watch = UnplacedWatch(report, since=0, topic=None)
    for others_report, expected in ((True, set()), (False, {"wal_0"})):
        found = stopped_topics([watch], ["wal_0"], 10**9, open_grace=1, others_report=others_report)
        assert set(found) == expected


def test_a_dropped_region_that_is_reported_for_a_moment_stops_its_own_topic_alone() -> None:
    world = World(Mode.B, topics=2, operators=1, keeps_tombstones=False)
    for number in (0, 1):
        world.database.create(number, f"wal_{number}", number, 1, 0)
    world.beat(30)
    dropped = world.database.processes[0].regions[0]
    world.database.drop(0)
    says_it_leads(world, region=0)
    world.beat(1)
    assert dropped.leads
    lines = topic_lines(plan_of(world))
    assert [line.name for line in lines if line.reason == "RegionUnmapped"] == ["wal_0"]
    assert "region 0, which datanode 3" in lines[0].message


def test_a_region_whose_topic_is_in_doubt_stops_all() -> None:
    """It was said to be of two topics in the last observation, so which it writes to is not known."""
    last = replace(
        ReportHistory.none(0),
        mapped=Mapped(("wal_0", "wal_1"), np.array([0, 1, 1]), np.array([STRANGER, STRANGER, 100], np.uint64)),
        region=np.array([STRANGER, 100], np.uint64),
        rows_of_table=np.array([0, 0, 1], np.int64),
    )
    doubted, known = Unplaced(STRANGER, GONE, 1, 1), Unplaced(100, GONE, 1, 1)
    assert [each.topic for each in watch_unplaced((), (doubted, known), last, 5)] == [None, "wal_1"]


def test_what_was_known_of_a_region_stays_known_whoever_reports_it() -> None:
    first = UnplacedWatch(Unplaced(STRANGER, GONE, 1, 1), 0, "wal_1")
    again = (first.report, Unplaced(STRANGER, 4, 9, 9))
    found = watch_unplaced((first,), again, ReportHistory.none(0), 7)
    assert found == (first, UnplacedWatch(again[1], 7, "wal_1"))


OBSERVATIONS = st.lists(
    st.tuples(
        st.integers(1, 60),
        st.lists(st.builds(Unplaced, st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 3)),
                 max_size=3, unique_by=lambda each: (each.region, each.datanode)),
        st.booleans(),
    ),
    max_size=12,
)  # fmt: skip


@given(OBSERVATIONS)
def test_nothing_is_let_go_but_what_has_been_the_same_for_a_grace_while_others_reported(
    observations: Sequence[tuple[int, list[Unplaced], bool]],
) -> None:
    """The other way round: every report that is not as it was one grace ago, in each observation since, stops all."""
    watches: tuple[UnplacedWatch, ...] = ()
    seen: list[tuple[int, list[Unplaced]]] = []
    now = 0
    for pause, reports, others_report in observations:
        now += pause
        seen.append((now, reports))
        watches = watch_unplaced(watches, reports, ReportHistory.none(0), now)
        found = stopped_topics(watches, ["wal_0"], now, open_grace=100, others_report=others_report)
        counting = [each for each in reports if not (others_report and _same_since(each, seen) <= now - 100)]
        assert set(found) == ({"wal_0"} if counting else set())
        assert all(f"region {each.region}," in found["wal_0"] for each in counting[:1] if len(counting) == 1)


def _same_since(report: Unplaced, seen: Sequence[tuple[int, list[Unplaced]]]) -> int:
    """The first of the last observations that all had it."""
    found = seen[-1][0]
    for when, reports in reversed(seen):
        if report not in reports:
            break
        found = when
    return found
