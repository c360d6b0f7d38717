"""Holds: granted, renewed, at risk, lost, released."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.hold import MAX_NUMBERS, HoldState
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.fence import Break, Finding
from seawall.domain.ledger.held import Claim, HeldTopic, Hold, HoldView, lag_bytes
from seawall.domain.ledger.held_logs import LogIds
from seawall.domain.ledger.holds import lowest_claims, next_change, why_not_granted
from tests.domain.two_clocks import agreed, ahead

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WAL = HeldTopic(log_start=100, high_watermark=200, intent=100, floor=110, record_bytes=10.0, topic_id="old")
VIEW = HoldView({"wal_0": WAL})
FRESH = Hold("spark", Claim({"wal_0": 150}), ttl=24 * HOUR)


def settle(hold: Hold, view: HoldView = VIEW, now: datetime = NOW) -> Hold:
    """The hold after everything that can be written now."""
    for _ in range(6):
        change = next_change(hold, view, agreed(now))
        if change is None:
            return hold
        hold = change.hold
    raise AssertionError(f"it never ends: {hold}")


def observed(hold: Hold, start: datetime, end: datetime, view: HoldView = VIEW) -> Hold:
    """The hold after it was observed between these times without a break."""
    while start < end:
        hold, start = settle(hold, view, start), start + hold.ttl / 12
    return settle(hold, view, end)


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
        assert settle(hold, VIEW, NOW + 20 * HOUR).state is HoldState.AT_RISK


def test_a_hold_is_at_risk_before_it_is_lost() -> None:
    first = next_change(replace(granted(), max_lag_bytes=400), VIEW, agreed(NOW))
    assert first is not None
    assert first.hold.state is HoldState.AT_RISK
    assert next_change(first.hold, VIEW, agreed(NOW + timedelta(seconds=59))) is None
    second = next_change(first.hold, VIEW, agreed(NOW + timedelta(seconds=60)))
    assert second is not None
    assert second.hold.state is HoldState.LOST
    assert "maxLagBytes" in second.sentence


def test_a_hold_that_is_not_renewed_is_lost_when_its_ttl_is_over() -> None:
    at_risk = observed(granted(), NOW + 12 * HOUR, NOW + 24 * HOUR - timedelta(seconds=1))
    assert at_risk.state is HoldState.AT_RISK
    assert settle(at_risk, VIEW, NOW + 24 * HOUR).state is HoldState.LOST


def test_a_short_hold_is_at_risk_for_a_fifth_of_its_ttl_only() -> None:
    first = next_change(replace(granted(ttl=timedelta(seconds=10)), max_lag_bytes=400), VIEW, agreed(NOW))
    assert first is not None
    assert next_change(first.hold, VIEW, agreed(NOW + timedelta(seconds=1))) is None
    lost = next_change(first.hold, VIEW, agreed(NOW + timedelta(seconds=2)))
    assert lost is not None
    assert lost.hold.state is HoldState.LOST


def test_a_clock_that_was_set_back_does_not_keep_a_hold_at_risk() -> None:
    at_risk = settle(replace(granted(), max_lag_bytes=400))
    assert at_risk.state is HoldState.AT_RISK
    lost = next_change(replace(at_risk, at_risk_since=NOW + 99 * HOUR), VIEW, agreed(NOW + HOUR))
    assert lost is not None
    assert lost.hold.state is HoldState.LOST


def test_a_renewal_brings_it_back() -> None:
    at_risk = next_change(granted(), VIEW, agreed(NOW + 23 * HOUR))
    assert at_risk is not None
    renewed = settle(replace(at_risk.hold, renew_time=NOW), VIEW, NOW + 23 * HOUR)
    assert renewed.state is HoldState.ACTIVE
    assert settle(renewed, VIEW, NOW + 40 * HOUR).state is HoldState.ACTIVE


@pytest.mark.parametrize("state", [HoldState.LOST, HoldState.RELEASED])
def test_the_end_is_final(state: HoldState) -> None:
    over = replace(granted(), state=state)
    assert next_change(replace(over, renew_time=NOW, release=True), VIEW, agreed(NOW)) is None
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
    at_risk = settle(replace(granted(), max_lag_bytes=400))
    assert at_risk.state is HoldState.AT_RISK
    unknown = looking_at(record_bytes=None)
    assert settle(at_risk, unknown, NOW + HOUR).state is HoldState.AT_RISK
    assert settle(at_risk, VIEW, NOW + HOUR).state is HoldState.LOST
    assert settle(replace(granted(), max_lag_bytes=400), looking_at(record_bytes=None)).state is HoldState.ACTIVE


def test_max_lag_age_is_at_risk_before_lost_and_unknown_ages_cost_nothing() -> None:
    hold = replace(granted(), max_lag_age=10 * HOUR)
    assert settle(hold, looking_at(near_from=150, young_from=150)).state is HoldState.ACTIVE
    assert settle(hold).state is HoldState.ACTIVE
    near = settle(hold, looking_at(near_from=151, young_from=150), NOW)
    assert near.state is HoldState.AT_RISK
    assert settle(near, looking_at(near_from=151, young_from=150), NOW + HOUR).state is HoldState.AT_RISK
    assert settle(near, VIEW, NOW + HOUR).state is HoldState.AT_RISK
    assert settle(near, looking_at(near_from=150, young_from=140), NOW + HOUR).state is HoldState.ACTIVE
    lost = next_change(near, looking_at(near_from=170, young_from=151), agreed(NOW + HOUR))
    assert lost is not None
    assert lost.hold.state is HoldState.LOST
    assert "the record of wal_0 at 150 is older than 100% of maxLagAge, 36000 s" in lost.sentence


def test_the_age_of_a_hold_on_everything_is_that_of_the_oldest_record_there_is() -> None:
    hold = granted(claim=Claim(everything=True), max_lag_age=10 * HOUR)
    assert settle(hold, looking_at(near_from=100, young_from=100)).state is HoldState.EXTENDED
    assert settle(hold, looking_at(near_from=101, young_from=100)).state is HoldState.AT_RISK


def test_a_hold_that_somebody_overtook_is_lost() -> None:
    lost = settle(granted(), looking_at(log_start=151, intent=100))
    assert lost.state is HoldState.LOST


def test_an_intent_beyond_a_grant_is_legal() -> None:
    """It was written by who then listed the hold, and deleted no further."""
    assert settle(granted(), looking_at(intent=170)).state is HoldState.ACTIVE


@pytest.mark.parametrize("claim", [FRESH.claim, Claim(everything=True)])
def test_a_hold_on_a_topic_that_was_recreated_is_at_risk_and_lost_once_the_fence_is_sure(claim: Claim) -> None:
    hold = granted(claim=claim)
    other = Finding(Break.TOPIC_ID_CHANGED, "the topic was recreated")
    suspected = looking_at(topic_id="new", intent=None, log_start=0, high_watermark=300, finding=other)
    at_risk = settle(hold, suspected)
    assert at_risk.state is HoldState.AT_RISK
    assert settle(at_risk).state is hold.state
    lost = next_change(at_risk, HoldView({"wal_0": replace(suspected.topics["wal_0"], is_broken=True)}), agreed(NOW))
    assert lost is not None
    assert lost.hold.state is HoldState.LOST
    assert "wal_0 was recreated" in lost.sentence


@pytest.mark.parametrize("claim", [FRESH.claim, Claim(everything=True)])
def test_a_topic_that_was_recreated_and_readopted_between_two_looks_is_noticed_all_the_same(claim: Claim) -> None:
    hold = granted(claim=claim)
    assert hold.granted_logs == LogIds.of({"wal_0": "old"}, everything=claim.everything)
    assert settle(hold, looking_at(topic_id=None)).state is hold.state
    assert settle(hold, looking_at(topic_id="new", log_start=100, intent=100)).state is HoldState.LOST


def test_a_pool_that_grows_recreates_nothing_and_one_that_shrinks_is_in_doubt() -> None:
    hold = granted(claim=Claim(everything=True))
    grown = HoldView({**VIEW.topics, "wal_1": replace(WAL, topic_id="another")})
    hold = settle(hold, grown)
    both = LogIds.of({"wal_0": "old", "wal_1": "another"}, everything=True)
    assert (hold.state, hold.granted_logs, both.numbers) == (HoldState.EXTENDED, both, "0-1")
    shrunk = settle(hold, VIEW)
    assert (shrunk.state, shrunk.granted_logs) == (HoldState.AT_RISK, hold.granted_logs)
    recreated = HoldView({**VIEW.topics, "wal_1": replace(WAL, topic_id="a third")})
    assert settle(shrunk, recreated).state is HoldState.LOST
    gone = settle(granted(), HoldView({}))
    assert gone.state is HoldState.AT_RISK


EVERYTHING = Claim(everything=True)


def looking_at_logs(**topic_ids: str) -> HoldView:
    return HoldView({name: replace(WAL, topic_id=topic_id) for name, topic_id in topic_ids.items()}, prefix="wal")


def test_a_log_that_is_lost_while_the_pool_grows_loses_a_hold_on_everything() -> None:
    """Found by a review: the greater pool was written down over it."""
    two = looking_at_logs(wal_0="a", wal_1="b")
    hold = settle(replace(FRESH, claim=EVERYTHING), two)
    lacks = settle(hold, looking_at_logs(wal_0="a"))
    assert lacks.state is HoldState.AT_RISK
    for before in (hold, lacks):
        assert settle(before, looking_at_logs(wal_0="a", wal_1="new", wal_2="c")).state is HoldState.LOST
        swapped = settle(before, looking_at_logs(wal_0="a", wal_2="c"))
        assert (swapped.state, swapped.granted_logs) == (HoldState.AT_RISK, hold.granted_logs)
        grown = settle(before, looking_at_logs(wal_0="a", wal_1="b", wal_2="c", wal_10="d"))
        assert grown.state is HoldState.EXTENDED
        assert grown.granted_logs is not None
        assert (grown.granted_logs.count, grown.granted_logs.numbers) == (4, "0-2,10")


def test_a_log_of_which_the_fence_is_not_sure_is_not_written_down_as_what_was_held() -> None:
    """Found by a reader: a log that was recreated became what was held, as the pool had grown meanwhile."""
    hold = settle(replace(FRESH, claim=EVERYTHING), looking_at_logs(wal_0="a", wal_1="b"))
    lacks = settle(hold, looking_at_logs(wal_0="a"))
    grown = looking_at_logs(wal_0="a", wal_1="new", wal_2="c")
    other = Finding(Break.TOPIC_ID_CHANGED, "the topic was recreated")
    suspected = replace(grown, topics={**grown.topics, "wal_1": replace(grown.topics["wal_1"], finding=other)})
    unwritten = replace(lacks, granted_logs=None)
    for before in (hold, lacks, unwritten):
        doubtful = settle(before, suspected)
        assert (doubtful.state, doubtful.granted_logs) == (HoldState.AT_RISK, before.granted_logs)
    for before in (hold, lacks):
        assert settle(settle(before, suspected), grown).state is HoldState.LOST, "a person readopted it"


def test_a_hold_on_everything_of_a_version_that_knew_no_numbers_gets_them_when_all_is_as_it_was() -> None:
    two = looking_at_logs(wal_0="a", wal_1="b")
    hold = settle(replace(FRESH, claim=EVERYTHING), two)
    former = replace(hold, granted_logs=LogIds.of({"wal_0": "a", "wal_1": "b"}))
    change = next_change(former, two, agreed(NOW))
    assert change is not None
    assert (change.hold.granted_logs, change.sentence) == (hold.granted_logs, ""), "nothing new is said"
    assert settle(former, looking_at_logs(wal_0="a", wal_1="new")).state is HoldState.LOST
    assert settle(former, looking_at_logs(wal_0="a", wal_1="b", wal_2="c")).granted_logs != former.granted_logs


def test_numbers_are_written_if_each_topic_has_one_and_they_are_not_too_many() -> None:
    def numbers(*names: str) -> str | None:
        return LogIds.of(dict.fromkeys(names, "id"), everything=True).numbers

    assert numbers(*(f"wal_{number}" for number in range(10_000))) == "0-9999"
    assert numbers("wal_3", "wal_1", "wal_2", "wal_7") == "1-3,7"
    assert numbers("wal_3", "other") is None
    assert numbers() is None, "of a pool that has no topic yet"
    assert numbers("wal_1", "wal_01") is None
    assert numbers(*(f"wal_{2 * number}" for number in range(MAX_NUMBERS))) is None
    assert LogIds.of({"wal_3": "id"}).numbers is None
    assert LogIds(2**40, "", "0-999999999").among(["wal_0"]) == (), "nobody wrote that"
    held = LogIds.of({"wal_1": "x", "wal_2": "y", "wal_12": "z"}, everything=True)
    assert held.among(["wal_0", "wal_1", "wal_12", "wal_112", "other"]) == ("wal_1", "wal_12")


def test_a_log_that_was_cut_off_below_what_is_held_loses_it_once_the_fence_is_sure() -> None:
    cut = Finding(Break.TRUNCATED, "records were cut off")
    suspected = settle(granted(), looking_at(high_watermark=149, finding=cut))
    assert suspected.state is HoldState.AT_RISK
    lost = settle(suspected, looking_at(high_watermark=149, finding=cut, is_broken=True))
    assert lost.state is HoldState.LOST
    above = settle(granted(), looking_at(high_watermark=160, finding=cut, is_broken=True))
    assert above.state is HoldState.AT_RISK
    assert settle(above, VIEW, NOW + HOUR).state is HoldState.ACTIVE
    went_back = Finding(Break.FLUSHED_WENT_BACK, "a manifest was restored")
    assert settle(granted(), looking_at(finding=went_back, is_broken=True)).state is HoldState.ACTIVE


def test_a_high_watermark_that_lags_behind_after_a_failover_costs_no_hold() -> None:
    hold = settle(granted(), looking_at(high_watermark=140))
    assert hold.state is HoldState.AT_RISK
    assert settle(hold, VIEW).state is HoldState.ACTIVE


def test_a_delete_by_somebody_else_overtakes_a_hold_on_everything() -> None:
    hold = granted(claim=Claim(everything=True))
    assert settle(hold, looking_at(intent=170)).state is HoldState.EXTENDED
    lost = settle(hold, looking_at(log_start=101))
    assert lost.state is HoldState.LOST


def test_a_hold_that_somebody_deleted_counts_and_names_what_keeps_it_until_its_ttl_is_over() -> None:
    leaving = replace(granted(), kept_by=("example.org/reader",))
    assert lowest_claims([leaving])[0]["wal_0"] == (
        150,
        "spark, which is being deleted and kept by example.org/reader",
    )
    renewed = replace(leaving, renew_time=NOW + 23 * HOUR)
    at_risk = observed(renewed, NOW + 12 * HOUR, NOW + 23 * HOUR)
    assert at_risk.state is HoldState.AT_RISK
    assert settle(at_risk, VIEW, NOW + 24 * HOUR).state is HoldState.LOST
    open_request = settle(replace(FRESH, kept_by=("example.org/reader",)))
    assert (open_request.state, open_request.granted) == (HoldState.REQUESTED, None)
    assert settle(open_request, VIEW, NOW + 24 * HOUR).state is HoldState.LOST


def test_why_there_is_no_intent_is_said_when_it_is_known() -> None:
    paused = looking_at(intent=None, trouble="seawall.dev/paused is set")
    assert why_not_granted(FRESH, paused) == "seawall.dev/paused is set"


TWO_HOURS = 2 * HOUR
SHORT = replace(FRESH, ttl=HOUR)
UNKNOWN = TrustedTime(NOW + 30 * HOUR, None)


def settled_by(time: TrustedTime, hold: Hold, view: HoldView = VIEW) -> Hold:
    """The hold after everything that can be written at this time."""
    for _ in range(6):
        change = next_change(hold, view, time)
        if change is None:
            return hold
        hold = change.hold
    raise AssertionError(f"it never ends: {hold}")


def test_a_hold_is_not_lost_by_a_clock_that_is_ahead() -> None:
    """Renewed 10 min ago, ttl 1 h; the next leader's node is 2 h ahead (hole 7)."""
    hold, now = settle(SHORT), NOW + timedelta(minutes=10)
    for passed in (timedelta(0), timedelta(seconds=61), HOUR / 2):
        assert settled_by(ahead(now + TWO_HOURS + passed, TWO_HOURS), hold) == hold
    assert settle(hold, VIEW, now) == hold


