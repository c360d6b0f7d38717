"""The guards of restores into scratch topics are taken away one by one: each story must then end badly."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers.restore import WALRestoreController
from seawall.domain import clocks
from seawall.domain.clocks import TrustedTime
from seawall.domain.kafka import AS_THEY_ARE
from seawall.domain.restore import attempt, cluster_pin, decide, inspecting, scratch, scratch_removal
from seawall.domain.restore.actions import KeepForScratch
from seawall.domain.restore.attempt import verdict_of
from seawall.domain.restore.contract import RestoreSummary
from seawall.domain.topics.pool import desired_configs
from tests.restore import test_cluster_replaced as replaced
from tests.restore import test_restore_clock as clock
from tests.restore import test_scratch as stories
from tests.restore import test_scratch_adversary as moved
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.scratch_world import backed_up

Patch = pytest.MonkeyPatch


def no_finalizer(patch: Patch) -> None:
    """Nothing makes sure that the topics go with the object."""
    patch.setattr(KeepForScratch, "finalizers", lambda _, before: [*before, "example.com/other"])


def no_waiting_for_late_ones(patch: Patch) -> None:
    """What does not show at once does not come."""
    patch.setattr(scratch_removal, "SCRATCH_LINGER", timedelta())


def unknown_ids_do_not_go(patch: Patch) -> None:
    """A topic whose id nobody recorded stays."""
    patch.setattr(scratch_removal, "_with_late_id", lambda row, _: row)


def one_topic_of_a_name(patch: Patch) -> None:
    """Where an id was recorded, no other topic comes of a request of ours."""
    patch.setattr(scratch_removal, "_with_late_id", scratch_removal._with_id)


def whatever_has_the_name(patch: Patch) -> None:
    """A topic of the name is ours, with whatever is in it."""
    honest = scratch_removal._with_id

    def greedy(row: Any, now: Any) -> Any:
        offsets = {name: replace(found, high_watermark=0) for name, found in now.offsets.items()}
        return honest(row, replace(now, offsets=offsets))

    patch.setattr(scratch_removal, "_with_id", greedy)


def by_name(patch: Patch) -> None:
    """Whatever id the topic of the name has now."""
    patch.setattr(
        scratch_removal,
        "_left",
        lambda rows, now: {
            str(row.into): now.described[row.into].topic_id for row in rows if scratch_removal.is_there(row, now)
        },
    )
    patch.setattr(scratch, "_why_not_there", lambda *_: None)


def topics_that_are_there(patch: Patch) -> None:
    """What is there is taken for made."""
    honest = scratch._make

    def sure(case: Any, asked: Any, now: Any) -> Any:
        if not case.status.none_existed:
            return case.becomes(case.goes_on("MakingTopics", "it is sure"), none_existed=True)
        return honest(case, asked, now)

    patch.setattr(scratch, "_make", sure)


def not_removed(patch: Patch) -> None:
    """The end is the end."""
    patch.setattr(scratch_removal, "clear", lambda *_: None)


def never_given_up(patch: Patch) -> None:
    """A deletion waits for ever."""
    patch.setattr(scratch_removal, "SCRATCH_GIVE_UP_AFTER", timedelta(days=9))


def any_size(patch: Patch) -> None:
    """All may come back."""
    honest = inspecting._planned

    def small(case: Any, sentence: str, planned: Any, counts: Any, rows: Any) -> Any:
        return honest(case, sentence, planned, counts.model_copy(update={"bytes": 1}), rows)

    patch.setattr(inspecting, "_planned", small)


def waits_for_ever(patch: Patch) -> None:
    """It begins when it can."""
    patch.setattr(decide, "why_late", lambda _: None)


def few_brokers(patch: Patch) -> None:
    """Topics are made on what is there."""
    honest = scratch.prepare

    def generous(case: Any, asked: Any) -> Any:
        now = case.observed.scratch
        observed = replace(case.observed, scratch=now if isinstance(now, str | None) else replace(now, online=9))
        return honest(replace(case, observed=observed), asked)

    patch.setattr(decide, "prepare_scratch", generous)


def first_of_all(patch: Patch) -> None:
    """A restore of the pool does not matter."""
    patch.setattr("seawall.controllers.restore.find_other", lambda *_: None)


def taken_at_its_word(patch: Patch) -> None:
    """Whether it was decoded does not matter."""
    honest = verdict_of

    def careless(*given: Any) -> Any:
        found = honest(*given)
        return (
            found.model_copy(update={"verified": BackupLevel.INTEGRITY}) if isinstance(found, RestoreSummary) else found
        )

    patch.setattr(scratch, "verdict_of", careless)


def a_brokers_own_min_isr(patch: Patch) -> None:
    """With a default of 2 a topic of one replica takes nothing."""
    patch.setattr(scratch, "MIN_ISR", "flush.messages")


def kinder_than_the_pool(patch: Patch) -> None:
    """A drill passes where the job refuses the topics of the pool."""
    patch.setattr(scratch, "desired_configs", lambda *given: {**desired_configs(*given), **AS_THEY_ARE})


def not_asked_again(patch: Patch) -> None:
    """What was decided is done, whatever became of it since."""
    patch.setattr(WALRestoreController, "_ask_again", lambda *_: None)


def in_everybodys_way(patch: Patch) -> None:
    """A drill is taken for a restore of the pool."""
    patch.setattr("seawall.observe.claims.is_scratch", lambda _: False)


def wall_clock(patch: Patch) -> None:
    """The operator's own clock counts."""
    patch.setattr(TrustedTime, "shared", property(lambda self: self.now))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(attempt, "run", "if lost is not None", "if False", scratch),
        stories.test_a_drill_whose_application_is_deleted_is_tried_again_with_topics_that_are_made_anew,
    ),
    (no_finalizer, stories.test_a_backup_comes_back_beside_the_log_and_leaves_nothing_behind),
    (no_waiting_for_late_ones, stories.test_a_topic_that_is_asked_for_and_appears_late_goes_with_its_restore),
    (unknown_ids_do_not_go, stories.test_a_topic_that_is_asked_for_and_appears_late_goes_with_its_restore),
    (one_topic_of_a_name, stories.test_a_topic_that_is_made_late_goes_although_another_one_of_its_name_did),
    (whatever_has_the_name, stories.test_what_is_written_before_its_id_is_known_is_left_as_it_is),
    (by_name, partial(stories.test_a_topic_that_somebody_made_again_is_left_to_them_if_it_has_records, records=4)),
    (topics_that_are_there, stories.test_a_topic_that_is_there_already_is_neither_written_to_nor_deleted),
    (not_removed, stories.test_a_backup_comes_back_beside_the_log_and_leaves_nothing_behind),
    (
        any_size,
        partial(
            stories.test_what_fails_says_why_and_leaves_nothing_behind,
            attributes={},
            spec={"scratch": {"maxBytes": 11_699}},
            reason="TooLarge",
            words="",
        ),
    ),
    (
        rewritten(inspecting, "_planned", "counts.bytes + counts.padding", "counts.bytes"),
        partial(
            stories.test_what_fails_says_why_and_leaves_nothing_behind,
            attributes={"plan_counts": {"padding": 2**40}},
            spec={},
            reason="TooLarge",
            words="",
        ),
    ),
    (
        rewritten(clocks, "prolonged", " <= longest_break:", ":", scratch_removal),
        stories.test_a_time_in_which_nobody_asked_kafka_leaves_no_scratch_topic,
    ),
    (
        rewritten(scratch_removal, "release", " if may_be_left(status) else ()", " if False else ()", decide),
        partial(stories.test_a_drill_whose_walcluster_is_gone_names_the_topics_that_it_leaves, RestoreStage.WRITING),
    ),
    (
        rewritten(WALRestoreController, "_cluster", "not may_be_left(obj.status)", "True"),
        partial(stories.test_a_drill_whose_walcluster_is_being_deleted_leaves_nothing_behind, RestoreStage.WRITING),
    ),
    (
        rewritten(
            scratch_removal, "end_with_cluster", "case.cluster.metadata.deletion_timestamp is None", "True", decide
        ),
        partial(stories.test_a_drill_whose_walcluster_is_being_deleted_leaves_nothing_behind, RestoreStage.WRITING),
    ),
    (
        rewritten(scratch_removal, "clear", "if left:", "if left and why_unknown(status, now) is None:"),
        stories.test_a_topic_whose_only_broker_is_gone_goes_by_its_id_and_blocks_nothing,
    ),
    (
        rewritten(
            scratch_removal,
            "let_go",
            "why_unsure(status, observed.scratch) is not None",
            "not isinstance(observed.scratch, ScratchNow)",
            decide,
        ),
        stories.test_a_deletion_gives_up_on_one_topic_that_kafka_refuses_and_takes_all_others_with_it,
    ),
    (
        rewritten(scratch_removal, "_why_unsure", "why_silent(now", "why_unshown(now"),
        stories.test_a_topic_without_a_leader_whose_id_nobody_recorded_is_waited_for_as_long_as_it_may_have_records,
    ),
    (
        rewritten(
            cluster_pin, "why_replaced", "status.cluster_uid not in {None, cluster.metadata.uid}", "False", decide
        ),
        partial(
            replaced.test_a_drill_whose_walcluster_is_another_one_makes_nothing_and_names_what_it_leaves,
            RestoreStage.REMOVING,
            replaced.made_again,
        ),
    ),
    (
        rewritten(cluster_pin, "why_replaced", "here not in {None, there}", "False", decide),
        partial(
            replaced.test_a_drill_whose_walcluster_is_another_one_makes_nothing_and_names_what_it_leaves,
            RestoreStage.REMOVING,
            replaced.moved,
        ),
    ),
    (
        rewritten(scratch_removal, "let_go", " or why_replaced(status, observed.cluster) is not None", "", decide),
        partial(
            replaced.test_a_deletion_names_the_topics_that_it_leaves_on_the_kafka_of_before, replaced.made_elsewhere
        ),
    ),
    (
        rewritten(cluster_pin, "with_pin", "status.model_copy(update=pin)", "status", decide),
        replaced.test_a_status_of_an_older_version_is_pinned_by_its_next_step,
    ),
    (
        rewritten(WALRestoreController, "_kafka", "(replaced := why_replaced(obj.status, found)) is not None", "False"),
        replaced.test_a_walcluster_that_is_made_again_before_any_call_that_makes_topics_gets_none,
    ),
    (wall_clock, clock.test_a_clock_that_was_ahead_when_an_attempt_ended_keeps_no_drill),
    (
        rewritten(decide, "_in_time", "not_to_come(obj.status.attempt_time, now)", "obj.status.attempt_time"),
        clock.test_an_end_of_an_attempt_that_is_to_come_counts_from_now_on,
    ),
    (never_given_up, stories.test_a_deletion_gives_up_on_a_kafka_that_does_not_answer_and_names_what_is_left),
    (waits_for_ever, stories.test_a_drill_that_cannot_begin_ends_and_says_what_it_waited_for),
    (few_brokers, stories.test_a_drill_that_cannot_begin_ends_and_says_what_it_waited_for),
    (first_of_all, stories.test_a_restore_of_the_pool_goes_first_and_waits_for_no_drill),
    (
        taken_at_its_word,
        partial(
            stories.test_what_fails_says_why_and_leaves_nothing_behind,
            attributes={"decodes_none": True},
            spec={},
            reason="NotDecoded",
            words="",
        ),
    ),
    (a_brokers_own_min_isr, stories.test_topics_are_made_as_they_are_declared_to_be_written_to),
    (kinder_than_the_pool, partial(stories.test_a_drill_fails_where_a_restore_of_the_pool_would_be_refused, backed_up)),
    (in_everybodys_way, moved.test_a_readoption_waits_for_no_drill),
    (not_asked_again, moved.test_a_restore_that_is_deleted_right_before_its_topics_are_made_makes_none),
)


def test_every_guard_of_scratch_topics_is_needed() -> None:
    survivors = find_survivors(MUTANTS)
    assert not survivors, survivors
