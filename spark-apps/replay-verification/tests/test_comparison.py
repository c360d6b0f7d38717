"""What is compared of a snapshot, judged without Spark: a region only with the log of the topic that its cuts count."""

from __future__ import annotations

import pytest

from replay_verification.comparison import Plan, plan_comparison
from replay_verification.coverage import LogState
from replay_verification.report import NOT_COMPARED, Comparison
from replay_verification.request import Region, Topic
from sparkjob.integrity.findings import Kind
from sparkjob.snapshot import Cut, SnapshotRegion

REGION = 1
CUTS = (Cut(19, ("a.parquet",)), Cut(39, ("b.parquet",)))
ELSEWHERE = Comparison(NOT_COMPARED, "the snapshot has it on topic wal_0")


def topic(name: str, *regions: int, reads_from: int = 0) -> Topic:
    """A topic of the request, with [0, 40) to be read."""
    return Topic(name, f"id of {name}", 0, 0, 40, tuple(Region(region, reads_from, None) for region in regions))


def planned(*topics: Topic, of: str, end: int = 40, replays: bool = True, start: int = 0) -> Plan:
    """A plan for topics that all end here; the snapshot has the region on topic `of`."""
    snapshot = {REGION: SnapshotRegion(REGION, of, ("ts",), ("ts",), CUTS)}
    states = {each.name: LogState(each.topic_id, start, end, end) for each in topics}
    return plan_comparison(topics, snapshot, states, {REGION} if replays else set())


def test_a_region_is_compared_with_the_log_of_its_topic() -> None:
    plan = planned(topic("wal_0", REGION), of="wal_0")
    assert [(pair.older, pair.newer) for pair in plan.pairs] == [CUTS]
    assert plan.ranges() == {"wal_0": (20, 40)}
    assert (plan.left_out, plan.findings) == ({}, [])


def test_cuts_of_before_the_last_flush_are_no_proof_of_what_is_replayed_after_it() -> None:
    """The region has flushed since, and what it would read begins far beyond all that the snapshot has."""
    plan = planned(topic("wal_0", REGION, reads_from=5000), of="wal_0", start=10, end=6000)
    said = "its newest cut, at entry 39, lies before what it would read, from 5000 on: take the snapshot anew"
    assert (plan.pairs, plan.ranges(), plan.left_out) == ([], {}, {REGION: Comparison(NOT_COMPARED, said)})


@pytest.mark.parametrize("reads_from", [0, 30, 39, 40])
def test_cuts_that_reach_what_is_replayed_are_compared(reads_from: int) -> None:
    """The newest cut may be the newest flush."""
    plan = planned(topic("wal_0", REGION, reads_from=reads_from), of="wal_0", end=6000)
    assert ([(pair.older, pair.newer) for pair in plan.pairs], plan.left_out) == ([CUTS], {})
    assert REGION in planned(topic("wal_0", REGION, reads_from=41), of="wal_0", end=6000).left_out


def test_a_region_that_replays_nothing_needs_no_newer_cut() -> None:
    plan = planned(topic("wal_0", REGION, reads_from=5000), of="wal_0", end=6000, replays=False)
    assert ([(pair.older, pair.newer) for pair in plan.pairs], plan.left_out) == ([CUTS], {})


def test_cuts_on_a_topic_that_is_not_asked_for_are_not_compared() -> None:
    """Its log has no state, and is not read."""
    plan = planned(topic("wal_1", REGION), of="wal_0")
    assert (plan.pairs, plan.ranges(), plan.left_out) == ([], {}, {REGION: ELSEWHERE})


def test_cuts_on_another_topic_of_the_request_are_not_compared() -> None:
    """Else the log of one topic would be a proof of another one's."""
    plan = planned(topic("wal_0"), topic("wal_1", REGION), of="wal_0")
    assert (plan.pairs, plan.ranges(), plan.left_out) == ([], {}, {REGION: ELSEWHERE})


@pytest.mark.parametrize(("of", "kinds"), [("wal_1", [Kind.LOG_ENDS_BEFORE_CUT]), ("wal_0", [])])
def test_a_log_that_ends_before_the_cuts_of_another_topic_has_lost_nothing(of: str, kinds: list[Kind]) -> None:
    plan = planned(topic("wal_1", REGION), of=of, end=30)
    assert [finding.kind for finding in plan.findings] == kinds
    assert plan.left_out[REGION].outcome == NOT_COMPARED