def test_a_renewal_that_was_counted_by_a_clock_a_year_ahead_counts_from_when_it_is_right_again() -> None:
    """Its holder is gone, and nobody renews it: else it would keep its topics for a year."""
    year = timedelta(days=365)
    hold = settled_by(ahead(NOW + year, year), SHORT)
    assert hold.renewal is not None
    assert hold.renewal.observed_at == NOW + year
    assert settled_by(ahead(NOW + year, year), hold) == hold
    right = settle(hold, VIEW, NOW)
    assert right.renewal is not None
    assert (right.renewal.observed_at, right.renewal.stated) == (NOW, hold.renewal.stated)
    assert settle(right, VIEW, NOW) == right
    assert observed(right, NOW, NOW + timedelta(minutes=50)).state is not HoldState.LOST
    assert observed(right, NOW, NOW + 2 * HOUR).state is HoldState.LOST


def test_no_limit_counts_while_the_clocks_disagree_or_nobody_knows() -> None:
    """Not even when both say that it is over: nobody knows by how much either is wrong."""
    at_risk = settle(granted(ttl=HOUR, max_lag_bytes=600), VIEW, NOW)
    assert at_risk.state is HoldState.AT_RISK
    request = settle(replace(FRESH, claim=Claim({"nowhere": 5})))
    for time in (ahead(NOW + 30 * HOUR, TWO_HOURS), ahead(NOW + 30 * HOUR, -TWO_HOURS), UNKNOWN):
        for hold in (settle(SHORT), at_risk, request):
            assert settled_by(time, hold, looking_at(near_from=190, young_from=190)) == hold
    assert observed(at_risk, NOW + 30 * HOUR, NOW + 31 * HOUR).state is HoldState.LOST
    assert settle(request, VIEW, NOW + 30 * HOUR).state is HoldState.LOST


