"""The guards of subscriptions are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.v1alpha1.subscription_status import WALSubscriptionStatus
from seawall.controllers import subscription
from seawall.domain.kafka_log import LogOffsets, ProducerId, ProducerState
from seawall.domain.subscription import (
    case,
    contract,
    decide,
    holdable,
    holding,
    logs,
    needed,
    old_requests,
    promotion,
    published,
    running,
    standing,
    targets,
)
from seawall.domain.subscription.actions import GuardTargets
from seawall.domain.subscription.brokers import TargetReason
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.contract import Summary
from seawall.domain.subscription.logs import LogsNow, Position
from seawall.observe import subscription_parts
from seawall.observe.subscription import Wanted
from seawall.observe.subscription_parts import SubscriptionReader
from tests.subscription import test_blockers as blockers
from tests.subscription import test_lag_budget as budgets
from tests.subscription import test_promotion as promotions
from tests.subscription import test_refusals as refusals
from tests.subscription import test_stops as stops
from tests.subscription import test_subscription as stories
from tests.subscription import test_subscription_waits as waits
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS
from tests.worlds.subscription_world import SubscriptionWorld

Patch = pytest.MonkeyPatch


def hold_of_what_was_sent(patch: Patch) -> None:
    """The hold follows the source, as if all were copied."""
    patch.setattr(case, "judge", _ahead)


def _ahead(row: Any, source: LogsNow, target: LogsNow, find: Any) -> Any:
    found = logs.judge(row, source, target, find)
    return Position(found.source_end, found.source_end) if isinstance(found, Position) else found


def an_edit_is_not_looked_at(patch: Patch) -> None:
    """Whether it is allowed is asked only where something begins."""
    patch.setattr(standing, "not_allowed_any_more", lambda _: None)


def not_granted(patch: Patch) -> None:
    """What is asked for is taken for granted."""

    def trusting(found: Case) -> dict[str, int]:
        return {name: start for name, start in holdable.edges(found).items() if name not in found.rows}

    patch.setattr(targets, "held_from", trusting)


def any_source_log(patch: Patch) -> None:
    """A topic that is made again is the same."""

    def same(row: Any, source: LogsNow, target: LogsNow, find: Any) -> Any:
        source_id = source.topic_id(row.name) or row.source_id
        return logs.judge(row.model_copy(update={"source_id": source_id}), source, target, find)

    patch.setattr(case, "judge", same)
    honest = targets.active
    patch.setattr(targets, "active", lambda found: _with_ids_of_now(found, honest(found)))


def _with_ids_of_now(found: Case, rows: Any) -> Any:
    source = found.observed.source
    if not isinstance(source, LogsNow):
        return rows
    return tuple(row.model_copy(update={"source_id": source.topic_id(row.name) or row.source_id}) for row in rows)


def records_of_others(patch: Patch) -> None:
    """Whatever is in a topic of the target, it is ours."""

    def empty(name: str, start: int, source: LogsNow, target: LogsNow) -> Any:
        return logs.begin(name, start, source, replace(target, offsets={name: LogOffsets(0, 0, 0)}))

    patch.setattr(targets, "begin", empty)


def made_again(patch: Patch) -> None:
    """A topic that is gone from the target is made again by itself, also where it is not held from its beginning."""
    patch.setattr(Case, "rows", property(_rows_that_are_there))
    patch.setattr(targets, "held_from", _held_from_anywhere)


def _held_from_anywhere(found: Case) -> dict[str, int]:
    granted = {} if found.own_hold is None else found.own_hold.status.granted
    return {name: at for name, at in granted.items() if isinstance(at, int) and name not in found.rows}


def _rows_that_are_there(found: Case) -> Any:
    target, names = found.observed.target, set(found.selected)
    rows = {row.name: row for row in found.status.topics if row.name in names}
    if not isinstance(target, LogsNow):
        return rows
    return {name: row for name, row in rows.items() if not target.is_absent(name)}


def never_lost(patch: Patch) -> None:
    """A hold that is over by its budget is placed anew, for ever."""
    patch.setattr(SubscriptionReader, "_is_over_budget", lambda *_: False)


def no_age_of_what_is_unknown(patch: Patch) -> None:
    """A target that does not answer uses up no time."""
    patch.setattr(subscription_parts, "kept_from", _of_known_positions)


def _of_known_positions(found: Case) -> dict[str, int]:
    return {name: each.keep_from for name, each in found.standings.items() if isinstance(each, Position)}


def gaps_are_left_to_the_job(patch: Patch) -> None:
    """A topic that has no place in the hold stops by the word of a job alone, and no job begins without it."""
    patch.setattr(holding, "leave", lambda _: None)


def any_target(patch: Patch) -> None:
    """Whatever Kafka answers is the right one."""
    patch.setattr(Wanted, "why_not", lambda *_: None)


def any_word(patch: Patch) -> None:
    """A summary counts whatever it is about."""

    def believing(text: str, _: str) -> Any:
        return Summary.model_validate_json(text)

    patch.setattr(running, "read_end", believing)


def a_producer_for_each_run(patch: Patch) -> None:
    """Each run has an id of its own: two drivers would not be refused."""
    honest = contract.request_body

    def forgetful(head: Any, producer: Any, rows: Any) -> Any:
        return honest(head, producer.model_copy(update={"id": producer.id + head["run"]}), rows)

    patch.setattr(running, "request_body", forgetful)


def suspended_in_name_only(patch: Patch) -> None:
    """What runs goes on."""
    patch.setattr(decide, "_suspend", lambda _: None)


def begins_while_paused(patch: Patch) -> None:
    """A pause says nothing."""
    patch.setattr(decide, "_why_nothing_begins", lambda _: None)


def blocked_configs_are_right(patch: Patch) -> None:
    """Configs that may not be set now are looked at again a minute later."""
    patch.setattr(subscription, "weigh", lambda *given: (decide.decide(*given), False))


def configs_that_were_not_compared_are_right(patch: Patch) -> None:
    """Configs are right unless just now they are set."""

    def of_what_is_done(*given: Any) -> Any:
        found = decide.decide(*given)
        return found, any(isinstance(each, GuardTargets) for each in found.actions)

    patch.setattr(subscription, "weigh", of_what_is_done)


def any_configs(patch: Patch) -> None:
    """Retention on the target is nobody's business."""
    patch.setattr(targets, "drift", lambda *_: ())


