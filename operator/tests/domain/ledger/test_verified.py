"""What a WALVerification says to the ledger."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.verification import WALVerification
from seawall.api.v1alpha1.verification_level import VerificationRequirement
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.declared import policy_of, verified_by
from seawall.domain.ledger.policy import Level, Policy, Requirement, Safety, strictest
from tests.domain.verifications import ENDED, METADATA, make_verification

ROWS = [
    {"name": "wal_0", "topicId": "id-0", "verifiedFrom": 20, "end": 4711, "verified": True},
    {"name": "wal_1", "topicId": "id-1", "verifiedFrom": 30, "end": 900, "verified": False},
]


def verification(spec: dict[str, Any] | None = None, **status: Any) -> WALVerification:
    return make_verification({"stage": "Completed", "topics": ROWS, **status}, **(spec or {}))


def test_the_start_of_a_topic_that_was_verified_counts_and_nothing_else() -> None:
    assert verified_by(verification(topics=ROWS[:1])) == (Verified("wal_0", "id-0", Level.INTEGRITY, 20, ENDED, ENDED),)


def test_when_a_verification_began_is_its_start_and_not_its_end() -> None:
    """One without a start is of when it was made; one that began after it ended had a clock that was wrong."""
    hour = timedelta(hours=1)
    began = {ENDED - 2 * hour: ENDED - 2 * hour, ENDED + hour: ENDED}
    good: dict[str, Any] = {"topics": ROWS[:1]}
    bad: dict[str, Any] = {"stage": "Failed", "outcome": "Failed", "topics": ROWS[1:]}
    for start, counts in began.items():
        for status in (good, bad):
            (found,) = verified_by(verification(None, **status, startTime=start.isoformat()))
            assert (found.began_at, found.finished_at) == (counts, ENDED)
    (found,) = verified_by(verification(topics=ROWS[:1], completionTime=(ENDED + hour).isoformat()))
    assert (found.began_at, found.finished_at) == (ENDED, ENDED + hour)


def test_the_topics_that_replay_count_when_another_one_does_not() -> None:
    assert verified_by(verification(stage="Failed", outcome="Failed")) == (
        Verified("wal_0", "id-0", Level.INTEGRITY, 20, ENDED, ENDED),
        Verified("wal_1", "id-1", Level.INTEGRITY, 30, ENDED, ENDED, replays=False),
    )


@pytest.mark.parametrize("outcome", ["Interrupted", "Refused", None])
def test_without_a_verdict_no_topic_is_said_to_be_bad(outcome: str | None) -> None:
    assert [one.topic for one in verified_by(verification(stage="Failed", outcome=outcome))] == ["wal_0"]


def test_what_was_found_bad_counts_before_the_hold_is_let_go_and_what_was_found_good_does_not() -> None:
    """It says the same when it is over: whoever compares finds no other verdict."""
    judged = (ENDED - timedelta(minutes=3)).isoformat()
    status = {"outcome": "Failed", "attemptTime": judged, "startTime": judged}
    found = verified_by(verification(None, stage="Releasing", completionTime=None, **status))
    assert [(each.topic, each.finished_at.isoformat()) for each in found] == [("wal_1", judged)]
    assert set(found) < set(verified_by(verification(None, stage="Failed", **status)))


def test_what_was_found_good_is_as_old_as_the_verdict_and_what_was_found_bad_as_young_as_its_reading() -> None:
    """Nobody knows how right the clock of a driver's node is: no bad verdict is older by it."""
    driver, judged, began = ((ENDED - hours * timedelta(hours=1)).isoformat() for hours in (72, 1, 73))
    times = {"verdictTime": driver, "attemptTime": judged, "startTime": began}
    good, bad = verified_by(verification(None, stage="Failed", outcome="Failed", **times))
    assert (good.finished_at.isoformat(), bad.finished_at.isoformat()) == (driver, judged)


@pytest.mark.parametrize("stage", ["Holding", "Running"])
def test_a_verdict_of_an_attempt_that_goes_on_is_none(stage: str) -> None:
    assert verified_by(verification(stage=stage, outcome="Failed", attemptTime=ENDED.isoformat())) == ()


@pytest.mark.parametrize("stage", ["Holding", "Running", "Releasing"])
def test_a_verification_that_is_not_over_says_nothing(stage: str) -> None:
    assert verified_by(verification(stage=stage)) == ()


def test_a_verification_that_cannot_be_read_says_nothing() -> None:
    assert verified_by(verification(spec={"level": "Perfect"})) == ()
    assert verified_by(verification(topics=[{**ROWS[0], "verifiedFrom": -1}])) == ()
    assert verified_by(verification(completionTime=None)) == ()


def test_of_a_verification_whose_spec_cannot_be_read_the_bad_verdicts_count_alone() -> None:
    found = verified_by(verification(spec={"level": "Perfect"}, stage="Failed", outcome="Failed"))
    assert [(bad.topic, bad.topic_id, bad.finished_at, bad.replays) for bad in found] == [
        ("wal_1", "id-1", ENDED, False)
    ]


def test_a_run_and_a_policy_require_what_their_spec_says() -> None:
    assert VerificationRequirement().max_age == timedelta(hours=24)
    required = {"requireVerification": {"level": "Equivalence", "maxAge": "90m"}}
    run = WALPurge.parse({"metadata": METADATA, "spec": {"clusterRef": {"name": "wal"}, "safety": required}})
    policy = policy_of(run)
    assert isinstance(policy, Policy)
    assert policy.safety.verification == Requirement(Level.EQUIVALENCE, timedelta(minutes=90))


def test_a_requirement_that_another_policy_makes_stricter_is_told_in_words() -> None:
    lax = Policy("lax", safety=Safety(verification=Requirement(Level.COVERAGE, timedelta(hours=1))))
    strict = Policy("strict", safety=Safety(verification=Requirement(Level.INTEGRITY, timedelta(hours=24))))
    assert strictest([lax, strict]).overrules(lax) == ("requireVerification Integrity within 1h of strict, lax",)