def test_a_hold_that_is_over_by_one_of_two_clocks_that_agree_is_not_over() -> None:
    hold, late = settle(SHORT), timedelta(seconds=8)
    due = replace(hold, unrenewed=Stretch(from_time=NOW + HOUR / 2, until_time=NOW + HOUR - timedelta(minutes=2)))
    at_risk = settle(due, VIEW, NOW + HOUR - timedelta(minutes=2))
    assert at_risk.state is HoldState.AT_RISK
    assert settled_by(ahead(NOW + HOUR + timedelta(seconds=7), late), at_risk) == at_risk
    assert settled_by(ahead(NOW + HOUR - timedelta(seconds=1), -late), at_risk) == at_risk
    assert settled_by(ahead(NOW + HOUR + late, late), at_risk).state is HoldState.LOST
    assert settled_by(ahead(NOW + HOUR, -late), at_risk).state is HoldState.LOST


def test_a_hold_is_seen_at_risk_for_its_minute_although_two_clocks_never_say_the_same() -> None:
    """It became AtRisk by the later clock, and ends by the earlier one."""
    for by in (timedelta(seconds=9), -timedelta(seconds=9)):
        first = next_change(replace(granted(), max_lag_bytes=400), VIEW, ahead(NOW + HOUR, by))
        assert first is not None
        assert first.hold.state is HoldState.AT_RISK
        assert next_change(first.hold, VIEW, ahead(NOW + HOUR + timedelta(seconds=1), by)) is None
        assert next_change(first.hold, VIEW, ahead(NOW + HOUR + timedelta(seconds=50), by)) is None
        lost = next_change(first.hold, VIEW, ahead(NOW + HOUR + timedelta(seconds=80), by))
        assert lost is not None
        assert lost.hold.state is HoldState.LOST