def any_request(patch: Patch) -> None:
    """Whoever made the ConfigMap, and whatever is in it."""
    patch.setattr(running, "_taken", lambda *_: None)
    patch.setattr(running, "find_request_problem", lambda found, *_: None if found is not None else "Gone")


def moves_at_each_tick(patch: Patch) -> None:
    """The hold is moved whenever it can be."""
    patch.setattr(holding, "_is_due", lambda *_: True)


def not_renewed(patch: Patch) -> None:
    """A hold that does not move is left to its ttl."""
    patch.setattr(holding, "SUBSCRIPTION_RENEWS_HOLD", timedelta(days=9))


def resync_from_where_it_was(patch: Patch) -> None:
    """A topic that begins anew begins where the hold was, and not where the log starts."""

    def stale(found: Case) -> dict[str, int]:
        hold = found.own_hold
        granted = {} if hold is None else hold.status.granted
        return {name: at for name, at in granted.items() if name not in found.rows and isinstance(at, int)}

    patch.setattr(targets, "held_from", stale)


def a_topic_that_begins_anew_begins_at_the_log_start() -> None:
    """Also where the ledger cannot be observed for a while."""
    world = SubscriptionWorld()
    world.streaming()
    world.lose_target("wal_2")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.store.is_silent = True
    world.subscribe(resync="again")
    world.live(ticks=20)
    world.store.is_silent = False
    world.live(world.is_even)
    assert {row.name: row.start for row in world.subscription().status.topics} == dict.fromkeys(TOPICS, 0)


