"""The guards of records that no look at a ledger writes are taken away one by one: each story then ends badly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.controllers import cluster as cluster_controller
from seawall.controllers import log_records
from seawall.controllers.log_records import Known, LogRecords
from seawall.domain.cluster import data_plane, decide, identity, recorded, status
from seawall.domain.cluster.observed import Observed
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka_log import TopicTrouble
from seawall.domain.ledger import fence
from seawall.observe import reading
from tests.cluster import test_log_records as stories
from tests.cluster import test_lost_topics as lost
from tests.cluster import test_remade_logs as remade
from tests.cluster.test_lost_topics import BARE, begin_a_restore
from tests.cluster.test_pool_mutants import used_again
from tests.domain import test_database_pin as pins
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
        rewritten(decide, "plan_actions", "*recorded.unmarked", "*()"),
        stories.test_what_is_lost_while_an_annotation_lingers_is_not_made_again,
    ),
    (
        rewritten(decide, "plan_actions", "*missing.unmarked", "*()"),
        lost.test_an_annotation_that_expires_too_late_makes_no_lost_topic_by_waiting,
    ),
    (
        rewritten(recorded, "find_recorded", "(marks or is_refused)", "marks", log_records),
        lost.test_an_annotation_that_expires_too_late_makes_no_lost_topic_by_waiting,
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
        rewritten(recorded, "records_to_begin", "at if name in gone else None", "None", log_records),
        stories.test_records_that_begin_anew_say_when_and_those_of_new_topics_do_not,
    ),
    (
        rewritten(recorded, "records_to_begin", "at if name in gone else None", "at", log_records),
        stories.test_records_that_begin_anew_say_when_and_those_of_new_topics_do_not,
    ),
    (
        rewritten(LogRecords, "_mark", " or readoption.standing.token != action.token", ""),
        stories.test_an_annotation_that_replaces_a_refused_one_is_not_marked_as_met_in_its_place,
    ),
    (
        rewritten(data_plane, "_without_database", "_is_recorded(observed)", "False"),
        stories.test_one_annotation_begins_lost_records_once_also_without_a_database,
    ),
    (
        rewritten(data_plane, "_is_recorded", " and not recorded.unknown", ""),
        stories.test_an_annotation_is_not_used_up_before_all_lost_records_have_begun_anew,
    ),
    (
        rewritten(data_plane, "_is_recorded", " and not missing.gone", ""),
        stories.test_an_annotation_is_not_used_up_while_a_topic_is_missing_whose_record_is_gone,
    ),
    (
        rewritten(data_plane, "_without_database", "readoption.refused is not None", "False"),
        stories.test_an_annotation_that_expires_too_late_begins_no_lost_records_by_waiting,
    ),
    (
        used_again,
        stories.test_an_annotation_that_was_used_begins_no_records_that_are_lost_later,
    ),
    (
        rewritten(recorded, "find_recorded", "(marks or is_refused) and ", "", log_records),
        stories.test_a_database_that_cannot_be_asked_yet_may_still_meet_the_annotation,
    ),
    (
        rewritten(recorded, "find_recorded", "(marks or is_refused)", "False", log_records),
        stories.test_what_is_lost_while_an_annotation_lingers_is_not_made_again,
    ),
    (
        rewritten(
            recorded,
            "records_to_begin",
            "None if readoption.standing is None else readoption.standing.token",
            "None",
            log_records,
        ),
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
        rewritten(recorded, "find_recorded", "name in remade or ", "", log_records),
        remade.test_a_person_says_that_the_new_log_is_right_and_only_of_that_one,
    ),
    (
        rewritten(recorded, "find_recorded", "is_refused or not", "not is_refused and not", log_records),
        stories.test_an_annotation_that_expires_too_late_makes_no_topic_by_waiting,
    ),
    (
        rewritten(recorded, "find_recorded", "is_refused or not", "not", log_records),
        remade.test_an_annotation_that_expires_too_late_says_so_and_adopts_no_new_log_by_waiting,
    ),
    (
        rewritten(recorded, "find_recorded", " and not is_refused", "", log_records),
        remade.test_of_an_annotation_that_expires_too_late_nothing_is_adopted_and_all_is_marked,
    ),
    (
        rewritten(identity, "next_pin", "replace(pin, readopted=refused.token)", "pin", data_plane),
        lambda: pins.test_a_readoption_that_expires_more_than_a_day_ahead_is_refused_for_good(pins.MINE),
    ),
    (
        rewritten(
            data_plane, "data_plane_status", 'before.model_copy(update={"readopted": pin.readopted})', "before", status
        ),
        lambda: pins.test_a_readoption_that_expires_more_than_a_day_ahead_is_refused_for_good(pins.THEIRS),
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
        rewritten(LogRecords, "observe", "{**known.other_ids(records), **ids}", "ids"),
        with_patch(lambda patch: remade.test_silence_takes_nothing_back(remade.says_nothing, patch)),
    ),
    (
        rewritten(Known, "other_ids", " if records[name].topic_id == recorded", ""),
        with_patch(remade.test_what_was_known_of_a_log_before_its_record_began_anew_counts_no_more),
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
        asked_again(begin_a_restore),
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
