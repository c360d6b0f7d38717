"""What keeps a stalled restart from standing in everybody's way is taken away, guard by guard. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import pytest

from seawall.api.v1alpha1.disruption import DisruptionKind
from seawall.domain.kafka_nodes import checks
from seawall.domain.kafka_nodes.gate import KafkaNodeGate
from seawall.domain.kafka_nodes.reasons import KafkaBlocker
from seawall.domain.ledger import restarts
from seawall.domain.managed_kafka import decide, objects, plan, removal, removal_journal, scale, voter_change
from tests.managed_kafka import test_kafka_never_up as never_up
from tests.managed_kafka import test_kafka_stalled as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds import kafka_removal_world
from tests.worlds.kafka_roll_world import NO_IMAGE
from tests.worlds.kafka_whole_world import WholeWorld


def of(story: Callable[[WholeWorld], object], start: WholeWorld = stories.FOUR_BROKERS) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(copy.deepcopy(start))

    return tell


def a_broker_that_is_down_needs_all_voters(patch: pytest.MonkeyPatch) -> None:
    """Although it has no vote."""
    rewritten(checks, "_quorum_is_degraded", "asked.node.has_stopped or (", "False and (")(patch)
    asked = {**checks.GATE, KafkaBlocker.QUORUM_DEGRADED: checks._quorum_is_degraded}
    patch.setattr(checks, "GATE", MappingProxyType(asked))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(removal_journal, "is_own", "return has_gone or ", "return ", removal),
        of(stories.test_a_broker_whose_restart_is_stalled_is_taken_out),
    ),
    (  # that pod may still be deleted by who slept
        rewritten(removal_journal, "is_own", " and entry.gone_time is not None", "", removal),
        of(stories.test_a_restart_whose_pod_is_still_there_is_waited_for),
    ),
    (
        rewritten(removal, "_stop", "stands_beside(entry, case, node)", "False"),
        of(stories.test_a_restart_that_has_not_begun_and_a_broker_that_is_lost_do_not_wait_for_each_other),
    ),
    (
        rewritten(removal, "_stop", "entry if is_beside else ", ""),
        of(stories.test_a_restart_that_has_not_begun_and_a_broker_that_is_lost_do_not_wait_for_each_other),
    ),
    (
        rewritten(removal_journal, "stands_beside", "broker is None or ", "broker is not None or ", removal),
        of(stories.test_a_broker_that_runs_is_not_stopped_beside_a_restart_that_has_not_begun),
    ),
    (  # a controller is never among the brokers
        rewritten(removal_journal, "stands_beside", "if not node.pool.is_broker:", "if False:", removal),
        of(
            partial(stories.test_a_controller_is_stopped_beside_a_restart_that_has_not_begun_if_it_is_down, runs=True),
            stories.FIVE_CONTROLLERS,
        ),
    ),
    (
        rewritten(removal_journal, "stop_is_late_after", " and entry.name == node.pod_name", "", removal),
        of(
            partial(
                stories.test_a_pod_that_ends_beside_an_old_entry_of_another_is_late_by_its_own_time,
                ago=600,
                is_late=False,
                kind=DisruptionKind.KAFKA_NODE_REMOVAL,
            )
        ),
    ),
    (
        rewritten(
            restarts, "pod_that_restarts", " or (node.gone_time is None and", " and (True or", kafka_removal_world
        ),
        of(stories.test_a_restart_that_has_not_begun_and_a_broker_that_is_lost_do_not_wait_for_each_other),
    ),
    (  # a restart is taken back before its node is
        rewritten(removal_journal, "handed_back", "entry.gone_time is None", "True", removal),
        of(stories.test_whoever_is_declared_again_before_its_stop_is_restarted_as_before),
    ),
    (
        rewritten(objects, "budgets", '"AlwaysAllow" if needed == 0 else ', "", plan, scale),
        of(stories.test_the_only_controller_that_an_edit_broke_is_mended_by_an_edit, stories.ONE_CONTROLLER),
    ),
    (
        rewritten(scale, "keeps_as", 'found.spec_digest == spec_digest(budget.body["spec"])', "True"),
        of(stories.test_a_budget_that_was_made_before_lets_the_only_one_go, stories.ONE_CONTROLLER),
    ),
    (
        rewritten(KafkaNodeGate, "_why_forbidden", "not member.has_stopped", "True"),
        of(stories.test_what_a_budget_keeps_although_it_does_not_run_is_told_with_what_lets_it_go, stories.BROUGHT_UP),
    ),
    (
        rewritten(voter_change, "_go_on", "_stands_beside(entry, case, wish) or ", ""),
        of(
            stories.test_a_lost_disk_of_a_controller_is_replaced_beside_a_broker_whose_restart_is_stalled,
            stories.BROUGHT_UP,
        ),
    ),
    (
        rewritten(voter_change, "_stands_beside", "case.observed.time.shared < since + budget", "False"),
        of(stories.test_a_restart_that_is_in_time_is_waited_for, stories.BROUGHT_UP),
    ),
    (
        rewritten(voter_change, "_stands_beside", " or not is_replacement(case, wish)", ""),
        of(stories.test_votes_of_who_joins_wait_for_every_restart, stories.BROUGHT_UP),
    ),
    (
        rewritten(voter_change, "_stands_beside", "entry.gone_time is None or ", ""),
        of(
            stories.test_a_restart_that_has_not_begun_and_a_lost_disk_do_not_wait_for_each_other,
            stories.BROUGHT_UP,
        ),
    ),
    (
        rewritten(voter_change, "_go_on", " or _is_waited_for(entry, case, wish)", ""),
        of(
            stories.test_a_restart_that_has_not_begun_and_a_controller_that_leaves_and_is_lost_do_not_wait_for_each_other,
            stories.FIVE_CONTROLLERS,
        ),
    ),
    (
        rewritten(voter_change, "_is_waited_for", " and not is_replacement(case, wish)", ""),
        of(stories.test_a_restart_that_is_in_time_is_waited_for, stories.BROUGHT_UP),
    ),
    (
        rewritten(voter_change, "_is_waited_for", "not has_caught_up(each, quorum)", "True"),
        of(
            stories.test_a_controller_that_runs_keeps_its_vote_beside_a_restart_that_has_not_begun,
            stories.FIVE_CONTROLLERS,
        ),
    ),
    (
        a_broker_that_is_down_needs_all_voters,
        of(stories.test_a_broker_that_is_down_does_not_wait_for_a_controller_that_is, stories.BROUGHT_UP),
    ),
    (
        rewritten(plan, "plan", "*(MakeAnew(each) for each in _never_up(case)),", "", decide),
        partial(never_up.test_a_first_start_with_a_wrong_spec_is_mended_by_an_edit, NO_IMAGE),
    ),
    (
        rewritten(plan, "_never_up", "is_new(case, node) and ", ""),
        of(never_up.test_what_is_applied_again_with_a_wrong_spec_is_mended_by_an_edit_and_a_word, stories.BROUGHT_UP),
    ),
    (
        rewritten(plan, "_has_stopped", "pod is None or (not pod.is_started and", "True or ("),
        never_up.test_one_that_runs_is_not_made_anew_because_kafka_has_not_heard_of_it_yet,
    ),
    (
        rewritten(plan, "_never_up", "or found.replicas == 0 ", ""),
        never_up.test_one_that_somebody_scaled_to_0_stays_so,
    ),
    (
        rewritten(KafkaNodeGate, "mends", " or self._mends_others(status, entry, member)", ""),
        of(never_up.test_what_is_applied_again_with_a_wrong_spec_is_mended_by_an_edit_and_a_word, stories.BROUGHT_UP),
    ),
    (
        rewritten(KafkaNodeGate, "_mends_others", "member.runs and ", ""),
        of(never_up.test_a_second_wrong_edit_stops_at_one_node, stories.BROUGHT_UP),
    ),
    (  # the pods that a budget keeps are deleted with the template of before
        rewritten(KafkaNodeGate, "_mends_others", "if not node.has_newest_template", "if node.has_newest_template"),
        of(never_up.test_what_a_budget_keeps_meanwhile_people_delete, stories.BROUGHT_UP),
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_what_is_stalled_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
