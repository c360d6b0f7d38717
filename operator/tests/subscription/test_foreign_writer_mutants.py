"""The guards against foreign writers are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.kafka_log import ProducerState
from seawall.domain.subscription import case, holding, promotion, written
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.logs import LogsNow
from seawall.domain.subscription.written import Written
from tests.subscription import test_doubtful_promotions as doubtful
from tests.subscription import test_foreign_writers as foreign
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def all_is_ours(patch: Patch) -> None:
    """Whoever wrote it, the source need not keep it."""
    patch.setattr(case, "find_written", lambda row, end, *_: Written(max(end, row.start)))


def a_forgotten_producer_wrote_all(patch: Patch) -> None:
    """What nobody knows is taken for ours."""
    honest = written.find_written

    def trusting(row: Any, end: int, held: int, producer: Any, state: Any) -> Written:
        is_forgotten = isinstance(state, ProducerState) and state.epoch is None
        return Written(end) if is_forgotten else honest(row, end, held, producer, state)

    patch.setattr(case, "find_written", trusting)


def silence_is_consent(patch: Patch) -> None:
    """Where the target does not say what it remembers, all is ours."""
    honest = written.find_written

    def trusting(row: Any, end: int, held: int, producer: Any, state: Any) -> Written:
        is_known = isinstance(state, ProducerState)
        return honest(row, end, held, producer, state) if is_known else Written(max(end, row.start))

    patch.setattr(case, "find_written", trusting)


def forgets_where_it_was_held(patch: Patch) -> None:
    """A hold that is over takes along what was certain."""
    patch.setattr(holding, "remembered", lambda found: found.status.topics)


def all_of_a_promoted_log_is_a_copy(patch: Patch) -> None:
    """A promotion counts what somebody else wrote."""

    def whole(_: Case, name: str, target: LogsNow) -> int | None:
        ends = target.ends(name)
        return None if ends is None else ends.high_watermark

    patch.setattr(promotion, "_end_of_copy", whole)


MUTANTS: tuple[Mutant, ...] = (
    (all_is_ours, foreign.test_records_of_somebody_else_do_not_move_the_hold_before_the_job_says_so),
    (a_forgotten_producer_wrote_all, foreign.test_a_topic_that_somebody_else_wrote_to_before_the_first_batch_is_held),
    (
        a_forgotten_producer_wrote_all,
        foreign.test_what_somebody_else_writes_when_the_producer_is_forgotten_moves_nothing,
    ),
    (silence_is_consent, foreign.what_the_target_does_not_tell_is_in_doubt),
    (forgets_where_it_was_held, foreign.test_a_hold_that_is_placed_anew_begins_where_it_was_without_known_producers),
    (all_of_a_promoted_log_is_a_copy, foreign.test_what_somebody_else_wrote_is_no_copy_when_it_is_promoted),
    (
        rewritten(
            promotion,
            "_end_of_copy",
            "ours = case",
            "ours = ends.high_watermark if state.epoch is None else case",
        ),
        doubtful.a_forgotten_copy_ends_where_it_is_certain,
    ),
    (
        rewritten(promotion, "_is_even", " and not each.doubt", ""),
        doubtful.a_switchover_waits_while_the_target_has_more_than_the_copy,
    ),
    (
        rewritten(promotion, "_is_uneven", " or others_to(case, name, end) is not None", ""),
        doubtful.a_switchover_goes_back_when_somebody_else_writes_to_the_target,
    ),
)


@pytest.mark.timeout(600)
def test_each_guard_against_foreign_writers_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
