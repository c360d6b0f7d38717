"""The guards of reassignments are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import ObjectMeta
from seawall.controllers import cluster as wal_cluster
from seawall.controllers import permission
from seawall.controllers import reassignment as replication
from seawall.domain import clocks
from seawall.domain.brokers import decide as brokers_step
from seawall.domain.brokers import status as health
from seawall.domain.brokers import view
from seawall.domain.min_isr import NO_LIMITS
from seawall.domain.partitions import NO_RATES, PartitionId, ThrottledReplicas
from seawall.domain.reassignment import batch, case, planning, stages, throttling, tracker
from seawall.domain.reassignment import decide as replication_decide
from seawall.domain.reassignment import run as decide
from seawall.domain.reassignment import tracker as leaders
from seawall.domain.reassignment.actions import RememberLists, SetThrottle
from seawall.domain.reassignment.batch import Batch
from seawall.domain.reassignment.observed import KafkaState, Line, Observed, find_line
from seawall.domain.reassignment.tracker import MoveTracker, Progress
from seawall.domain.topics import pool
from tests.brokers import test_brokers as brokers
from tests.domain import test_brokers as of_brokers
from tests.reassignment import test_arrived_throttles as arrived
from tests.reassignment import test_deletion_in_silence as silence
from tests.reassignment import test_late_batches as late_batches
from tests.reassignment import test_late_moves as late_moves
from tests.reassignment import test_reassignment_min_isr as min_isr
from tests.reassignment import test_reassignment_of_two as two_runs
from tests.reassignment import test_reassignment_run as stories
from tests.reassignment import test_rebalance as balance
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def throttle_left(patch: Patch) -> None:
    """The run ends without removing its throttle."""
    patch.setattr(stages, "leftover_throttle", lambda *_: None)


def lists_left(patch: Patch) -> None:
    """Only the rates are put back at the end."""
    original = throttling.leftover_throttle

    def without_lists(look: KafkaState, *rest: Any) -> Any:
        return original(replace(look, throttles=replace(look.throttles, topics={})), *rest)

    patch.setattr(stages, "leftover_throttle", without_lists)


def no_throttle(patch: Patch) -> None:
    """Replicas are copied as fast as they can."""
    patch.setattr(stages, "throttle_for", lambda *_: None)


def numbers_when_there_is_nothing_to_do(patch: Patch) -> None:
    """A run whose every tick acts seems to stand still, and is slowed down as a loop is."""
    patch.setattr(replication_decide, "has_come_on", lambda *_: False)


def throttle_after_the_batch(patch: Patch) -> None:
    """The throttle is set once replicas are on their way."""
    original = throttling.throttle_for
    patch.setattr(stages, "throttle_for", lambda tracker, _, *rest: original(tracker, {}, *rest))


def rates_forgotten(patch: Patch) -> None:
    """What stood before the run is not put back."""
    patch.setattr(throttling, "before_run", lambda _: NO_RATES)


def foreign_rates_overwritten(patch: Patch) -> None:
    """A rate that somebody sets in mid-run does not stay."""
    for module in (stages, throttling):
        patch.setattr(module, "is_foreign", lambda *_: False)


def own_rates_not_told(patch: Patch) -> None:
    """Rates of single brokers win in silence."""
    patch.setattr(stages, "said_of_brokers", lambda *_: "")


def default_rate_shown(patch: Patch) -> None:
    """The status shows the cluster's default, whatever the slowest broker has."""
    patch.setattr(case, "rate_in_force", lambda look, _: throttling.cluster_rate(look))


def lists_of_others_forgotten(patch: Patch) -> None:
    """What others had throttled is cleared, as the run's own lists are."""
    patch.setattr(stages, "lists_of_others", lambda *_: {})


