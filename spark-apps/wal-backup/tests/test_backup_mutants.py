"""Each guard that a backup rests on, taken away: a story that needs it must fail."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import backup_stories as stories
import driver_stories as instants
import pytest
import test_backup_refusals as refusals
import test_cut_logs as cuts
import test_plans as plans
import test_round_trip as round_trips
import test_second_driver as drivers
from backups import Bed, bed_in_folder
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK

from seawall_e2e.loopback import KafkaProcesses
from sparkjob.wire import records
from sparkjob.wire.reader import _Place
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import backup, chain, check, durable, store, task, trouble
from wal_backup.backup import Backup
from wal_backup.verify import Verifier

pytest_plugins = ("spark_beds", "backup_beds")
Patch = pytest.MonkeyPatch


def no_offset_is_uncovered(patch: Patch) -> None:
    patch.setattr(plans, "first_uncovered", lambda _: None)


def without_lengths(patch: Patch) -> None:
    patch.setattr(records, "encode", lambda record: f"{record[:3]}".encode() + _bare(record))


def _bare(record: records.Record) -> bytes:
    headers = b"".join(name.encode() + (content or b"") for name, content in record.headers or ())
    return (record.key or b"") + (record.value or b"") + headers


PURE: tuple[Mutant, ...] = (
    (without_lengths, round_trips.test_digests_tell_null_from_empty_and_every_part_from_the_next),
    (no_offset_is_uncovered, plans.test_offsets_that_nobody_has_are_found),
    *(
        (rewritten(trouble, "find_trouble", guard, "False", stories), stories.a_log_that_is_another_one)
        for guard in ("state.topic_id != topic.topic_id", "state.start > topic.start", "state.end < topic.end")
    ),
    *(
        (rewritten(backup, "pieces_of", guard, instead, cuts), cuts.test_what_was_read_is_told_by_epochs)
        for guard, instead in (
            ("before.get(first, first)", "first"),
            ("read.last_record.offset + 1", "read.last_record.offset"),
        )
    ),
    (
        rewritten(Backup, "_read", "uuid4().hex", '""'),
        drivers.test_a_second_driver_of_the_same_request_writes_over_nothing,
    ),
    (
        rewritten(trouble, "find_cut", "lost is not None", "False", cuts),
        cuts.test_a_log_that_is_cut_off_between_two_tasks_is_told_though_it_is_longer_then,
    ),
    *(
        (rewritten(chain, "why_no_child", guard, "False"), stories.children_that_are_none)
        for guard in (
            "parent.digest != named.digest",
            "child.manifest.sequence != parent.manifest.sequence + 1",
            "(old.topic_id, old.end) != (topic.topic_id, topic.start)",
        )
    ),
    (
        rewritten(chain, "longest_path", "for file in files}) > 1", "for file in files}) > 9", stories),
        stories.children_that_are_none,
    ),
)
ON_KAFKA: tuple[tuple[Callable[[Patch], None], Callable[[Bed], None]], ...] = (
    (
        rewritten(backup, "_require_same_log", "old.topic_id != topic.topic_id", "False"),
        stories.same_records_in_a_new_topic,
    ),
    (
        rewritten(backup, "_require_same_log", "old.end != topic.start", "False"),
        refusals.test_a_gap_between_two_backups_is_not_glued_over,
    ),
    (
        rewritten(backup, "_require_last_record", "digest_of(found) != last.digest", "False"),
        refusals.test_a_log_whose_last_record_is_another_one_is_not_continued,
    ),
    (
        rewritten(Backup, "write", "self._require(kafka)\n    self._require_one", "self._require_one"),
        stories.records_that_go_after_they_were_read,
    ),
    (
        rewritten(Backup, "write", "self._require_one_log(results)", "pass"),
        stories.a_log_that_was_cut_off_while_it_was_read,
    ),
    (rewritten(Backup, "write", "found != request.cluster_id", "False"), stories.another_kafka),
    (rewritten(Backup, "write", "if proof.findings:", "if False:"), stories.an_object_that_rots_before_it_is_proved),
    (rewritten(Backup, "_require_stored", "size != stored.bytes", "False"), stories.an_object_that_the_store_cut),
    (
        rewritten(
            Backup,
            "write",
            "self._require_unpublished(manifest_name(request.backup, request.attempt, place))",
            "pass",
        ),
        refusals.test_nothing_is_overwritten,
    ),
    (
        rewritten(Backup, "_publish", "self._require_unpublished(manifest.name)", "pass"),
        instants.a_second_driver_that_counts_first,
    ),
    (
        rewritten(
            Backup,
            "_publish",
            "not self._store.create(path, content)",
            "self._store.create(path, content) is None",
        ),
        instants.two_drivers_that_ask_for_the_manifest_at_the_same_instant,
    ),
    (
        rewritten(durable, "publish", "if creates:", "if False:", store),
        instants.two_drivers_that_ask_for_the_manifest_at_the_same_instant,
    ),
    (
        rewritten(Backup, "_require_unpublished", "found == ours", "False"),
        instants.a_manifest_whose_answer_was_lost,
    ),
    (
        rewritten(backup, "_topic", "found.records + width(gaps) != topic.end - topic.start", "False"),
        stories.records_that_nobody_has,
    ),
    (rewritten(chain, "read_parent", "found != parent.digest", "False", backup), stories.a_changed_parent),
    (
        rewritten(_Place, "take", "in messages:", "in filter(None, messages):"),
        stories.all_kinds_of_nothing,
    ),
    (
        rewritten(_Place, "_hear", "if offset >= self._wanted.end:", "if True:"),
        stories.a_transaction_that_is_committed_while_it_is_read,
    ),
    (rewritten(task, "_copy", "gaps.append((expected, record.offset))", "pass"), stories.holes),
    (rewritten(task, "_copy", "gaps.append((expected, wanted.end))", "pass"), stories.holes),
    (
        rewritten(check, "_check_section", "found.digest != section.digest", "False"),
        stories.a_section_with_other_records,
    ),
    (
        rewritten(check, "check_object", "sha256 != each.stored.sha256", "False", stories),
        stories.a_footer_with_another_byte,
    ),
    (
        rewritten(Verifier, "verify", "self._level is Level.NONE", "True"),
        stories.an_object_that_rots_before_it_is_proved,
    ),
    (
        rewritten(Verifier, "verify", "self._level is not Level.INTEGRITY", "True"),
        stories.records_that_do_not_replay,
    ),
)
"""With a story that takes a store."""


def without_a_survivor(mutants: tuple[Mutant, ...]) -> None:
    """Every story holds, and fails without its guard."""
    for _, story in mutants:
        story()
    assert find_survivors(mutants) == []


def test_no_guard_can_be_taken_away() -> None:
    without_a_survivor(PURE)


@pytest.mark.parametrize(("mutate", "story"), ON_KAFKA, ids=lambda value: value.__name__)
class TestOnKafka:
    """Each with two backups or more."""

    pytestmark = WITH_SPARK

    def test_a_guard_is_needed(
        self,
        spark: SparkSession,
        kafka: KafkaProcesses,
        tmp_path: Path,
        mutate: Callable[[Patch], None],
        story: Callable[[Bed], None],
    ) -> None:
        def in_a_store() -> None:
            folder = tmp_path / secrets.token_hex(4)
            folder.mkdir()
            story(bed_in_folder(spark, kafka, folder))

        without_a_survivor(((mutate, in_a_store),))
