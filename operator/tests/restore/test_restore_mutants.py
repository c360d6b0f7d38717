"""The guards of restores are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import ObjectMeta
from seawall.controllers import restore
from seawall.controllers.restore import WALRestoreController
from seawall.domain.columns import Ids
from seawall.domain.ledger import assess, needs
from seawall.domain.restore import adoption, attempt, database, decide, inspecting, kafka_now, removal, topics
from seawall.domain.restore.attempt import verdict_of
from seawall.domain.restore.case import Case, DatabaseNow
from seawall.domain.restore.contract import RestoreSummary
from seawall.observe import reading
from tests.restore import test_restore as stories
from tests.restore import test_restore_adversary as moved
from tests.restore import test_restore_point as points
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def no_approval(patch: Patch) -> None:
    """Any annotation is an approval."""
    patch.setattr(ObjectMeta, "approves_restore", lambda self, _: bool(self.annotations))


def database_taken_for_stopped(patch: Patch) -> None:
    """Nobody asks whether the database runs."""
    patch.setattr(WALRestoreController, "_database", lambda *_: DatabaseNow(runs=False, message="", stopped_as="x"))


def unknown_is_stopped(patch: Patch) -> None:
    """Where nobody can say whether the database runs, it does not."""

    def sure(pods: DatabaseNow | None, reports: DatabaseNow | None) -> DatabaseNow:
        found = database.judge(pods, reports)
        return replace(found, runs=bool(found.runs))

    patch.setattr(restore, "judge", sure)


def topics_that_are_there(patch: Patch) -> None:
    """What is there is taken for made."""

    def blind(case: Any, _: Any) -> Any:
        return case.becomes(case.goes_on("MakingTopics", "it is sure"), none_existed=True)

    patch.setattr(topics, "_require_none", blind)


def any_kafka(patch: Patch) -> None:
    """Whatever Kafka answers is the right one."""
    patch.setattr("seawall.observe.opened_cluster.why_wrong", lambda *_: None)


def few_brokers(patch: Patch) -> None:
    """Topics are made on what is there."""
    honest = topics.pool_for_writing

    def generous(case: Any, **more: Any) -> Any:
        pool = case.observed.pool
        observed = (
            case.observed if isinstance(pool, str | None) else replace(case.observed, pool=replace(pool, online=9))
        )
        return honest(replace(case, observed=observed), **more)

    for module in (topics, removal):
        patch.setattr(module, "pool_for_writing", generous)


def not_claimed(patch: Patch) -> None:
    """Topics without a record stay without one."""
    patch.setattr(topics, "_unclaimed", lambda *_: {})


def not_adopted(patch: Patch) -> None:
    """The records stay those of the old logs."""
    rewritten(adoption, "_without_good", " or not known[name].is_good_for(record.topic_id)", "")(patch)


def old_reports(patch: Patch) -> None:
    """What a datanode said long ago is what it has now."""
    honest = needs._unknown_regions

    def trusting(case: Any) -> dict[int, int]:
        return honest(replace(case, freshness=replace(case.freshness, stale=case.freshness.stale & False)))

    patch.setattr(needs, "_unknown_regions", trusting)


def padded_to_the_record(patch: Patch) -> None:
    """Newest entries of the database, and where the log ended, do not matter."""
    patch.setattr(needs, "record_end", lambda _: 0)
    patch.setattr(needs, "_above", lambda entry: 0 if entry is None else entry)


def all_are_ours(patch: Patch) -> None:
    """Whatever happened meanwhile, what is in the topics is ours."""
    patch.setattr(removal, "_is_all_ours", lambda _: True)


def foreign_removed(patch: Patch) -> None:
    """Topics with somebody else's records go as any others."""

    def careless(case: Any, driver: Any) -> Any:
        found = verdict_of(case, driver, RestoreSummary)
        assert isinstance(found, RestoreSummary)
        return case.attempt_is_over(found.outcome, found.message, "NotRestored")

    patch.setattr(decide, "_judge", careless)


def two_at_once(patch: Patch) -> None:
    """Another restore does not matter."""
    patch.setattr("seawall.controllers.restore.find_other", lambda *_: None)


def not_asked_again(patch: Patch) -> None:
    """What was decided is done, whatever became of it since."""
    patch.setattr(WALRestoreController, "_ask_again", lambda *_: None)


def any_size(patch: Patch) -> None:
    """A record of any size fits."""
    honest = inspecting._planned

    def small(case: Any, sentence: str, planned: Any, counts: Any, rows: Any) -> Any:
        return honest(case, sentence, planned, counts.model_copy(update={"largest_record": 1}), rows)

    patch.setattr(inspecting, "_planned", small)


def any_request(patch: Patch) -> None:
    """Whoever made the ConfigMap, and whatever is in it."""
    patch.setattr(attempt, "_check_request", lambda _: None)