def lists_of_planning(patch: Patch) -> None:
    """What others had throttled is remembered when the plan is frozen, and not looked at again."""
    original = replication._config_map

    def with_what_stands(obj: Any, action: Any) -> Any:
        if isinstance(action, RememberLists):
            action = replace(action, lists={"wal_0": ThrottledReplicas(every_leader=True)})
        return original(obj, action)

    patch.setattr(replication, "_config_map", with_what_stands)
    patch.setattr(stages, "lists_of_others", lambda *_: {"wal_0": ThrottledReplicas(every_leader=True)})


def lists_of_deleted_topics_restored(patch: Patch) -> None:
    """Nobody looks whether the topic still is there."""
    original = throttling.unlike_before

    def of_all(look: KafkaState, *rest: Any) -> Any:
        return original(replace(look, absent=frozenset()), *rest)

    patch.setattr(throttling, "unlike_before", of_all)


def condition_without_own_rates(patch: Patch) -> None:
    """ReplicationHealthy says nothing of brokers that somebody throttled."""
    patch.setattr(health, "own_rates_sentence", lambda _: "")


def condition_without_leaders(patch: Patch) -> None:
    """Nobody is told that others lead."""
    patch.setattr(view, "led_by_others", lambda *_: ())


def leaders_of_what_does_not_move(patch: Patch) -> None:
    """Who asks for balance gets leaders only of what is moved for it."""
    patch.setattr(decide, "_elect", lambda *_: None)


def no_answer_of_elections(patch: Patch) -> None:
    """What Kafka says of an election is not looked at."""
    patch.setattr(replication, "_raise_without_success", lambda *_: None)


def elects_none() -> None:
    """The story of a Kafka that elects none."""
    with pytest.MonkeyPatch.context() as patch:
        balance.test_where_kafka_elects_none_that_is_told_as_no_success_and_not_for_ever(patch)


def paused_electing() -> None:
    """The story of a pause while leaders are elected."""
    with pytest.MonkeyPatch.context() as patch:
        balance.test_leaders_are_elected_for_so_long_after_a_pause_as_before(patch)


def silent_electing() -> None:
    """The story of a Kafka that is silent while leaders are elected."""
    with pytest.MonkeyPatch.context() as patch:
        balance.silent_in_between(patch)


def leaders_of_moves_only(patch: Patch) -> None:
    """A run for balance elects leaders of its own moves only."""
    patch.setattr(leaders, "BALANCES", frozenset())


def leaders_that_cannot_lead(patch: Patch) -> None:
    """Whether the preferred leader could lead is not looked at."""
    patch.setattr(view, "led_by_others", lambda found, *_: [one.id for one in found if one.leader != one.replicas[0]])


def throttle_of_planning(patch: Patch) -> None:
    """An edit of the throttle in mid-run is not seen."""
    original = throttling.throttle_for

    def at_first_rate(
        tracker: MoveTracker, targets: Mapping[PartitionId, Any], status: Any, rate: int, lists: Any
    ) -> SetThrottle | None:
        return original(tracker, targets, status, status.rates_set[0] if status.rates_set else rate, lists)

    patch.setattr(stages, "throttle_for", at_first_rate)


def batch_too_large(patch: Patch) -> None:
    """All partitions are sent at once."""
    original = batch.next_batch
    patch.setattr(stages, "next_batch", lambda found, _: original(found, 1_000))


def in_flight_not_counted(patch: Patch) -> None:
    """Each tick sends as many as may be on their way."""

    def more(found: MoveTracker, most: int) -> Batch:
        rest = replace(found, kafka=replace(found.kafka, ongoing={}))
        return Batch({move.id: found.goal(move) for move in rest.moves_in(Progress.OPEN)[:most]})

    patch.setattr(stages, "next_batch", more)


def min_isr_not_looked_at(patch: Patch) -> None:
    """Replicas go while min.insync.replicas is as high as before."""
    for module in (batch, permission):
        patch.setattr(module, "why_not_fewer", lambda *_: None)


def min_isr_raised_at_once(patch: Patch) -> None:
    """min.insync.replicas is raised while the new replicas are not in sync."""
    patch.setattr(pool, "_would_stop_writes", lambda *_: False)


