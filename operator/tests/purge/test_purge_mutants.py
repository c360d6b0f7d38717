"""The guards of runs and of deletions are taken away one by one: each story must then end badly. Prints the kills.

Those of the ledger itself are in `tests/domain/ledger/test_mutants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall import observe
from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.controllers import hold as wal_hold
from seawall.controllers import permission, topic_deletion
from seawall.controllers import purge as wal_purge
from seawall.domain.cluster import needed
from seawall.domain.columns import MAX_OFFSET
from seawall.domain.dataplane import flush
from seawall.domain.dataplane.metadata import MarkerMove
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import RegionRole
from seawall.domain.ledger import assess, dead_watch, mode, offsets, rules
from seawall.domain.ledger.declared import hold_of, policy_of
from seawall.domain.ledger.held import Claim, Hold
from seawall.domain.ledger.mode import PruneMode, prune_mode_of
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.report_history import ReportHistory, freshness
from seawall.domain.ledger.tables import Freshness, TopicLog
from seawall.domain.purge import stages, state, status
from seawall.domain.purge.reasons import TopicEnd
from seawall.observe import claims
from seawall.observe.connections import prunes
from seawall.observe.memory import RecentTopics
from seawall.observe.opened_cluster import ClusterOpener, OpenedCluster, named_cluster
from seawall.observe.topic_logs import read_logs
from tests.cluster import test_topic_deletion as deletions
from tests.fakes.dataplane import FakeMetadataStore, settings
from tests.purge import test_purge_dead as dead
from tests.purge import test_purge_failover as failover
from tests.purge import test_purge_foreign as foreign
from tests.purge import test_purge_run as stories
from tests.purge import test_purge_unused as unused
from tests.support.mutants import Mutant, find_survivors
from tests.worlds.purge_world import World

Patch = pytest.MonkeyPatch


def no_reread(patch: Patch) -> None:
    """Neither run nor WALCluster are read again before a change."""
    patch.setattr(wal_purge.WALPurgeController, "_still_may", lambda self, obj, *_, **__: named_cluster(self.kube, obj))


def no_flushed(patch: Patch) -> None:
    """What regions have flushed is not asked again before their markers are announced."""
    patch.setattr(wal_purge, "require_flushed", lambda *_: None)


def noted_by_routes_only(patch: Patch) -> None:
    """Who says to follow a region, and is named by no route, is taken for new at each announcement."""
    patch.setattr(RegionReports, "followers", lambda _: {})


def routes_asked_once(patch: Patch) -> None:
    """Whether a route names by now who was not counted is not asked right before the announcement."""
    patch.setattr(permission, "why_followed", lambda *_: None)


def any_follower_may_be_new(patch: Patch) -> None:
    """Nobody who follows is new right before the announcement."""
    honest = flush._is_new
    is_follower = RegionRole.FOLLOWER
    patch.setattr(flush, "_is_new", lambda report, before: report.role is not is_follower and honest(report, before))


def silence_is_final(patch: Patch) -> None:
    """A database that does not say for one observation what runs ends a run."""
    patch.setattr(state, "PASSING", state.PASSING - {Reason.VERSION_UNKNOWN, Reason.SETTINGS_UNKNOWN})


def whoever_deleted(patch: Patch) -> None:
    """What is gone of a log since the run saw it counts as its work."""
    patch.setattr(state.RunState, "intent", lambda *_: MAX_OFFSET)
    patch.setattr(stages, "_deletes", lambda *_: ())


def damage_is_hidden(patch: Patch) -> None:
    """A topic of which anything went is purged, whatever else is the matter with it."""
    patch.setattr(status, "DAMAGE", frozenset())


def harmless_as_asked(patch: Patch) -> None:
    """Reasons where nothing is wrong stand where the ledger asks for them."""
    patch.setattr(status, "_WORST_FIRST", status._ENDS)


def no_topic_id(patch: Patch) -> None:
    """The topic's id is not compared right before the delete."""
    patch.setattr(wal_purge, "_of_same_logs", lambda _, action: dict(action.before))


def settings_asked_once(patch: Patch) -> None:
    """What the metasrv runs with is not asked again right before the act."""
    patch.setattr(permission, "require_settings", lambda *_: None)


def declared_settings_believed(patch: Patch) -> None:
    """What the metasrv runs with counts for nothing."""
    patch.setattr(mode, "database_deletes", lambda _: False)
    patch.setattr(mode, "_runs_as_declared", lambda *_: True)


def silence_believed(patch: Patch) -> None:
    """A metasrv that does not say what it runs with runs as declared."""
    patch.setattr(observe.database, "prunes", lambda spec, running, wal: prunes(spec, running, wal or settings()))


