"""The guards of the ledger are taken away one by one, in a copy of the source: some story must then end badly.

Prints how many were killed. Where a guard is the controller's (the order of reading and writing), the simulated
operator has it; where it is the database's, the simulated database has it.
"""

from __future__ import annotations

import compileall
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from seawall_e2e.loopback.forked import fork_server

OPERATOR = Path(__file__).parents[3]
LEDGER = "src/seawall/domain/ledger"
SIMULATION = "tests/domain/ledger/simulation"


@dataclass(frozen=True)
class Mutant:
    """One guard taken away: in `file`, `guard` becomes `without`; `story` is called and must fail."""

    name: str
    file: str
    guard: str
    without: str
    story: str
    also: tuple[str, str] = ("", "")
    """A second change that the first one needs."""


PRUNABLE = "prunable = offsets.prunable(regions, inputs.freshness, mode, undrops=inputs.prune_mode.undrops)"
MUTANTS = (
    Mutant(
        "an undropped region reads the marker",
        f"{LEDGER}/offsets.py",
        "    if undrops and mode is Mode.B:\n",
        "    if False:\n",
        "test_undrop.test_nothing_beyond_the_manifests_flushed_ids_is_announced()",
    ),
    Mutant(
        "a region of a dropped table is nobody's business",
        f"{LEDGER}/rules.py",
        "    (Reason.REGION_DROPPED, region_dropped),\n",
        "",
        "test_undrop.test_a_topic_with_a_dropped_table_stays()",
    ),
    Mutant(
        "what was staged counts as durable",
        f"{LEDGER}/offsets.py",
        "counts = freshness.settled & regions.idle_is_durable\n",
        "counts = freshness.settled\n",
        'test_scenarios.test_what_was_only_staged_is_kept_when_the_repartition_fails("nobody")',
    ),
    Mutant(
        "what was staged counts as durable after a restart of the operator",
        f"{LEDGER}/regions.py",
        "idle_is_durable=_flagged(~routes.may_have_staged, route),",
        "idle_is_durable=~_flagged(~routes.is_normal, route),",
        'test_scenarios.test_what_was_only_staged_is_kept_when_the_repartition_fails("the operator")',
    ),
    Mutant(
        "a region that no metadata know is nobody's business",
        f"{LEDGER}/assess.py",
        "unmapped={**stopped, **table.torn},",
        "unmapped=table.torn,",
        "test_unplaced.test_a_region_that_lives_stops_the_pool_for_as_long_as_it_does()",
    ),
    Mutant(
        "a report that changed is as old as it was",
        f"{LEDGER}/unplaced.py",
        "held is not None and held.report == report else now",
        "held is not None else now",
        'test_unplaced.test_a_report_that_changes_counts_for_one_grace_more({"at": 1})',
    ),
    Mutant(
        "silence counts while nobody reports",
        f"{LEDGER}/unplaced.py",
        "if not others_report or now - watch.since < open_grace]",
        "if now - watch.since < open_grace]",
        "test_unplaced.test_while_nobody_else_reports_either_silence_is_no_proof()",
    ),
    Mutant(
        "what a datanode that is gone said stops the pool for ever",
        f"{LEDGER}/unplaced.py",
        "if not others_report or now - watch.since < open_grace]",
        "]",
        "test_unplaced.test_what_a_datanode_that_is_gone_said_of_a_dropped_region_stops_the_pool_for_one_grace("
        "restarts=False)",
    ),
    Mutant(
        "an unplaced region counts for no grace",
        f"{LEDGER}/unplaced.py",
        "if not others_report or now - watch.since < open_grace]",
        "if not others_report]",
        "test_unplaced.test_what_a_datanode_that_is_gone_said_of_a_dropped_region_stops_the_pool_for_one_grace("
        "restarts=True)",
    ),
    Mutant(
        "a region of two topics is taken for one of the first",
        f"{LEDGER}/unplaced.py",
        "for region, row in pairs if alone[row]}",
        "for region, row in pairs}",
        "test_unplaced.test_a_region_whose_topic_is_in_doubt_stops_all()",
    ),
    Mutant(
        "the marker counts again when a declaration has expired",
        f"{LEDGER}/dead_watch.py",
        "if not named or not mode.reads_marker:",
        "if True or not mode.reads_marker:",
        "test_dead.test_one_that_is_back_behind_the_marker_keeps_its_rows_when_the_declaration_has_expired("
        "restarts=False)",
    ),
    Mutant(
        "declarations of other regions are as good where not all are named",
        f"{LEDGER}/declarations.py",
        "if len(ids) > _NAMED else",
        "if False else",
        "test_dead.test_other_regions_are_another_sentence_also_where_not_all_are_named()",
    ),
    Mutant(
        "off-by-one purge",
        f"{LEDGER}/offsets.py",
        "kept = floor_ - bounds.keep_entries\n",
        "kept = floor_ - bounds.keep_entries + 1\n",
        "test_rules.test_the_record_at_the_floor_stays()",
    ),
    Mutant(
        "< for ≤ in the fence",
        f"{LEDGER}/fence.py",
        "if end <= known:",
        "if end < known:",
        "test_scenarios.test_a_log_that_ends_at_a_known_id_is_cut()",
    ),
    Mutant(
        "marker inside prunable",
        f"{LEDGER}/ledger.py",
        f"{PRUNABLE}\n    floor = offsets.to_be_recorded",
        f"{PRUNABLE}\n    prunable = greatest(prunable, topics.marker.take(regions.topic))\n"
        "    floor = offsets.to_be_recorded",
        "test_rules.test_the_region_that_needs_the_oldest_record_is_named()",
    ),
    Mutant(
        "missing hold",
        f"{LEDGER}/offsets.py",
        "least(kept, bounds.follower, bounds.hold, verified)",
        "least(kept, bounds.follower, verified)",
        "test_rules.test_a_hold_bounds_the_purge()",
    ),
    Mutant(
        "followers only bound what is announced",
        f"{LEDGER}/offsets.py",
        "least(kept, bounds.follower, bounds.hold, verified)",
        "least(kept, bounds.hold, verified)",
        "test_scenarios.test_a_follower_keeps_what_it_has_not_read(Mode.A)",
    ),
    Mutant(
        "followers do not bound what is announced",
        f"{LEDGER}/offsets.py",
        "lowest = least(lowest, bounds.follower).only(lowest.known)\n",
        "pass\n",
        "test_scenarios.test_no_marker_is_announced_beyond_a_follower()",
    ),
    Mutant(
        "what a leader saw idle counts for a follower that lags",
        f"{LEDGER}/followers.py",
        "return greatest(position, idle.only(is_there)).only(position.known)",
        "return greatest(position, idle).only(position.known)",
        "test_scenarios.test_a_follower_keeps_what_it_has_not_read(Mode.A)",
    ),
    Mutant(
        "what a leader saw idle counts for a follower without markers, too",
        f"{LEDGER}/assess.py",
        "reports.freshness.settled & mode.reads_marker",
        "reports.freshness.settled",
        "test_scenarios.test_without_markers_what_a_leader_saw_idle_lifts_nothing_of_its_follower()",
    ),
    Mutant(
        "a silent follower does not count",
        f"{LEDGER}/rules.py",
        "return case.bounds.follower_silent\n",
        "return case.everywhere(value=False)\n",
        "test_scenarios.test_a_follower_that_says_nothing_stops_its_topic()",
    ),
    Mutant(
        "holds from a cache",
        f"{SIMULATION}/operator.py",
        "lowest_claims(self.store.holds.values())",
        "lowest_claims(self.read.holds or ())",
        "test_scenarios.test_holds_are_listed_after_the_intent_is_written()",
    ),
    Mutant(
        "no fence",
        f"{LEDGER}/rules.py",
        "return case.bounds.fence_broken\n",
        "return case.everywhere(value=False)\n",
        "test_scenarios.test_a_recreated_topic_stops_everything_and_says_so()",
    ),
    Mutant(
        "a broken fence stops its own topic only",
        f"{LEDGER}/rules.py",
        "return case.everywhere(bool(case.bounds.fence_broken.any()))",
        "return case.everywhere(value=False)",
        "test_rules.test_a_broken_fence_leaves_every_topic_of_the_pool_alone_and_is_named()",
    ),
    Mutant(
        "a broken topic that Kafka is silent about is forgotten at a restart",
        f"{LEDGER}/identities.py",
        "memory.findings.get(name) or recorded[name]",
        "memory.findings.get(name)",
        "test_look.test_a_record_that_says_broken_counts_while_kafka_is_silent_about_its_topic()",
    ),
    Mutant(
        "a report that went back is believed at once",
        f"{LEDGER}/report_history.py",
        "believed = late & (advances.numbers >= RETURNS)",
        "believed = late",
        "test_report_history.test_a_datanode_that_was_restored_with_an_older_epoch_is_believed_after_a_while_and_starts_over()",
    ),
    Mutant(
        "evidence that outlives a report that went back",
        f"{LEDGER}/report_history.py",
        "kept = same_route & (late | old_epoch.equals(epoch)) & ~returned",
        "kept = same_route & (late | old_epoch.equals(epoch))",
        "test_report_history.test_a_datanode_whose_clock_was_set_back_is_believed_after_a_while_and_starts_over()",
    ),
    Mutant(
        "a readoption that lingers",
        f"{LEDGER}/identities.py",
        "renewed = renewed if adoption is None else adoption.mark(renewed, now)",
        "",
        "test_look.test_a_readoption_that_lingers_does_not_adopt_what_breaks_later()",
    ),
    Mutant(
        "a readoption of what is only suspected",
        f"{LEDGER}/identities.py",
        "is_wrong = record.broken or is_foreign",
        "is_wrong = finding is not None or is_foreign",
        "test_look.test_a_topic_that_is_only_suspected_when_a_readoption_comes_is_not_adopted()",
    ),
    Mutant(
        "a readoption that does not mark what it cannot look at",
        f"{LEDGER}/assess.py",
        "marked_records(case.read, logs.identities),",
        "{},",
        "test_look.test_a_topic_that_kafka_is_silent_about_when_a_readoption_comes_is_marked_all_the_same()",
    ),
    Mutant(
        "a readoption that comes into force by waiting",
        f"{LEDGER}/fence.py",
        "return replace(record, readopted=self.token) if now < self.expires else record",
        "return replace(record, readopted=self.token) if self.problem(now) is None else record",
        "test_look.test_a_readoption_that_was_refused_does_not_come_into_force_by_waiting()",
    ),
    Mutant(
        "a verdict of before a readoption",
        f"{LEDGER}/bounds.py",
        "return at is not None and run.began_at.timestamp() <= at",
        "return False",
        "test_look.test_a_verdict_of_before_a_readoption_licenses_nothing_and_the_next_one_does()",
    ),
    Mutant(
        "a readoption whose time is not kept",
        f"{LEDGER}/identities.py",
        "adoption.token, in_seconds(at))",
        "adoption.token)",
        "test_look.test_a_verdict_of_before_a_readoption_licenses_nothing_and_the_next_one_does()",
    ),
    Mutant(
        "a readoption that counts only when it is written down",
        f"{LEDGER}/assess.py",
        "tuple(each for each in read.verified if each.topic not in logs.adopted)",
        "read.verified",
        "test_look.test_a_readoption_takes_its_verdicts_away_before_the_new_record_is_written()",
    ),
    Mutant(
        "stale accepted",
        f"{LEDGER}/rules.py",
        "return case.any_region(case.freshness.stale)",
        "return case.everywhere(value=False)",
        "test_rules.test_a_stale_region_leaves_its_topic_alone()",
    ),
    Mutant(
        "delete before announce",
        f"{SIMULATION}/operator.py",
        "for one in announcements(planned):",
        "for one in ():",
        "test_scenarios.test_idle_regions_let_a_topic_shrink_without_a_flush(Mode.B)",
    ),
    Mutant(
        "no re-read",
        f"{LEDGER}/offsets.py",
        "return least_of_all(observed, again)",
        "return observed",
        "test_scenarios.test_the_seen_value_is_read_again()",
    ),
    Mutant(
        "idle sample outside the lock",
        f"{SIMULATION}/database.py",
        "                if not inner.memtable:\n                    inner.idle",
        "                if True:\n                    inner.idle",
        "test_scenarios.test_a_region_that_has_not_flushed_keeps_its_rows(Mode.B)",
    ),
    Mutant(
        "zombie report accepted",
        f"{LEDGER}/regions.py",
        "np.flatnonzero(route.known & leader.known & (leader.numbers == reported.datanode))",
        "np.flatnonzero(route.known & leader.known)",
        "test_scenarios.test_what_a_replaced_leader_reports_is_no_report()",
    ),
    Mutant(
        "metadata region ignored",
        f"{LEDGER}/offsets.py",
        "return choose(regions.metric, least_of_all(data, metadata), data)",
        "return data",
        "test_scenarios.test_the_metadata_region_keeps_its_rows_too(Mode.B)",
    ),
    Mutant(
        "tombstones ignored",
        "src/seawall/domain/dataplane/mapped_regions.py",
        "RegionTopics.of(snapshot.tombstoned_topics).pairs",
        "RegionTopics.of({}).pairs",
        "test_scenarios.test_a_dropped_table_keeps_its_rows_until_it_cannot_come_back()",
    ),
    Mutant(
        "a region that is in no table takes the row of another",
        "src/seawall/domain/columns.py",
        "return Ids(rows.astype(np.int64), sorted_keys[rows] == wanted)",
        "return Ids.of_known(rows.astype(np.int64))",
        "test_regions.test_a_reported_region_that_no_metadata_know_is_unplaced_by_each_who_says_that_it_leads()",
    ),
    Mutant(
        "of two reports by one leader the first counts",
        f"{LEDGER}/regions.py",
        "return _lowest(reported, rows, again) if again.any() else (reported, rows)",
        "return reported, rows[~again]",
        "test_regions.test_two_reports_of_one_leader_count_as_the_lower(-1)",
    ),
    Mutant(
        "metadata that disagree count as agreed",
        "src/seawall/domain/dataplane/mapped_regions.py",
        "if not len(buried) and are_same(keyed, optioned) and are_same(keys.region, options.region):",
        "if not len(buried):",
        "test_regions.test_metadata_that_disagree_unmap_the_topic()",
    ),
    Mutant(
        "what is above the greatest offset taken for one",
        "src/seawall/domain/columns.py",
        "fits = known & (numbers <= np.uint64(MAX_OFFSET))",
        "fits = known",
        "test_columns.test_a_word_beyond_i64_is_no_offset()",
    ),
    Mutant(
        "-1 offset",
        "src/seawall/domain/columns.py",
        "cls(numbers, numbers >= 0)",
        "cls.of_known(numbers)",
        "test_columns.test_what_no_offset_can_be_is_unknown()",
    ),
    Mutant(
        "-1 offset beside one that is unknown",
        "src/seawall/domain/columns.py",
        "0 <= value <= MAX_OFFSET",
        "value <= MAX_OFFSET",
        "test_columns.test_what_no_offset_can_be_is_unknown()",
    ),
    Mutant(
        "any verification of the topic's name accepted",
        f"{LEDGER}/bounds.py",
        "[run for run in claims.verified if run.topic_id == ids.get(run.topic)]",
        "list(claims.verified)",
        "test_scenarios.test_a_required_verification_bounds_by_its_start()",
    ),
    Mutant(
        "a verification of a lower level accepted",
        f"{LEDGER}/bounds.py",
        " and run.level >= required.level:",
        ":",
        "test_scenarios.test_a_required_verification_bounds_by_its_start()",
    ),
    Mutant(
        "a verification of long ago accepted",
        f"{LEDGER}/bounds.py",
        "if required and now - run.finished_at <= required.max_age]",
        "if required]",
        "test_scenarios.test_a_verification_that_is_too_old_says_so()",
    ),
    Mutant(
        "a good verdict from the future counts",
        f"{LEDGER}/bounds.py",
        " and not is_ahead and ",
        " and ",
        "test_scenarios.test_a_good_verdict_from_the_future_counts_for_nothing()",
    ),
    Mutant(
        "end of a verification used as its start",
        f"{LEDGER}/declared.py",
        "level, row.verified_from, began, ",
        "level, row.end, began, ",
        "test_verified.test_the_start_of_a_topic_that_was_verified_counts_and_nothing_else()",
    ),
    Mutant(
        "a topic that was not verified counts",
        f"{LEDGER}/declared.py",
        "replays=row.verified",
        "replays=True",
        "test_verified.test_the_topics_that_replay_count_when_another_one_does_not()",
    ),
    Mutant(
        "a good verdict of a level that cannot be read counts",
        f"{LEDGER}/declared.py",
        "proof_time(status) if is_readable else None",
        "proof_time(status)",
        "test_verified.test_of_a_verification_whose_spec_cannot_be_read_the_bad_verdicts_count_alone()",
    ),
    Mutant(
        "a bad verdict goes with the spec",
        f"{LEDGER}/declared.py",
        "doubt_time(status)",
        "doubt_time(status) if is_readable else None",
        "test_verified.test_of_a_verification_whose_spec_cannot_be_read_the_bad_verdicts_count_alone()",
    ),
    Mutant(
        "a bad verdict counts when its hold has gone",
        f"{LEDGER}/verdicts.py",
        "is_judged = status.is_over or status.stage is JobStage.RELEASING",
        "is_judged = status.is_over",
        "test_verified.test_what_was_found_bad_counts_before_the_hold_is_let_go_and_what_was_found_good_does_not()",
    ),
    Mutant(
        "a good verdict counts before the verification is over",
        f"{LEDGER}/verdicts.py",
        "(status.verdict_time or status.completion_time) if status.is_over else None",
        "status.completion_time or status.attempt_time",
        "test_verified.test_what_was_found_bad_counts_before_the_hold_is_let_go_and_what_was_found_good_does_not()",
    ),
    Mutant(
        "a good verdict is as young as who read it is late",
        f"{LEDGER}/verdicts.py",
        "status.verdict_time or status.completion_time",
        "status.completion_time",
        "test_verified.test_what_was_found_good_is_as_old_as_the_verdict_and_what_was_found_bad_as_young_as_its_reading()",
    ),
    Mutant(
        "the end of a verification used as the time of its look",
        f"{LEDGER}/verdicts.py",
        "filter(None, (start, ",
        "filter(None, (",
        "test_verified.test_when_a_verification_began_is_its_start_and_not_its_end()",
    ),
    Mutant(
        "a start after the end believed",
        f"{LEDGER}/verdicts.py",
        "min(filter(None, (start, proof_time(obj.status), doubt_time(obj.status))))",
        "start",
        "test_verified.test_when_a_verification_began_is_its_start_and_not_its_end()",
    ),
    Mutant(
        "a topic that does not replay counts",
        f"{LEDGER}/bounds.py",
        "or run.began_at > doubted[run.topic]",
        "or run.began_at >= doubted[run.topic]",
        "test_scenarios.test_a_topic_that_was_read_and_does_not_replay_counts_for_nothing()",
    ),
    Mutant(
        "a verdict of a look from before a bad one counts",
        f"{LEDGER}/bounds.py",
        "or run.began_at > doubted[run.topic]",
        "or run.finished_at > doubted[run.topic]",
        "test_scenarios.test_no_verification_counts_that_began_before_one_was_over_that_found_the_log_bad()",
    ),
    Mutant(
        "a verdict from before a bad one counts",
        f"{LEDGER}/bounds.py",
        "if is_newer and required",
        "if run.replays and required",
        "test_scenarios.test_no_verification_counts_that_ended_before_one_that_found_the_log_bad()",
    ),
    Mutant(
        "Requested hold not counted",
        f"{LEDGER}/holds.py",
        "        if hold.state.is_final:\n            continue\n",
        "        if hold.state.is_final or hold.state is HoldState.REQUESTED:\n            continue\n",
        "test_scenarios.test_a_requested_hold_counts()",
    ),
    Mutant(
        "expiry by arithmetic instead of a written Lost",
        f"{SIMULATION}/operator.py",
        "lowest_claims(self.store.holds.values())",
        "lowest_claims(self.alive())",
        "test_scenarios.test_a_renewal_that_was_taken_before_lost_was_written_has_won()",
        also=(
            """        holds = list(store.holds.values())
""",
            """        holds = self.alive()
""",
        ),
    ),
    Mutant(
        "announcement without the region-key comparison",
        f"{LEDGER}/ledger.py",
        "names, revision = ledger.topics.names, ledger.topics.revision",
        "names, revision = ledger.topics.names, 2**62",
        "test_scenarios.test_a_region_that_is_born_before_the_announcement_makes_it_fail()",
    ),
    Mutant(
        "one report instead of two",
        f"{LEDGER}/report_history.py",
        "earlier = found_at(reports_history.earlier_arrived_after, at)\n    newest =",
        "earlier = found_at(reports_history.arrived_after, at)\n    newest =",
        "test_scenarios.test_an_opener_that_read_the_old_marker_is_waited_for()",
    ),
    Mutant(
        "ids of a newer record compared with offsets from before it",
        f"{LEDGER}/fence.py",
        "max(observed.high_watermark, observed.recorded_epoch_end or 0)",
        "observed.high_watermark",
        "test_scenarios.test_a_look_into_which_another_operator_writes_its_record_finds_nothing()",
    ),
    Mutant(
        "Kafka offsets read before the reports",
        f"{SIMULATION}/operator.py",
        """        yield "reports"
""",
        """        logs = {name: log.recorded() for name, log in database.logs.items()}
        yield "reports"
""",
        "test_scenarios.test_reports_are_read_before_offsets()",
        also=(
            "        logs = {name: log.recorded() for name, log in database.logs.items()}\n        logs =",
            "        logs =",
        ),
    ),
    Mutant(
        "a topic without regions goes undeclared",
        f"{LEDGER}/rules.py",
        "return case.without_regions() & ~case.bounds.unused\n",
        "return case.everywhere(value=False)\n",
        "test_unused.test_every_other_reason_stands(test_unused.replace(test_unused.NOBODYS, unused=False),"
        " test_unused.Reason.NO_REGIONS)",
    ),
    Mutant(
        "a declaration about a topic with regions",
        f"{LEDGER}/offsets.py",
        "choose(unused & without_regions(regions, topics), topics.high_watermark - 1, lowest)",
        "choose(unused, topics.high_watermark - 1, lowest)",
        "test_unused.test_a_declaration_is_not_about_a_topic_with_regions(Mode.B)",
    ),
    Mutant(
        "a declared topic goes at once",
        f"{LEDGER}/rules.py",
        "waits = case.without_regions() & ~case.bounds.recorded_for_a_grace",
        "waits = case.everywhere(value=False)",
        "test_unused.test_what_was_seen_is_deleted_one_open_grace_later()",
    ),
    Mutant(
        "a region that was declared dead and reports does not count",
        f"{LEDGER}/dead_watch.py",
        "    if not recorded.stale[row]:\n        return Fact.REPORTS\n",
        "",
        "test_dead.test_a_region_that_is_declared_dead_and_reports_keeps_its_rows(Mode.B)",
        also=("    new = signs - before.signs\n", "    new = frozenset[Sign]()\n"),
    ),
    Mutant(
        "a sign of life of a region that was declared dead forgotten",
        f"{LEDGER}/dead_watch.py",
        "    new = signs - before.signs\n",
        "    new = frozenset[Sign]()\n",
        "test_dead.test_a_follower_that_reports_it_is_a_sign_of_life()",
    ),
    Mutant(
        "a region declared dead right after a start",
        f"{LEDGER}/dead_watch.py",
        "return recorded.began - watch.since >= max(int(recorded.stale_after[topic]), int(recorded.open_grace[topic]))",
        "return int(recorded.open_grace[topic]) > 0",
        "test_dead.test_an_operator_that_starts_does_not_take_what_it_has_not_seen_yet_for_dead(Mode.B)",
    ),
    Mutant(
        "a region that was declared dead and came back is purged up to the marker",
        f"{LEDGER}/rules.py",
        "return case.any_region(case.freshness.contradicted)",
        "return case.everywhere(value=False)",
        "test_dead.test_an_operator_that_starts_meanwhile_leaves_one_that_came_back_alone_too(Mode.B)",
    ),
    Mutant(
        "a pause in the looks counts as watching",
        f"{LEDGER}/dead_watch.py",
        "return RegionWatch(began, before.signs) if paused else before",
        "return before",
        "test_dead.test_a_pause_in_the_looks_is_no_watching()",
    ),
    Mutant(
        "a region that is being moved declared dead",
        f"{LEDGER}/dead_watch.py",
        "if recorded.table.regions.opening[row]:",
        "if watch is None:",
        "test_dead.test_a_route_that_is_being_moved_is_none_of_a_dead_region()",
    ),
    Mutant(
        "a table whose drop may be rolled back declared dead",
        f"{LEDGER}/dead_watch.py",
        "return None if is_mapped else Fact.DROPPED",
        "return None",
        "test_dead.test_a_table_whose_drop_may_be_rolled_back_is_not_dead()",
    ),
    Mutant(
        "a declaration beyond its expiry",
        f"{LEDGER}/declarations.py",
        "expires <= now:\n",
        "expires <= now - DECLARATION_LONGEST:\n",
        'test_dead.test_what_declares_nothing_says_why("7: gone@2026-11-21T12:00:00Z", "has expired")',
    ),
    Mutant(
        "a declaration for longer than a day",
        f"{LEDGER}/declarations.py",
        "expires - now > DECLARATION_LONGEST +",
        "expires - now > 2 * DECLARATION_LONGEST +",
        'test_dead.test_what_declares_nothing_says_why("7: gone@2026-11-22T12:05:01Z", "more than 24 hours ahead")',
    ),
    Mutant(
        "a day by a clock that is a little ahead of ours",
        f"{LEDGER}/declarations.py",
        " + DECLARATION_SKEW\n",
        "\n",
        "test_fence.test_a_day_by_a_clock_that_is_a_little_ahead_is_none_too_many()",
    ),
    Mutant(
        "a record of another log is as good",
        f"{LEDGER}/intents.py",
        "self.topic_id == topic_id and ",
        "",
        "test_intents.test_a_record_is_good_for_its_own_log_as_long_as_the_fence_was_not_found_broken()",
    ),
    Mutant(
        "a record that was found broken is as good",
        f"{LEDGER}/intents.py",
        " and not self.broken",
        "",
        "test_intents.test_a_record_is_good_for_its_own_log_as_long_as_the_fence_was_not_found_broken()",
    ),
    Mutant(
        "evidence without openGrace",
        f"{LEDGER}/report_history.py",
        "over = now - self.observed_at.numbers >= self.open_grace",
        "over = now - self.observed_at.numbers >= 0 * self.open_grace",
        "test_report_history.test_open_grace_is_a_minimum_on_top()",
    ),
    Mutant(
        "idle sample of a leader that is not settled",
        f"{LEDGER}/report_history.py",
        "settled=is_settled(reports_history, regions),",
        "settled=newest,",
        "test_scenarios.test_a_leader_that_came_back_is_not_believed_what_it_sampled_meanwhile(looked_between=True)",
    ),
    Mutant(
        "any table is taken for that of the last look",
        f"{LEDGER}/report_history.py",
        "np.array_equal(self.region[rows], regions.region)",
        "True",
        "test_report_history.test_a_table_of_other_regions_is_not_taken_for_that_of_the_last_look()",
    ),
    Mutant(
        "streak that outlives a change of the route",
        f"{LEDGER}/report_history.py",
        ".equals(leader) & found_at(before.route_revision, at).equals(route)",
        ".equals(leader)",
        "test_scenarios.test_a_leader_that_came_back_is_not_believed_what_it_sampled_meanwhile(looked_between=False)",
    ),
    Mutant(
        "announcement right after a start",
        f"{LEDGER}/rules.py",
        "return case.bounds.watched_too_shortly\n",
        "return case.everywhere(value=False)\n",
        "test_scenarios.test_a_region_that_vanished_keeps_its_rows_for_one_grace(Mode.B, restarts=True)",
    ),
    Mutant(
        "a grace that begins with looks that fail",
        f"{LEDGER}/report_history.py",
        "            since=None,\n",
        "            since=now,\n",
        "test_report_history.test_looks_that_fail_watch_nothing()",
    ),
    Mutant(
        "a pause in the looks in which nobody saw what vanished",
        f"{LEDGER}/report_history.py",
        "paused = now - before.observed_at > longest_pause\n",
        "paused = False and longest_pause\n",
        "test_report_history.test_looks_that_fail_watch_nothing()",
    ),
    Mutant(
        "only the first topic of a region misses it",
        f"{LEDGER}/report_history.py",
        "mapped = Mapped(names, regions.topic, regions.region)",
        "mapped = Mapped(names, regions.topic[first_rows(regions.region)[1]], first_rows(regions.region)[0])",
        "test_report_history.test_a_topic_that_loses_a_region_that_is_in_another_one_misses_it_all_the_same()",
    ),
    Mutant(
        "vanished region forgotten",
        f"{LEDGER}/rules.py",
        "return case.any_region(is_missing(case)) | case.topics.vanished",
        "return case.any_region(is_missing(case))",
        "test_scenarios.test_a_region_that_vanished_keeps_its_rows_for_one_grace(Mode.B, restarts=False)",
    ),
    Mutant(
        "grant below the intent",
        f"{LEDGER}/holds.py",
        "        if offset < edge:\n",
        "        if offset < 0 * edge:\n",
        "test_scenarios.test_a_hold_below_the_intent_is_lost_at_once()",
    ),
    Mutant(
        "grant while somebody else deletes",
        f"{LEDGER}/held.py",
        "return self.intent is not None and self.log_start is not None and self.log_start > self.intent",
        "return False",
        "test_scenarios.test_somebody_elses_deletes_stop_ours_and_lose_the_holds_that_they_overtook()",
    ),
    Mutant(
        "hold on everything that outlives somebody else's deletes",
        f"{LEDGER}/hold_losses.py",
        "if granted.everything and topic.is_foreign():",
        "if topic is None:",
        "test_holds.test_a_delete_by_somebody_else_overtakes_a_hold_on_everything()",
    ),
    Mutant(
        "hold that outlives its log",
        f"{LEDGER}/hold_losses.py",
        "now.count != before.count or now.digest == before.digest:",
        "now.count != before.count or now.count == before.count:",
        "test_holds.test_a_topic_that_was_recreated_and_readopted_between_two_looks_is_noticed_all_the_same("
        "test_holds.FRESH.claim)",
    ),
    Mutant(
        "hold on everything that outlives its log while the pool grows",
        f"{LEDGER}/hold_losses.py",
        "view.logs_of(granted, as_held=hold.granted_logs)",
        "view.logs_of(granted)",
        "test_holds.test_a_log_that_is_lost_while_the_pool_grows_loses_a_hold_on_everything()",
    ),
    Mutant(
        "a pool that lost a log and grew is written down",
        f"{LEDGER}/held_logs.py",
        "now.numbers is not None and _read(self.numbers) < _read(now.numbers)",
        "self.count <= now.count",
        "test_holds.test_a_log_that_is_lost_while_the_pool_grows_loses_a_hold_on_everything()",
    ),
    Mutant(
        "a log that is in doubt is written down",
        f"{LEDGER}/holds.py",
        "if hold.granted is None or why_in_doubt(hold, hold.granted, view) is not None:",
        "if hold.granted is None:",
        "test_holds.test_a_log_of_which_the_fence_is_not_sure_is_not_written_down_as_what_was_held()",
    ),
    Mutant(
        "no numbers are written as numbers",
        f"{LEDGER}/held_logs.py",
        "return text if text and len(text)",
        "return text if len(text)",
        "test_holds.test_numbers_are_written_if_each_topic_has_one_and_they_are_not_too_many()",
    ),
    Mutant(
        "hold that is Lost before anybody saw it AtRisk",
        f"{LEDGER}/held.py",
        "return until is None or ",
        "return True or ",
        "test_holds.test_a_hold_is_at_risk_before_it_is_lost()",
    ),
    Mutant(
        "intent that may fall",
        f"{LEDGER}/intents.py",
        "intent=max(record.intent, delete_up_to)",
        "intent=delete_up_to",
        "test_intents.test_an_intent_never_falls()",
    ),
    Mutant(
        "a broken fence that mends itself",
        f"{LEDGER}/fence.py",
        "    _flushed_went_back,\n    standing,\n)",
        "    _flushed_went_back,\n)",
        "test_fence.test_what_two_looks_found_broken_stays_so()",
    ),
)


