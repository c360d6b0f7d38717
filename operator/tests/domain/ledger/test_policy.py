"""The strictest of all policies that match."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.ledger.policy import Level, Policy, Requirement, Safety, effective_policy, strictest

MINUTES = st.integers(1, 60).map(lambda number: timedelta(minutes=number))
SAFETY = st.builds(
    Safety,
    keep_entries=st.integers(0, 100),
    stale_after=MINUTES,
    open_grace=MINUTES,
    verification=st.none() | st.builds(Requirement, st.sampled_from(Level), MINUTES),
)
POLICIES = st.lists(st.builds(Policy, st.sampled_from("abcdef"), st.just(("*",)), SAFETY), min_size=1, max_size=5)


@given(POLICIES)
def test_no_policy_is_stricter_than_the_effective_one(policies: list[Policy]) -> None:
    found = strictest(policies).safety
    for policy in policies:
        asked = policy.safety
        assert found.keep_entries >= asked.keep_entries
        assert found.stale_after <= asked.stale_after
        assert found.open_grace >= asked.open_grace
        if asked.verification is not None:
            assert found.verification is not None
            assert found.verification.level >= asked.verification.level
            assert found.verification.max_age <= asked.verification.max_age


@given(POLICIES)
def test_each_field_is_what_the_named_policy_asks(policies: list[Policy]) -> None:
    found = strictest(policies)
    for field in ("keep_entries", "stale_after", "open_grace"):
        asked = {getattr(policy.safety, field) for policy in policies if policy.name == found.said_by[field]}
        assert getattr(found.safety, field) in asked


def test_a_manual_run_cannot_be_weaker() -> None:
    policy = Policy("nightly", ("wal_*",), Safety(keep_entries=500))
    run = Policy("by hand", ("*",), Safety(keep_entries=0))
    found = effective_policy("wal_3", [policy, run])
    assert found is not None
    assert found.safety.keep_entries == 500
    assert found.overrules(run) == ("keepEntries 500 of nightly",)
    assert found.overrules(policy) == ()


def test_globs_are_those_of_the_shell_and_case_counts() -> None:
    policy = Policy("one", ("wal_1?", "other"))
    assert policy.matches("wal_12")
    assert policy.matches("other")
    assert not policy.matches("wal_1")
    assert not policy.matches("WAL_12")
    assert effective_policy("wal_1", [policy]) is None
