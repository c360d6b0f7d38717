"""The guards of subscriptions of rows are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.subscription import contract, decide, old_requests, running, standing
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.committed import progress
from seawall.domain.subscription.logs import Position
from seawall.domain.subscription.records import begin, names, request, topics
from seawall.observe import subscription as observe
from seawall.observe.old_requests import OldRequests
from seawall.observe.subscription_parts import SubscriptionReader
from tests.subscription import test_beyond_count as beyond
from tests.subscription import test_many_tables as many
from tests.subscription import test_records_sink as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def hold_of_the_position(patch: Patch) -> None:
    """The hold follows the position, and not what is still needed."""
    patch.setattr(Position, "keep_from", property(lambda self: self.applied))


def hold_of_the_source(patch: Patch) -> None:
    """What was sent counts as handed on."""
    honest = progress.Reader.judge

    def ahead(self: Any, row: Any, source: Any, target: Any) -> Any:
        found = honest(self, row, source, target)
        return Position(found.source_end, found.source_end) if isinstance(found, Position) else found

    patch.setattr(progress.Reader, "judge", ahead)


def any_progress(patch: Patch) -> None:
    """Whoever signs it, and whatever it is about."""

    def believing(_: Any, row: Any, found: Any) -> Any:
        try:
            read = progress.Progress.model_validate_json(found.value or b"")
        except ValueError:
            return None
        return read.position, max(read.read_from, row.start)

    patch.setattr(progress.Reader, "_read", believing)


def any_target_topic(patch: Patch) -> None:
    """A topic that was made again is the same."""
    patch.setattr(progress, "find_lost", lambda *_: None)
    patch.setattr(topics, "find_lost", lambda *_: None)


def no_generation(patch: Patch) -> None:
    """Who begins anew goes on from the progress that there was."""
    patch.setattr(begin, "ANEW", frozenset())


def not_granted(patch: Patch) -> None:
    """Topics are made before anything is held."""
    patch.setattr(topics, "wait_for_grant", lambda _: None)


def names_never_again(patch: Patch) -> None:
    """A table that is not known stops its topic, and nobody reads the names anew."""
    honest = contract._stopped

    def once(row: Any, stop: Any) -> Any:
        is_unknown = stop is not None and stop.reason == contract.TABLE_UNKNOWN
        return row if is_unknown else honest(row, stop)

    patch.setattr(contract, "_stopped", once)


def names_before_they_are_needed(patch: Patch) -> None:
    """Names that were read before the log ended there."""
    honest = SubscriptionReader._tables

    def old(self: Any, found: Case, cluster: Any, memory: Any, now: int) -> Any:
        if memory.tables.found is None:
            return honest(self, found, cluster, memory, now)
        return memory.tables.found

    patch.setattr(SubscriptionReader, "_tables", old)


def names_of_any_database(patch: Patch) -> None:
    patch.setattr(observe, "why_other_database", lambda *_: None)


def everything(patch: Patch) -> None:
    """Tables are in whatever is selected."""
    honest = request.tables_of

    def all_of(selection: Any, names: Any) -> Any:
        return honest(selection.model_copy(update={"include": ("*",), "exclude": ()}), names)

    patch.setattr(request, "tables_of", all_of)


def rows_among_the_log(patch: Patch) -> None:
    patch.setattr(topics, "_why_not", lambda *_: None)


def one_partition_for_all(patch: Patch) -> None:
    """Topics of a pool that has grown have none of their own."""
    patch.setattr(topics, "_grow", lambda *_: None)


def unguarded(patch: Patch) -> None:
    """The topic of progress may lose what it has."""
    patch.setattr(topics, "guard", lambda *_: None)


def same_run(patch: Patch) -> None:
    """An edit of what is selected is the same run: an old driver is not fenced."""
    patch.setattr(running, "_begin", lambda found, *_: found.stays(standing.standing(found)))


def resync_by_any_difference(patch: Patch) -> None:
    """What is taken away asks for it, too."""
    patch.setattr(Case, "is_asked_anew", property(lambda found: found.spec.resync != found.status.resync))


MUTANTS: tuple[Mutant, ...] = (
    (resync_by_any_difference, stories.test_resync_that_is_taken_away_asks_for_nothing),
    (
        rewritten(begin, "_has_partition", "number < records.progress.partitions", "True"),
        beyond.a_topic_without_a_place_in_the_progress_does_not_begin_and_is_named,
    ),
    (hold_of_the_position, stories.test_the_hold_stays_where_an_entry_began_that_is_not_whole),
    (hold_of_the_source, stories.test_the_hold_stays_where_an_entry_began_that_is_not_whole),
    (any_progress, stories.test_progress_of_others_moves_no_hold),
    (any_target_topic, stories.test_without_a_job_it_is_found_too_that_the_target_lost_its_topics),
    (no_generation, stories.test_resync_begins_what_has_a_gap_anew_in_another_generation),
    (not_granted, stories.test_nothing_is_made_or_read_before_the_hold_is_granted),
    (names_never_again, stories.test_a_table_that_is_not_selected_is_left_out_also_when_it_is_new_and_when_it_is_gone),
    (names_before_they_are_needed, stories.test_a_table_that_is_made_later_is_in_from_its_first_row),
    (names_of_any_database, stories.test_names_of_another_database_count_for_nothing),
    (everything, stories.test_only_selected_tables_are_handed_on_and_an_edit_is_another_run),
    (rows_among_the_log, stories.test_rows_may_go_to_the_kafka_of_the_log_but_not_among_its_topics),
    (one_partition_for_all, stories.test_a_topic_of_the_pool_that_is_new_gets_a_partition_of_the_progress),
    (unguarded, stories.test_a_configuration_that_would_lose_the_progress_is_set_back),
    (
        rewritten(running, "_begin", "isinstance(kept, Verdict)", "False"),
        many.test_names_that_no_config_map_takes_end_nothing_that_runs,
    ),
    (
        rewritten(running, "build_run", "case.own_application is None", "False"),
        many.test_an_application_that_is_gone_begins_again_with_the_names_that_fitted,
    ),
    (
        rewritten(old_requests, "not_needed", "old is None", "True"),
        many.test_of_all_runs_two_requests_are_left,
    ),
    (
        rewritten(OldRequests, "read", "self.waiting.pop()", "return self.waiting.clear()"),
        many.requests_that_a_version_before_left_go_one_after_another,
    ),
    (
        rewritten(decide, "_run", "_what_copies(case) or", "(None if rests(case).actions else _what_copies(case)) or"),
        many.whoever_may_not_delete_requests_copies_all_the_same,
    ),
    (
        rewritten(OldRequests, "read", "found.controller_uid == case.uid", "True"),
        many.requests_that_a_version_before_left_go_one_after_another,
    ),
    (
        rewritten(decide, "_again", "if waits else None", "if wanted is None else None"),
        many.what_is_stuck_is_replaced_while_names_fit_no_config_map,
    ),
    (
        rewritten(running, "_begin", "if works(application, case.observed.driver)", "if application is not None"),
        many.what_is_stuck_is_replaced_while_names_fit_no_config_map,
    ),
    (
        rewritten(names, "are_true", "is_named and", "True and"),
        many.test_another_name_of_a_table_is_another_run_where_everything_is_selected,
    ),
    (
        rewritten(names, "are_true", "not any(", "True or any("),
        many.test_a_table_that_is_selected_now_by_its_name_is_in_at_once,
    ),
    (
        rewritten(names, "are_due", "not case.spec.selection.is_everything", "False", running),
        many.tables_of_which_nothing_comes_end_no_run,
    ),
    (
        rewritten(names, "are_due", " and case.now", " or case.now", running),
        many.test_tables_that_are_made_and_dropped_end_no_run_where_everything_is_selected,
    ),
    (
        rewritten(names, "are_due", "not application.is_over and case.now >=", "False and case.now >=", running),
        many.test_tables_that_are_made_and_dropped_end_no_run_where_everything_is_selected,
    ),
    (same_run, stories.test_only_selected_tables_are_handed_on_and_an_edit_is_another_run),
)


@pytest.mark.timeout(600)
def test_each_guard_of_rows_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