def cached_holds(patch: Patch) -> None:
    """Holds are listed once."""
    cache: list[Any] = []

    def cached(*args: Any) -> Any:
        if not cache:
            cache.append(observe.claims.read_holds(*args))
        return cache[0]

    patch.setattr(observe.reading, "read_holds", cached)


def requested_ignored(patch: Patch) -> None:
    """A hold that nobody has granted yet does not count."""

    def granted_only(obj: WALHold) -> Hold | InvalidSpec:
        hold = hold_of(obj)
        is_open = isinstance(hold, Hold) and hold.state is HoldState.REQUESTED
        return Hold(obj.metadata.name, Claim(), hold.ttl) if isinstance(hold, Hold) and is_open else hold

    patch.setattr(observe.claims, "hold_of", granted_only)


def unreadable_hold_skipped(patch: Patch) -> None:
    """A hold that cannot be read is taken for none."""

    def lenient(obj: WALHold) -> Hold | InvalidSpec:
        hold = hold_of(obj)
        return Hold(obj.metadata.name, Claim(), timedelta(hours=1)) if isinstance(hold, InvalidSpec) else hold

    patch.setattr(observe.claims, "hold_of", lenient)


def no_region_keys(patch: Patch) -> None:
    """The announcement does not compare the topic's region keys."""
    honest = FakeMetadataStore.advance_markers

    def unaware(self: FakeMetadataStore, moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        return honest(self, [replace(move, revision=MAX_OFFSET) for move in moves], prefix, owner)

    patch.setattr(FakeMetadataStore, "advance_markers", unaware)


def no_intent(patch: Patch) -> None:
    """The delete does not wait for its intent."""
    patch.setattr(state.RunState, "intent", lambda *_: MAX_OFFSET)


def delete_before_announce(patch: Patch) -> None:
    """What was seen is not announced, and its marker not read again."""
    patch.setattr(observe.reading, "_announced", lambda frozen, *_: {n: t.recorded for n, t in frozen.items()})
    patch.setattr(offsets, "floor", lambda recorded, _: recorded)
    patch.setattr(stages, "_announcements", lambda *_: ())


def no_fence(patch: Patch) -> None:
    """What the identity fence finds is ignored."""
    kept = tuple(rule for rule in rules.LEFT_ALONE if rule[0] is not Reason.FENCE_BROKEN)
    patch.setattr(rules, "LEFT_ALONE", kept)


def fence_of_one_topic_only(patch: Patch) -> None:
    """What the identity fence finds stops its own topic alone."""
    kept = tuple(rule for rule in rules.LEFT_ALONE if rule[0] is not Reason.FENCE_BROKEN_ELSEWHERE)
    patch.setattr(rules, "LEFT_ALONE", kept)


def own_policy_only(patch: Patch) -> None:
    """A manual run may be weaker than the policies."""

    def own_only(kube: Any, cluster: Any, run: Any) -> Any:
        own: Any = policy_of(run)
        return replace(claims.read_policies(kube, cluster, run), declared=(own,))

    patch.setattr(observe.reading, "read_policies", own_only)


def refusals_forgotten(patch: Patch) -> None:
    """What Kafka refused is asked again."""
    patch.setattr(stages, "_with_refusals", lambda status, _: status)


def refusals_are_all_alike(patch: Patch) -> None:
    """A Kafka that deletes nothing for us is not told apart from one that refuses this once."""
    patch.setattr(status, "end_of_refused", lambda _: TopicEnd.DELETE_REFUSED)
    patch.setattr(stages, "end_of_refused", lambda _: TopicEnd.DELETE_REFUSED)


def refusals_without_their_reason(patch: Patch) -> None:
    """An operator that starts anew takes what its status names for a refusal like any other."""
    patch.setattr(stages, "end_of_refused", lambda _: TopicEnd.DELETE_REFUSED)


def dry_run_goes_on(patch: Patch) -> None:
    """A dry run is a run."""
    patch.setattr(stages, "_planned", lambda case, _: stages.see(case))


def no_turns(patch: Patch) -> None:
    """Runs do not wait for each other."""
    patch.setattr(wal_purge, "run_in_front", lambda *_: None)


def second_pruner(patch: Patch) -> None:
    """A database that deletes by itself is no reason."""
    patch.setattr(observe.database, "prune_mode_of", lambda database: PruneMode(prune_mode_of(database).mode))


def stale_accepted(patch: Patch) -> None:
    """A report that does not advance is as good as one that does."""
    kept = tuple(rule for rule in rules.LEFT_ALONE if rule[0] not in {Reason.REGION_STALE, Reason.AWAITING_REPORTS})
    patch.setattr(rules, "LEFT_ALONE", kept)


def regions_ignored(patch: Patch) -> None:
    """A deletion does not ask the database who needs the topics."""
    patch.setattr(needed, "_used", lambda *_: None)


def holds_ignored(patch: Patch) -> None:
    """A deletion does not ask for holds."""
    patch.setattr(needed, "_held", lambda *_: None)


def asked_once(patch: Patch) -> None:
    """A deletion is not asked about again right before the topics go."""
    patch.setattr(topic_deletion, "why_needed", lambda *_: None)


def object_read_once(patch: Patch) -> None:
    """The WALCluster is not read again right before its topics go."""
    patch.setattr(topic_deletion.TopicDeletion, "_require_same", lambda *_: None)


def records_stay(patch: Patch) -> None:
    """The records of deleted topics stay."""
    patch.setattr(topic_deletion.TopicDeletion, "forget", lambda *_: frozenset())


def unconfirmed_records_go(patch: Patch) -> None:
    """The records of deleted topics go although Kafka still shows them."""
    patch.setattr(topic_deletion, "_confirmed_gone", lambda records, _: set(records))


def granted_while_topics_go(patch: Patch) -> None:
    """A hold is granted by one who did not look whether the WALCluster is being deleted."""
    patch.setattr(wal_hold, "_has_request", lambda _: False)


def regions_need() -> None:
    deletions.test_regions_keep_the_topics_until_their_tables_are_dropped_and_cannot_come_back()


def a_hold_needs() -> None:
    deletions.test_what_needs_the_topics_or_hides_who_does_is_waited_for_without_an_end(
        deletions.hold_of_one_topic, "TopicsHeld"
    )


def a_hold_comes_late() -> None:
    deletions.test_it_is_asked_again_right_before_the_topics_go(deletions.hold_is_placed)


def retain_comes_late() -> None:
    deletions.test_it_is_asked_again_right_before_the_topics_go(deletions.retain)


def one_report(patch: Patch) -> None:
    """One advance of a report since the value was seen is enough."""
    honest = freshness

    def hasty(reports_history: ReportHistory, *args: Any) -> Freshness:
        newest_only = replace(reports_history, earlier_arrived_after=reports_history.arrived_after)
        return replace(honest(reports_history, *args), reported_twice=honest(newest_only, *args).reported_twice)

    patch.setattr(assess, "freshness", hasty)


def offsets_first(patch: Patch) -> None:
    """Kafka is asked before the datanodes' reports are read."""
    honest, read = ClusterOpener.open, read_logs
    early: dict[str, TopicLog] = {}

    def opened(self: ClusterOpener, cluster: WALCluster) -> OpenedCluster:
        found = honest(self, cluster)
        early.update(read(found, self.view(cluster, found).view, RecentTopics(), 0))
        return found

    def known(*_: object) -> Mapping[str, TopicLog]:
        return dict(early)

    patch.setattr(ClusterOpener, "open", opened)
    patch.setattr(observe.reading, "read_logs", known)


def declaration_forgotten(patch: Patch) -> None:
    """A run that relied on a declaration goes on when it has ended."""
    patch.setattr(state.RunState, "_is_as_declared", lambda *_: True)


def contradiction_ignored(patch: Patch) -> None:
    """A region that is declared dead and is back counts as any other."""
    rule = (Reason.DECLARATION_CONTRADICTED, lambda case: case.everywhere(value=False))
    without = tuple(rule if reason is rule[0] else (reason, found) for reason, found in rules.LEFT_ALONE)
    patch.setattr(rules, "LEFT_ALONE", without)


def expiry_forgets(patch: Patch) -> None:
    """What an annotation names is not known any more when it has expired."""
    patch.setattr(claims, "named_dead", lambda _: frozenset())


def first_sight_is_dead(patch: Patch) -> None:
    """A region that is declared dead is dead as soon as this process has not seen its report."""
    patch.setattr(dead_watch, "_is_over", lambda *_: True)


def back_and_no_more_declared() -> None:
    dead.test_a_region_that_comes_back_in_the_middle_stops_it(restarts=False, removes=True)


waited_for = stories.test_a_database_that_does_not_say_what_runs_for_one_observation_is_waited_for


damage_is_told = foreign.test_damage_is_told_of_a_topic_from_which_the_run_deleted
not_its_own = foreign.test_what_somebody_else_deletes_is_not_what_the_run_deleted


def former_follower() -> None:
    failover.test_a_former_follower_whose_last_report_stays_stops_no_announcement(World)


def back_and_expired() -> None:
    dead.test_the_next_run_leaves_a_region_alone_that_is_back_behind_the_marker_when_the_declaration_is_over()


def refused_and_restarted() -> None:
    with pytest.MonkeyPatch.context() as patch:
        stories.test_a_kafka_that_deletes_nothing_is_named_also_by_an_operator_that_starts_anew(patch)


MUTANTS: tuple[Mutant, ...] = (
    (no_reread, stories.test_stop_deletes_stops_the_next_delete),
    (no_topic_id, stories.test_a_topic_that_is_recreated_right_before_the_delete_is_not_deleted_from),
    (cached_holds, stories.test_a_requested_hold_counts_before_anybody_looked_at_it),
    (requested_ignored, stories.test_a_requested_hold_counts_before_anybody_looked_at_it),
    (unreadable_hold_skipped, stories.test_a_hold_that_cannot_be_read_stops_everything),
    (no_flushed, stories.test_a_datanode_that_starts_from_an_older_manifest_before_the_announcement_stops_it),
    (noted_by_routes_only, former_follower),
    (noted_by_routes_only, failover.test_a_candidate_that_was_given_up_and_goes_on_to_report_stops_no_announcement),
    (routes_asked_once, failover.test_a_candidate_that_the_route_names_since_it_was_decided_stops_the_announcement),
    (any_follower_may_be_new, failover.test_who_follows_since_it_was_decided_stops_the_announcement),
    (silence_is_final, partial(waited_for, "frontend", is_begun=False)),
    (silence_is_final, partial(waited_for, "config", is_begun=True)),
    (whoever_deleted, partial(not_its_own, stopped=True, start=1)),
    (damage_is_hidden, partial(damage_is_told, 1, "ForeignDelete")),
    (no_region_keys, stories.test_a_region_that_is_born_before_the_announcement_stops_its_topic),
    (no_intent, stories.test_the_transcript_of_a_whole_run),
    (delete_before_announce, stories.test_a_region_that_is_born_before_the_delete_reads_from_the_announced_marker),
    (no_fence, stories.test_a_recreated_topic_stops_the_purge_of_every_topic_of_the_pool),
    (fence_of_one_topic_only, stories.test_a_recreated_topic_stops_the_purge_of_every_topic_of_the_pool),
    (own_policy_only, stories.test_the_strictest_policy_bounds_a_manual_run),
    (refusals_forgotten, stories.test_what_kafka_refuses_to_delete_is_told_and_not_asked_again),
    (refusals_are_all_alike, stories.test_what_kafka_refuses_to_delete_is_told_and_not_asked_again),
    (refusals_without_their_reason, refused_and_restarted),
    (dry_run_goes_on, stories.test_a_dry_run_changes_nothing_and_says_what_it_would_do),
    (no_turns, stories.test_runs_take_turns),
    (second_pruner, stories.test_a_database_that_deletes_by_itself_is_only_reported_on),
    (
        settings_asked_once,
        partial(
            stories.test_a_metasrv_that_starts_anew_with_other_settings_is_noticed_right_before_the_act,
            "delete_records",
        ),
    ),
    (
        settings_asked_once,
        partial(
            stories.test_a_metasrv_that_starts_anew_with_other_settings_is_noticed_right_before_the_act,
            "advance_markers",
        ),
    ),
    (
        declared_settings_believed,
        partial(
            stories.test_what_runs_and_is_not_declared_or_not_known_is_only_reported_on,
            "Disabled",
            settings("Physical"),
            "SecondPruner",
        ),
    ),
    (
        silence_believed,
        partial(
            stories.test_what_runs_and_is_not_declared_or_not_known_is_only_reported_on,
            "Disabled",
            None,
            "SettingsUnknown",
        ),
    ),
    (stale_accepted, stories.test_a_silent_datanode_leaves_its_topics_alone),
    (regions_ignored, regions_need),
    (holds_ignored, a_hold_needs),
    (asked_once, a_hold_comes_late),
    (object_read_once, retain_comes_late),
    (records_stay, deletions.test_a_pool_that_is_deleted_and_made_again_is_no_recreated_one),
    (unconfirmed_records_go, deletions.test_the_record_of_a_topic_that_kafka_still_shows_stays_and_is_waited_for),
    (granted_while_topics_go, deletions.test_no_hold_is_granted_on_topics_that_go),
    (one_report, stories.test_one_report_is_not_enough),
    (offsets_first, stories.test_rows_that_are_flushed_while_it_looks_are_no_alarm),
    (declaration_forgotten, back_and_no_more_declared),
    (expiry_forgets, back_and_expired),
    (contradiction_ignored, dead.test_the_next_run_leaves_a_region_alone_that_is_back_and_still_declared),
    (
        harmless_as_asked,
        unused.test_a_run_that_could_do_nothing_is_no_success_although_more_topics_are_unused_than_a_status_names,
    ),
    (first_sight_is_dead, dead.test_an_operator_that_starts_takes_nothing_for_dead_before_it_has_watched),
)


def test_every_guard_of_a_run_is_needed() -> None:
    assert not find_survivors(MUTANTS)
