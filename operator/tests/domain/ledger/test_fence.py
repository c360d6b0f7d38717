"""The identity fence: is this still the log that the database wrote?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seawall.domain.ledger.fence import (
    Break,
    Finding,
    ObservedLog,
    Readoption,
    Verdict,
    find_break,
    first_record,
    judge,
    parse_readoption,
    renew,
)

RECORDED_COLUMN = ObservedLog(
    "topic-a", 3, 100, 200, greatest_known_id=150, min_flushed=110, max_flushed=150, recorded_epoch_end=200
)
RECORD = first_record(RECORDED_COLUMN)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def broken_by(**change: object) -> Break | None:
    found = find_break(RECORD, replace(RECORDED_COLUMN, **change))  # type: ignore[arg-type]
    return None if found is None else found.what


def test_a_log_that_only_grew_is_whole() -> None:
    assert broken_by() is None
    assert broken_by(high_watermark=300, log_start=140, leader_epoch=9, recorded_epoch_end=220) is None


def test_a_log_start_that_went_back_after_a_failover_is_legal() -> None:
    assert broken_by(log_start=0, leader_epoch=4) is None


@pytest.mark.parametrize(
    ("recorded", "observed", "is_back"),
    [
        ((100, None), (99, None), True),
        ((100, None), (100, None), False),
        ((100, 200), (150, 160), True),
        ((100, 200), (100, 200), False),
        ((100, 200), (90, 201), False),
        ((100, 200), (150, None), True),
        ((100, None), (50, 60), True),
        ((200, 100), (300, 99), True),
        ((200, 100), (150, 100), False),
    ],
)
def test_a_store_goes_back_if_it_has_issued_less_than_before(
    recorded: tuple[int, int | None], observed: tuple[int, int | None], *, is_back: bool
) -> None:
    """Where writes overlap the revision of a snapshot stands still, whatever the store issues meanwhile."""
    record = replace(RECORD, revision=recorded[0], issued=recorded[1])
    seen = replace(RECORDED_COLUMN, revision=observed[0], issued=observed[1])
    found = find_break(record, seen)
    assert (found is not None and found.what is Break.METADATA_WENT_BACK) is is_back


def test_a_record_keeps_the_greatest_of_both_revisions() -> None:
    seen = replace(RECORDED_COLUMN, revision=150, issued=160)
    once = renew(replace(RECORD, revision=100, issued=120), seen, Verdict.WHOLE)
    assert (once.revision, once.issued) == (150, 160)
    again = renew(once, replace(seen, revision=170, issued=None), Verdict.WHOLE)
    assert (again.revision, again.issued, again.issued_revision) == (170, None, 170)


def test_another_topic_id_is_another_log() -> None:
    assert broken_by(topic_id="topic-b") is Break.TOPIC_ID_CHANGED


@pytest.mark.parametrize(("high_watermark", "expected"), [(149, True), (150, True), (151, False)])
def test_the_next_row_must_not_get_an_id_that_replay_skips(high_watermark: int, expected: bool) -> None:  # noqa: FBT001
    """The high watermark is exclusive: equal is too low already."""
    found = find_break(None, replace(RECORDED_COLUMN, high_watermark=high_watermark))
    assert (found is not None and found.what is Break.END_BEFORE_KNOWN_ID) is expected


def test_a_region_that_does_not_report_any_more_is_remembered_by_the_record() -> None:
    record = replace(RECORD, max_flushed=250, high_watermark=100)
    found = find_break(record, replace(RECORDED_COLUMN, greatest_known_id=120))
    assert found is not None
    assert found.what is Break.END_BEFORE_KNOWN_ID


def test_a_record_that_another_operator_renewed_after_the_offsets_were_read_is_no_alarm() -> None:
    """What it knows is compared with an end that was read after it."""
    early = replace(RECORDED_COLUMN, high_watermark=101, greatest_known_id=100, recorded_epoch_end=None)
    assert find_break(RECORD, replace(early, recorded_epoch_end=200)) is None
    found = find_break(RECORD, replace(early, recorded_epoch_end=150))
    assert found is not None
    assert found.what is Break.END_BEFORE_KNOWN_ID
    found = find_break(RECORD, early)
    assert found is not None
    assert found.what is Break.END_BEFORE_KNOWN_ID


def test_a_topic_without_regions_is_not_compared_with_ids() -> None:
    found = find_break(
        None, replace(RECORDED_COLUMN, high_watermark=1, log_start=0, greatest_known_id=None, max_flushed=None)
    )
    assert found is None


def test_an_end_of_the_recorded_epoch_before_the_recorded_end_is_a_truncation() -> None:
    assert broken_by(leader_epoch=4, recorded_epoch_end=199, high_watermark=500) is Break.TRUNCATED
    assert broken_by(leader_epoch=4, recorded_epoch_end=None, high_watermark=199) is Break.TRUNCATED
    assert broken_by(leader_epoch=4, recorded_epoch_end=None, high_watermark=200) is None


def test_a_flushed_id_that_went_back_is_its_own_clause() -> None:
    assert broken_by(went_back="region 7 went back to 3") is Break.FLUSHED_WENT_BACK


def test_the_verdict_needs_a_second_look() -> None:
    finding = Finding(Break.TRUNCATED, "cut")
    assert judge(None, None) is Verdict.WHOLE
    assert judge(None, finding) is Verdict.SUSPECTED
    assert judge(finding, None) is Verdict.WHOLE
    assert judge(finding, finding) is Verdict.BROKEN


def test_what_two_looks_found_broken_stays_so() -> None:
    """Also for an operator that restarts, when the log has grown beyond every known id."""
    cut = replace(RECORDED_COLUMN, high_watermark=120, recorded_epoch_end=120, leader_epoch=4)
    record = renew(RECORD, cut, Verdict.BROKEN)
    assert record == replace(RECORD, broken=True)
    grown = replace(RECORDED_COLUMN, high_watermark=900, leader_epoch=5, recorded_epoch_end=300)
    found = find_break(record, grown)
    assert found is not None
    assert judge(None, found) is Verdict.BROKEN


def test_a_record_is_renewed_only_by_a_look_without_finding() -> None:
    later = replace(RECORDED_COLUMN, high_watermark=300, leader_epoch=5, min_flushed=160, max_flushed=140)
    assert renew(RECORD, later, Verdict.SUSPECTED) == RECORD
    renewed = renew(RECORD, later, Verdict.WHOLE)
    assert (renewed.high_watermark, renewed.leader_epoch) == (300, 5)
    assert renewed.max_flushed == 150, "the greatest flushed id never falls"
    assert renewed.intent == 100


def test_a_readoption_is_a_reason_and_an_expiry() -> None:
    found = parse_readoption("restored from backup@2026-12-24T18:00:00Z")
    assert isinstance(found, Readoption)
    assert found.reason == "restored from backup"
    day = found.expires - timedelta(hours=24)
    assert found.may_adopt(RECORD, day)
    assert not found.may_adopt(RECORD, found.expires)
    assert not found.may_adopt(first_record(RECORDED_COLUMN, found.token), day), "one annotation adopts a topic once"


def test_a_readoption_that_expires_more_than_a_day_ahead_is_refused_for_good() -> None:
    found = parse_readoption("restored from backup@2026-12-24T18:00:00Z")
    assert isinstance(found, Readoption)
    assert found.problem(NOW) is not None
    assert not found.may_adopt(RECORD, NOW)
    marked = found.mark(RECORD, NOW)
    day = found.expires - timedelta(hours=23)
    assert found.problem(day) is None
    assert not found.may_adopt(marked, day), "it must not come into force by waiting"


def test_a_day_by_a_clock_that_is_a_little_ahead_is_none_too_many() -> None:
    """`seawall readopt --for 24h`, on a machine whose clock is a little ahead of the operator's."""
    found = parse_readoption("restored from backup@2026-12-24T18:00:00Z")
    assert isinstance(found, Readoption)
    written = found.expires - timedelta(hours=24)
    assert found.problem(written - timedelta(minutes=5)) is None
    assert found.may_adopt(RECORD, written - timedelta(minutes=5))
    assert found.problem(written - timedelta(minutes=5, seconds=1)) is not None


@pytest.mark.parametrize(
    "annotation", ["", "@2026-12-24T18:00:00Z", "a reason", "a reason@soon", "a reason@2026-12-24T18:00:00"]
)
def test_a_readoption_that_is_none_says_what_is_wrong(annotation: str) -> None:
    assert "seawall.dev/readopt" in str(parse_readoption(annotation))
