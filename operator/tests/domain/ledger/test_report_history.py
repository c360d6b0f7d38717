"""See, then delete: what counts as evidence that every opener has seen the value."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seawall.domain.columns import Ids
from seawall.domain.ledger.report_history import (
    RETURNS,
    Evidence,
    ReportHistory,
    advance,
    freshness,
    watched_too_shortly,
)
from seawall.domain.ledger.tables import Freshness, Regions
from seawall.domain.ledger.vanished import Mapped, Vanished, find_vanished, vanished_topics

STALE_AFTER, GRACE = 60, 80


@dataclass
class Watched:
    """One region of one topic, looked at from time to time."""

    reports_history: ReportHistory

    def observe(self, now: int, report: int | None, leader: int = 1, epoch: int = 1, route: int = 1) -> None:
        self.regions = rows(1, report, leader, epoch if report is not None else None, route)
        self.now = now
        self.reports_history = observed(self.reports_history, self.regions, now)

    def too_shortly(self) -> bool:
        return bool(watched_too_shortly(self.reports_history, self.now, np.array([GRACE]))[0])

    def fresh(self, observed_at: int | None, grace: int = 0) -> Freshness:
        evidence = Evidence(Ids.of([observed_at]), np.array([grace]))
        return freshness(self.reports_history, self.regions, self.now, np.array([STALE_AFTER]), evidence)

    def reported_twice(self, observed_at: int | None, grace: int = 0) -> bool:
        return bool(self.fresh(observed_at, grace).reported_twice[0])

    def stale(self) -> bool:
        return bool(self.fresh(None).stale[0])

    def settled(self) -> bool:
        return bool(self.fresh(None).settled[0])


def observed(before: ReportHistory, regions: Regions, now: int) -> ReportHistory:
    return advance(before, ("wal_0",), regions, now, keep_vanished=GRACE, longest_pause=GRACE)


def rows(count: int, report: int | None, leader: int, epoch: int | None, route: int) -> Regions:
    """So many rows of one region: one or none."""
    none, no = Ids.unknown(count), np.zeros(count, np.bool_)
    return Regions(
        topic=np.zeros(count, np.int64),
        region=np.array([2**63 + 7] * count, np.uint64),
        leader=Ids.of([leader] * count),
        route_revision=Ids.of([route] * count),
        key_revision=Ids.of([route] * count),
        epoch=Ids.of([epoch] * count),
        reported_at=Ids.of([report] * count),
        data_flushed=none,
        data_checkpoint=none,
        data_idle=none,
        metric=no,
        metadata_flushed=none,
        metadata_checkpoint=none,
        metadata_idle=none,
        opening=no,
        idle_is_durable=no,
        dropped=no,
    )


def watched(*reports: int | None) -> Watched:
    """Looks at 10, 20, 30 … with these reports."""
    found = Watched(ReportHistory.none(0))
    for number, report in enumerate(reports):
        found.observe(10 * (number + 1), report)
    return found


def test_two_advances_after_the_value_was_seen_are_enough_and_one_is_not() -> None:
    assert not watched(1, 2, 3).reported_twice(observed_at=15)  # 2 arrived after 10, 3 after 20
    assert watched(1, 2, 3, 4).reported_twice(observed_at=15)
    assert not watched(1, 2, 3, 3, 3).reported_twice(observed_at=15)
    assert not watched(1, 2, 3, 4).reported_twice(observed_at=None)


def test_the_first_report_is_no_advance() -> None:
    assert watched(9).stale()
    assert not watched(8, 9).stale()


def test_an_age_counts_by_the_operators_clock() -> None:
    found = watched(1, 2)
    found.observe(20 + STALE_AFTER, 2)
    assert not found.stale()
    found.observe(21 + STALE_AFTER, 2)
    assert found.stale()


def test_a_datanode_whose_clock_is_hours_off_is_as_good() -> None:
    hours = 7_200_000
    for clock in (hours, 10**12 - hours):
        found = watched(clock, clock + 1, clock + 2, clock + 3)
        assert not found.stale()
        assert found.reported_twice(observed_at=15)


def test_a_new_epoch_a_new_leader_or_a_new_route_starts_over() -> None:
    for change in ({"epoch": 2}, {"leader": 2}, {"route": 2}):
        found = watched(1, 2, 3, 4)
        found.observe(50, 5, **change)
        assert not found.reported_twice(observed_at=0)
        assert not found.settled()
        assert found.stale()
        for number in range(3):
            found.observe(60 + 10 * number, 6 + number, **change)
        assert found.reported_twice(observed_at=55)
        assert found.settled()


def test_a_report_of_the_epoch_before_neither_counts_nor_starts_over() -> None:
    found = watched(1, 2, 3, 4)
    found.observe(50, 9, epoch=0)
    assert found.stale()
    found.observe(60, 5)
    assert found.reported_twice(observed_at=15)


def test_a_datanode_that_was_restored_with_an_older_epoch_is_believed_after_a_while_and_starts_over() -> None:
    """Found here: it was stale until the operator restarted."""
    found = watched(1, 2, 3, 4)
    for number in range(4):
        found.observe(50 + 10 * number, 5 + number, epoch=0)
        assert found.stale(), number
    found.observe(90, 9, epoch=0)
    assert not found.stale(), "the third advance began a new streak, and this one is its first"
    assert not found.settled()
    assert not found.reported_twice(observed_at=0), "no evidence is taken over"
    for number in range(2):
        found.observe(100 + 10 * number, 10 + number, epoch=0)
    assert found.reported_twice(observed_at=75)
    assert found.settled()


def test_a_datanode_whose_clock_was_set_back_is_believed_after_a_while_and_starts_over() -> None:
    found = watched(1001, 1002, 1003, 1004)
    for number in range(5):
        found.observe(50 + 10 * number, number)
    assert not found.stale()
    assert not found.settled()
    assert not found.reported_twice(observed_at=0)


def test_two_processes_that_report_in_turn_are_never_believed_the_older_one() -> None:
    found = watched(1, 2, 3, 4)
    for number in range(20):
        found.observe(50 + 10 * number, 5 + number, epoch=number % 2)
        if number % 2 == 0:
            assert found.stale()


def test_a_copy_that_is_repeated_is_never_believed() -> None:
    found = watched(1, 2, 3, 4)
    for number in range(20):
        found.observe(50 + 10 * number, 3, epoch=0)
        assert found.stale()


REPORTS = st.lists(st.none() | st.tuples(st.integers(0, 2), st.integers(0, 6)), min_size=1, max_size=16)


@settings(deadline=None)
@given(REPORTS)
def test_what_went_back_proves_nothing_before_it_advanced_again_and_again(
    reports: list[tuple[int, int] | None],
) -> None:
    """I5: an older report never widens what may be deleted, whatever came in which order."""
    found = Watched(ReportHistory.none(0))
    heard: list[tuple[int, int]] = []
    for number, one in enumerate(reports):
        found.observe(10 * (number + 1), one[1] if one else None, epoch=one[0] if one else 1)
        heard += [one] if one else []
        if one is None or one >= max(heard):
            continue
        advances = 0
        for earlier, later in itertools.pairwise(reversed(heard)):
            if earlier[0] != later[0] or earlier < later or later > one:
                break
            advances += earlier > later
        assert found.stale()
        assert not found.reported_twice(observed_at=0)
        assert not found.settled()
        if advances >= RETURNS:
            return  # it is believed, and all that came before is forgotten


def test_an_old_report_that_is_repeated_is_stale() -> None:
    found = watched(1, 2, 3, 2)
    assert found.stale()
    assert not found.settled()
    found.observe(50, 4)
    assert not found.stale()


def test_a_missing_report_does_not_start_over() -> None:
    found = watched(1, 2, None, 3, 4)
    assert found.reported_twice(observed_at=15)


def test_a_leader_is_settled_after_three_advances() -> None:
    """The first may have been on its way since before the route was read."""
    assert [watched(*range(1, count + 1)).settled() for count in range(1, 6)] == [False, False, False, True, True]


def test_open_grace_is_a_minimum_on_top() -> None:
    found = watched(1, 2, 3, 4)
    assert not found.reported_twice(observed_at=15, grace=GRACE)
    found.observe(15 + GRACE, 5)
    assert found.reported_twice(observed_at=15, grace=GRACE)


def test_an_operator_that_restarts_waits_again() -> None:
    found = watched(1, 2, 3, 4)
    restarted = Watched(ReportHistory.none(45))
    restarted.observe(50, 5)
    assert restarted.stale()
    assert not restarted.reported_twice(observed_at=0)
    assert found.reported_twice(observed_at=15)


def test_looks_that_fail_watch_nothing() -> None:
    """The grace of a start begins with the first that succeeds, and anew after a pause in which none did."""
    found = Watched(ReportHistory.none(0))
    for now, too_shortly in (
        (GRACE, True),
        (2 * GRACE - 1, True),
        (2 * GRACE, False),
        (3 * GRACE, False),
        (4 * GRACE + 1, True),
        (5 * GRACE + 1, False),
    ):
        found.observe(now, now)
        assert found.too_shortly() is too_shortly, now


def test_a_region_that_vanished_is_missed_for_one_grace() -> None:
    found = watched(1, 2)
    nothing = rows(0, None, 1, None, 1)
    after = observed(found.reports_history, nothing, 30)
    assert vanished_topics(after.vanished, 30, lambda _: GRACE) == {"wal_0"}
    later = observed(after, nothing, 29 + GRACE)
    assert vanished_topics(later.vanished, 29 + GRACE, lambda _: GRACE) == {"wal_0"}
    assert vanished_topics(later.vanished, 30 + GRACE, lambda _: GRACE) == frozenset()
    back = observed(after, found.regions, 40)
    assert back.vanished == ()


TABLES = st.sets(st.tuples(st.sampled_from(["wal_0", "wal_1", "wal_2"]), st.integers(7, 9)))


@settings(deadline=None)
@given(st.lists(TABLES, max_size=8))
def test_each_topic_misses_its_own_regions(tables: list[set[tuple[str, int]]]) -> None:
    """A region may have several topics, and any of them may lose it: the other way round, pair by pair."""
    before, missed = Mapped.none(), tuple[Vanished, ...]()
    expected: dict[tuple[str, int], int] = {}
    last: set[tuple[str, int]] = set()
    for now, table in enumerate(tables):
        expected = {pair: at for pair, at in expected.items() if pair not in table and now - at < GRACE // 40}
        expected |= dict.fromkeys(last - table, now)
        names = tuple(sorted({topic for topic, _ in table}))
        rows = sorted(table, key=lambda pair: (hash(pair[1]), pair[0]))
        topic = np.array([names.index(name) for name, _ in rows], np.int64)
        mapped = Mapped(names, topic, np.array([region for _, region in rows], np.uint64))
        missed = find_vanished(before, missed, mapped, now=now, keep=GRACE // 40)
        assert {(gone.topic, gone.region): gone.missed_at for gone in missed} == expected
        before, last = mapped, table


def test_a_topic_that_loses_a_region_that_is_in_another_one_misses_it_all_the_same() -> None:
    both = replace(rows(2, 1, 1, 1, 1), topic=np.array([0, 1], np.int64))
    names = ("wal_0", "wal_1")
    for stays, loses in ((0, "wal_1"), (1, "wal_0")):
        before = advance(ReportHistory.none(0), names, both, 10, keep_vanished=GRACE, longest_pause=GRACE)
        alone = replace(rows(1, 2, 1, 1, 1), topic=np.array([stays], np.int64))
        after = advance(before, names, alone, 20, keep_vanished=GRACE, longest_pause=GRACE)
        assert vanished_topics(after.vanished, 20, lambda _: GRACE) == {loses}


def test_a_table_of_other_regions_is_not_taken_for_that_of_the_last_look() -> None:
    """It has as many rows, in which other regions stand: of those nothing was seen."""
    found = watched(1, 2, 3, 4, 5)
    assert found.settled()
    found.regions = replace(found.regions, region=np.array([2**63 + 8], np.uint64))
    assert found.stale()
    assert not found.settled()
    assert not found.reported_twice(observed_at=0)
