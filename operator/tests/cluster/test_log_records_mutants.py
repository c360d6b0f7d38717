"""The guards of records that no look at a ledger writes are taken away one by one: each story then ends badly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.controllers import cluster as cluster_controller
from seawall.controllers import log_records
from seawall.controllers.log_records import LogRecords
from seawall.domain.cluster import decide, recorded
from seawall.domain.cluster.observed import Observed
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka_log import TopicTrouble
from seawall.domain.ledger import fence
from seawall.observe import reading
from tests.cluster import test_log_records as stories
from tests.cluster import test_remade_logs as remade
from tests.cluster.test_lost_topics import BARE
from tests.kernel import test_crash_at_every_call as crashes
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import CLUSTER, World


def lost_without_a_database() -> None:
    stories.test_a_topic_that_no_look_has_seen_is_lost_and_not_made_again(BARE, None)


def lost_while_nobody_can_look() -> None:
    stories.test_a_topic_that_no_look_has_seen_is_lost_and_not_made_again(CLUSTER, stories.BLOCKED)


def lost_in_a_life_of_deaths() -> None:
    crashes.test_these_scenarios_end_as_they_should()


def asked_again(late: Callable[[World], None]) -> Callable[[], None]:
    return lambda: stories.test_it_is_asked_again_right_before_logs_are_recorded(late)


def reported(trouble: TopicTrouble, error: type[Exception], reason: str) -> Callable[[], None]:
    def story() -> None:
        with pytest.MonkeyPatch.context() as patch:
            stories.test_a_log_that_kafka_does_not_tell_of_is_reported_and_holds_up_no_other(
                trouble, error, reason, patch
            )

    return story


def with_patch(story: Callable[[pytest.MonkeyPatch], None]) -> Callable[[], None]:
    def patched() -> None:
        with pytest.MonkeyPatch.context() as patch:
            story(patch)

    return patched


UNANSWERED = reported(TopicTrouble.UNANSWERED, OutsideUnavailable, "ChangeUnanswered")
MUTANTS: tuple[Mutant, ...] = (
    (rewritten(decide, "plan_actions", "if recorded.to_begin:", "if False:"), lost_without_a_database),
    (rewritten(decide, "plan_actions", "if recorded.to_begin:", "if False:"), lost_in_a_life_of_deaths),
    (
        rewritten(decide, "plan_actions", "if recorded.unmarked:", "if False:"),
        stories.test_what_is_lost_while_an_annotation_lingers_is_not_made_again,
    ),
    (
        rewritten(decide, "plan_actions", "actions.append(RecordLogs", "actions.insert(0, RecordLogs"),
        with_patch(stories.test_one_silent_leader_holds_up_no_other_topic_but_the_configuration_that_names_it),
    ),
    (
        rewritten(decide, "plan_actions", "actions.append(RecordLogs", "actions.insert(0, RecordLogs"),
        with_patch(stories.test_one_silent_leader_holds_up_no_mark_of_a_readoption),
    ),
    (
        rewritten(decide, "plan_actions", "elif (write", "if (write"),
        with_patch(stories.test_one_silent_leader_holds_up_no_other_topic_but_the_configuration_that_names_it),
    ),
    (
        rewritten(recorded, "is_left_to_watch", "has_database(cluster)", "True", cluster_controller),
        lost_without_a_database,
    ),
    (
        rewritten(recorded, "is_left_to_watch", "not isinstance(ledger, Unavailable)", "True", cluster_controller),
        lost_while_nobody_can_look,
    ),
    (
        rewritten(recorded, "find_recorded", "shards.lost_topics(topics, once)", "frozenset()", log_records),
        stories.test_records_that_are_gone_are_no_first_contact_until_a_person_begins_anew,
    ),
    (
        rewritten(LogRecords, "_find", " and not is_used(cluster, readopt)", ""),
        stories.test_an_annotation_that_was_used_begins_no_records_that_are_lost_later,
    ),
    (
        rewritten(recorded, "find_recorded", "if marks and", "if", log_records),
        stories.test_a_database_that_cannot_be_asked_yet_may_still_meet_the_annotation,
    ),
    (
        rewritten(recorded, "find_recorded", "if marks and", "if False and", log_records),
        stories.test_what_is_lost_while_an_annotation_lingers_is_not_made_again,
    ),
    (
        rewritten(recorded, "records_to_begin", "None if readopt is None else readopt.token", "None", log_records),
        lambda: stories.test_one_annotation_makes_no_second_topic(CLUSTER, stories.BLOCKED),
    ),
    (
        rewritten(LogRecords, "observe", "ids.get(name) == known.found.ids[name]", "True"),
        stories.test_a_log_that_was_made_anew_is_recorded_also_by_the_process_that_knew_the_record_before,
    ),
    (
        rewritten(LogRecords, "observe", "ids.get(name) == known.found.ids[name]", "True"),
        lambda: remade.test_a_topic_that_was_made_anew_between_two_observations_is_reported(BARE, None),
    ),
    (
        rewritten(recorded, "find_recorded", "ids.get(name, record.topic_id) != record.topic_id", "False", log_records),
        lambda: remade.test_a_topic_that_was_made_anew_between_two_observations_is_reported(CLUSTER, stories.BLOCKED),
    ),
    (
        rewritten(recorded, "find_recorded", "for name in remade if name in met", "for name in ()", log_records),
        remade.test_a_pool_whose_remade_topic_was_readopted_is_deleted_with_its_walcluster,
    ),
    (
        rewritten(recorded, "find_recorded", "if name not in remade and not", "if not", log_records),
        remade.test_a_person_says_that_the_new_log_is_right_and_only_of_that_one,
    ),
    (
        rewritten(Observed, "may_stand", "self.recorded is None", "False"),
        remade.test_the_disaster_stands_while_nobody_can_compare_and_ends_with_the_declaration_of_a_database,
    ),
    (
        rewritten(Observed, "may_stand", " and not isinstance(self.ledger, LedgerPage)", ""),
        remade.test_the_disaster_stands_while_nobody_can_compare_and_ends_with_the_declaration_of_a_database,
    ),
    (
        rewritten(LogRecords, "observe", "(unrecorded or found.remade)", "unrecorded"),
        remade.test_logs_of_a_restore_are_not_reported,
    ),
    (
        rewritten(LogRecords, "observe", "(unrecorded or found.remade)", "found.remade"),
        stories.test_logs_that_a_restore_makes_are_left_to_it,
    ),
    (
        rewritten(LogRecords, "_begin", "(restoring := why_restoring(self.kube, current)) is not None", "False"),
        asked_again(stories.begin_a_restore),
    ),
    (
        rewritten(LogRecords, "_begin", "require_managed(self.kube, cluster)", "cluster"),
        asked_again(stories.pause),
    ),
    (
        rewritten(LogRecords, "_begin", "require_managed(self.kube, cluster)", "cluster"),
        asked_again(stories.make_object_anew),
    ),
    (
        rewritten(LogRecords, "_begin", "require_managed(self.kube, cluster)", "cluster"),
        lambda: remade.test_it_is_asked_again_right_before_a_new_record_begins(remade.retract),
    ),
    (rewritten(log_records, "_require_answers", "if failures and not is_progress:", "if False:"), UNANSWERED),
    (
        rewritten(log_records, "_require_answers", "failures and not is_progress", "failures"),
        with_patch(stories.test_a_pool_whose_leaders_do_not_answer_yet_is_recorded_one_after_another),
    ),
    (
        rewritten(fence, "as_met", "raise_intent(record, log_start)", "record", reading),
        stories.test_what_was_deleted_before_anybody_declared_the_database_was_taken_from_nobody,
    ),
    (
        rewritten(fence, "as_met", "record.database is not None or ", "", reading),
        stories.test_a_database_that_was_met_is_told_of_deletes,
    ),
    (
        rewritten(fence, "as_met", " or record.revision != BEFORE_ANY_DATABASE", "", reading),
        stories.test_a_log_that_a_restore_adopted_was_in_seawalls_hands,
    ),
)


def test_every_guard_that_is_taken_away_is_missed() -> None:
    assert find_survivors(MUTANTS) == []