def min_isr_stays_in_an_abort(patch: Patch) -> None:
    """An abort does not lower min.insync.replicas before replicas go back."""
    patch.setattr(stages, "_most_min_isr", lambda _: None)


def min_isr_raised_in_mid_run(patch: Patch) -> None:
    """min.insync.replicas is raised for replicas that have arrived and may go back."""
    patch.setattr(wal_cluster, "observe_limits", lambda *_: NO_LIMITS)


def internal_min_isr_raised_in_mid_run(patch: Patch) -> None:
    """The same, of Kafka's own topics."""
    patch.setattr(brokers_step, "limit_of", lambda _: None)


def raised_without_reading_again(patch: Patch) -> None:
    """The WALCluster is not read again before min.insync.replicas is raised: a run may have begun."""
    patch.setattr(wal_cluster.WALClusterController, "_require_unchanged", lambda *_: None)


def cancelled_whatever_is_needed(patch: Patch) -> None:
    """A move is cancelled although min.insync.replicas needs its new replicas."""
    patch.setattr(stages, "may_cancel", lambda found: (tuple(m.id for m in found.moves_in(Progress.TO_CANCEL)), ""))
    patch.setattr(replication, "require_cancel", lambda *_: None)


def cancelled_without_reading_again(patch: Patch) -> None:
    """min.insync.replicas is not read again right before a move is cancelled."""
    patch.setattr(replication, "require_cancel", lambda *_: None)


def taken_without_reading_again(patch: Patch) -> None:
    """min.insync.replicas is not read again right before replicas go."""
    patch.setattr(replication, "require_replicas", lambda *_: None)


def unchanged_before_kafka_is_asked(patch: Patch) -> None:
    """The object is read before Kafka says whether replicas may go, and not after it."""
    controller = replication.ReplicationController
    original, unchanged = controller._change_kafka, controller._require_unchanged

    def too_early(self: replication.ReplicationController, obj: Any, action: Any) -> None:
        unchanged(self, obj)
        with pytest.MonkeyPatch.context() as later:
            later.setattr(controller, "_require_unchanged", lambda *_: None)
            original(self, obj, action)

    patch.setattr(controller, "_change_kafka", too_early)


def own_clock(patch: Patch) -> None:
    """Each operator counts by the clock of its node."""
    patch.setattr(Observed, "now", property(lambda self: self.time.now))


def any_digest(patch: Patch) -> None:
    """An approval of another plan counts."""
    patch.setattr(ObjectMeta, "approves", lambda self, _: "seawall.dev/approve-reassignment" in self.annotations)


def nobody_asked(patch: Patch) -> None:
    """approval: Manual is not looked at."""
    patch.setattr(case.Case, "is_approved", property(lambda _: True))


def stale_plan(patch: Patch) -> None:
    """A plan begins although partitions are elsewhere."""
    patch.setattr(stages, "_why_dropped", stages._why_aborted)


def hindrances_ignored(patch: Patch) -> None:
    """Nobody else's moves and no min ISR are waited for."""
    patch.setattr(stages, "_why_not_yet", lambda *_: None)


def edit_ignored(patch: Patch) -> None:
    """An edit in mid-run is not looked at."""
    patch.setattr(replication, "is_still_wanted", lambda *_: True)


def abort_forgets_what_arrived(patch: Patch) -> None:
    """An abort cancels only what is on its way."""
    original = case.Case.tracker
    stay = tracker.Direction.STAY

    def never_back(self: case.Case, direction: tracker.Direction) -> MoveTracker:
        return original(self, stay if direction is tracker.Direction.BACK else direction)

    patch.setattr(case.Case, "tracker", never_back)


def refusals_forgotten(patch: Patch) -> None:
    """What Kafka refused is asked again and again."""
    patch.setattr(decide, "_refused_rows", lambda *_: ())


def refusal_is_planned_again(patch: Patch) -> None:
    """A run that Kafka refused is planned anew at once."""
    patch.setattr(decide, "_was_refused", lambda *_: False)


