"""Guards about clocks, and of holds that somebody else overtakes, are taken away: a story needs each of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from seawall.adapters.clock import ServerDates
from seawall.controllers import ledger as ledger_watch
from seawall.domain import clocks
from seawall.domain.clocks import Agreement, ServerTime, TrustedTime
from seawall.domain.ledger import held, holds
from seawall.domain.ledger.fence import Readoption
from tests.contract import test_clock_contract as contract
from tests.contract.clock_beds import FakeClockBed
from tests.domain.ledger import test_holds
from tests.domain.two_clocks import ahead
from tests.hold import test_wal_hold
from tests.kernel import test_clocks as stories
from tests.kernel import test_server_dates as dates
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def own_clock_ends_holds(patch: Patch) -> None:
    """A hold is over when the operator's clock says so."""
    patch.setattr(TrustedTime, "earliest", property(lambda time: time.now))


def later_clock_ends_holds(patch: Patch) -> None:
    """A hold is over as soon as either of two clocks that agree says so."""
    patch.setattr(TrustedTime, "earliest", property(lambda time: time.latest))


def own_clock_ends_declarations(patch: Patch) -> None:
    """A declaration stands until the operator's clock says that it is over."""
    patch.setattr(TrustedTime, "latest", property(lambda time: time.now))


def earlier_clock_ends_declarations(patch: Patch) -> None:
    """A declaration stands until both clocks say that it is over."""
    patch.setattr(TrustedTime, "latest", property(lambda time: time.earliest))


def disagreement_ignored(patch: Patch) -> None:
    """What both clocks say is over is over, however far they are apart; and what they say of nothing is believed."""
    patch.setattr(TrustedTime, "agreement", property(lambda _: Agreement.AGREE))


def old_answers_count(patch: Patch) -> None:
    """What the API server said an hour ago is good enough."""
    patch.setattr(clocks, "CLOCKS_FRESH", timedelta(days=1))


def renewals_by_own_clock(patch: Patch) -> None:
    """A renewal is counted from what the operator's clock says."""
    patch.setattr(TrustedTime, "later", property(lambda time: time.now))


def renewals_by_any_time(patch: Patch) -> None:
    """A renewal is written although nobody knows the API server's time."""
    patch.setattr(holds, "Agreement", SimpleNamespace(UNKNOWN=None, AGREE=Agreement.AGREE))


def small_skew_is_a_clock_set_back(patch: Patch) -> None:
    """A hold that became AtRisk by the later clock was seen so at once by the earlier one."""
    patch.setattr(held, "CLOCKS_AGREE", timedelta(0))


def readoption_at_any_time(patch: Patch) -> None:
    """A readoption is followed whatever the clocks say."""
    patch.setattr(Readoption, "stands", lambda *_: True)


def overtaken_holds_asleep(patch: Patch) -> None:
    """The watch of the ledger tells no hold that its records are gone."""
    patch.setattr(ledger_watch, "overtaken_holds", lambda _: ())


def every_answer_is_the_newest(patch: Patch) -> None:
    """The answer that arrives last counts, however long ago it was made."""
    honest = ServerDates.hear

    def hear(self: ServerDates, begun: float, date: str | None) -> None:
        self._newest = None
        honest(self, begun, date)

    patch.setattr(ServerDates, "hear", hear)


def uncertainty_ignored(patch: Patch) -> None:
    """An answer that took long tells the time as well as any."""
    honest = ServerDates.newest

    def newest(self: ServerDates) -> ServerTime | None:
        found = honest(self)
        return None if found is None else replace(found, uncertainty=timedelta(0))

    patch.setattr(ServerDates, "newest", newest)


def both_say_it_is_over() -> None:
    test_holds.test_no_limit_counts_while_the_clocks_disagree_or_nobody_knows()


def one_says_it_is_over() -> None:
    test_holds.test_a_hold_that_is_over_by_one_of_two_clocks_that_agree_is_not_over()


def late_renewal() -> None:
    test_holds.test_a_renewal_that_a_late_clock_saw_does_not_look_old_to_the_next_leader()


def a_declaration_is_over() -> None:
    time = ahead(stories.EXPIRY, stories.LITTLE)
    stories.test_a_declaration_counts_while_it_is_over_by_neither_of_two_clocks_that_agree(time, expected=False)


def overtaken() -> None:
    test_wal_hold.test_what_somebody_else_deletes_ends_a_grant_at_the_look_that_sees_it({"wal_0": 3})


def long_silence() -> None:
    contract.test_an_answer_is_good_for_a_minute_and_the_next_one_is_good_again(FakeClockBed())


MUTANTS: tuple[Mutant, ...] = (
    (own_clock_ends_holds, stories.test_a_leader_whose_clock_is_ahead_ends_no_hold_and_says_so_once),
    (own_clock_ends_holds, test_holds.test_a_hold_is_not_lost_by_a_clock_that_is_ahead),
    (later_clock_ends_holds, one_says_it_is_over),
    (
        own_clock_ends_declarations,
        stories.test_a_leader_whose_clock_is_late_deletes_nothing_by_a_declaration_that_is_over,
    ),
    (own_clock_ends_declarations, stories.test_a_clock_that_goes_wrong_during_a_run_stops_what_a_declaration_licensed),
    (earlier_clock_ends_declarations, a_declaration_is_over),
    (disagreement_ignored, both_say_it_is_over),
    (
        own_clock_ends_declarations,
        stories.test_what_was_licensed_by_a_declaration_is_refused_at_the_act_once_the_clocks_disagree,
    ),
    (disagreement_ignored, stories.test_another_database_is_adopted_only_by_clocks_that_agree),
    (old_answers_count, long_silence),
    (renewals_by_own_clock, late_renewal),
    (renewals_by_own_clock, stories.test_a_renewal_seen_by_a_leader_with_a_late_clock_is_not_old_for_the_next_one),
    (renewals_by_any_time, late_renewal),
    (
        small_skew_is_a_clock_set_back,
        test_holds.test_a_hold_is_seen_at_risk_for_its_minute_although_two_clocks_never_say_the_same,
    ),
    (readoption_at_any_time, stories.test_a_readoption_waits_for_clocks_that_agree_and_is_not_used_up_meanwhile),
    (overtaken_holds_asleep, overtaken),
    (uncertainty_ignored, dates.test_a_date_is_from_the_middle_of_its_way_and_of_its_second),
    (every_answer_is_the_newest, dates.test_an_answer_that_was_overtaken_by_a_newer_one_changes_nothing),
)


def test_every_guard_about_clocks_is_needed() -> None:
    assert not find_survivors(MUTANTS)