def memory_ignored(patch: Patch) -> None:
    """Rows in memory do not matter, whether or not somebody says their ids."""
    patch.setattr(needs, "_unreported", lambda *_: {})


def idle_ignored(patch: Patch) -> None:
    """What an idle region says of the log's end does not matter."""
    honest = needs._greatest_ids

    def forgetful(case: Any) -> Any:
        unknown = Ids.unknown(len(case.regions))
        return honest(replace(case, regions=replace(case.regions, data_idle=unknown, metadata_idle=unknown)))

    patch.setattr(needs, "_greatest_ids", forgetful)


def all_or_nothing(patch: Patch) -> None:
    """What is known of a topic does not count where it may not be all."""
    honest = inspecting._row
    patch.setattr(
        inspecting,
        "_row",
        lambda case, name, found: honest(case, name, None if found is None or found.unknown else found),
    )


def records_not_read(patch: Patch) -> None:
    """A record that cannot be read is none."""
    patch.setattr(needs.Records, "problem", lambda *_: None)


def plans_never_end(patch: Patch) -> None:
    """A plan may be of any age."""
    patch.setattr(topics, "_why_outdated", lambda *_: None)


def no_set_no_pods(patch: Patch) -> None:
    """Of a StatefulSet that is not there no pod runs."""
    honest = database.judge_pods

    def simple(name: str, found: Any, pods: Any) -> DatabaseNow:
        return honest(name, found, pods) if found is not None else DatabaseNow(runs=False, message="")

    patch.setattr(restore, "judge_pods", simple)
    patch.setattr(WALRestoreController, "_by_reports", lambda *_: None)


def pods_alone(patch: Patch) -> None:
    """Where no pod is, nothing reports."""
    patch.setattr(WALRestoreController, "_by_reports", lambda *_: None)


def starts_forgotten(patch: Patch) -> None:
    """That the database was started while logs were written does not matter, once it is stopped."""
    for module in (topics, adoption, removal, decide):
        patch.setattr(module, "was_started", lambda _: False)


def any_logs(patch: Patch) -> None:
    """Whatever is in the topics is adopted."""

    class Same(str):
        __slots__ = ()

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    patch.setattr(adoption, "logs_digest", lambda _: Same())


def adopted_ones_go(patch: Patch) -> None:
    """A topic that is somebody's by now goes all the same."""
    rewritten(removal, "_left", "records[name].is_good_for(left[name])", "False")(patch)


def anybodys_pool(patch: Patch) -> None:
    """Who else claims the topics does not matter."""
    for name in ("why_not_ours", "find_contender"):
        patch.setattr(f"seawall.observe.opened_cluster.{name}", lambda *_, **__: None)


def readopted_meanwhile(patch: Patch) -> None:
    """Whoever readopts, adopts what a restore has half written."""
    patch.setattr(reading, "without_restored", lambda _kube, _cluster, said: said)


def needs_of_today(patch: Patch) -> None:
    """What the database has by now counts."""
    honest = inspecting._row

    def counting(case: Any, name: str, found: Any) -> Any:
        return honest(case, name, found).model_copy(update={"needed_end": found.end})

    patch.setattr(inspecting, "_row", counting)


def waits_for_the_database(patch: Patch) -> None:
    """Nothing is planned before the database has said all that it has."""
    patch.setattr(inspecting, "_unknown", lambda case, _: (case.observed.needs or {})["wal_0"].unknown)


def memory_of_metasrv_forgotten(patch: Patch) -> None:
    """That the metasrv remembers higher ids does not matter."""
    patch.setattr(restore, "judge_memory", lambda found: found)


def ids_never_forgotten(patch: Patch) -> None:
    """What a process knew of flushed ids counts for whatever log comes after."""
    patch.setattr(assess, "find_replaced", lambda *_: set())


def topics_of_damage_stay(patch: Patch) -> None:
    """What an attempt made that failed is left."""
    patch.setattr(removal, "_left", lambda *_: {})


