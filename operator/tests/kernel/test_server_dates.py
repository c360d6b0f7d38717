"""What the Date headers of answers tell of the API server's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from seawall.adapters.clock import ServerDates

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOON_DATE = "Sat, 21 Nov 2026 12:00:00 GMT"


class Monotonic:
    """A clock that passes when the test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def hear(dates: ServerDates, clock: Monotonic, date: str | None, *, took: float) -> None:
    """One request and its answer."""
    begun = dates.begin()
    clock.seconds += took
    dates.hear(begun, date)


def test_a_date_is_from_the_middle_of_its_way_and_of_its_second() -> None:
    clock = Monotonic()
    dates = ServerDates(clock)
    hear(dates, clock, NOON_DATE, took=4.0)
    reported = dates.newest()
    assert reported is not None
    assert reported.time == NOON + timedelta(seconds=2.5), "half a second that is cut, and half of the time on its way"
    assert reported.uncertainty == timedelta(seconds=2.5)
    assert reported.age == timedelta(seconds=2)
    clock.seconds += 30
    later = dates.newest()
    assert later is not None
    assert (later.time, later.age) == (reported.time + timedelta(seconds=30), timedelta(seconds=32))


def test_an_answer_that_was_overtaken_by_a_newer_one_changes_nothing() -> None:
    clock = Monotonic()
    dates = ServerDates(clock)
    slow = dates.begin()
    clock.seconds += 8
    hear(dates, clock, "Sat, 21 Nov 2026 12:00:08 GMT", took=0.0)
    before = dates.newest()
    dates.hear(slow, NOON_DATE)
    assert dates.newest() == before


@pytest.mark.parametrize("date", [None, "", "soon", "Sat, 99 Nov 2026 12:00:00 GMT"])
def test_an_answer_without_a_date_tells_nothing_and_takes_nothing_back(date: str | None) -> None:
    clock = Monotonic()
    dates = ServerDates(clock)
    hear(dates, clock, date, took=1.0)
    assert dates.newest() is None
    hear(dates, clock, NOON_DATE, took=0.0)
    before = dates.newest()
    hear(dates, clock, date, took=0.0)
    assert dates.newest() == before
