"""Topics as bars: where what goes ends and what stays begins, who holds, and which of many are shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.domain.ledger.page import TopicLine
from seawall.domain.overview.findings import Finding, Severity, newest_first
from seawall.domain.overview.topic_bars import SHOWN, TopicBar, bar_of, page_of_bars
from tests.domain.purges import make_line
from tests.fakes.kube import FakeKube

LINE = make_line("wal_1", 100)


def hold(state: str, **granted: object) -> WALHold:
    """A hold that was granted so much; `all_` is all topics."""
    kube, key = FakeKube(), Key("db", "backup")
    topics = {"*" if name == "all_" else name: offset for name, offset in granted.items()}
    kube.apply(key, {"clusterRef": {"name": "wal"}, "topics": topics}, kind=WALHold)
    kube.write_raw_status(key, WALHold, {"state": state, "granted": topics})
    found = kube.get(WALHold, key)
    assert found is not None
    return found


def places(bar: TopicBar) -> dict[str, float]:
    return {mark.what: mark.at for mark in bar.marks}


def test_a_bar_goes_from_what_goes_to_what_stays() -> None:
    bar = bar_of(replace(LINE, log_start=100, marker=150, floor=200, purge_to=180, high_watermark=300), ())
    assert places(bar) == {"start": 0, "marker": 25, "floor": 50, "end": 100}
    assert (bar.purged_from, bar.kept_from) == (0, 40)
    assert bar.text == "start 100, marker 150, floor 200, end 300"


@pytest.mark.parametrize(
    ("line", "purged", "kept"),
    [
        (replace(LINE, log_start=50, purge_to=None), None, 0),
        (replace(LINE, log_start=50, purge_to=50), None, 0),
        (replace(LINE, log_start=50, purge_to=7), None, 0),
        (replace(LINE, log_start=0, purge_to=500), 0, 100),
        (replace(LINE, log_start=100, floor=None, marker=None, purge_to=None), None, 0),
    ],
    ids=["nothing goes", "nothing is left to go", "it has gone", "no more than there is", "an empty log"],
)
def test_no_more_goes_than_is_there(line: TopicLine, purged: float | None, kept: float) -> None:
    bar = bar_of(replace(line, marker=None, floor=None), ())
    assert (bar.purged_from, bar.kept_from) == (purged, kept)


def test_what_the_database_needs_may_be_gone() -> None:
    """The bar begins at the floor then, and the log is only its right part."""
    bar = bar_of(replace(LINE, log_start=60, marker=20, floor=20, purge_to=None), ())
    assert places(bar) == {"marker": 0, "floor": 0, "start": 50, "end": 100}
    assert (bar.purged_from, bar.kept_from) == (None, 50)


def test_a_log_that_kafka_did_not_tell_of_has_no_bar() -> None:
    for line in (replace(LINE, log_start=None), replace(LINE, high_watermark=None)):
        bar = bar_of(line, (hold("Active", wal_1=7),))
        assert (bar.marks, bar.purged_from, bar.kept_from) == ((), None, None)
        assert bar.text == "Kafka has not told where this log begins and ends"


def test_holds_that_count_are_shown_where_they_hold() -> None:
    assert places(bar_of(LINE, (hold("Active", wal_1=30),)))["hold"] == 30
    assert places(bar_of(replace(LINE, log_start=20), (hold("Active", all_="earliest"),)))["hold"] == 0
    for other in (hold("Active", wal_2=30), hold("Released", wal_1=30), hold("Lost", wal_1=30)):
        assert "hold" not in places(bar_of(LINE, (other,)))
    assert "hold backup 30" in bar_of(LINE, (hold("Active", wal_1=30),)).text


def test_many_topics_are_pages_of_the_largest_first() -> None:
    lines = [make_line(f"wal_{number}", None if number == 7 else number) for number in range(2 * SHOWN + 1)]
    first, last = page_of_bars(lines, (), "", 1), page_of_bars(lines, (), "", 99)
    assert (first.total, first.pages, len(first.bars), first.bars[0].line.name) == (201, 3, SHOWN, "wal_200")
    assert (last.number, {bar.line.name for bar in last.bars} <= {"wal_0", "wal_7"}) == (3, True)
    assert page_of_bars(lines, (), "", 0).number == 1
    some = page_of_bars(lines, (), "wal_1?", 1)
    assert (some.total, some.pages) == (10, 1)
    assert (page_of_bars(lines, (), "nothing", 5).total, page_of_bars(lines, (), "nothing", 5).pages) == (0, 1)


def test_findings_are_newest_first_and_those_without_a_time_last() -> None:
    noon = datetime(2026, 11, 26, 12, tzinfo=UTC)

    def finding(name: str, severity: Severity, since: datetime | None) -> Finding:
        return Finding(severity, name, "Ready", "Reason", name, since)

    found = newest_first(
        [
            finding("d", Severity.BROKEN, None),
            finding("b", Severity.BROKEN, noon),
            finding("c", Severity.DISASTER, noon - timedelta(hours=1)),
            finding("e", Severity.DISASTER, None),
            finding("a", Severity.STALLED, noon),
        ]
    )
    assert [each.object for each in found] == ["a", "b", "c", "e", "d"]
