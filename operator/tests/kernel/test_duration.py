"""Durations are read and written as Go does."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from seawall.api.duration import Duration, format_duration, parse_duration

ADAPTER: TypeAdapter[timedelta] = TypeAdapter(Duration)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("24h", 86_400), ("1h30m", 5400), ("1h1m1s", 3661), ("90m", 5400), ("0h5s", 5)],
)
def test_durations_are_read(text: str, seconds: int) -> None:
    assert ADAPTER.validate_python(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "wrong", ["", "10", "1d", "s", "1.5h", "-1s", "10 m", "1m1h", "123456s", "1ms", 600, 1.5, None]
)
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(wrong)


@pytest.mark.parametrize("zero", ["0s", "0h0m0s"])
def test_a_duration_is_at_least_a_second(zero: str) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(zero)


@given(st.integers(0, 99_999 * 3600))
def test_what_is_written_is_read_as_the_same(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert parse_duration(format_duration(duration)) == duration
