"""The guards of a change of votes are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from seawall.controllers.controller import Controller
from seawall.domain.managed_kafka import decide, emptiness, node, plan, scale, tokens, volumes, voter_change, voters
from tests.managed_kafka import test_kafka_voters as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.kafka_voters_world import VotersWorld

Patch = pytest.MonkeyPatch


def of(story: Callable[[VotersWorld], object], start: VotersWorld = stories.BROUGHT_UP) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(copy.deepcopy(start))

    return tell


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is done, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(decide, "_making", " and not node.is_leaving", ""),
        stories.test_what_is_left_of_another_kafka_of_this_name_is_no_first_voter,
    ),
    (nobody_asks_again, of(stories.test_who_falls_behind_right_before_the_act_is_seen)),
    (  # add before remove: Kafka refuses it for ever
        rewritten(
            voters,
            "wished",
            "*_lost(case, quorum), ",
            "",
            voter_change,
        ),
        of(stories.test_the_vote_of_a_lost_disk_goes_and_an_empty_one_follows_and_votes),
    ),
    (  # an empty disk before its vote has gone
        rewritten(volumes, "_why_vote_stands", "any(each.id == node.id for each in quorum.voters)", "False"),
        of(stories.test_nothing_is_changed_while_another_one_is_behind),
    ),
    (
        rewritten(volumes, "_why_vote_stands", "len(tuple(node.kafka.controller_ids)) == 1", "False"),
        of(stories.test_the_only_controller_stays_lost_and_says_so, stories.ONE),
    ),
    (  # one look
        rewritten(
            voters, "_against_removal", "observed.wished_for.get(wish, timedelta()) < MANAGED_KAFKA_LOST_FOR", "False"
        ),
        of(stories.test_its_vote_goes_only_after_a_silence_and_then_looks_that_lie_apart),
    ),
    (  # two away
        rewritten(voters, "_against_removal", "yield from _behind(quorum, away)", ""),
        of(stories.test_nothing_is_changed_while_another_one_is_behind),
    ),
    (
        rewritten(voters, "_against_addition", "yield from _behind(quorum, frozenset())", ""),
        of(stories.test_nobody_gets_a_vote_while_a_voter_is_away),
    ),
    (
        rewritten(voters, "_is_lost", "case.volume_state(node) is VolumeState.LOST", "True"),
        of(stories.test_one_that_is_merely_down_keeps_its_vote),
    ),
    (
        rewritten(voters, "_is_lost", "if voter.id == quorum.leader or is_heard(voter):", "if False:"),
        of(stories.test_its_vote_goes_only_after_a_silence_and_then_looks_that_lie_apart),
    ),
    (
        rewritten(voters, "_is_lost", "or _has_another_disk(quorum, voter)", ""),
        of(stories.test_what_a_person_formatted_too_early_votes_after_the_old_vote_has_gone),
    ),
    (
        rewritten(tokens, "_registered", " or _came_back(case, node, record, quorum)", ""),
        of(stories.test_a_disk_that_is_restored_after_its_vote_has_gone_follows_and_votes_again),
    ),
    (  # two at once
        rewritten(voter_change, "_go_on", "not _is_of(entry, node, wish)", "False"),
        of(stories.test_it_waits_for_who_else_is_disrupted),
    ),
    (  # acts without the journal
        rewritten(voter_change, "_go_on", "if entry is None:", "if False:"),
        of(stories.test_the_vote_of_a_lost_disk_goes_and_an_empty_one_follows_and_votes),
    ),
    (
        rewritten(voter_change, "_is_of", "is_own or entry.kind == DisruptionKind.KAFKA_NODE_RESTART", "is_own"),
        of(stories.test_a_disk_that_is_lost_in_its_own_restart_is_replaced_under_that_entry),
    ),
    (  # the wrong directory id
        rewritten(
            voter_change, "_action", "RemoveVoter(wish.node, wish.directory_id)", "RemoveVoter(wish.node, 'other')"
        ),
        of(stories.test_the_vote_of_a_lost_disk_goes_and_an_empty_one_follows_and_votes),
    ),
    (
        rewritten(voter_change, "_go_on", "if cluster.metadata.is_paused", "if False"),
        of(stories.test_a_paused_one_is_left_alone),
    ),
    (  # the leader first
        rewritten(voters, "_leaving", "voter.id == quorum.leader", "voter.id != quorum.leader"),
        stories.test_five_become_three_the_leader_last_and_no_id_is_used_twice,
    ),
    (
        rewritten(voters, "_leaving", "has_caught_up(voter, quorum), ", ""),
        stories.test_one_that_is_down_leaves_first,
    ),
    (  # each of two keeps the other's vote
        rewritten(voters, "_away_as_well", "return away if wish.node in away else set()", "return set()"),
        stories.test_two_that_never_came_up_leave_and_do_not_wait_for_each_other,
    ),
    (  # who stays is not waited for
        rewritten(voters, "_away_as_well", "if voter.id in leaving and not", "if not"),
        stories.test_one_that_stays_and_is_down_is_waited_for_by_those_that_leave,
    ),
    (
        rewritten(plan, "plan", " or case.missing_voters", "", decide),
        stories.test_a_quorum_is_not_formed_with_first_voters_that_nobody_declares,
    ),
    (
        rewritten(tokens, "recorded", "is_heard and not case.missing_voters", "is_heard", plan),
        stories.test_what_a_quorum_was_formed_without_gets_its_votes_when_it_is_declared_again,
    ),
    (  # tells somebody to delete what may be needed
        rewritten(scale, "why_undeclared", "begin if is_empty else ''", "begin", decide),
        stories.test_what_a_quorum_was_formed_without_gets_its_votes_when_it_is_declared_again,
    ),
    (
        rewritten(scale, "why_undeclared", "voting := _undeclared_voters(case)", "voting := ()", decide),
        stories.test_voters_in_no_list_are_told_of_a_kafka_that_was_formed_with_them,
    ),
    (  # stopped with its vote
        rewritten(emptiness, "_vote", "any(each.id == node.id for each in quorum.voters)", "False"),
        stories.test_nobody_leaves_while_one_that_stays_has_not_caught_up,
    ),
    (
        rewritten(node, "_of_pool", "pool.replicas < FEWEST_LEFT", "False"),
        stories.test_to_one_nobody_leaves_and_it_is_told,
    ),
    (
        rewritten(
            tokens,
            "heard_of",
            "min(heard, key=lambda each: each.behind_ms or 0, default=None)",
            "next(iter(heard), None)",
            stories,
        ),
        stories.test_of_two_disks_of_a_controller_the_one_that_was_heard_from_last_counts,
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_a_change_of_votes_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
