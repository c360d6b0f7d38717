"""Whether regions still have flushed what was decided by: the rule that is asked right before an announcement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from seawall.domain.dataplane.flush import Flushed, why_followed, why_less_flushed
from seawall.domain.dataplane.metadata import LeaderState, Route
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
LESS = "region 7 has flushed less than when it was looked at"
NEW = "region 7 has a leader on datanode 2 that is new"
SILENT = "region 7 is not reported by its leader any more"


def report(data: int | None, metadata: int | None = None, *, region: int = 7, datanode: int = 1) -> RegionReport:
    """What one datanode says of one region."""
    inner = None if metadata is None else InnerReport(metadata, None)
    return RegionReport(region, datanode, 1, RegionRole.LEADER, NOW, "mito", 0, InnerReport(data, None), inner)


@pytest.mark.parametrize(
    ("before", "reports", "why"),
    [
        (Flushed(1, 40), [report(40)], None),
        (Flushed(1, 40), [report(41)], None),
        (Flushed(1, 40), [report(39)], LESS),
        (Flushed(1, 40), [report(None)], LESS),
        (Flushed(1, 40, 50), [report(40, 50)], None),
        (Flushed(1, 40, 50), [report(40, 49)], LESS),
        (Flushed(1, 40, 50), [report(40)], LESS),
        (Flushed(1, 40, claimants=frozenset({1, 2})), [report(40), report(3, datanode=2)], None),
        (Flushed(1, 40, claimants=frozenset({1, 2})), [report(3, datanode=2)], SILENT),
        (Flushed(1, 40), [report(40), report(3, datanode=2)], NEW),
        (Flushed(1, 40), [report(3, datanode=2)], NEW),
        (Flushed(1, 40), [report(40, region=8)], SILENT),
        (Flushed(1, 40), [], SILENT),
    ],
)
def test_no_region_may_have_flushed_less(before: Flushed, reports: Sequence[RegionReport], why: str | None) -> None:
    assert why_less_flushed({7: before}, reports) == why


def follower(datanode: int) -> RegionReport:
    return replace(report(3, datanode=datanode), role=RegionRole.FOLLOWER)


@pytest.mark.parametrize(
    ("followers", "why"),
    [
        (None, None),
        (frozenset({2}), None),
        (frozenset(), "region 7 has a follower on datanode 2 that is new"),
        (frozenset({3}), "region 7 has a follower on datanode 2 that is new"),
    ],
)
def test_no_follower_may_be_new_where_they_count(followers: frozenset[int] | None, why: str | None) -> None:
    assert why_less_flushed({7: Flushed(1, 40, followers=followers)}, [report(40), follower(2)]) == why


def test_who_said_to_follow_when_it_was_decided_is_not_new() -> None:
    before = Flushed(1, 40, followers=frozenset({3}), unnamed=frozenset({2}))
    assert why_less_flushed({7: before}, [report(40), follower(2), follower(3)]) is None
    why = why_less_flushed({7: before}, [report(40), follower(4)])
    assert why == "region 7 has a follower on datanode 4 that is new"


@pytest.mark.parametrize(
    ("counted", "named", "why"),
    [
        (frozenset({3}), (3,), None),
        (frozenset({3}), (), None),
        (frozenset({3}), (2, 3), "region 7 has a follower on datanode 2 that is new"),
        (None, (2, 3), None),
    ],
)
def test_a_route_may_name_nobody_who_was_not_counted(
    counted: frozenset[int] | None, named: tuple[int, ...], why: str | None
) -> None:
    routes = {7: Route(1, LeaderState.NORMAL, 5, named), 8: Route(1, LeaderState.NORMAL, 5, (9,))}
    assert why_followed({7: Flushed(1, 40, followers=counted)}, routes) == why
    assert why_followed({6: Flushed(1, 40, followers=counted)}, routes) is None, "it is gone"


def test_a_leader_without_a_lease_is_no_follower() -> None:
    assert why_less_flushed({7: Flushed(1, 3, followers=frozenset())}, [follower(1)]) is None


def test_who_was_not_decided_by_does_not_matter() -> None:
    assert why_less_flushed({}, [report(None)]) is None
