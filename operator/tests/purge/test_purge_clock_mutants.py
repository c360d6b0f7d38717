"""What keeps runs from waiting by wrong clocks, or by those before, is taken away piece by piece: stories end badly."""

from __future__ import annotations

from datetime import timedelta

from seawall.controllers.purge import WALPurgeController
from seawall.domain.purge import decide, state, waits
from tests.purge import test_purge_clock as stories
from tests.purge import test_purge_run as runs
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

taken_over_late = runs.test_an_operator_that_takes_over_late_watches_and_gathers_anew_before_the_run_ends

MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(waits.Times, "watched_by", "max(until, watched_since + self.patience)", "until"),
        lambda: taken_over_late("write"),
    ),
    (
        rewritten(state.RunState, "known_since", "self.watched_since()", "self._time_of(0)"),
        lambda: taken_over_late("claim"),
    ),
    (
        rewritten(WALPurgeController, "observe", "self.clock.trusted().shared", "self.clock.now()"),
        lambda: stories.test_another_operator_whose_clock_is_wrong_cuts_no_run_short("Preparing", timedelta(days=1)),
    ),
    (
        rewritten(state.RunState, "_time_of", "read.shared_now or ", ""),
        stories.test_who_takes_over_with_a_clock_that_is_ahead_waits_no_longer_for_evidence,
    ),
    (
        rewritten(waits, "in_time", "not_to_come(status.start_time, now)", "status.start_time", decide),
        stories.test_a_start_that_is_to_come_counts_from_now_on_and_is_written_down,
    ),
    (
        rewritten(waits, "in_time", "not_to_come(status.start_time, now)", "status.start_time", decide),
        stories.test_a_run_that_cannot_go_on_ends_at_its_deadline_and_the_one_behind_has_its_turn,
    ),
    (
        rewritten(waits, "in_time", "not_to_come(flush.start_time, now)", "flush.start_time", decide),
        stories.test_flushes_that_were_asked_for_in_a_time_to_come_are_waited_for_no_longer,
    ),
    (
        rewritten(waits, "in_time", "not_to_come(status.seen_time, now)", "status.seen_time", decide),
        stories.test_evidence_of_what_was_seen_in_a_time_to_come_is_waited_for_no_longer,
    ),
    (
        rewritten(waits, "in_time", "not_to_come(status.verification_time, now)", "status.verification_time", decide),
        stories.test_a_verification_that_is_waited_for_since_a_time_to_come_is_waited_for_a_quarter_of_an_hour,
    ),
)


def test_every_guard_of_a_run_by_a_wrong_clock_is_needed() -> None:
    assert find_survivors(MUTANTS) == []