def test_a_renewal_that_a_late_clock_saw_does_not_look_old_to_the_next_leader() -> None:
    renewed = settled_by(ahead(NOW - TWO_HOURS, -TWO_HOURS), replace(settle(SHORT), renew_time=NOW))
    assert renewed.renewal is not None
    assert renewed.renewal.observed_at == NOW
    assert settle(renewed, VIEW, NOW + HOUR / 3) == renewed
    waiting = settled_by(UNKNOWN, replace(renewed, renew_time=NOW + HOUR))
    assert waiting.renewal == renewed.renewal, "a renewal is not written by a time that nobody knows"
    later = settle(waiting, VIEW, NOW + 40 * HOUR)
    assert later.renewal is not None
    assert later.renewal.observed_at == NOW + 40 * HOUR
    assert later.state is HoldState.ACTIVE


def test_a_hold_is_granted_released_or_overtaken_by_any_clock() -> None:
    for time in (ahead(NOW, TWO_HOURS), UNKNOWN):
        assert settled_by(time, FRESH).state is HoldState.ACTIVE
        assert settled_by(time, replace(settle(FRESH), release=True)).state is HoldState.RELEASED
        assert settled_by(time, settle(FRESH), looking_at(log_start=151)).state is HoldState.LOST


def test_its_owner_releases_it() -> None:
    assert settle(replace(granted(), release=True)).state is HoldState.RELEASED