LONGEST_STORY = 300
"""Seconds of a processor: in a worker that gives way to all others, those of the clock say nothing."""
KILLS = (AssertionError, pytest.fail.Exception)
"""With what a story ends that misses a guard: a mutant that dies of anything else says nothing of the story."""
PROGRAM = """\
import os, signal, sys
signal.setitimer(signal.ITIMER_PROF, {seconds})
os.chdir({root!r})
sys.path[:0] = [{source!r}, {root!r}]
for name in [each for each in sys.modules if each.split(".")[0] == "seawall"]:
    del sys.modules[name]
import seawall
assert seawall.__file__.startswith({root!r}), seawall.__file__
from tests.domain.ledger import {files}
from seawall.domain.ledger.mode import Mode
{stories}
"""


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    """A process for each task, forked of one that knows the libraries; it forgets what it knows of ours."""
    with ProcessPoolExecutor(os.cpu_count(), fork_server(), max_tasks_per_child=1) as made:
        yield made


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A copy of what the stories need, compiled."""
    target = tmp_path / "original"
    for folder in ("src/seawall", "tests/domain"):
        shutil.copytree(OPERATOR / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "tests/__init__.py").touch()
    assert compileall.compile_dir(target, quiet=1)
    return target


def test_the_stories_are_told_in_a_copy_too(pool: ProcessPoolExecutor, original: Path) -> None:
    """Without a mutation all of them end well: what kills a mutant is the mutation."""
    tell(pool, original, *dict.fromkeys(mutant.story for mutant in MUTANTS)).result()


@pytest.mark.timeout(1_500)
def test_every_guard_that_is_taken_away_is_missed(pool: ProcessPoolExecutor, original: Path, tmp_path: Path) -> None:
    reported = [told_without(mutant, original, tmp_path / str(number), pool) for number, mutant in enumerate(MUTANTS)]
    outcomes = [(mutant, outcome(story)) for mutant, story in zip(MUTANTS, reported, strict=True)]
    failures = [f"{mutant.name}: {what}" for mutant, what in outcomes if what is not None]
    print(f"mutants of the ledger's guards: {len(MUTANTS) - len(failures)} of {len(MUTANTS)} killed")  # noqa: T201 - evidence
    assert not failures, "\n".join(failures)


def told_without(mutant: Mutant, original: Path, root: Path, pool: ProcessPoolExecutor) -> Future[object] | None:
    """A mutant's story, told in a copy without its guard; None: there is no such guard."""
    text = (original / mutant.file).read_text()
    if text.count(mutant.guard) < 1:
        return None
    text = text.replace(*mutant.also) if mutant.also[0] else text
    link_without(original, root, Path(mutant.file))
    (root / mutant.file).write_text(text.replace(mutant.guard, mutant.without))
    return tell(pool, root, mutant.story)


