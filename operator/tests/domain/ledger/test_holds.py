"""Holds: granted, renewed, at risk, lost, released."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.domain.ledger.holds import (
    Claim,
    HeldTopic,
    Hold,
    HoldState,
    HoldView,
    lag_bytes,
    lowest_claims,
    next_change,
    why_not_granted,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WAL = HeldTopic(log_start=100, high_watermark=200, intent=100, floor=110, size_bytes=1000)
VIEW = HoldView({"wal_0": WAL})
FRESH = Hold("spark", Claim({"wal_0": 150}), ttl=24 * HOUR)


def settle(hold: Hold, view: HoldView = VIEW, now: datetime = NOW) -> Hold:
    """The hold after everything that can be written now."""
    for _ in range(6):
        change = next_change(hold, view, now)
        if change is None:
            return hold
        hold = change.hold
    raise AssertionError(f"it never ends: {hold}")


def looking_at(**change: Any) -> HoldView:
    return HoldView({"wal_0": replace(WAL, **change)})


def granted(**change: Any) -> Hold:
    return settle(replace(FRESH, **change))


def test_a_request_at_or_above_intent_and_log_start_is_granted() -> None:
    hold = granted()
    assert (hold.state, hold.granted) == (HoldState.ACTIVE, FRESH.claim)
    assert granted(claim=Claim({"wal_0": 100})).granted is not None


@pytest.mark.parametrize("view", [looking_at(intent=151), looking_at(log_start=151, intent=160)])
def test_a_request_below_the_intent_or_the_log_start_is_lost_at_once(view: HoldView) -> None:
    assert settle(FRESH, view).state is HoldState.LOST


@pytest.mark.parametrize(
    ("hold", "view", "sentence"),
    [
        (replace(FRESH, claim=Claim({"nowhere": 5})), VIEW, "there is no topic nowhere"),
        (replace(FRESH, claim=Claim({"wal_0": 201})), VIEW, "beyond the end"),
        (FRESH, looking_at(log_start=None), "Kafka does not say"),
        (FRESH, looking_at(intent=None), "no intent"),
        (FRESH, looking_at(log_start=120, intent=100), "somebody else deletes"),
        (replace(FRESH, claim=Claim(everything=True)), looking_at(intent=None), "no intent"),
    ],
)
def test_a_request_that_cannot_be_granted_says_why_and_counts_until_its_end(
    hold: Hold, view: HoldView, sentence: str
) -> None:
    waiting = settle(hold, view)
    assert waiting.state is HoldState.REQUESTED
    assert sentence in (why_not_granted(waiting, view) or "")
    assert lowest_claims([waiting]) != ({}, None)
    assert settle(waiting, view, NOW + 25 * HOUR).state is HoldState.LOST


def test_the_end_of_the_log_itself_can_be_claimed() -> None:
    assert granted(claim=Claim({"wal_0": 200})).state is HoldState.ACTIVE


def test_a_hold_that_keeps_records_for_itself_alone_is_extended() -> None:
    assert settle(granted(), looking_at(floor=151)).state is HoldState.EXTENDED
    assert settle(granted(), looking_at(floor=150)).state is HoldState.ACTIVE
    assert settle(granted(claim=Claim(everything=True)), looking_at(floor=1)).state is HoldState.EXTENDED


def test_an_age_counts_from_when_the_operator_saw_the_renewal() -> None:
    """Not from what the owner's clock says: neither a future nor a past renewTime changes anything."""
    for stated in (NOW + 100 * HOUR, NOW - 100 * HOUR, None):
        hold = granted(renew_time=stated)
        assert settle(hold, VIEW, NOW + 19 * HOUR).state is HoldState.ACTIVE
        at_risk = next_change(hold, VIEW, NOW + 20 * HOUR)
        assert at_risk is not None
        assert at_risk.hold.state is HoldState.AT_RISK


def test_a_hold_is_at_risk_before_it_is_lost() -> None:
    hold = granted()
    first = next_change(hold, VIEW, NOW + 30 * HOUR)
    assert first is not None
    assert first.hold.state is HoldState.AT_RISK
    second = next_change(first.hold, VIEW, NOW + 30 * HOUR)
    assert second is not None
    assert second.hold.state is HoldState.LOST
    assert "ttl" in second.sentence


