"""The guards of a removal are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from functools import partial

import pytest

from seawall.api.v1alpha1.kafka_node_pools import NodePool
from seawall.controllers.controller import Controller
from seawall.controllers.since import Since
from seawall.domain.ledger import restarts
from seawall.domain.managed_kafka import emptiness, identity, removal, scale, states
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.times import MANAGED_KAFKA_EMPTY_FOR
from seawall.observe import kafka_nodes
from tests.managed_kafka import test_kafka_removal as stories
from tests.managed_kafka import test_kafka_removal_secured as secured
from tests.managed_kafka import test_managed_kafka_scale as scaled
from tests.support.mutants import Mutant, find_survivors, in_a_copy
from tests.support.source_mutants import rewritten
from tests.worlds import kafka_removal_world

Patch = pytest.MonkeyPatch


of = partial(in_a_copy, stories.BROUGHT_UP)


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is done, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


def one_look(patch: Patch) -> None:
    """Empty once is empty."""
    patch.setattr(Since, "note", lambda _, __, found, *___: dict.fromkeys(found, MANAGED_KAFKA_EMPTY_FOR))


def ids_are_used_again(patch: Patch) -> None:
    """Neither the identity nor the status keeps one from it."""
    patch.setattr(NodePool, "without", lambda pool, _: pool)


def whoever_scales_to_0_takes_it_out(patch: Patch) -> None:
    """Nothing tells Seawall's stop from that of others."""
    patch.setattr(FoundObject, "is_taken_out", property(lambda found: found.replicas == 0))


def a_mark_is_for_ever(patch: Patch) -> None:
    """Whoever scaled it back meanwhile."""
    patch.setattr(FoundObject, "mark_of_stop", property(lambda found: found.uid))


