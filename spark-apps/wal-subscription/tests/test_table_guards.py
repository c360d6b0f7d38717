"""No guard of the sink of tables can be taken away: each makes a story true that fails without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mirrors import side_of
from table_stories import TableStories

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from sparkjob.bucket import Bucket
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records import checks
from wal_subscription.table import copier, process
from wal_subscription.table.chain import Chain
from wal_subscription.table.copier import Copier

pytest_plugins = ("mirror_beds", "table_beds")
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


@pytest.fixture
def tell(source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path) -> Iterator[TableStories]:
    """Stories; each test begins as a process does."""
    yield TableStories(side_of(source_kafka), bucket_server, tmp_path / "keys")
    process.forget()


STORIES = [name for name in vars(TableStories) if "_" in name.strip("_") and not name.startswith("_")]


@pytest.mark.parametrize("story", STORIES)
def test_a_story_holds(tell: TableStories, story: str) -> None:
    getattr(tell, story)()


def test_no_guard_can_be_taken_away(tell: TableStories) -> None:
    mutants: tuple[Mutant, ...] = (
        (rewritten(Bucket, "create", ', mode="create"', ""), tell.who_is_overtaken_commits_nothing),
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