def a_database_flushed_after_it_was_last_asked() -> None:
    """Then it, and its Kafka, are gone."""
    world = promotions.behind()
    world.write("wal_0", 100)
    for region in world.data_plane.regions:
        world.flush(region)
    world.kafka.unreachable = promotions.SILENT
    world.store.is_silent = world.data_plane.is_silent = True
    promotions.promoted(world)
    world.store.is_silent = False
    promotions.assert_safe(world)


def judged_by_offsets(patch: Patch) -> None:
    """A gap is none: it is copied on from where the source starts."""

    def generous(row: Any, source: LogsNow, target: LogsNow, find: Any) -> Any:
        found = logs.judge(row, source, target, find)
        ends = source.ends(row.name)
        is_gap = isinstance(found, logs.Halt) and found.reason == "SourceGap" and row.stopped is None
        return Position(ends.log_start, ends.high_watermark) if is_gap and ends is not None else found

    patch.setattr(case, "judge", generous)


def a_gap_is_seen_without_the_job() -> None:
    """Nothing runs, and the source is purged past the target all the same."""
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications)
    world.write("wal_0", 30)
    world.kafka.topics["wal_0"].log.delete_before(60)
    world.foreign.add("wal_0")
    found = world.live(lambda: bool(world.subscription().status.worst))
    first = found.status.worst[0]
    assert (first.topic, first.applied, first.reason) == ("wal_0", 40, "SourceGap")


def not_fenced(patch: Patch) -> None:
    """Whoever wrote before may go on."""
    honest = promotion._standing

    def trusting(*args: Any) -> Any:
        found = honest(*args)
        return None if found is None else replace(found, state=ProducerState(1, found.state.last_sequence))

    patch.setattr(promotion, "_standing", trusting)


def epoch_not_raised(patch: Patch) -> None:
    """The null is of the old epoch."""
    patch.setattr(promotion, "ProducerId", lambda number, epoch: ProducerId(number, epoch - 1))


def not_padded(patch: Patch) -> None:
    """The log ends where the copy ended."""
    honest = needed.promoted_topic

    def short(*args: Any) -> Any:
        found = honest(*args)
        return found.model_copy(update={"pad_to": found.end})

    patch.setattr(promotion, "promoted_topic", short)


def no_margin(patch: Patch) -> None:
    """What is not known is nothing."""
    patch.setattr(needed, "MARGIN", 0)


def switched_at_once(patch: Patch) -> None:
    """A switchover waits for nothing."""
    patch.setattr(promotion, "_is_even", lambda _: True)


def any_copy(patch: Patch) -> None:
    """A topic that was made again is as good."""
    patch.setattr(promotion, "_is_another", lambda *_: False)


def stopped_topics_count(patch: Patch) -> None:
    """What is kept for a topic that is stopped uses up the budget of all."""
    patch.setattr(subscription_parts, "bytes_kept", lambda _, found: found.status.lag_bytes or 0)


def no_event_of_a_stop(patch: Patch) -> None:
    """It is in the status alone."""
    patch.setattr(published, "_stops", lambda *_: ())


def a_stop_is_told_at_each_look(patch: Patch) -> None:
    """As if it had not been known before."""
    honest = published._stops
    patch.setattr(published, "_stops", lambda _, after: honest(WALSubscriptionStatus(), after))