def nobody_else_is_seen(patch: Patch) -> None:
    """Other WALClusters on the same Kafka are not looked at."""
    patch.setattr(replication, "find_line", lambda *_: Line())


def who_goes_after_is_not_waited_for(patch: Patch) -> None:
    """Of two that begin at once, the older does not wait until the other has gone back."""
    patch.setattr(replication, "find_line", lambda *both: replace(find_line(*both), contender=None))


def arrived_stays_throttled(patch: Patch) -> None:
    """Only who submits, or has something on its way, takes out what has arrived."""
    patch.setattr(stages, "arrived_throttle", lambda *_: None)


def any_list_is_our_own(patch: Patch) -> None:
    """What the run waits with is put back as it was before, whoever listed it."""
    patch.setattr(
        throttling, "_own_lists", lambda look, plan, lists: throttling.unlike_before(look, plan.topics, lists)
    )


def both_begin() -> None:
    """The story of two WALClusters."""
    two_runs.test_two_runs_on_one_kafka_never_move_at_once_whoever_sleeps(two_runs.Story.BOTH_BEGIN, two_runs.OTHER)


def not_cancelled() -> None:
    """The story of a move that arrives instead."""
    min_isr.test_a_move_is_not_cancelled_while_min_insync_replicas_needs_its_new_replicas(min_isr.delete)


def leader_out_of_sync() -> None:
    """The story of a preferred leader that could not lead."""
    of_brokers.test_a_preferred_leader_that_could_not_lead_is_not_missed(of_brokers.partition(leader=2, isr=(2, 3)), {})


FROM_CHANGES = "prolonged(None, status.progress_time or observed.now, SILENCE_LONGEST_BREAK)"
"""The silence is counted from when the status changed last."""

MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(MoveTracker, "_of_settled", ", original | wanted", ""),
        partial(late_moves.test_a_broker_is_drained_once, 3),
    ),
    (
        rewritten(MoveTracker, "_plans_again", " and leader not in self.journal.exclude", ""),
        stories.test_a_broker_is_drained_whose_replicas_are_fewer_afterwards,
    ),
    (
        rewritten(MoveTracker, "_plans_again", "self.direction is Direction.FORWARD and ", ""),
        stories.test_an_abort_gives_the_original_replicas_back_whoever_leads_by_now,
    ),
    (
        rewritten(planning, "_is_wanted", "min(asked, _internal_factor(spec)) if topic in INTERNAL_TOPICS else ", ""),
        partial(late_moves.test_a_topic_of_kafkas_own_gets_its_replicas_in_one_run, 5),
    ),
    (throttle_left, stories.test_the_transcript_of_a_replication_factor_that_grows),
    (lists_left, stories.test_the_transcript_of_a_replication_factor_that_grows),
    (no_throttle, stories.test_the_transcript_of_a_replication_factor_that_grows),
    (throttle_after_the_batch, stories.test_the_transcript_of_a_replication_factor_that_grows),
    (
        numbers_when_there_is_nothing_to_do,
        stories.test_a_run_whose_every_tick_acts_tells_how_far_it_is_and_waits_between_acts,
    ),
    (rates_forgotten, stories.test_rates_that_stood_before_the_run_are_put_back_at_its_end),
    (foreign_rates_overwritten, stories.test_a_rate_that_somebody_sets_in_mid_move_stays),
    (own_rates_not_told, stories.test_a_rate_of_a_single_broker_is_told_with_the_way_out_and_the_slowest_is_shown),
    (default_rate_shown, stories.test_a_rate_of_a_single_broker_is_told_with_the_way_out_and_the_slowest_is_shown),
    (lists_of_others_forgotten, stories.test_lists_of_others_give_way_to_the_runs_and_are_put_back_topic_by_topic),
    (lists_of_planning, stories.test_a_list_that_its_owner_removes_while_a_person_is_asked_does_not_come_back),
    (lists_of_deleted_topics_restored, stories.test_the_list_of_a_topic_that_is_deleted_meanwhile_is_not_put_back),
    (
        condition_without_own_rates,
        of_brokers.test_a_throttle_of_a_single_broker_is_said_whatever_else_is_with_the_command_that_removes_it,
    ),
    (condition_without_leaders, of_brokers.test_leaders_that_are_not_the_preferred_ones_are_told_and_no_harm),
    (leaders_that_cannot_lead, leader_out_of_sync),
    (
        leaders_of_what_does_not_move,
        balance.test_leaders_stay_after_a_restart_until_somebody_asks_and_nothing_is_moved_for_it,
    ),
    (no_answer_of_elections, elects_none),
    (rewritten(decide, "_elect", "observed.now < since + REASSIGNMENT_LEADERS_WAIT", "True"), elects_none),
    (rewritten(decide, "_without_run", "election_time=None", ""), paused_electing),
    (rewritten(decide, "_at_rest", "return status", "return _updated(status, election_time=None)"), silent_electing),
    (
        leaders_of_moves_only,
        balance.test_a_run_for_balance_has_the_preferred_leaders_elected_of_what_it_does_not_move_as_well,
    ),
    (throttle_of_planning, stories.test_the_throttle_is_edited_in_mid_move),
    (batch_too_large, stories.test_the_transcript_of_a_replication_factor_that_grows),
    (in_flight_not_counted, stories.test_a_broker_that_dies_in_mid_move_is_waited_for),
    (min_isr_not_looked_at, stories.test_min_insync_replicas_is_lowered_before_replicas_go),
    (min_isr_raised_at_once, stories.test_writes_go_on_while_replicas_arrive_slowly),
    (min_isr_stays_in_an_abort, stories.test_an_abort_gives_all_partitions_their_replicas_back),
    (min_isr_raised_in_mid_run, min_isr.test_min_insync_replicas_is_raised_once_no_abort_can_take_replicas_back),
    (min_isr_raised_in_mid_run, min_isr.test_two_controllers_that_act_at_once_never_stop_writes),
    (
        internal_min_isr_raised_in_mid_run,
        brokers.test_kafkas_own_topics_need_no_more_in_sync_replicas_while_a_run_may_take_some_back,
    ),
    (raised_without_reading_again, min_isr.test_min_insync_replicas_is_not_raised_for_replicas_that_have_begun_to_go),
    (cancelled_whatever_is_needed, not_cancelled),
    (cancelled_without_reading_again, partial(min_isr.test_min_insync_replicas_is_read_again, min_isr.cancelling)),
    (taken_without_reading_again, partial(min_isr.test_min_insync_replicas_is_read_again, min_isr.returning)),
    (
        rewritten(replication.ReplicationController, "_change_kafka", "self._require_unchanged(obj)", "pass"),
        partial(late_batches.test_what_a_person_has_stopped_is_neither_submitted_nor_cancelled, late_batches.copying),
    ),
    (
        unchanged_before_kafka_is_asked,
        partial(late_batches.test_what_a_person_has_stopped_is_neither_submitted_nor_cancelled, min_isr.cancelling),
    ),
    (
        unchanged_before_kafka_is_asked,
        partial(late_batches.test_no_batch_follows_an_abort_by_another_leader, late_batches.shrinking),
    ),
    (any_digest, stories.test_a_plan_waits_for_a_person_and_begins_with_its_digest_only),
    (nobody_asked, stories.test_a_plan_waits_for_a_person_and_begins_with_its_digest_only),
    (stale_plan, stories.test_a_plan_that_is_stale_is_not_what_was_approved),
    (hindrances_ignored, stories.test_somebody_elses_reassignment_is_seen_and_waited_for),
    (hindrances_ignored, stories.test_nothing_is_submitted_while_something_else_is_under_min_isr),
    (edit_ignored, stories.test_an_edit_in_mid_run_is_planned_anew_from_what_is),
    (abort_forgets_what_arrived, stories.test_an_abort_gives_all_partitions_their_replicas_back),
    (refusals_forgotten, stories.test_what_kafka_refuses_is_told_counted_and_not_asked_again),
    (refusal_is_planned_again, stories.test_what_kafka_refuses_is_told_counted_and_not_asked_again),
    (nobody_else_is_seen, both_begin),
    (who_goes_after_is_not_waited_for, both_begin),
    (arrived_stays_throttled, arrived.test_what_has_arrived_is_not_throttled_while_the_run_waits),
    (
        arrived_stays_throttled,
        arrived.test_what_cannot_be_cancelled_yet_stays_throttled_and_what_has_arrived_does_not,
    ),
    (any_list_is_our_own, arrived.test_what_others_list_meanwhile_stays),
    (
        rewritten(throttling, "arrived_throttle", "if not status.rates_set", "if False", stages),
        arrived.test_a_run_that_has_throttled_nothing_takes_no_list_of_others,
    ),
    (
        rewritten(throttling, "_is_at_rest", "and listed.isdisjoint(kafka.ongoing)", ""),
        arrived.test_what_cannot_be_cancelled_yet_stays_throttled_and_what_has_arrived_does_not,
    ),
    (
        rewritten(throttling, "_is_at_rest", "listed <= kafka.partitions.keys() and", ""),
        arrived.test_what_kafka_does_not_tell_of_stays_throttled,
    ),
    (
        rewritten(stages, "_waits", "if not case.cluster.metadata.is_paused", "if True"),
        arrived.test_a_pause_leaves_the_throttle_as_it_is,
    ),
    (
        rewritten(
            replication.ReplicationController,
            "_observe_while_allowed",
            " or not self.kube.is_terminating(obj.metadata.namespace)",
            "",
        ),
        silence.test_rights_that_are_taken_from_somebody_who_stays_let_nothing_go,
    ),
    (
        rewritten(decide, "_unavailable", "if observed.rights_are_gone", "if False"),
        silence.test_a_namespace_whose_roles_went_first_does_not_keep_it,
    ),
    (
        rewritten(stages, "_turn_back", " and not _is_deleted(case)", ""),
        partial(stories.test_a_pause_keeps_no_walcluster_that_is_deleted_in_mid_run, aborted=False),
    ),
    (
        rewritten(stages, "turn_back", "case.cluster.metadata.is_paused and _is_deleted(case)", "False"),
        partial(stories.test_a_pause_keeps_no_walcluster_that_is_deleted_in_mid_run, aborted=True),
    ),
    (
        rewritten(stages, "_turn_back", "case.cluster.metadata.is_paused and", "False and"),
        stories.test_a_pause_stops_an_abort_while_nothing_is_deleted,
    ),
    (
        rewritten(
            decide, "_unavailable", "prolonged(status.unanswered, observed.now, SILENCE_LONGEST_BREAK)", FROM_CHANGES
        ),
        silence.test_one_failed_answer_after_a_long_wait_lets_nothing_go,
    ),
    (
        rewritten(
            decide, "_unavailable", "if observed.now - found.from_time >= REASSIGNMENT_GIVE_UP_AFTER", "if False"
        ),
        silence.test_ten_minutes_without_an_answer_let_it_go_and_not_less_whoever_asks,
    ),
    (
        own_clock,
        silence.test_another_operator_whose_clock_is_ahead_lets_nothing_go_early,
    ),
    (
        rewritten(decide, "decide_run", 'update={"unanswered": None}', "update={}", replication_decide),
        silence.test_an_answer_in_between_begins_them_anew,
    ),
    (
        rewritten(clocks, "prolonged", " <= longest_break:", ":", decide),
        silence.test_a_time_in_which_nobody_asked_does_not_count,
    ),
    (
        rewritten(clocks, "prolonged", "if is_fresh", "if True", decide),
        silence.test_ten_minutes_without_an_answer_let_it_go_and_not_less_whoever_asks,
    ),
)


def test_every_guard_of_a_reassignment_is_needed() -> None:
    assert not find_survivors(MUTANTS)