def test_a_renewal_brings_it_back() -> None:
    at_risk = next_change(granted(), VIEW, NOW + 23 * HOUR)
    assert at_risk is not None
    renewed = settle(replace(at_risk.hold, renew_time=NOW), VIEW, NOW + 23 * HOUR)
    assert renewed.state is HoldState.ACTIVE
    assert settle(renewed, VIEW, NOW + 40 * HOUR).state is HoldState.ACTIVE


@pytest.mark.parametrize("state", [HoldState.LOST, HoldState.RELEASED])
def test_the_end_is_final(state: HoldState) -> None:
    over = replace(granted(), state=state)
    assert next_change(replace(over, renew_time=NOW, release=True), VIEW, NOW) is None
    assert lowest_claims([over]) == ({}, None)


def test_what_is_not_written_lost_counts_however_old_it_is() -> None:
    """Expiry is no arithmetic: whoever lists holds to delete has no clock."""
    for state in set(HoldState) - {HoldState.LOST, HoldState.RELEASED}:
        assert lowest_claims([replace(FRESH, state=state)]) == ({"wal_0": (150, "spark")}, None)


def test_an_edited_claim_is_a_new_request_while_the_old_grant_holds() -> None:
    edited = replace(granted(), claim=Claim({"wal_0": 180}))
    assert lowest_claims([edited])[0]["wal_0"][0] == 150
    assert settle(edited).granted == Claim({"wal_0": 180})
    refused = settle(replace(granted(), claim=Claim({"wal_0": 120})), looking_at(intent=130))
    assert refused.state is HoldState.ACTIVE
    assert refused.granted == FRESH.claim
    assert "being deleted, up to 130" in (why_not_granted(refused, looking_at(intent=130)) or "")


def test_a_hold_on_everything_stops_every_topic() -> None:
    holds = [replace(FRESH, name="a", claim=Claim(everything=True)), FRESH]
    assert lowest_claims(holds) == ({"wal_0": (150, "spark")}, "a")


def test_the_lowest_claim_wins_and_is_named() -> None:
    holds = [FRESH, replace(FRESH, name="backup", claim=Claim({"wal_0": 120, "wal_1": 3}))]
    assert lowest_claims(holds) == ({"wal_0": (120, "backup"), "wal_1": (3, "backup")}, None)


def test_max_lag_bytes_is_at_risk_before_lost_and_unknown_sizes_cost_nothing() -> None:
    assert lag_bytes(FRESH.claim, VIEW.topics) == 500
    assert lag_bytes(Claim(everything=True), VIEW.topics) == 1000
    assert granted(max_lag_bytes=10_000).state is HoldState.ACTIVE
    assert granted(max_lag_bytes=600).state is HoldState.AT_RISK
    lost = settle(replace(granted(), max_lag_bytes=400))
    assert lost.state is HoldState.LOST
    assert settle(replace(granted(), max_lag_bytes=400), looking_at(size_bytes=None)).state is HoldState.ACTIVE


def test_max_lag_age_is_a_limit_too() -> None:
    hold = replace(granted(), max_lag_age=HOUR)
    assert settle(hold, replace(VIEW, oldest_age=timedelta(minutes=50))).state is HoldState.AT_RISK
    assert settle(hold, replace(VIEW, oldest_age=HOUR)).state is HoldState.LOST
    assert settle(hold, VIEW).state is HoldState.ACTIVE


def test_a_hold_that_somebody_overtook_is_lost() -> None:
    lost = settle(granted(), looking_at(log_start=151, intent=100))
    assert lost.state is HoldState.LOST


def test_an_intent_beyond_a_grant_is_legal() -> None:
    """It was written by who then listed the hold, and deleted no further."""
    assert settle(granted(), looking_at(intent=170)).state is HoldState.ACTIVE


def test_its_owner_releases_it() -> None:
    assert settle(replace(granted(), release=True)).state is HoldState.RELEASED
