"""When two clocks agree, and what time it is then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from seawall.domain.clocks import Agreement, ServerTime, TrustedTime
from seawall.domain.times import CLOCKS_AGREE, CLOCKS_FRESH

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOTHING, A_BIT, SECOND = timedelta(0), timedelta(milliseconds=1), timedelta(seconds=1)


def reported(ahead: timedelta, uncertainty: timedelta = NOTHING, age: timedelta = NOTHING) -> TrustedTime:
    """At noon by the operator's clock, which is so much ahead."""
    return TrustedTime(NOON, ServerTime(NOON - ahead, uncertainty, age))


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (reported(CLOCKS_AGREE), Agreement.AGREE),
        (reported(-CLOCKS_AGREE), Agreement.AGREE),
        (reported(CLOCKS_AGREE + A_BIT), Agreement.SKEWED),
        (reported(-CLOCKS_AGREE - A_BIT), Agreement.SKEWED),
        (reported(CLOCKS_AGREE - SECOND, SECOND), Agreement.AGREE),
        (reported(CLOCKS_AGREE - SECOND, SECOND + A_BIT), Agreement.UNKNOWN),
        (reported(CLOCKS_AGREE + SECOND, SECOND), Agreement.UNKNOWN),
        (reported(CLOCKS_AGREE + SECOND + A_BIT, SECOND), Agreement.SKEWED),
        (reported(NOTHING, age=CLOCKS_FRESH), Agreement.AGREE),
        (reported(NOTHING, age=CLOCKS_FRESH + A_BIT), Agreement.UNKNOWN),
        (reported(2 * CLOCKS_AGREE, age=CLOCKS_FRESH + A_BIT), Agreement.UNKNOWN),
        (TrustedTime(NOON, None), Agreement.UNKNOWN),
    ],
)
def test_clocks_agree_when_they_certainly_are_not_further_apart_than_ten_seconds(
    time: TrustedTime, expected: Agreement
) -> None:
    assert time.agreement is expected
    is_judged = expected is Agreement.AGREE
    assert (time.problem is None, time.earliest is not None, time.latest is not None) == (is_judged,) * 3


def test_the_safe_one_of_both_clocks_counts_in_each_direction() -> None:
    ahead = reported(4 * SECOND, SECOND)
    assert (ahead.earliest, ahead.latest, ahead.later) == (NOON - 5 * SECOND, NOON, NOON)
    late = reported(-4 * SECOND, SECOND)
    assert (late.earliest, late.latest, late.later) == (NOON, NOON + 5 * SECOND, NOON + 5 * SECOND)


def test_what_begins_is_counted_from_the_later_of_both_however_far_apart() -> None:
    hour = timedelta(hours=1)
    assert reported(hour).later == NOON
    assert reported(-hour).later == NOON + hour
    assert TrustedTime(NOON, None).later == NOON


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        (reported(2 * CLOCKS_AGREE), "the operator's clock is more than 10 s ahead of the API server's"),
        (reported(-2 * CLOCKS_AGREE), "the operator's clock is more than 10 s behind the API server's"),
        (TrustedTime(NOON, None), "nobody knows whether the operator's clock agrees with the API server's"),
    ],
)
def test_why_nothing_ends_is_one_sentence_that_does_not_change_with_every_look(
    time: TrustedTime, sentence: str
) -> None:
    assert time.problem == sentence
