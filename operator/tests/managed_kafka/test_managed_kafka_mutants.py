"""The guards of a managed Kafka are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from seawall.api.v1alpha1.managed_kafka_status import NodeState
from seawall.controllers import managed_kafka as controller
from seawall.controllers import topic_creation
from seawall.controllers.controller import Controller
from seawall.controllers.since import Since
from seawall.domain.managed_kafka import (
    case,
    decide,
    identity,
    network,
    objects,
    plan,
    scale,
    staleness,
    states,
    tokens,
    volumes,
)
from seawall.domain.managed_kafka.actions import ChangeBudget, RemovePolicy
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.observe import kafka_nodes
from tests.managed_kafka import test_kubernetes_restored as restored
from tests.managed_kafka import test_managed_kafka as stories
from tests.managed_kafka import test_managed_kafka_network as networked
from tests.managed_kafka import test_managed_kafka_scale as scaled
from tests.managed_kafka import test_since as gaps
from tests.managed_kafka import test_unreadable_objects as unreadable
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.managed_world import ManagedWorld

Patch = pytest.MonkeyPatch


def of_a_world(story: Callable[[ManagedWorld], object]) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(ManagedWorld().bring_up())

    return tell


def topics_by_an_old_decision(patch: Patch) -> None:
    """Who may format is asked only when it is decided."""
    patch.setattr(topic_creation, "why_forming", lambda *_: None)


def one_look(patch: Patch) -> None:
    """Nobody waits until a broker that died is fenced."""
    patch.setattr(controller, "MANAGED_KAFKA_CLEARED_MS", 0)


def budgets_rise_last(patch: Patch) -> None:
    """A node is there before its budget counts it."""

    def late(known: Case) -> Iterator[ChangeBudget]:
        places = known.observed.found.objects
        if all((ObjectKind.STATEFUL_SET, node.name) in places for node in known.nodes):
            yield from scale.budgets_to_change(known)

    patch.setattr(plan, "budgets_to_change", late)


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is done, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


def policies_have_no_former_life(patch: Patch) -> None:
    """That of another WALCluster counts as this one's."""
    patch.setattr(plan, "_OF_ALL", frozenset({ObjectKind.BUDGET}))


def asks_first() -> None:
    """A story that is of a newer Seawall by a patch of its own."""
    with pytest.MonkeyPatch.context() as patch:
        scaled.test_a_newer_seawall_asks_first_also_after_a_broker_more(patch)


restored_only_if = stories.test_a_claim_is_restored_only_if_all_that_tells_of_its_disk_is_known
LOST = of_a_world(stories.test_a_disk_that_is_the_only_one_in_sync_is_not_formatted_and_the_partitions_are_named)
NOT_READ = "if not isinstance(identity, Identity):"
UNKNOWN_IS_SAFE = "if isinstance(answer, str):\n        return None\n    if False:"
SCALED: tuple[Mutant, ...] = (
    (
        rewritten(plan, "plan", "*budgets_to_change(case),", "*(),", decide),
        of_a_world(scaled.test_a_broker_more_joins_by_a_token_and_nobody_is_restarted_for_it),
    ),
    (
        budgets_rise_last,
        of_a_world(scaled.test_the_budget_counts_a_node_before_it_is_there),
    ),
    (
        rewritten(scale, "keeps_as", 'found.spec_digest == spec_digest(budget.body["spec"])', "True"),
        of_a_world(scaled.test_whoever_changes_whom_a_budget_counts_it_counts_the_nodes_again),
    ),
    (
        rewritten(scale, "budgets_to_change", "begun_nodes(case)", "case.nodes", plan),
        of_a_world(scaled.test_a_volume_that_is_refused_keeps_no_other_node_from_being_mended),
    ),
    (
        rewritten(plan, "plan", "if volumes and not case.identity.formed:", "if volumes:", decide),
        of_a_world(scaled.test_a_volume_that_is_refused_keeps_no_other_node_from_being_mended),
    ),
    (
        rewritten(objects, "_hash_of", "most_replicas(node.kafka)", "list(node.kafka.broker_ids)"),
        asks_first,
    ),
    (
        rewritten(decide, "_why_away", "if case.identity.formed:", "if True:"),
        scaled.test_a_kafka_that_was_never_whole_is_brought_up_and_not_scaled,
    ),
    (
        rewritten(decide, "_why_away", "if all(is_new", "if any(is_new"),
        of_a_world(scaled.test_who_joins_is_told_as_such_and_who_is_away_beside_it_is_not_hidden),
    ),
    (
        rewritten(scale, "undeclared", "registered - declared", "registered - registered"),
        of_a_world(scaled.test_a_walcluster_that_is_made_again_without_a_pool_says_whom_it_lacks),
    ),
)


