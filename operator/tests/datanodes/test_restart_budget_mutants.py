"""What a restart does while a PodDisruptionBudget forbids it is taken away piece by piece. Prints the kills."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from seawall.controllers.datanodes import RestartController
from seawall.domain.datanodes import budget, gate, health
from seawall.domain.datanodes.gate import DatanodeGate
from seawall.domain.times import MAINTENANCE_REST
from tests.datanodes import test_restart_budget as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

TEN = partial(stories.test_a_budget_that_forbids_for_an_hour_keeps_no_maintenance_on_and_is_one_event, minutes=10)


def rests_are_short(patch: pytest.MonkeyPatch) -> None:
    """However long it has forbidden, it is tried again half a minute later."""
    patch.setattr(budget, "MAINTENANCE_LONGEST_REST", MAINTENANCE_REST)


def no_first_rest(patch: pytest.MonkeyPatch) -> None:
    """Maintenance stays on, and it is tried in the next tick."""
    patch.setattr(budget, "MAINTENANCE_REST", timedelta(0))


def each_answer_is_told(patch: pytest.MonkeyPatch) -> None:
    """Each time it is forbidden is an event."""
    patch.setattr(RestartController, "tells", lambda *_: False)


def not_told_of_datanodes(patch: pytest.MonkeyPatch) -> None:
    """DatanodesHealthy says nothing of it."""
    patch.setattr(health, "_forbidden", lambda _: "")


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(DatanodeGate, "act", "if kept_out is not None:", "if False:"), TEN),
    (
        rewritten(DatanodeGate, "act", "if kept_out is not None:", "if self.forbidden is not None:"),
        stories.test_maintenance_is_given_back_at_once_and_the_next_try_takes_it_anew,
    ),
    (
        rewritten(budget, "keep_out", "meanwhile(give_back(resting, facts), waits)", "waits", gate),
        stories.test_maintenance_is_given_back_at_once_and_the_next_try_takes_it_anew,
    ),
    (rests_are_short, TEN),
    (no_first_rest, stories.test_maintenance_is_given_back_at_once_and_the_next_try_takes_it_anew),
    (rewritten(DatanodeGate, "act", "in_its_words(tried, member.name, self.facts)", "tried"), TEN),
    (
        rewritten(budget, "in_its_words", " or facts.in_maintenance is None", "", gate, stories),
        stories.test_a_try_that_waits_for_a_database_which_does_not_answer_says_so_instead,
    ),
    (each_answer_is_told, TEN),
    (
        not_told_of_datanodes,
        stories.test_where_datanodes_are_looked_at_it_is_said_what_is_waited_for_and_that_maintenance_is_not_kept,
    ),
    (
        rewritten(DatanodeGate, "gone", '"flush": None, "forbidden": None', '"flush": None'),
        stories.test_the_next_datanode_does_not_rest_for_what_was_forbidden_before,
    ),
    (
        rewritten(DatanodeGate, "left_out", '"forbidden": None,', ""),
        stories.test_a_datanode_that_is_scaled_away_is_no_more_forbidden,
    ),
)


def test_all_that_is_done_while_a_budget_forbids_is_needed() -> None:
    assert not find_survivors(MUTANTS)
