"""Whether regions still have flushed what was decided by: the rule that is asked right before an announcement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from seawall.domain.dataplane.flush import Flushed, why_less_flushed
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
LESS = "region 7 has flushed less than when it was looked at"
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
        (Flushed(1, 40), [report(40), report(3, datanode=2)], None),
        (Flushed(1, 40), [report(3, datanode=2)], SILENT),
        (Flushed(1, 40), [report(40, region=8)], SILENT),
        (Flushed(1, 40), [], SILENT),
    ],
)
def test_no_region_may_have_flushed_less(before: Flushed, reports: Sequence[RegionReport], why: str | None) -> None:
    assert why_less_flushed({7: before}, reports) == why


def test_who_was_not_decided_by_does_not_matter() -> None:
    assert why_less_flushed({}, [report(None)]) is None
