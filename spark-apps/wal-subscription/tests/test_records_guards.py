"""What makes rows come once on real Kafka, whoever dies or is late; and that each guard is needed for it."""

from __future__ import annotations

import pytest
from told_stories import NAMES, Stories

from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records import checks, copier, newest, process, sink
from wal_subscription.records.beginning import Beginning
from wal_subscription.records.copier import Copier
from wal_subscription.records.sink import Writer

pytest_plugins = ("record_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


@pytest.mark.parametrize("story", NAMES)
def test_a_story_holds(tell: Stories, story: str) -> None:
    getattr(tell, story)()


def test_no_guard_can_be_taken_away(tell: Stories) -> None:
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(
                Writer,
                "open",
                "self._call(lambda: self._producer.init_transactions(SECONDS))\n"
                "    return newest_progress(self._options, self._sink.progress, self._topic)",
                "found = newest_progress(self._options, self._sink.progress, self._topic)\n"
                "    self._call(lambda: self._producer.init_transactions(SECONDS))\n"
                "    return found",
            ),
            tell.who_begins_reads_what_was_committed_until_then,
        ),
        (
            rewritten(
                Writer,
                "commit",
                "topic = progress.topic.encode()",
                "if self._is_begun:\n"
                "        self._call(lambda: self._producer.commit_transaction(SECONDS))\n"
                "        self._is_begun = False\n"
                "    topic = progress.topic.encode()",
            ),
            tell.a_driver_that_dies_when_it_commits_leaves_each_row_once,
        ),
        (
            rewritten(newest, "_offsets", '"read_uncommitted"', '"read_committed"'),
            tell.a_transaction_of_somebody_else_hides_no_progress,
        ),
        (
            rewritten(Writer, "__init__", "sink.transactional_id(topic.name)", "repr(id(self))"),
            tell.who_is_overtaken_commits_nothing,
        ),
        (
            rewritten(process, "_run", "except Overtaken", "except ZeroDivisionError"),
            tell.who_was_overtaken_between_two_jobs_begins_anew_at_once,
        ),
        (
            rewritten(checks, "require_ours", "found.run > request.run", "False", copier),
            tell.an_older_run_writes_no_more,
        ),
        (
            rewritten(checks, "require_ours", "found.generation > topic.generation", "False", copier),
            tell.a_topic_begins_anew_and_an_older_generation_writes_no_more,
        ),
        (
            rewritten(Copier, "_open", "found.generation != topic.generation", "False"),
            tell.a_topic_begins_anew_and_an_older_generation_writes_no_more,
        ),
        (
            rewritten(
                Copier,
                "_open",
                "first_place(request, job)), False",
                "first_place(request, job)), True",
            ),
            tell.a_topic_begins_anew_and_an_older_generation_writes_no_more,
        ),
        (
            rewritten(checks, "require_ours", "found.writer != writer", "False", copier),
            tell.progress_of_another_subscription_is_told,
        ),
        (
            rewritten(Copier, "_write", "given_up=decoder.given_up", "given_up=()"),
            tell.an_entry_that_was_given_up_is_told_when_its_end_comes_after_all,
        ),
        (
            rewritten(Copier, "_take", "self._decoder.pass_over(poison)", "pass"),
            tell.an_entry_that_was_given_up_is_one_dead_letter,
        ),
        (
            rewritten(checks, "require_same", "digest_of([record]) != found.last", "False", copier),
            tell.a_source_that_has_another_record_now_is_told,
        ),
        (
            rewritten(Copier, "run", "require_leader(self._topic, self.epoch, epoch)", "pass"),
            tell.a_source_that_was_exchanged_after_the_plan_is_told,
        ),
        (
            rewritten(checks, "require_leader", "epoch > planned", "False", copier),
            tell.a_source_that_is_led_anew_is_compared_before_more_is_handed_on,
        ),
        (
            rewritten(Copier, "_write", "require_ids(self._source, {self._topic.name: self._topic.source_id})", "pass"),
            tell.a_topic_that_was_made_again_is_not_read_on,
        ),
        (
            rewritten(
                Copier,
                "_write",
                "require_ids(self._target, {output.name: output.topic_id for output in request.sink.outputs})",
                "pass",
            ),
            tell.nothing_is_written_to_a_topic_that_was_made_again,
        ),
        (
            rewritten(newest, "newest_progress", "found is None and start > 0", "False", sink),
            tell.progress_that_was_deleted_is_told,
        ),
        (
            rewritten(Copier, "_commit", "min(read_from, at_most)", "read_from"),
            tell.a_record_that_gives_no_rows_stops_its_topic_and_every_start_finds_it_again,
        ),
    )
    assert find_survivors(mutants) == []


def test_no_guard_of_a_snapshot_can_be_taken_away(tell: Stories) -> None:
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(Copier, "run_files", "(file, row) < beginning.at", "False"),
            tell.a_place_in_a_file_is_gone_on_from,
        ),
        (
            rewritten(Copier, "run_files", "progress.snapshot is None", "False"),
            tell.who_is_late_with_a_snapshot_hands_on_nothing_twice,
        ),
        (
            rewritten(Copier, "_take_row", "(file, row) != self._beginning.at", "False"),
            tell.a_row_that_is_missing_in_a_file_is_not_passed_over,
        ),
        (
            rewritten(Beginning, "place_at", "*self.at", "0, 0"),
            tell.a_place_in_a_file_is_gone_on_from,
        ),
        (
            rewritten(Copier, "_open", "cuts=self._beginning.cuts", "cuts=None"),
            tell.a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond,
        ),
    )
    assert find_survivors(mutants) == []