def any_brokers(patch: Patch) -> None:
    """Brokers may forget producers when they like."""
    patch.setattr(decide, "compare", lambda _: (TargetReason.SAFE, ""))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(standing, "_suspended", "promotion.why_not_begun(case)", "None"),
        waits.a_switchover_waits_while_suspend_is_set,
    ),
    (
        rewritten(standing, "standing", "halts and case.spec.promote is None", "halts", old_requests),
        waits.a_switchover_waits_while_a_topic_has_stopped,
    ),
    (
        rewritten(decide, "_again", "_unless_blocked(case, wanted)", "wanted"),
        blockers.its_size_is_edited_while_it_is_paused,
    ),
    (no_event_of_a_stop, stops.a_purge_stops_it),
    (a_stop_is_told_at_each_look, stops.a_purge_stops_it),
    (
        an_edit_is_not_looked_at,
        refusals.test_an_edit_to_an_image_that_is_not_declared_is_refused_as_at_the_beginning_and_what_copies_goes_on,
    ),
    (any_brokers, stories.test_a_target_that_forgets_producers_while_connections_stay_open_is_refused),
    (stopped_topics_count, stories.test_a_stopped_topic_uses_up_the_budget_and_the_others_go_on_without_it),
    (not_fenced, promotions.test_a_failover_fences_pads_and_lists_what_is_lost),
    (epoch_not_raised, promotions.test_a_failover_fences_pads_and_lists_what_is_lost),
    (not_padded, promotions.test_a_failover_fences_pads_and_lists_what_is_lost),
    (no_margin, a_database_flushed_after_it_was_last_asked),
    (switched_at_once, promotions.test_a_switchover_waits_until_all_is_copied_and_loses_nothing),
    (any_copy, promotions.test_a_topic_that_is_gone_from_the_target_is_not_promoted_and_can_be_left_out),
    (hold_of_what_was_sent, stories.test_what_is_not_copied_is_held_and_a_purge_stops_for_it),
    (not_granted, stories.test_nothing_is_made_or_read_before_the_hold_is_granted),
    (any_source_log, stories.test_a_topic_that_is_made_again_stops_alone_and_the_others_are_held_anew),
    (records_of_others, stories.test_a_topic_with_records_of_others_is_not_written_to),
    (made_again, stories.test_a_topic_of_the_target_is_never_made_again_by_itself),
    (never_lost, stories.test_a_dead_target_is_at_risk_then_lost_and_resync_brings_it_back),
    (no_age_of_what_is_unknown, budgets.a_dead_target_uses_up_the_time),
    (gaps_are_left_to_the_job, budgets.a_suspended_one_uses_up_the_bytes),
    (any_target, stories.test_the_target_must_not_be_the_source),
    (any_target, stories.test_another_target_than_the_first_is_not_written_to),
    (any_word, stories.test_a_word_about_another_request_counts_for_nothing),
    (a_producer_for_each_run, stories.test_another_image_is_another_run_and_the_producer_stays),
    (suspended_in_name_only, stories.test_suspended_it_copies_nothing_and_the_source_keeps_the_rest),
    (begins_while_paused, stories.test_a_pause_begins_nothing_and_stops_nothing),
    (
        blocked_configs_are_right,
        waits.test_configs_that_may_not_be_set_are_said_at_each_look_and_not_only_when_they_are_read,
    ),
    (configs_that_were_not_compared_are_right, waits.configs_are_read_when_the_hold_moves),
    (any_configs, stories.test_retention_that_somebody_sets_on_the_target_is_mended),
    (any_request, stories.test_a_request_that_somebody_forges_is_not_worked_on_again),
    (moves_at_each_tick, stories.test_a_hold_moves_every_half_minute_and_not_with_each_record),
    (not_renewed, stories.test_the_hold_of_a_target_that_does_not_answer_is_renewed),
    (resync_from_where_it_was, a_topic_that_begins_anew_begins_at_the_log_start),
    (judged_by_offsets, a_gap_is_seen_without_the_job),
)


def test_a_topic_that_begins_anew_begins_at_the_log_start() -> None:
    a_topic_that_begins_anew_begins_at_the_log_start()


def test_a_database_flushed_after_it_was_last_asked() -> None:
    a_database_flushed_after_it_was_last_asked()


def test_a_gap_is_seen_without_the_job() -> None:
    a_gap_is_seen_without_the_job()


@pytest.mark.timeout(600)
def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
