"""The guards of a managed Kafka's roll are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

import pytest

from seawall.controllers import kafka_roll, since
from seawall.controllers.controller import Controller
from seawall.domain.kafka_nodes import checks
from seawall.domain.kafka_nodes.gate import KafkaNodeGate
from seawall.domain.kafka_nodes.reasons import OVERRIDABLE, KafkaBlocker
from seawall.domain.managed_kafka import decide, objects, plan, roll, roll_facts, rolling, scale, staleness
from seawall.domain.managed_kafka.case import Case
from seawall.domain.partitions import QuorumReplica
from seawall.domain.rollout import begin, machine
from seawall.observe import kafka_nodes
from tests.domain.kafka_nodes.test_kafka_mutants import all_templates_at_once
from tests.managed_kafka import test_kafka_roll as stories
from tests.managed_kafka import test_managed_kafka_objects as made
from tests.support.mutants import Mutant, find_survivors, in_a_copy
from tests.support.source_mutants import rewritten
from tests.worlds.kafka_roll_world import RollWorld

Patch = pytest.MonkeyPatch


of = partial(in_a_copy, stories.BROUGHT_UP)


def newer(world: RollWorld) -> None:
    """The story of a newer Seawall, which is one by a patch of its own."""
    with pytest.MonkeyPatch.context() as patch:
        stories.test_a_newer_seawall_restarts_nothing_before_a_person_approves_just_that(world, patch)


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is done, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


def a_volume_goes_with_its_pod(patch: Patch) -> None:
    """Whose claim is being deleted is not asked."""
    patch.setattr(checks, "GATE", MappingProxyType({**checks.GATE, KafkaBlocker.VOLUME_GOES: lambda _: None}))


def others_begin_whom_the_budget_keeps(patch: Patch) -> None:
    """Only the node itself is asked, so the journal has one that cannot go, and nobody else may be restarted."""

    def own(asked: checks.Candidate) -> str | None:
        return asked.node.name if asked.node.loses_volume else None

    patch.setattr(checks, "GATE", MappingProxyType({**checks.GATE, KafkaBlocker.VOLUME_GOES: own}))


def let_through_with_its_volume(patch: Patch) -> None:
    """A person's word about restarts is one about disks, too."""
    patch.setattr(checks, "OVERRIDABLE", OVERRIDABLE | {KafkaBlocker.VOLUME_GOES})


def an_edit_mends_nothing(patch: Patch) -> None:
    """Who does not come back is waited for, whatever the spec says by then."""
    patch.setattr(KafkaNodeGate, "mends", lambda *_: None)


GOES = partial(stories.test_a_node_whose_volume_would_go_with_its_pod_is_not_restarted, lose=RollWorld.delete_claim)
REPLACED = partial(
    stories.test_a_node_whose_volume_would_go_with_its_pod_is_not_restarted, lose=RollWorld.replace_claim
)
SLOT = of(stories.test_nothing_goes_while_a_datanode_is_restarted_and_its_entry_stays)
MUTANTS: tuple[Mutant, ...] = (
    (a_volume_goes_with_its_pod, of(partial(GOES, is_let=True))),
    (let_through_with_its_volume, of(partial(GOES, is_let=True))),
    (
        rewritten(Case, "loses_volume", "is_on(pod, volume)", "True"),
        of(partial(REPLACED, is_let=True)),
    ),
    (
        rewritten(Case, "loses_volume", " or pod.placed is not None", ""),
        of(stories.test_a_node_that_does_not_run_keeps_a_claim_that_is_deleted_as_well),
    ),
    (
        rewritten(objects, "budgets", "count if budget in kept else count - 1", "count - 1", plan, scale),
        of(stories.test_while_a_claim_is_deleted_its_budget_lets_nobody_go),
    ),
    (others_begin_whom_the_budget_keeps, of(partial(GOES, is_let=True))),
    (nobody_asks_again, of(stories.test_a_person_who_pauses_right_before_the_act_is_in_time)),
    (
        rewritten(roll_facts, "is_caught_up", "return True", "pass"),
        of(stories.test_a_controller_that_votes_no_more_keeps_no_restart_waiting),
    ),
    (
        rewritten(since.Since, "_goes_on", "between <= self.longest_break", "True"),
        of(stories.test_a_time_in_which_nobody_asked_is_no_time_in_which_a_node_was_well),
    ),
    (an_edit_mends_nothing, of(stories.test_a_broken_config_stops_at_one_node_and_an_edit_mends_it)),
    (
        rewritten(KafkaNodeGate, "_mends_it", " or self.facts.is_paused", ""),
        of(stories.test_a_pause_keeps_templates_as_they_are_where_nobody_would_be_restarted_either),
    ),
    (
        rewritten(staleness, "why_stale", "if behind else None", "if False else None", kafka_nodes),
        of(stories.test_what_a_broker_tells_that_is_cut_off_lets_no_node_go),
    ),
    (
        rewritten(QuorumReplica, "keeps_up", "0 <= self.behind_ms", "self.behind_ms"),
        of(stories.test_while_the_clock_of_the_active_controller_is_set_back_no_node_goes),
    ),
    (all_templates_at_once, of(stories.test_a_node_that_dies_by_itself_comes_back_as_it_was_made)),
    (rewritten(begin, "begin_next", "if other is not None:", "if False:", machine), SLOT),
    (
        rewritten(roll_facts, "cause_of", "in {None, *spec_hashes(node)}", "is None", roll_facts),
        of(newer),
    ),
    (
        rewritten(objects, "spec_hash", '{"tls", ', '{"users", "tls", ', made),
        partial(made.test_what_is_remembered_of_the_spec_is_what_a_node_is_made_of, "users"),
    ),
    (
        rewritten(objects, "spec_hash", "if kafka.image is None", "if True", made),
        partial(made.test_what_is_remembered_of_the_spec_is_what_a_node_is_made_of, "version beside image"),
    ),
    (
        rewritten(objects, "_ways_to_say", "if said in {None, default}", "if False"),
        partial(made.test_what_is_remembered_of_the_spec_is_what_a_node_is_made_of, "the default heap"),
    ),
    (
        rewritten(objects, "spec_hashes", ", _spec_hash_of_before(each)", ",", made),
        partial(made.test_pods_that_were_made_before_it_was_so_still_say_the_same, made.secured()),
    ),
    (rewritten(roll_facts, "_is_approved", '"").strip() == plan', '"") != ""'), of(newer)),
    (
        rewritten(roll_facts, "_is_datanode_away", "None if said is None or", "False if said is None or"),
        of(partial(stories.test_nothing_goes_while_a_datanode_is_not_known_to_serve, said=None)),
    ),
    (
        rewritten(roll_facts, "_is_datanode_away", 'said.status != "True"', "said.status != said.status"),
        of(partial(stories.test_nothing_goes_while_a_datanode_is_not_known_to_serve, said="False")),
    ),
    (
        rewritten(rolling, "is_of_the_roll", "entry is not None and", "False and", decide),
        of(stories.test_while_a_node_is_away_the_others_are_told_to_be_well),
    ),
    (
        rewritten(roll, "is_under_way", "is_begun or is_ours or bool", "is_begun or not is_ours or bool", kafka_roll),
        of(stories.test_nothing_is_restarted_where_nothing_changed),
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_a_roll_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
