"""Each rule that a proof rests on, taken away: a story that needs it must fail. `test_spark_mutants.py` has more."""

from __future__ import annotations

from typing import Any

import pytest
import test_comparison as comparison_stories
import test_content as content_stories
import test_coverage as coverage_stories
import test_rows as row_stories
import test_sequences as sequence_stories
import test_stretches as stretch_stories
from wal_logs import OTHER, Record, clean_log, payload, records_of

from replay_verification import comparison, coverage, holes, rows
from sparkjob.integrity import content, judge, scan, sequences
from sparkjob.integrity.assembly import Assembly
from sparkjob.integrity.findings import Kind
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def no_flaw_is_looked_for(patch: Patch) -> None:
    for module in (scan, judge):
        patch.setattr(module, "find_flaws", lambda *_: iter(()))


def unknown_fields_pass(patch: Patch) -> None:
    patch.setattr(content, "_unknown_fields", lambda _: iter(()))


def any_operation(patch: Patch) -> None:
    patch.setattr(content, "_OPERATIONS", frozenset(range(100)))


def tombstones_are_noops(patch: Patch) -> None:
    honest = scan.Stretch._without_value
    patch.setattr(scan.Stretch, "_without_value", lambda self, offset, _: honest(self, offset, None))


def noops_are_nothing(patch: Patch) -> None:
    patch.setattr(scan.Stretch, "_without_value", lambda *_: None)


def parts_of_others_do_not_count(patch: Patch) -> None:
    patch.setattr(judge, "_OF_THE_TOPIC", frozenset({Kind.UNKNOWN_REGION}))


def the_version_is_not_passed_on(patch: Patch) -> None:
    patch.setattr(judge, "Assembly", lambda **_: Assembly(drops_repeats=True))


def bulk_entries_end_the_counting(patch: Patch) -> None:
    honest = sequences.Sequences.add

    def add(self: sequences.Sequences, run: sequences.Run) -> Any:
        if run.after is None:
            self._next = None
            return iter(())
        return honest(self, run)

    patch.setattr(sequences.Sequences, "add", add)


def any_timestamp(patch: Patch) -> None:
    honest = coverage.find_coverage
    patch.setattr(
        coverage_stories,
        "find_coverage",
        lambda *given: [found for found in honest(*given) if found.kind is not Kind.TIMESTAMP_OUT_OF_RANGE],
    )


def holes_are_not_counted(patch: Patch) -> None:
    for module in (coverage_stories, holes):
        patch.setattr(module, "with_holes", lambda *_: [])


def log_offsets_order_rows(patch: Patch) -> None:
    patch.setattr(rows, "_MOST_POSITION", -1)


def what_the_cut_has_counts_again(patch: Patch) -> None:
    regions = row_stories.ABOUT._replace(pairs=tuple(pair._replace(flushed=-1) for pair in row_stories.ABOUT.pairs))
    patch.setattr(row_stories, "ABOUT", regions)


def _story_of_flaws() -> None:
    entry = content_stories.changed(content_stories._no_values)
    assert "MalformedEntry" in _kinds(records_of(OTHER, entry))


def _story_of_flaws_in_parts() -> None:
    entry = content_stories.changed(content_stories._no_values)
    assert "MalformedEntry" in _kinds(records_of(OTHER, entry, in_parts=True))


def _story_of_tombstones() -> None:
    key, _ = records_of(OTHER, payload(1, *content_stories.ROWS))[0]
    assert "Tombstone" in _kinds([(key, None)])


def _story_of_noops() -> None:
    assert "Noops" in _kinds([(None, None)] * 3)


def _story_of_nobody() -> None:
    parts = records_of(77, payload(1, *clean_log(1).entries[0].rows), in_parts=True)
    assert "IllegalSequence" in _kinds([parts[0], parts[2]])


def _story_of_the_version() -> None:
    parts = records_of(OTHER, payload(1, *clean_log(1).entries[0].rows), in_parts=True)
    assert "IllegalSequence" in _kinds([*parts[:2], *parts[1:]], drops_repeats=False)


def _kinds(records: list[Record], *, drops_repeats: bool = True) -> set[str]:
    """What is found in these records."""
    judged = stretch_stories.verdicts(records, (), drops_repeats=drops_repeats)
    return {row["finding"] for region in judged for row in region if row["kind"] == "finding"}


def _timestamps() -> None:
    coverage_stories.test_a_timestamp_out_of_range_counts_where_the_range_is(20, counts=True)


def _cuts() -> None:
    coverage_stories.test_a_log_whose_last_record_is_of_a_later_leader_was_cut(4, is_cut=True)


def _counts() -> None:
    coverage_stories.test_as_many_records_as_offsets_and_no_other_number(19, is_holed=True)


def _fields_of_another_type() -> None:
    changed = payload(1, *content_stories.ROWS) + b"\x08\x01"
    content_stories.test_fields_that_are_not_known_are_told_wherever_they_are(
        changed, Kind.MALFORMED_ENTRY, "field 1 of WalEntry is not of the type"
    )


def _begins_before() -> None:
    stretch_stories.test_an_entry_that_ends_beyond_the_start_of_its_region_is_read_wherever_it_begins(
        2, [("UndecodableEntry", 2)]
    )


def _operations() -> None:
    said = "a mutation has the unknown operation 2"
    content_stories.test_what_crashes_the_database_is_malformed(content_stories._unknown_operation, said)


MUTANTS: tuple[Mutant, ...] = (
    (no_flaw_is_looked_for, _story_of_flaws),
    (no_flaw_is_looked_for, _story_of_flaws_in_parts),
    (unknown_fields_pass, _fields_of_another_type),
    (any_operation, _operations),
    (tombstones_are_noops, _story_of_tombstones),
    (noops_are_nothing, _story_of_noops),
    (parts_of_others_do_not_count, _story_of_nobody),
    (the_version_is_not_passed_on, _story_of_the_version),
    (bulk_entries_end_the_counting, sequence_stories.test_an_entry_of_unknown_length_that_comes_again_is_a_repeat),
    (any_timestamp, _timestamps),
    (holes_are_not_counted, _counts),
    (
        rewritten(coverage, "led_anew", "states[each.topic].epoch != each.epoch", "False", coverage_stories),
        coverage_stories.test_a_log_that_another_leader_leads_by_now_is_asked_for_its_last_record,
    ),
    (rewritten(coverage, "find_cuts", "epoch > extent.epoch", "False", coverage_stories), _cuts),
    (log_offsets_order_rows, row_stories.test_rows_are_ordered_by_their_sequence_and_not_by_their_place_in_the_log),
    (
        rewritten(comparison, "_plan_region", "found.topic == topic.name", "True"),
        comparison_stories.test_cuts_on_a_topic_that_is_not_asked_for_are_not_compared,
    ),
    (
        rewritten(comparison, "_plan_region", "found.topic == topic.name", "True"),
        comparison_stories.test_cuts_on_another_topic_of_the_request_are_not_compared,
    ),
    (
        rewritten(comparison, "_plan_region", "pairs[-1].newer.entry_id + 1 < region.reads_from", "False"),
        comparison_stories.test_cuts_of_before_the_last_flush_are_no_proof_of_what_is_replayed_after_it,
    ),
    (rewritten(judge._Verdict, "_entry", "self._add(", "(lambda seen: self._tell([seen]))("), _begins_before),
    (what_the_cut_has_counts_again, row_stories.test_what_the_older_cut_has_already_does_not_count_again),
)


def test_no_rule_can_be_taken_away() -> None:
    for _, story in MUTANTS:
        story()
    assert find_survivors(MUTANTS) == []
