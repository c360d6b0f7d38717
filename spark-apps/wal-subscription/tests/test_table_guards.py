"""No guard of the sink of tables can be taken away: each makes a story true that fails without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mirrors import side_of
from table_snapshot_stories import TableSnapshotStories
from table_stories import TableStories

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from sparkjob.bucket import Bucket
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records import beginning, checks
from wal_subscription.table import copier, process
from wal_subscription.table.chain import Chain
from wal_subscription.table.copier import Copier

pytest_plugins = ("mirror_beds", "table_beds")
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


class Stories(TableStories, TableSnapshotStories):
    """All of them."""


@pytest.fixture
def tell(source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path) -> Iterator[Stories]:
    """Stories; each test begins as a process does."""
    yield Stories(side_of(source_kafka), bucket_server, tmp_path / "keys")
    process.forget()


STORIES = [
    name
    for kind in (TableStories, TableSnapshotStories)
    for name in vars(kind)
    if "_" in name.strip("_") and not name.startswith("_")
]


@pytest.mark.parametrize("story", STORIES)
def test_a_story_holds(tell: Stories, story: str) -> None:
    getattr(tell, story)()


def test_no_guard_can_be_taken_away(tell: Stories) -> None:
    mutants: tuple[Mutant, ...] = (
        (rewritten(Bucket, "_create", ', mode="create"', ""), tell.who_is_overtaken_commits_nothing),
        (
            rewritten(Chain, "append", "found != content", "False"),
            tell.who_is_overtaken_commits_nothing,
        ),
        (
            rewritten(Chain, "append", "found != content", "True"),
            tell.whose_answer_was_lost_knows_its_own_commit,
        ),
        (
            rewritten(Copier, "_open", "found.progress.run == request.run", "True"),
            tell.an_older_run_writes_no_more,
        ),
        (
            rewritten(checks, "require_ours", "found.run > request.run", "False", copier),
            tell.an_older_run_writes_no_more,
        ),
        (
            rewritten(checks, "require_ours", "found.writer != writer", "False", copier),
            tell.commits_of_another_subscription_are_told,
        ),
        (
            rewritten(checks, "require_same", "digest_of([record]) != found.last", "False", copier),
            tell.a_source_that_has_another_record_now_is_told,
        ),
        (
            rewritten(Copier, "_copy", "require_leader(self._topic, self._job.epoch, epoch)", "pass"),
            tell.a_source_that_is_led_anew_is_compared_before_more_is_written,
        ),
        (
            rewritten(Copier, "_open", "self._require_topic()", "pass"),
            tell.a_topic_that_was_made_again_is_not_read_on,
        ),
        (
            rewritten(Copier, "_append", "self._require_topic()", "pass"),
            tell.a_topic_that_is_made_again_meanwhile_is_not_committed,
        ),
        (
            rewritten(Chain, "newest", "missing is not None", "False"),
            tell.a_commit_that_is_gone_stops_its_topic_and_every_start_finds_it_again,
        ),
        (
            rewritten(Chain, "newest", "last < known", "False"),
            tell.the_last_commit_that_is_gone_is_found_by_who_knew_it,
        ),
        (
            rewritten(Chain, "append", "self._write_checkpoint(commit.number)", "pass"),
            tell.a_checkpoint_is_there_before_the_commit_that_names_it,
        ),
        (
            rewritten(Copier, "_commit", "min(read_from, at_most)", "read_from"),
            tell.a_record_that_gives_no_rows_stops_its_topic_and_every_start_finds_it_again,
        ),
        (
            rewritten(
                Copier,
                "_copy",
                "self._next = self.commit.progress.read_from",
                "self._next = self.commit.progress.position",
            ),
            tell.an_entry_whose_parts_lie_on_both_sides_of_a_commit_is_whole,
        ),
    )
    assert find_survivors(mutants) == []


def test_no_guard_of_a_snapshot_can_be_taken_away(tell: Stories) -> None:
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(Copier, "name_files", "beginning.at != (files[0].number, 0)", "False"),
            tell.who_is_late_with_a_snapshot_commits_nothing,
        ),
        (
            rewritten(Copier, "name_files", "self._require_whole(made)", "pass"),
            tell.a_row_that_is_missing_in_a_file_is_not_passed_over,
        ),
        (
            rewritten(process, "name_files", "failed is not None", "False"),
            tell.a_task_that_did_not_come_to_its_end_keeps_all_from_being_committed,
        ),
        (
            rewritten(Copier, "run", "cuts=self._beginning.cuts", "cuts=None"),
            tell.a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond,
        ),
        (
            rewritten(Copier, "run", "self._beginning.has_files", "False"),
            tell.a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond,
        ),
        (
            rewritten(Copier, "_open", "first_place(request, job)", "None"),
            tell.a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond,
        ),
        (
            rewritten(
                beginning, "beginning_at", "require_snapshot(place, job.base, request, job.topic)", "pass", copier
            ),
            tell.another_snapshot_than_that_which_was_begun_is_told,
        ),
        (
            rewritten(checks, "require_base", "if is_unknown:", "if False:", beginning),
            tell.a_table_whose_name_is_not_known_yet_stops_a_topic_before_its_snapshot,
        ),
    )
    assert find_survivors(mutants) == []
