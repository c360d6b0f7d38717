"""The guards of a deletion whose Kafka is silent are taken away one by one: each story then ends badly."""

from __future__ import annotations

from seawall.domain.cluster import decide, deletion
from tests.domain import test_deletion as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(deletion, "_silence", "SILENCE_LONGEST_BREAK", "CLUSTER_GIVE_UP_AFTER * 99"),
        stories.test_a_time_in_which_nobody_asked_is_no_silence,
    ),
    (
        rewritten(deletion, "_gave_up", "observed.time.shared", "observed.now"),
        stories.test_a_clock_that_is_ahead_gives_nobody_up_early,
    ),
    (
        rewritten(deletion, "_gave_up", ">= CLUSTER_GIVE_UP_AFTER", ">= CLUSTER_GIVE_UP_AFTER / 2"),
        lambda: stories.test_ten_minutes_are_counted_from_the_first_failure_that_was_seen(stories.FAILED_BEFORE),
    ),
    (
        rewritten(deletion, "_silence", "answers or ", ""),
        lambda: stories.test_an_answer_of_kafka_in_between_begins_them_anew(("gone",)),
    ),
    (
        rewritten(deletion, "decide_deletion", "_with_silence(cluster, observed)", "cluster", decide),
        lambda: stories.test_ten_minutes_are_counted_from_the_first_failure_that_was_seen(stories.FAILED_BEFORE),
    ),
    (
        rewritten(deletion, "decide_deletion", "at_latest=CLUSTER_SILENT_SECONDS", "at_latest=None", decide),
        stories.test_a_strange_kafka_is_asked_each_minute_however_long_the_resync_is,
    ),
)


def test_every_guard_of_a_silent_deletion_is_needed() -> None:
    assert find_survivors(MUTANTS) == []