def link_without(original: Path, root: Path, file: Path) -> None:
    """A folder as `original` is, by links, without one file and what was compiled of it.

    Only the folders on the way to the file are made: the others are as they are.
    """
    here, *below = file.parts
    is_file = not below
    root.mkdir()
    for entry in original.iterdir():
        if is_file and entry.name == "__pycache__":
            (root / entry.name).mkdir()
            for compiled in entry.iterdir():
                if not compiled.name.startswith(f"{file.stem}."):
                    (root / entry.name / compiled.name).symlink_to(compiled)
        elif entry.name != here:
            (root / entry.name).symlink_to(entry)
    if below:
        link_without(original / here, root / here, Path(*below))


def outcome(reported: Future[object] | None) -> str | None:
    """None: the mutant was killed; else what is wrong."""
    if reported is None:
        return "the guard has changed: mend the mutant"
    failure = reported.exception()
    if failure is None:
        return "it lives"
    return None if isinstance(failure, KILLS) else f"{failure!r}\n{failure.__cause__}"


def tell(pool: ProcessPoolExecutor, root: Path, *stories: str) -> Future[object]:
    """Tells stories in a process that sees the copy only."""
    files = ", ".join(sorted({story.split(".")[0] for story in stories}))
    parts = {"source": str(root / "src"), "root": str(root), "files": files, "stories": "\n".join(stories)}
    return pool.submit(exec, PROGRAM.format(seconds=LONGEST_STORY, **parts), {})
