"""The guards of a restart that is over without an end are taken away one by one. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.gate import DatanodeGate
from seawall.observe.datanodes import DatanodeObserver
from tests.datanodes import test_left_out as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten


def nobody_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """Whoever is not there comes back."""
    patch.setattr(DatanodeGate, "left_out", lambda *_: None)


WHY = "why_not_gone"

MUTANTS: tuple[Mutant, ...] = (
    (nobody_is_left_out, stories.test_a_datanode_that_is_scaled_away_in_mid_roll_ends_its_restart_and_the_others_go_on),
    (nobody_is_left_out, stories.test_a_datanode_that_is_scaled_away_behind_a_shut_gate_holds_nobody_up),
    (
        rewritten(DatanodeGate, "left_out", "timedelta()", "timedelta(hours=1)"),
        stories.test_maintenance_ends_before_another_datanode_goes,
    ),
    (
        rewritten(
            DatanodeGate,
            "left_out",
            "return journaled(entry, meanwhile(give_back(stalled, self.facts), waits))",
            "return None",
        ),
        stories.test_a_datanode_whose_statefulset_is_named_again_goes_on_where_it_was,
    ),
    (
        rewritten(Facts, WHY, "found.is_there", "False"),
        stories.test_the_restart_is_not_over_while_the_pod_of_the_statefulset_of_before_is_there,
    ),
    (
        rewritten(Facts, WHY, "any(each.expects(name) for each in own)", "False"),
        stories.test_the_restart_is_not_over_while_the_statefulset_of_before_makes_the_pod,
    ),
    (
        rewritten(Facts, WHY, "not all(each.observed for each in (*self.statefulsets, *own))", "False"),
        stories.test_the_restart_is_not_over_before_kubernetes_has_looked_at_what_was_scaled,
    ),
    (
        rewritten(Facts, WHY, 'return "what is left of it cannot be read"', "return None"),
        stories.test_the_restart_is_not_over_while_the_statefulset_of_before_may_not_be_read,
    ),
    (
        rewritten(DatanodeObserver, "_with_pods", "return replace(facts, statefulset_problem=what)", "continue"),
        stories.test_the_restart_is_not_over_while_one_of_the_named_statefulsets_cannot_be_read,
    ),
)


def test_each_guard_of_a_restart_that_is_over_is_needed() -> None:
    assert not find_survivors(MUTANTS)
