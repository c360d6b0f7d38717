"""Each guard of a restore, taken away: a story that needs it must fail."""

from __future__ import annotations

from typing import Any

import pytest
from backups import Bed
from restores import before_batch
from spark_marks import WITH_SPARK
from test_restore_deaths import PAD, RECORDS, START, Story, wakes_up_too_late, write_foreign

from sparkjob.wire import batches
from tests.support.mutants import Mutant, find_survivors
from wal_backup.restore import read_back, run, target, task
from wal_backup.restore.appender import Appender, NotOurs
from wal_backup.restore.task import WrittenSection, restore_topic, write_topic

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
Patch = pytest.MonkeyPatch


def one_null_less(patch: Patch) -> None:
    honest = task.pad
    patch.setattr(task, "pad", lambda log, end, *given: honest(log, max(0, end - 1), *given))


def no_padding_at_the_end(patch: Patch) -> None:
    honest = task.pad
    patch.setattr(task, "pad", lambda log, end, *given: honest(log, end, *given) if end <= START else None)


def no_record_is_deleted(patch: Patch) -> None:
    patch.setattr(target.TargetKafka, "delete_records", lambda *_: None)


def holes_are_skipped(patch: Patch) -> None:
    honest = batches.batches

    def without(records: Any, position: int, most_bytes: int) -> Any:
        made = [record._replace(offset=position + number) for number, record in enumerate(records)]
        return honest(made, position, most_bytes)

    patch.setattr(task, "batches", without)


def offsets_are_not_compared(patch: Patch) -> None:
    patch.setattr(Appender, "_require_offset", lambda *_: None)


def any_topic_is_written_to(patch: Patch) -> None:
    for module in (target, task):
        patch.setattr(module, "require_empty", lambda *_: None)


def any_topic_is_deleted_from(patch: Patch) -> None:
    patch.setattr(target, "require_same", lambda _name, _id, found: found)


def digests_are_not_compared(patch: Patch) -> None:
    honest = read_back.find_difference

    def lax(*given: Any) -> Any:
        return (found for found in honest(*given) if "than were backed up" not in found.message)

    patch.setattr(read_back, "find_difference", lax)


def any_plan_is_restored(patch: Patch) -> None:
    patch.setattr(run.Restore, "_require_approved", lambda *_: None)


def objects_are_not_read_before(patch: Patch) -> None:
    patch.setattr(run.Restore, "_check", lambda *_: [])


def test_no_guard_can_be_taken_away(folder_bed: Bed) -> None:
    story = Story(folder_bed)

    def is_restored() -> None:
        job = story.job()
        ended = restore_topic(*story.arguments(job))
        assert (ended.finding, ended.trouble) == (None, None)
        assert read_back.read_back(job, ended.sections, story.restores.options) == []
        state = story.restores.state(story.topic)
        assert (state.start, state.end) == (START, START + RECORDS + PAD)

    def a_foreign_record_is_told_at_once() -> None:
        with before_batch(4, lambda: write_foreign(story)), pytest.raises(NotOurs):
            write_topic(*story.arguments(story.job()))

    def a_topic_with_a_record_is_left_alone() -> None:
        job = story.job()
        write_foreign(story)
        restore_topic(*story.arguments(job))
        assert story.restores.state(story.topic).end == 1

    def a_frozen_process_deletes_nothing() -> None:
        wakes_up_too_late(story)

    def other_records_are_told() -> None:
        job = story.job()
        written = write_topic(*story.arguments(job))
        wrong = [WrittenSection(each.first, each.last, "0" * 64) for each in written]
        assert read_back.read_back(job, wrong, story.restores.options) != []

    def another_plan_is_refused() -> None:
        story.restores.make_anew(story.topic)
        answer = story.bed.run("restore", story.restores.request("0" * 64, story.topic))
        assert answer.summary["outcome"] == "Refused"

    def a_damaged_object_is_told_before_a_record_is_written() -> None:
        (path,) = (story.bed.chain / "data").glob("*/*.parquet")
        honest = path.read_bytes()
        path.write_bytes(honest[:100] + bytes([honest[100] ^ 1]) + honest[101:])
        try:
            assert story.restores.restore(story.topic).summary["outcome"] == "Failed"
            assert story.restores.state(story.topic).end == 0
        finally:
            path.write_bytes(honest)

    mutants: tuple[Mutant, ...] = (
        (one_null_less, is_restored),
        (no_padding_at_the_end, is_restored),
        (no_record_is_deleted, is_restored),
        (holes_are_skipped, is_restored),
        (offsets_are_not_compared, a_foreign_record_is_told_at_once),
        (any_topic_is_written_to, a_topic_with_a_record_is_left_alone),
        (any_topic_is_deleted_from, a_frozen_process_deletes_nothing),
        (digests_are_not_compared, other_records_are_told),
        (any_plan_is_restored, another_plan_is_refused),
        (objects_are_not_read_before, a_damaged_object_is_told_before_a_record_is_written),
    )
    for honest in {told.__name__: told for _, told in mutants}.values():
        honest()
    assert find_survivors(mutants) == []
