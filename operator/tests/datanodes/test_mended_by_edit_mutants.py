"""What an edit mends, and the guards of that, are taken away one by one. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.domain.datanodes.gate import DatanodeGate
from tests.datanodes import test_mended_by_edit as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

OUTDATED = "_is_outdated"


def edits_mend_nothing(patch: pytest.MonkeyPatch) -> None:
    """It is waited for the pod that is there."""
    patch.setattr(DatanodeGate, "mends", lambda *_: None)


def time_goes_on(patch: pytest.MonkeyPatch) -> None:
    """The one that is made anew is as late as the one before."""
    patch.setattr(DatanodeGate, "goes_again", lambda *_: False)


maintenance_kept = rewritten(DatanodeGate, "mends", "status.maintenance is not None or ", "")
at_any_stage = rewritten(DatanodeGate, OUTDATED, "status.stage is not RollStage.STALLED or ", "")


def replays_ended(patch: pytest.MonkeyPatch) -> None:
    """Whoever replays is made anew by an edit."""
    maintenance_kept(patch)
    at_any_stage(patch)


MUTANTS: tuple[Mutant, ...] = (
    (edits_mend_nothing, stories.test_a_datanode_that_a_template_broke_is_made_anew_when_that_is_corrected),
    (time_goes_on, stories.test_the_one_that_is_made_anew_has_all_of_its_time),
    (
        rewritten(DatanodeGate, OUTDATED, 'pod.revision not in {"", found.update_revision}', "True"),
        stories.test_a_datanode_that_does_not_come_up_is_left_alone_while_nobody_edits_anything,
    ),
    (
        rewritten(DatanodeGate, OUTDATED, "not found.observed", "False"),
        stories.test_an_edit_mends_nothing_before_kubernetes_has_looked_at_it,
    ),
    (
        rewritten(DatanodeGate, "mends", "self.refusal(status, member, is_chosen=True) is not None", "False"),
        stories.test_an_edit_waits_for_the_gate_and_the_status_says_so,
    ),
    (maintenance_kept, stories.test_maintenance_is_given_back_before_it_is_made_anew),
    (
        rewritten(DatanodeGate, OUTDATED, "pod.ready or ", ""),
        stories.test_a_datanode_that_is_ready_by_then_is_left_to_its_replay,
    ),
    (replays_ended, stories.test_an_edit_while_it_replays_ends_no_replay),
    (
        rewritten(DatanodeGate, OUTDATED, "found.strategy is not UpdateStrategy.ON_DELETE", "False"),
        stories.test_below_a_partition_a_pod_would_come_back_as_it_was,
    ),
)


def test_each_guard_of_what_an_edit_mends_is_needed() -> None:
    assert not find_survivors(MUTANTS)