DELETING = replace(VIEW, database_deletes=True, cure='set auto_prune_interval = "0s", in the [wal] of every metasrv')
NOT_SAID = replace(VIEW, database_deletes=None)


def test_nothing_is_granted_while_the_database_deletes_and_the_key_is_named() -> None:
    assert settle(FRESH, DELETING).granted is None
    assert 'auto_prune_interval = "0s"' in (why_not_granted(FRESH, DELETING) or "")
    everything = replace(FRESH, claim=Claim(everything=True))
    assert settle(everything, DELETING).granted is None


def test_nothing_is_granted_while_nobody_knows_whether_the_database_deletes() -> None:
    assert settle(FRESH, NOT_SAID).granted is None
    assert "does not say whether it deletes" in (why_not_granted(FRESH, NOT_SAID) or "")


def test_a_granted_hold_is_at_risk_at_once_and_as_before_when_that_ends() -> None:
    hold = granted()
    change = next_change(hold, DELETING, agreed(NOW))
    assert change is not None
    assert (change.hold.state, change.hold.at_risk_since) == (HoldState.AT_RISK, NOW)
    assert 'auto_prune_interval = "0s"' in change.sentence
    later = settle(change.hold, DELETING, NOW + 2 * HOUR)
    assert later.state is HoldState.AT_RISK, "it is Lost when its records are gone, and not before"
    assert settle(later, NOT_SAID, NOW + 2 * HOUR).state is HoldState.AT_RISK, "that nobody knows ends no risk"
    assert settle(later, VIEW, NOW + 2 * HOUR).state is HoldState.ACTIVE


def test_a_granted_hold_stands_while_nobody_knows() -> None:
    assert settle(granted(), NOT_SAID) == granted()


def test_a_hold_whose_records_the_database_deleted_is_lost() -> None:
    gone = replace(looking_at(log_start=160), database_deletes=True)
    assert settle(granted(), gone).state is HoldState.LOST