def of_restored(story: Callable[[ManagedWorld], object]) -> Callable[[], None]:
    """The story, in a world whose API server was restored."""

    def tell() -> None:
        story(copy.deepcopy(restored.RESTORED))

    return tell


def of_volumes_alone(patch: Patch) -> None:
    """Who is made again of volumes counts as new, and nobody asks Kafka whether it knows the id: either is enough."""
    for without in (
        rewritten(identity, "_rebuilt", "registered=True", "registered=False"),
        rewritten(tokens, "_record", "case.is_newcomer(node) and is_known(node, case.observed.kafka)", "False"),
        rewritten(tokens, "_token", "is_known(node, case.observed.kafka) is False", "True"),
    ):
        without(patch)


NOT_NEW = of_restored(restored.test_an_empty_disk_under_the_id_of_one_that_kafka_knows_is_lost_and_not_new)
RESTORED: tuple[Mutant, ...] = (
    (
        rewritten(tokens, "_record", "case.is_newcomer(node) and is_known(node, case.observed.kafka)", "False"),
        NOT_NEW,
    ),
    (
        rewritten(tokens, "_token", "is_known(node, case.observed.kafka) is False", "True"),
        restored.test_a_node_that_joins_is_formatted_when_kafka_says_that_it_never_heard_of_it,
    ),
    (
        rewritten(case, "doubtful_nodes", "node.id in joining or ", "", controller),
        of_a_world(stories.test_a_node_that_is_added_later_gets_a_token_for_the_pod_that_asked),
    ),
    (
        rewritten(volumes, "_is_of_brokers", "node.id in each.replicas for", "False for"),
        partial(
            restored.test_kafka_knows_a_node_that_is_registered_or_votes_or_has_a_replica,
            0,
            restored.answer(brokers=(1,), partitions=(1, 0)),
            known=True,
        ),
    ),
    (
        rewritten(scale, "why_undeclared", "if brokers := _undeclared_brokers(case):", "if brokers := ():", decide),
        of_restored(restored.test_brokers_that_kafka_knows_and_nobody_declares_are_named),
    ),
)
PORTS = of_a_world(
    networked.test_controllers_are_reached_by_nodes_alone_brokers_also_by_seawall_and_clients_by_the_namespace
)
NETWORKED: tuple[Mutant, ...] = (
    (
        rewritten(plan, "plan", "if (policy := first_policy(case)) is not None:", "if False:", decide),
        networked.test_no_node_begins_without_it,
    ),
    (
        rewritten(network, "first_policy", "and any(kind is ObjectKind.STATEFUL_SET for kind, _ in objects)", "", plan),
        of_a_world(networked.test_no_node_of_one_that_is_applied_again_begins_without_it),
    ),
    (
        rewritten(
            plan,
            "plan",
            "(*(objects or volumes), *policy_actions(case))",
            "(*objects, *policy_actions(case)) or volumes",
            decide,
        ),
        of_a_world(networked.test_one_that_is_refused_keeps_no_node_from_being_mended_or_added),
    ),
    (
        rewritten(network, "policy_actions", 'found.spec_digest != spec_digest(wanted.body["spec"])', "False", plan),
        of_a_world(networked.test_whoever_changes_it_it_says_what_is_declared_again),
    ),
    (
        rewritten(network, "policy_actions", "if found is not None:", "if False:", plan),
        of_a_world(networked.test_without_one_in_the_spec_it_goes_and_comes_back_with_the_next_edit),
    ),
    (
        rewritten(network, "network_policy", "_port(CONTROLLER_PORT, nodes)", "_port(CONTROLLER_PORT, nodes, jobs)"),
        PORTS,
    ),
    (rewritten(network, "network_policy", "_operator(operator), ", ""), PORTS),
    (policies_have_no_former_life, of_a_world(networked.test_one_of_a_former_life_has_to_go_first)),
    (
        nobody_asks_again,
        partial(networked.test_what_is_not_declared_any_more_is_not_done, {"enabled": False}, RemovePolicy),
    ),
)
MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(states, "_of_controller", "heard.keeps_up(", "(heard.behind_ms or 0) <= ("),
        of_a_world(
            partial(
                stories.test_a_controller_is_not_said_to_be_online_by_a_clock_that_was_set_back, -1, NodeState.FENCED
            )
        ),
    ),
    *NETWORKED,
    (rewritten(tokens, "_token", "case VolumeState.LOST if case.may_format(node):", "case VolumeState.LOST:"), LOST),
    (
        rewritten(Case, "is_spent", "record.answered == word", "False"),
        of_a_world(stories.test_what_a_person_says_of_a_loss_is_not_said_of_the_next_one),
    ),
    (
        rewritten(tokens, "_answered", "pod is not None and pod.is_started", "True"),
        of_a_world(stories.test_a_controller_that_a_person_answers_for_has_another_directory),
    ),
    (rewritten(volumes, "only_on", " & online", ""), LOST),
    (
        rewritten(kafka_nodes, "_partitions", "return found.message", "continue"),
        of_a_world(stories.test_a_disk_is_not_formatted_while_metadata_of_any_topic_are_an_error),
    ),
    (
        rewritten(
            volumes,
            "only_on",
            "eligible.get(each.id, frozenset())",
            "eligible.get(each.id, frozenset(each.replicas))",
            stories,
        ),
        stories.test_where_nobody_is_known_to_be_eligible_a_disk_is_the_only_one,
    ),
    (
        rewritten(staleness, "why_stale", "if behind else None", "if False else None", kafka_nodes),
        of_a_world(stories.test_a_lost_disk_is_not_cleared_by_what_a_broker_tells_that_is_cut_off),
    ),
    (
        rewritten(volumes, "only_on", " & online", " - {node}"),
        stories.test_two_disks_that_are_lost_at_once_do_not_vouch_for_each_other,
    ),
    (
        rewritten(tokens, "_answer", 'f"join {question}" if', '"join" if'),
        of_a_world(stories.test_a_token_is_for_the_one_pod_that_asked),
    ),
    (
        rewritten(
            tokens, "_answer", "question = _question(case, node)", 'question = getattr(case.pod(node), "uid", None)'
        ),
        of_a_world(stories.test_a_disk_that_is_emptied_again_is_asked_about_again),
    ),
    (
        rewritten(tokens, "_token", "if case.identity.formed", "if False"),
        of_a_world(stories.test_a_node_that_is_added_later_gets_a_token_for_the_pod_that_asked),
    ),
    (
        rewritten(tokens, "why_no_topics", "if unasked:", "if False:", kafka_nodes),
        of_a_world(stories.test_no_topic_is_made_while_any_pod_may_still_format_a_volume),
    ),
    (
        rewritten(tokens, "why_no_topics", "if tokens is None:", "if (tokens := tokens or {}) is None:", kafka_nodes),
        of_a_world(stories.test_no_topic_is_made_while_any_pod_may_still_format_a_volume),
    ),
    (
        rewritten(tokens, "why_no_topics", "None if identity.formed", "None if True", kafka_nodes),
        stories.test_no_topic_is_made_before_it_is_written_down_that_kafka_has_heard_from_all_nodes,
    ),
    (
        rewritten(tokens, "why_no_topics", NOT_READ, f"{NOT_READ}\n        return None\n    if False:", kafka_nodes),
        of_a_world(stories.test_no_topic_is_made_while_nobody_knows_whom_kafka_has_heard_from),
    ),
    (
        rewritten(decide, "_as_far_as_known", "isinstance(answer, str)", "False"),
        of_a_world(stories.test_while_kafka_does_not_answer_nobody_says_that_it_is_well),
    ),
    (
        rewritten(decide, "_as_far_as_known", " and verdict.reason in WELL", ""),
        of_a_world(stories.test_while_kafka_does_not_answer_nobody_says_that_it_is_well),
    ),
    (topics_by_an_old_decision, of_a_world(stories.test_a_topic_is_not_made_by_an_old_decision)),
    (
        rewritten(tokens, "_registered", 'update={"registered": True}', 'update={"registered": False}'),
        of_a_world(stories.test_all_nodes_are_online_with_one_identity_and_no_token_is_left),
    ),
    (
        rewritten(volumes, "why_not_without", "_why_vote_stands(node, answer)", "None", controller),
        of_a_world(stories.test_an_empty_disk_of_a_controller_is_formatted_by_nobody_while_it_has_a_vote),
    ),
    (
        rewritten(volumes, "why_not_without", "if isinstance(answer, str):", UNKNOWN_IS_SAFE, controller),
        of_a_world(stories.test_while_kafka_does_not_answer_nothing_is_formatted),
    ),
    (
        rewritten(volumes, "volume_state", "volume is None or volume.uid != record.volume", "volume is None", case),
        stories.test_a_first_directory_id_is_not_given_to_a_volume_that_was_made_anew,
    ),
    (
        rewritten(tokens, "_record", "restored := _restored(case, node, record)", "restored := None"),
        of_a_world(stories.test_a_claim_that_was_restored_with_its_disk_is_held_and_formatted_by_nobody),
    ),
    (
        rewritten(tokens, "_restored", " or token_key(node.id) in tokens_now(case)", ""),
        of_a_world(partial(restored_only_if, 2, stories.with_tokens)),
    ),
    (
        rewritten(tokens, "_restored", "if follows is not None and", "if False and"),
        of_a_world(stories.test_who_may_have_been_heard_from_with_the_disk_before_is_waited_for),
    ),
    (
        rewritten(tokens, "_restored", "not record.registered or ", ""),
        of_a_world(stories.test_a_node_that_kafka_has_never_heard_from_has_nothing_to_restore),
    ),
    (
        rewritten(tokens, "_restored", "not pod.is_started or not is_on(pod, volume)", "not pod.is_started"),
        of_a_world(stories.test_a_claim_that_was_replaced_under_a_pod_counts_when_the_pod_is_made_anew),
    ),
    (
        rewritten(tokens, "_restored", "heard.directory != record.directory", "False"),
        of_a_world(stories.test_an_older_disk_of_a_controller_is_not_taken_for_the_one_that_it_had),
    ),
    (
        one_look,
        of_a_world(
            partial(stories.test_a_broker_that_nobody_needs_is_formatted_after_two_looks_and_not_before, "lose_disk")
        ),
    ),
    (
        rewritten(Since, "note", "if known is not None and self._goes_on(known.noted, begun, now)", "if known"),
        of_a_world(gaps.test_what_was_found_before_an_outage_of_the_api_server_formats_nothing),
    ),
    (rewritten(Since, "_goes_on", "between <= self.longest_break and ", ""), gaps.test_a_break_is_no_time_of_looks),
    (
        rewritten(Since, "_goes_on", " and within <= MANAGED_KAFKA_LONGEST_BREAK", ""),
        gaps.test_a_look_in_which_the_process_was_frozen_is_none,
    ),
    (
        rewritten(decide, "_manage", "if decision.actions and _is_lost(case)", "if False"),
        of_a_world(gaps.test_what_is_refused_makes_no_break_while_a_volume_is_lost),
    ),
    (of_volumes_alone, of_a_world(stories.test_identity_and_a_disk_lost_at_once_make_no_new_node)),
    (
        rewritten(identity, "_rebuilt", "for node, uid in known.items()}", "for node, uid in known.items() if uid}"),
        of_a_world(stories.test_identity_and_a_volume_lost_at_once_make_no_new_node),
    ),
    (
        rewritten(identity, "_contradiction", "if other != cluster_id:", "if False:"),
        of_a_world(stories.test_a_volume_of_another_kafka_stops_everything),
    ),
    (
        rewritten(identity, "_without_record", "if not any(", "if False and not any("),
        of_a_world(stories.test_without_identity_and_volumes_nothing_is_made_of_what_the_status_remembers),
    ),
    (
        rewritten(identity, "_without_record", " if not node.is_leaving", ""),
        of_a_world(stories.test_volumes_that_are_left_of_nodes_that_are_not_declared_make_no_kafka),
    ),
    (
        rewritten(identity, "_volumes", "if not is_kept:", "if False:"),
        of_a_world(scaled.test_a_pool_that_is_not_declared_is_known_by_its_volumes_when_the_identity_is_lost),
    ),
    (
        rewritten(
            plan, "_volumes", "(state is VolumeState.LOST and case.may_format(node))", "state is VolumeState.LOST"
        ),
        of_a_world(stories.test_a_lost_volume_is_not_made_anew_while_it_may_be_needed),
    ),
    (
        rewritten(plan, "_missing_of", "if not is_outdated(case, node):", "if True:"),
        of_a_world(stories.test_who_makes_nodes_restarts_none_for_an_edit_and_shows_it),
    ),
    (
        rewritten(plan, "of_a_former_life", "found.owner_uid != case.cluster.metadata.uid", "False", decide),
        of_a_world(stories.test_objects_of_a_former_life_have_to_go_first),
    ),
    (
        rewritten(decide, "_of_what_runs", "not answer.features.get(ELIGIBLE_LEADER_REPLICAS, 0)", "False"),
        of_a_world(stories.test_where_eligible_leaders_are_not_remembered_that_is_told),
    ),
    (
        rewritten(decide, "_publishing", "done = () if is_paused else actions", "done = actions"),
        stories.test_a_paused_one_is_left_alone,
    ),
    (
        rewritten(plan, "plan", "if volumes and not case.identity.formed:", "if False:", decide),
        stories.test_no_token_is_given_before_all_nodes_have_volumes,
    ),
    (
        rewritten(decide, "_obstacle", "if observed.obstacle is None", "if True"),
        of_a_world(partial(unreadable.test_what_may_not_be_read_is_told_and_nothing_is_done, "find")),
    ),
    *SCALED,
    *RESTORED,
)


@pytest.mark.timeout(1_200)
def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