MUTANTS: tuple[Mutant, ...] = (
    (nobody_asks_again, of(stories.test_what_is_put_there_right_before_the_stop_is_seen)),
    (one_look, of(stories.test_nothing_is_stopped_before_two_looks_that_lie_apart_found_nothing)),
    (
        rewritten(emptiness, "_replicas", "if left:", "if False:"),
        of(stories.test_it_is_not_forgotten_before_it_is_gone_and_fenced),
    ),
    (
        rewritten(emptiness, "_stored", "if replicas is None:", "if False:"),
        of(stories.test_what_is_not_told_of_log_directories_counts),
    ),
    (
        rewritten(emptiness, "_stored", "if replicas:", "if False:"),
        of(stories.test_what_is_left_in_log_directories_counts),
    ),
    (
        rewritten(emptiness, "why_refused", "counts[widest] <= left", "True", removal),
        of(stories.test_a_topic_with_more_replicas_than_brokers_would_be_left_is_refused_in_one_sentence),
    ),
    (
        rewritten(emptiness, "why_refused", " - answer.adding.get(each.id, frozenset())", "", removal),
        of(stories.test_what_is_being_made_is_no_replica_more_than_brokers_would_be_left),
    ),
    (
        rewritten(kafka_nodes, "_answer", "{**adding, **_adding(reassigner)}", "_adding(reassigner)"),
        of(stories.test_the_end_of_a_move_while_it_is_looked_at_refuses_nothing),
    ),
    (
        rewritten(removal, "_before_forgetting", "broker.state is not BrokerState.FENCED", "False"),
        of(stories.test_it_is_not_forgotten_before_kafka_has_fenced_it),
    ),
    (
        rewritten(removal, "_before_forgetting", "if case.pod(node) is not None:", "if False:"),
        of(stories.test_it_is_not_forgotten_while_its_pod_ends),
    ),
    (
        rewritten(removal, "_before_forgetting", "(why := why_not_empty(node, observed)) is not None", "(why := '')"),
        of(stories.test_it_is_not_forgotten_before_it_is_gone_and_fenced),
    ),
    (
        rewritten(removal, "_stop", "if entry is not None and not is_beside and not is_own(entry, node):", "if False:"),
        of(stories.test_it_waits_for_who_else_is_disrupted),
    ),
    (
        rewritten(removal, "_record", "message[:LONGEST_MESSAGE]", "message"),
        of(stories.test_names_of_topics_that_are_very_long_are_told_in_part),
    ),
    (
        rewritten(
            removal, "_go_on", "(unstartable := case.too_old or case.unusable_to_who_stays) is not None", "False"
        ),
        of(stories.test_none_is_stopped_for_good_while_none_may_begin),
    ),
    (
        rewritten(removal, "_go_on", "case.too_old or case.unusable_to_who_stays", "case.too_old or case.unusable"),
        secured.test_it_is_stopped_although_the_certificate_lacks_its_name_and_no_other,
    ),
    (
        rewritten(removal, "_go_on", "case.too_old or case.unusable_to_who_stays", "case.too_old"),
        secured.test_none_is_stopped_while_the_certificate_lacks_the_name_of_one_that_stays,
    ),
    (
        rewritten(removal, "_of_its_pod", "if not is_late:", "if True:"),
        of(stories.test_a_pod_that_does_not_end_is_told_with_what_ends_it),
    ),
    (
        rewritten(
            restarts,
            "pod_that_restarts",
            "of_kind(entry, DisruptionKind.KAFKA_NODE_REMOVAL) is not None",
            "False",
            kafka_removal_world,
        ),
        of(stories.test_it_is_not_forgotten_before_it_is_gone_and_fenced),
    ),
    (
        rewritten(removal, "_clear_away", "if gone and case.cluster.metadata.is_paused:", "if False:"),
        of(stories.test_nothing_of_one_that_is_out_is_deleted_while_it_is_paused),
    ),
    (
        rewritten(removal, "_goes", "node.pool.storage.delete_claim for", "True for"),
        of(stories.test_a_broker_is_emptied_stopped_forgotten_and_its_objects_go_but_for_its_volume),
    ),
    (
        rewritten(removal, "_goes", "return is_own and any(", "return any("),
        of(stories.test_a_claim_that_only_has_its_labels_stays_and_is_named),
    ),
    (
        rewritten(removal, "_goes", "return is_own and any(", "return any("),
        of(stories.test_a_claim_of_its_name_that_is_not_the_one_that_it_had_stays),
    ),
    (
        whoever_scales_to_0_takes_it_out,
        of(stories.test_one_that_somebody_scales_to_0_is_away_and_not_taken_out),
    ),
    (
        whoever_scales_to_0_takes_it_out,
        of(stories.test_one_that_leaves_and_that_somebody_scales_to_0_is_emptied_all_the_same),
    ),
    (
        whoever_scales_to_0_takes_it_out,
        partial(scaled.test_a_node_that_somebody_scales_to_0_stays_declared, scaled.BOTH_UP),
    ),
    (
        rewritten(states, "_of_scale", "statefulset.replicas != 0", "True"),
        partial(scaled.test_what_is_wrong_with_its_volume_is_told_beside_it, copy.deepcopy(scaled.BROUGHT_UP)),
    ),
    (
        a_mark_is_for_ever,
        of(stories.test_one_that_was_taken_out_and_is_scaled_back_is_not_taken_out_by_the_next_who_scales_it),
    ),
    (
        ids_are_used_again,
        of(stories.test_its_id_is_not_used_again),
    ),
    (
        rewritten(identity, "_ids_of", "else _remembered(cluster, kafka, found)", "else frozenset()"),
        of(stories.test_one_that_leaves_is_known_by_its_statefulset_when_its_volume_is_lost_too),
    ),
    (
        rewritten(identity, "_name_of", "ObjectKind.STATEFUL_SET: node_name", ""),
        of(stories.test_one_that_leaves_is_known_by_its_statefulset_when_its_volume_is_lost_too),
    ),
    (
        rewritten(identity, "_remembered", "each.name == _name_of(cluster, each) and ", ""),
        of(stories.test_what_is_no_volume_of_a_node_makes_none_when_the_identity_is_lost),
    ),
    (
        rewritten(identity, "_rebuilt", "**out", ""),
        of(stories.test_objects_of_one_that_is_out_go_although_the_identity_is_lost),
    ),
    (
        rewritten(scale, "is_out", "and case.pod(node) is None", ""),
        of(stories.test_the_budget_counts_it_until_it_is_gone),
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_a_removal_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