MUTANTS: tuple[Mutant, ...] = (
    *(
        (rewritten(attempt, "run", "if lost is not None", "if False", decide, inspecting), story)
        for story in (
            stories.test_a_job_whose_application_is_deleted_is_not_made_again_on_what_it_has_written,
            stories.test_a_plan_whose_application_is_deleted_is_made_by_the_next_attempt,
        )
    ),
    (
        rewritten(Case, "next_attempt", '"application_uid": None,', ""),
        stories.test_an_interrupted_job_is_tried_again_with_topics_that_are_made_anew,
    ),
    (no_approval, stories.test_nothing_is_made_before_the_plan_is_approved_by_its_digest),
    (database_taken_for_stopped, stories.test_while_the_database_runs_nothing_is_made),
    (unknown_is_stopped, stories.test_without_a_statefulset_the_reports_say_whether_it_runs),
    (topics_that_are_there, stories.test_a_topic_that_is_there_is_left_alone),
    (any_kafka, stories.test_another_kafka_is_not_written_to),
    (few_brokers, stories.test_too_few_brokers_are_waited_for),
    (not_claimed, stories.test_nobody_makes_the_topics_of_a_restore_nor_purges_them_before_they_are_adopted),
    (not_adopted, stories.test_afterwards_the_ledger_has_no_finding_and_a_purge_deletes),
    (old_reports, stories.test_a_datanode_that_reports_no_more_may_have_flushed_since),
    (padded_to_the_record, stories.test_a_lost_log_comes_back_at_its_offsets_and_ends_above_all_that_the_database_has),
    (all_are_ours, stories.test_after_an_interruption_nothing_goes_that_the_database_may_have_written),
    (
        rewritten(removal, "_left", "if (silent := _find_silent(pool, left)) is not None", "if False"),
        stories.test_a_topic_whose_only_broker_is_gone_is_made_anew_once_it_is_back,
    ),
    (foreign_removed, stories.test_a_foreign_writer_ends_it_and_its_record_stays),
    (two_at_once, stories.test_two_restores_do_not_work_at_once),
    (any_size, stories.test_a_record_that_does_not_fit_is_told_before_anything_is_made),
    (any_request, stories.test_a_request_that_somebody_changed_is_not_worked_on),
    (readopted_meanwhile, moved.test_a_log_that_is_half_written_is_adopted_by_nobody),
    (waits_for_the_database, points.test_a_database_that_is_gone_is_not_waited_for),
    (
        memory_of_metasrv_forgotten,
        points.test_a_process_that_knew_higher_ids_forgets_them_with_the_log_that_they_were_of,
    ),
    (ids_never_forgotten, points.test_a_process_that_knew_higher_ids_forgets_them_with_the_log_that_they_were_of),
    (needs_of_today, points.test_the_log_ends_where_the_snapshot_needs_it_whatever_the_database_has_by_now),
    (memory_ignored, moved.test_rows_in_memory_of_which_nobody_says_the_ids_are_not_padded_over),
    (idle_ignored, moved.test_an_idle_region_is_at_the_end_of_a_log_that_is_lost),
    (
        all_or_nothing,
        partial(moved.test_what_is_known_counts_although_one_region_is_silent, {"padAboveFlushed": False}),
    ),
    (records_not_read, moved.test_a_record_that_cannot_be_read_is_waited_for),
    (plans_never_end, moved.test_a_plan_does_not_outlive_the_log_that_it_was_made_for),
    (no_set_no_pods, moved.test_a_statefulset_that_is_not_there_says_nothing_about_its_pods),
    (pods_alone, moved.test_pods_that_are_gone_are_not_all_where_datanodes_report),
    (
        starts_forgotten,
        partial(moved.test_logs_that_the_database_opened_while_they_were_written_are_not_adopted, stops_again=True),
    ),
    (any_logs, partial(moved.test_logs_that_are_not_what_was_read_back_are_not_adopted, cut=True)),
    (
        topics_of_damage_stay,
        stories.test_damage_that_shows_when_objects_are_read_ends_it_with_no_topic_left_and_touches_no_other,
    ),
    (adopted_ones_go, moved.test_a_log_that_somebody_else_has_adopted_does_not_go),
    (anybodys_pool, moved.test_a_pool_that_another_walcluster_claims_is_not_restored),
    (
        rewritten(kafka_now, "is_shown", " and found.topic_id != removed_id", "", topics),
        partial(stories.test_brokers_that_still_show_the_topics_of_the_attempt_before_change_nothing, 40),
    ),
    (
        rewritten(topics, "_record_ids", "if may_be_removed(case, row):", "if False:"),
        partial(stories.test_brokers_that_still_show_the_topics_of_the_attempt_before_change_nothing, 52),
    ),
    (
        rewritten(topics, "may_be_removed", "case.now < ", "True or case.now < "),
        stories.test_records_of_somebody_else_in_a_new_topic_are_left_although_those_of_the_attempt_before_may_be_shown,
    ),
    (
        rewritten(topics, "why_changed", "{row.topic_id, row.removed_id}", "{row.topic_id}", adoption),
        partial(stories.test_brokers_that_still_show_the_topics_of_the_attempt_before_change_nothing, 64),
    ),
    (
        rewritten(WALRestoreController, "_change_topics", "require_soon(self.stopwatch, began)", "pass"),
        moved.test_topics_are_not_removed_by_answers_of_an_hour_ago,
    ),
    (
        rewritten(WALRestoreController, "_pool", "status.made_time or ", ""),
        moved.test_what_was_backed_up_while_the_restore_was_planned_is_no_obstacle_to_another_attempt,
    ),
    (not_asked_again, moved.test_a_database_that_starts_right_before_the_topics_are_made_is_waited_for),
)


def test_every_guard_of_a_restore_is_needed() -> None:
    survivors = find_survivors(MUTANTS)
    assert not survivors, survivors
