"""When runs are due: tables for both changes of the clocks, and properties over many zones."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seawall.api.cron import CRON_PATTERN
from seawall.api.v1alpha1.policy import WALPurgePolicySpec
from seawall.domain.schedule import BadSchedule, Schedule, ScheduleReason, read_schedule

ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)


def spec(**fields: Any) -> WALPurgePolicySpec:
    return WALPurgePolicySpec.model_validate({"clusterRef": {"name": "wal"}, **fields})


def schedule(expression: str, zone: str | None = None, anchor: datetime = ANCHOR) -> Schedule:
    found = read_schedule(spec(schedule=expression, **({"timeZone": zone} if zone else {})), anchor)
    assert not isinstance(found, BadSchedule), found
    return found


def at(text: str) -> datetime:
    """`10-25 00:30` in 2026, UTC."""
    return datetime.strptime(f"2026-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def times(found: Schedule, start: str, count: int) -> list[str]:
    due, recorded = at(start), []
    for _ in range(count):
        due = found.following(due)
        recorded.append(due.strftime("%m-%d %H:%M"))
    return recorded


# Berlin: on March 29th 02:00 becomes 03:00 (01:00 UTC); on October 25th 03:00 becomes 02:00 (01:00 UTC).
@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        pytest.param("30 2 * * *", "03-28 00:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"], id="skipped, made up"),
        pytest.param("0,30 2 * * *", "03-28 12:00", ["03-29 01:00", "03-30 00:00"], id="two skipped, made up by one"),
        pytest.param("30 2 * * *", "10-24 12:00", ["10-25 00:30", "10-26 01:30"], id="comes twice, counts once"),
        pytest.param("30 2 * * *", "10-25 01:10", ["10-26 01:30"], id="asked within the hour that comes twice"),
        pytest.param("0 3 * * *", "03-28 12:00", ["03-29 01:00", "03-30 01:00"], id="right after the skip"),
        pytest.param("15 * * * *", "03-29 00:00", ["03-29 00:15", "03-29 01:15", "03-29 02:15"], id="hourly, spring"),
        pytest.param("15 * * * *", "10-25 00:00", ["10-25 00:15", "10-25 01:15", "10-25 02:15"], id="hourly, autumn"),
        pytest.param("*/30 * * * *", "10-25 00:00", ["10-25 00:30", "10-25 01:00", "10-25 01:30"], id="often, autumn"),
        pytest.param("0 12 * * *", "03-28 00:00", ["03-28 11:00", "03-29 10:00"], id="local noon moves in UTC"),
    ],
)
def test_changes_of_the_clocks(expression: str, start: str, expected: list[str]) -> None:
    assert times(schedule(expression, "Europe/Berlin"), start, len(expected)) == expected


@pytest.mark.parametrize(
    ("now", "latest"),
    [
        ("10-25 00:29", "10-24 00:30"),
        ("10-25 00:30", "10-25 00:30"),
        ("10-25 00:59", "10-25 00:30"),
        ("10-25 01:10", "10-25 00:30"),
        ("10-25 01:45", "10-25 00:30"),
        ("03-29 00:59", "03-28 01:30"),
        ("03-29 01:00", "03-29 01:00"),
        ("03-29 23:00", "03-29 01:00"),
    ],
)
def test_the_latest_time_around_changes_of_the_clocks(now: str, latest: str) -> None:
    """At 01:10 UTC the local clock shows 02:10 once more: what was due at the first 02:30 must not be forgotten."""
    assert schedule("30 2 * * *", "Europe/Berlin").latest(ANCHOR, at(now)) == at(latest)


def test_without_a_zone_times_are_utc() -> None:
    assert times(schedule("30 2 * * *"), "03-28 12:00", 2) == ["03-29 02:30", "03-30 02:30"]


def test_many_missed_times_are_one() -> None:
    found = schedule("*/10 * * * *")
    assert found.latest(at("03-01 00:00"), at("03-04 10:19")) == at("03-04 10:10")
    assert found.latest(at("03-04 10:10"), at("03-04 10:19")) is None


def test_an_interval_counts_from_its_anchor() -> None:
    found = read_schedule(spec(interval="1h30m"), at("03-01 00:10"))
    assert not isinstance(found, BadSchedule)
    assert found.latest(at("03-01 00:10"), at("03-01 01:39")) is None
    assert found.latest(at("03-01 00:10"), at("03-01 01:40")) == at("03-01 01:40")
    assert found.latest(at("03-01 00:10"), at("03-02 00:00")) == at("03-01 22:40")
    assert found.following(at("03-01 01:40")) == at("03-01 03:10")
    assert found.following(at("03-01 01:39")) == at("03-01 01:40")


@pytest.mark.parametrize(
    ("expression", "zone", "reason"),
    [
        ("61 * * * *", None, ScheduleReason.INVALID_SCHEDULE),
        ("every day", None, ScheduleReason.INVALID_SCHEDULE),
        ("@hourly", None, ScheduleReason.INVALID_SCHEDULE),
        ("0 */10 * * * *", None, ScheduleReason.INVALID_SCHEDULE),
        ("* * * *", None, ScheduleReason.INVALID_SCHEDULE),
        ("0 0 * * MON#5/2", None, ScheduleReason.INVALID_SCHEDULE),
        ("0 0 30 2 *", None, ScheduleReason.INVALID_SCHEDULE),
        ("* * */20 * 1L", None, ScheduleReason.NEVER_FIRES),
        ("0 * * * *", "Mars/Olympus", ScheduleReason.UNKNOWN_TIME_ZONE),
        ("0 * * * *", "europe/berlin", ScheduleReason.UNKNOWN_TIME_ZONE),
        ("0 * * * *", "../../etc/passwd", ScheduleReason.UNKNOWN_TIME_ZONE),
        ("0 * * * *", "/etc/localtime", ScheduleReason.UNKNOWN_TIME_ZONE),
        ("0 * * * *", "localtime", ScheduleReason.UNKNOWN_TIME_ZONE),
        ("0 * * * *", "Europe", ScheduleReason.UNKNOWN_TIME_ZONE),
    ],
)
def test_a_bad_schedule_is_a_value_with_its_sentence(expression: str, zone: str | None, reason: ScheduleReason) -> None:
    declared = spec(schedule=expression).model_copy(update={"time_zone": zone})
    found = read_schedule(declared, ANCHOR)
    assert isinstance(found, BadSchedule)
    assert found.reason is reason
    assert (zone or expression) in found.message


@settings(max_examples=300)
@given(st.text("0123456789*/-,#LW MONFEB@", min_size=1, max_size=40))
@example("1#1-2#2 * * * *")
@example("0 0 L-3 * *")
@example("0 0 1W,L/2 * MON#5,2L")
def test_no_expression_is_an_error_of_ours(expression: str) -> None:
    found = read_schedule(spec(schedule=expression), ANCHOR)
    if not isinstance(found, BadSchedule):
        assert found.following(ANCHOR) > ANCHOR
        assert re.search(CRON_PATTERN, expression), "the API server takes what can be read"


_TERMS = st.sampled_from(
    (
        "*",
        "0",
        "5",
        "05",
        "59",
        "60",
        "23",
        "31",
        "12",
        "7",
        "1-5",
        "*/5",
        "1-5/2",
        "L",
        "LW",
        "MON",
        "jan",
        "1#2",
        "5L",
    )
)


@settings(max_examples=300)
@given(st.lists(st.lists(_TERMS, min_size=1, max_size=3).map(",".join), min_size=5, max_size=5).map(" ".join))
def test_the_api_server_takes_what_can_be_read(expression: str) -> None:
    found = read_schedule(spec(schedule=expression), ANCHOR)
    if not isinstance(found, BadSchedule) or found.reason is not ScheduleReason.INVALID_SCHEDULE:
        assert re.search(CRON_PATTERN, expression)


@pytest.mark.parametrize(
    "expression",
    ["every day", "@hourly", "0 */10 * * * *", "* * * *", "60 * * * *", "0 24 * * *", "0 0 0 * *", "*/0 * * * *"],
)
def test_the_api_server_refuses_what_cannot_be_read(expression: str) -> None:
    assert not re.search(CRON_PATTERN, expression)


EXPRESSIONS = (
    "30 2 * * *",
    "*/7 * * * *",
    "0 */2 * * *",
    "15,45 0-4 * * *",
    "5 * * * *",
    "0 0 * * 0",
    "59 23 28-31 * *",
)
# Not Lord Howe, whose clocks change by half an hour: there cronsim, looking ahead, can pass over a time.
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu", "America/St_Johns")
CHANGES = [
    at(text) for text in ("03-29 01:00", "10-25 01:00", "03-08 07:00", "11-01 06:00", "02-15 02:00", "03-22 02:00")
]


@settings(max_examples=300)
@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(ZONES),
    st.sampled_from(CHANGES),
    st.integers(-7200, 7200),
    st.integers(0, 50 * 3600),
)
def test_looking_back_sees_what_looking_ahead_saw(
    expression: str, zone: str, change: datetime, offset: int, window: int
) -> None:
    """The latest time up to now is the last of those that follow one another until now."""
    found = schedule(expression, zone)
    now = change + timedelta(seconds=offset)
    after = now - timedelta(seconds=window)
    due, latest = found.following(after), None
    while due <= now:
        latest, before = due, due
        due = found.following(due)
        assert due > before
    assert found.latest(after, now) == latest
