"""What keeps a run from waiting by wrong clocks is taken away piece by piece: each story then ends badly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from seawall.controllers import reassignment
from seawall.domain.reassignment import decide, in_time
from seawall.domain.reassignment.observed import Observed
from tests.reassignment import test_reassignment_clock as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten


def own_clock(patch: pytest.MonkeyPatch) -> None:
    """Each operator counts by the clock of its node."""
    patch.setattr(Observed, "now", property(lambda self: self.time.now))


def without(name: str) -> Mutant:
    """One time is counted from as it is written."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(in_time, "_COUNTED", tuple(each for each in in_time._COUNTED if each != name))

    mutate.__name__ = f"without {name}"
    return mutate, STORIES[name]


def leaders() -> None:
    """The story of leaders, of whom Kafka elects none."""
    with pytest.MonkeyPatch.context() as patch:
        stories.test_leaders_are_waited_for_no_longer_although_the_stage_began_in_a_time_to_come(patch)


def leaders_without_a_run() -> None:
    """The same where nothing is to be moved."""
    with pytest.MonkeyPatch.context() as patch:
        stories.test_leaders_are_elected_no_longer_although_that_began_in_a_time_to_come(patch)


STORIES: dict[str, Callable[[], None]] = {
    "start_time": stories.test_a_run_is_called_slow_in_time_although_it_began_in_a_time_to_come,
    "stage_time": leaders,
    "election_time": leaders_without_a_run,
    "completion_time": stories.test_what_kafka_refused_is_planned_again_although_the_run_ended_in_a_time_to_come,
    "progress_time": partial(stories.test_no_time_to_come_stays_although_nothing_else_changes, "progress_time"),
}

MUTANTS: tuple[Mutant, ...] = (
    *(without(name) for name in STORIES),
    (
        rewritten(decide, "progressed", "is_to_come(since, now) or ", ""),
        partial(
            stories.test_what_is_said_of_a_run_is_written_although_it_was_written_last_in_a_time_to_come,
            ["progress_time"],
        ),
    ),
    (
        rewritten(decide, "decide", "and in_time(before, observed.now)", "and before", reassignment),
        leaders,
    ),
    (own_clock, stories.test_who_takes_over_with_a_clock_that_is_ahead_plans_nothing_again_early),
    (own_clock, stories.test_what_a_clock_that_is_ahead_writes_is_of_no_time_to_come),
)


def test_every_guard_of_a_reassignment_by_a_wrong_clock_is_needed() -> None:
    assert find_survivors(MUTANTS) == []
