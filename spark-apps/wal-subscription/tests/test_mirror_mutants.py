"""Each guard of a mirror, taken away: a story that needs it must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import test_exchanged_sources as of_sources
import test_log_batches as of_batches
import test_planner as of_plans
from mirror_stories import Stories
from mirrors import Mirror

from sparkjob.wire import batches
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription import copier, log_batches, overlap, plan, planner, target
from wal_subscription.copier import Copier
from wal_subscription.doubts import Doubts
from wal_subscription.log_batches import LogBatch
from wal_subscription.planner import Planner
from wal_subscription.source import LogSource
from wal_subscription.target import LogTarget

pytest_plugins = ("mirror_beds",)
Patch = pytest.MonkeyPatch
CHECKSUM = "google_crc32c.value(content[at + _CRC_FROM : end]) != crc"
NEW_CHECKSUM = "google_crc32c.extend(google_crc32c.value(head), batch.records)"
OLD_CHECKSUM = "google_crc32c.value(batch.records)"
"""Without what is rewritten: brokers refuse such a batch."""
ON_KAFKA = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


def every_stop() -> None:
    """All that a plan stops."""
    for found in of_plans.STOPS:
        of_plans.test_what_must_stop_is_found_for_long_before_it_counts(found)


def every_known_producer() -> None:
    """All that a broker may remember."""
    for end, known in of_plans.OURS:
        of_plans.test_a_log_that_only_the_mirror_wrote_to(end, known)
    for end, remembered, reason, offset in of_plans.NOT_OURS:
        of_plans.test_a_log_that_somebody_else_wrote_to(end, remembered, reason, offset)


def every_kind_of_batch() -> None:
    """All that a log may have."""
    for kind in of_batches.KINDS:
        of_batches.test_only_what_a_producer_could_have_sent_passes(*kind)


def property_is(name: str, *, value: bool) -> Callable[[Patch], None]:
    """A property of a batch that always says the same."""

    def mutate(patch: Patch) -> None:
        patch.setattr(LogBatch, name, property(lambda _: value))

    mutate.__name__ = f"{name} is {value}"
    return mutate


PURE: tuple[Mutant, ...] = (
    (rewritten(planner, "find_stop", "source.start > first", "False"), every_stop),
    (rewritten(planner, "find_stop", "mirrored > max(source.end, topic.start)", "False"), every_stop),
    (rewritten(plan, "why_other", "state.topic_id != topic_id", "False", planner), every_stop),
    (rewritten(Doubts, "is_certain", "now - since >= CERTAIN_SECONDS[stop.reason]", "True"), every_stop),
    (rewritten(Planner, "plan", "self._doubts.end(name)", "pass"), every_stop),
    (
        rewritten(Planner, "plan", "self._compared[name] != source.epoch", "False"),
        of_plans.test_a_topic_is_compared_again_when_its_leader_changed,
    ),
    (
        rewritten(Planner, "plan", "self._ends.get(name, 0)", "target.end if target else 0"),
        of_plans.test_another_driver_that_is_ahead_of_what_was_read_is_no_lost_end,
    ),
    (rewritten(target, "require_ours", "known.epoch > producer.epoch", "False", of_plans), every_known_producer),
    (rewritten(target, "require_ours", "0 < foreign < _SEQUENCES // 2", "False", of_plans), every_known_producer),
    (
        rewritten(target, "require_ours", "0 < foreign < _SEQUENCES // 2", "0 < foreign", of_plans),
        every_known_producer,
    ),
    (
        rewritten(log_batches, "split", CHECKSUM, "False", of_batches),
        of_batches.test_a_bit_that_is_another_one_is_damage_wherever_the_checksum_reaches,
    ),
    (
        rewritten(log_batches, "split", "records, epoch)", "records, 0)", of_batches),
        of_batches.test_a_batch_says_which_leader_appended_it,
    ),
    (
        rewritten(Copier, "_copy", "self._require_same_log(fetched)", "pass"),
        of_sources.test_a_source_that_was_exchanged_between_plan_and_copy_is_told,
    ),
    (
        rewritten(Copier, "_copy", "self._require_same_log(fetched)", "pass"),
        of_sources.test_a_source_that_is_exchanged_between_two_fetches_is_told,
    ),
    (
        rewritten(Copier, "_require_same_log", "self._source.start", "self._job.source_start"),
        of_sources.test_a_log_that_was_purged_when_it_was_planned_and_is_longer_at_both_ends_is_told,
    ),
    (
        rewritten(Copier, "_require_same_log", "self._epoch = newest", "pass"),
        of_sources.test_a_clean_election_is_compared_once_and_the_mirror_goes_on,
    ),
    (
        rewritten(Planner, "plan", "source.start, source.epoch", "source.start, 99"),
        of_sources.test_a_source_that_was_exchanged_between_plan_and_copy_is_told,
    ),
    (
        rewritten(Copier, "_encoded", "epoch > max(batch.epoch, 0)", "False"),
        of_sources.test_records_that_are_read_once_more_are_of_the_same_leader,
    ),
    (property_is("passes", value=True), every_kind_of_batch),
    (property_is("is_empty", value=False), every_kind_of_batch),
    (
        rewritten(LogBatch, "to_batch", "self.attributes & _CODEC_BITS", "self.attributes"),
        of_batches.test_the_bits_of_a_transaction_are_not_sent,
    ),
)


def test_no_rule_can_be_taken_away() -> None:
    for story in {story.__name__: story for _, story in PURE}.values():
        story()
    assert find_survivors(PURE) == []


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    copier.forget_connections()


class TestOnKafka:
    pytestmark = ON_KAFKA

    def test_no_guard_can_be_taken_away(self, mirror: Mirror) -> None:
        tell = Stories(mirror)
        begins, foreign = (
            tell.a_log_in_batches_arrives_from_where_it_begins,
            tell.a_foreign_record_before_the_first_batch_is_told_and_nothing_follows_that_batch,
        )
        mutants: tuple[Mutant, ...] = (
            (rewritten(Copier, "_made", "and begin == batch.base", ""), begins),
            (rewritten(Copier, "_copy", "nulls(topic.start - target.position, PADDING_TIME)", "()"), begins),
            (rewritten(batches, "to_bytes", NEW_CHECKSUM, OLD_CHECKSUM, target), begins),
            (rewritten(Copier, "_made", "if batch.is_empty", "if False"), tell.markers_become_nulls),
            (property_is("passes", value=True), tell.a_log_with_its_own_time_keeps_it),
            (
                rewritten(Copier, "_append", "self._made(fetched, self._target.position)", "()"),
                tell.small_batches_are_joined_unless_the_target_takes_small_ones_only,
            ),
            (
                rewritten(Copier, "_append", "joined(fetched)", "fetched"),
                tell.small_batches_are_joined_unless_the_target_takes_small_ones_only,
            ),
            (rewritten(LogTarget, "_settle", "result.base_offset != sent.offset", "False"), foreign),
            (rewritten(LogTarget, "append", "WINDOW if self.is_known else 1", "WINDOW"), foreign),
            (
                rewritten(LogTarget, "open", "require_ours(", "(lambda *_: None)("),
                tell.a_foreign_record_at_the_end_is_told,
            ),
            (
                rewritten(Copier, "_copy", "(self._job.compares or not target.is_known)", "self._job.compares"),
                tell.a_log_that_nobody_remembers_is_compared,
            ),
            (
                rewritten(Copier, "_copy", "(self._job.compares or not target.is_known)", "not target.is_known"),
                tell.other_content_is_found_at_a_start,
            ),
            (
                rewritten(overlap, "require_same", "not same_record(their, our)", "False", copier),
                tell.other_content_is_found_at_a_start,
            ),
            (
                rewritten(overlap, "require_same", "theirs.passes and same_batch(theirs, ours)", "True", copier),
                tell.other_content_is_found_at_a_start,
            ),
            (
                rewritten(LogTarget, "_settle", "not in {_NO_TIME, sent.batch.most_timestamp}", "!= _NO_TIME"),
                tell.a_batch_that_is_sent_twice_is_there_once,
            ),
            (
                rewritten(LogTarget, "_send", "_clock() - self._asked > MOST_AGE_SECONDS", "False"),
                tell.what_was_known_long_ago_is_not_relied_on,
            ),
            (
                rewritten(LogSource, "fetch", "request.API_VERSION < _NAMED_BY_ID", "False"),
                tell.a_topic_that_is_made_again_while_it_is_read_by_its_name_gives_nothing,
            ),
        )
        for story in {story.__name__: story for _, story in mutants}.values():
            story()
        assert find_survivors(mutants) == []
