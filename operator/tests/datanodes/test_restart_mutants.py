"""The guards of restarts are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from seawall.api.v1alpha1.rollout import Maintenance, RestartStatus, RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain import clocks
from seawall.domain.clocks import TrustedTime
from seawall.domain.datanodes import (
    budget,
    checks,
    decide,
    flush,
    gate,
    gather,
    health,
    maintenance,
    requests,
    roll,
    template,
)
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.maintenance import Answers
from seawall.domain.datanodes.observed import Observed
from seawall.domain.dataplane.in_memory import InMemory
from seawall.domain.ledger import restarts as claims
from seawall.domain.ledger.restarts import RestartClaims
from seawall.domain.reassignment import stages
from seawall.domain.rollout.decision import changed
from seawall.domain.rollout.workload import StatefulSet
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.observe import datanodes as datanode_reads
from seawall.observe import datanodes as maintenance_reads
from seawall.observe import declared_database as named_reads
from seawall.observe import reading as ledger_reads
from tests.datanodes import test_restart as stories
from tests.datanodes import test_restart_database as databases
from tests.datanodes import test_restart_gated as gated
from tests.datanodes import test_restart_maintenance as ends
from tests.domain.datanodes import test_requests as requested
from tests.domain.datanodes import test_transcripts as transcripts
from tests.domain.datanodes import test_unlogged as unlogged
from tests.purge import test_purge_restarts as purges
from tests.reassignment import test_reassignment_run as moves
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch
EDITED = partial(
    ends.test_the_database_of_before_leaves_maintenance_when_metasrv_is_edited, stage=RollStage.MAINTENANCE
)


def _open_gate(patch: Patch, reason: Blocker) -> None:
    patch.setattr(checks, "GATE", MappingProxyType({**checks.GATE, reason: lambda _: None}))


def replicas_ignored(patch: Patch) -> None:
    """A replica that is missing does not matter."""
    _open_gate(patch, Blocker.NOT_FULLY_IN_SYNC)


def wal_ignored(patch: Patch) -> None:
    """Nor whether the log is whole."""
    _open_gate(patch, Blocker.WAL_NOT_INTACT)
    _open_gate(patch, Blocker.LOG_START_BEYOND_REPLAY)


def pause_ignored(patch: Patch) -> None:
    """Nor what a person stopped."""
    _open_gate(patch, Blocker.PAUSED)


def others_ignored(patch: Patch) -> None:
    """Nor who else is down."""
    _open_gate(patch, Blocker.ANOTHER_DOWN)
    patch.setattr(RestartController, "_require_alone", lambda *_: None)


def deletes_ignored(patch: Patch) -> None:
    """Nor what is being deleted."""
    patch.setattr(gather, "cut_topics", lambda *_: frozenset())


def pods_not_read_again(patch: Patch) -> None:
    """Who went since the look is not noticed."""
    patch.setattr(RestartController, "_require_alone", lambda *_: None)


def object_not_read_again(patch: Patch) -> None:
    """What a person said since the look is not noticed."""
    patch.setattr(RestartController, "_require_unchanged", lambda *_: None)


def no_finalizer(patch: Patch) -> None:
    """Maintenance is taken without it."""
    patch.setattr(decide, "_stands", lambda _: True)


def maintenance_kept(patch: Patch) -> None:
    """Nobody gives it back."""
    for module in (gate, maintenance, roll, template):
        patch.setattr(module, "give_back", lambda *_: None)


def reports_believed_at_once(patch: Patch) -> None:
    """A new process takes for down whose report it has not seen to advance."""
    original = RestartController.observe

    def settled(self: RestartController, obj: Any) -> Observed:
        return replace(original(self, obj), is_settling=False)

    patch.setattr(RestartController, "observe", settled)


def flushes_repeated(patch: Patch) -> None:
    """A region is asked to flush whenever it is looked at."""
    patch.setattr(decide, "_again", lambda action, _: action)


def maintenance_kept_behind_a_shut_gate(patch: Patch) -> None:
    """The pod goes while the status still says that the gate is shut."""
    patch.setattr(gate.DatanodeGate, "rest", lambda *_: None)


def purges_go_on(patch: Patch) -> None:
    """The ledger hears of no restart."""
    patch.setattr(ledger_reads, "claims_of", lambda _: RestartClaims())


def begun_deletes_stopped(patch: Patch) -> None:
    """A run that the roll waits for is stopped, and both wait."""
    original = claims.claims_of
    patch.setattr(
        ledger_reads,
        "claims_of",
        lambda status: RestartClaims(original(status).datanodes | original(status).lets_finish),
    )


def moves_go_on(patch: Patch) -> None:
    """Reassignments hear of no restart."""
    patch.setattr(stages, "pod_that_restarts", lambda _: None)


def address_not_remembered(patch: Patch) -> None:
    """Maintenance is asked for, and given back, where the spec says now."""
    for module in (maintenance, datanode_reads):
        patch.setattr(module, "address_of", lambda _, metasrv: metasrv)


def address_not_recorded(patch: Patch) -> None:
    """The status does not have the address when the switch is thrown."""
    original = Maintenance

    def without(**fields: Any) -> Any:
        return original(**{**fields, "metasrv": None})

    patch.setattr(maintenance, "Maintenance", without)
    patch.setattr(roll, "with_address", lambda status, _: status)


def edits_ignored(patch: Patch) -> None:
    """The roll goes on as if the database were the one that is in maintenance."""
    for module in (maintenance, gate):
        patch.setattr(module, "is_elsewhere", lambda *_: False)


def edits_ignored_before_an_eviction(patch: Patch) -> None:
    """The pod that is in the status goes by what another database reports."""
    patch.setattr(gate.DatanodeGate, "before_act", lambda *_: None)


def edits_ignored_while_a_datanode_replays(patch: Patch) -> None:
    """The database of before stays in maintenance until the replay is done."""
    patch.setattr(gate, "is_elsewhere", lambda *_: False)


def old_leases_have_no_address(patch: Patch) -> None:
    """What an older version wrote is not completed."""
    patch.setattr(roll, "with_address", lambda status, _: status)


def silence_not_reported(patch: Patch) -> None:
    """Nobody hears that a database may be left in maintenance."""
    for module in (maintenance, health):
        patch.setattr(module, "is_left_on", lambda *_: False)


def maintenance_of_others_not_reported(patch: Patch) -> None:
    """Nobody hears that the database is in maintenance which Seawall does not remember."""
    patch.setattr(health, "is_of_others", lambda *_: False)


def given_up_at_once(patch: Patch) -> None:
    """A person's word counts before the database had ten minutes to answer."""
    patch.setattr(maintenance, "MAINTENANCE_GIVE_UP_AFTER", timedelta(0))


def given_up_where_it_stays(patch: Patch) -> None:
    """A person's word counts for the database that the spec names, too."""
    original = maintenance.give_back

    def gives_up(status: RestartStatus, facts: Facts) -> Any:
        if facts.override is not None and facts.in_maintenance is None:
            return changed(status, Reason.GIVEN_UP, "", maintenance=None)
        return original(status, facts)

    for module in (gate, maintenance, roll, template):
        patch.setattr(module, "give_back", gives_up)


def never_given_up(patch: Patch) -> None:
    """What another metasrv has in maintenance is waited for, whatever a person says."""
    patch.setattr(maintenance, "is_released", lambda *_: False)


def asked_all_the_time(patch: Patch) -> None:
    """A database that is silent is asked every two seconds for ever."""
    patch.setattr(maintenance, "MAINTENANCE_MAX_RETRY_SECONDS", 2.0)


def any_answer_believed(patch: Patch) -> None:
    """Whoever answers at the address is the database in which maintenance was turned on."""
    patch.setattr(datanode_reads, "with_witnesses", lambda facts, *_: facts)


def store_not_asked(patch: Patch) -> None:
    """Only what metasrv, store and frontend say of themselves shows whose the answer is."""
    patch.setattr(maintenance_reads, "_with_store", lambda _, contradiction: Answers(contradiction))


def contradictions_ignored(patch: Patch) -> None:
    """Only the store shows whose the answer is."""
    original = maintenance.why_other_database

    def without(facts: Facts, lease: Maintenance | None, found: Answers) -> str | None:
        return original(facts, lease, replace(found, contradiction=None))

    for module in (maintenance, datanode_reads):
        patch.setattr(module, "why_other_database", without)


def hidden_contradictions_ignored(patch: Patch) -> None:
    """A look that ended before it read the database shows that it is the right one."""
    patch.setattr(maintenance_reads, "BEFORE_THE_DATABASE", frozenset())


def silent_stores_believed(patch: Patch) -> None:
    """A store that does not answer says what the metasrv says."""
    patch.setattr(maintenance_reads, "_with_store", _heard(maintenance_reads._with_store))


def _heard(original: Any) -> Any:
    return lambda *args: replace(original(*args), is_store_silent=False)


def database_not_asked_again(patch: Patch) -> None:
    """Whose address it is by the time of the act is not noticed."""
    patch.setattr(datanode_reads.DatanodeObserver, "require_own_database", lambda *_: None)


def database_not_recorded(patch: Patch) -> None:
    """The database is whichever is pinned by then."""
    original = Maintenance

    def without(**fields: Any) -> Any:
        return original(**{**fields, "database": None})

    patch.setattr(maintenance, "Maintenance", without)
    patch.setattr(roll, "with_address", lambda status, _: status)


def other_databases_never_given_up(patch: Patch) -> None:
    """A person's word counts for a database that is silent, and not for one that another one hides."""
    original = maintenance.is_released

    def but_hidden(status: RestartStatus, facts: Facts) -> bool:
        return facts.other_database is None and original(status, facts)

    patch.setattr(maintenance, "is_released", but_hidden)


def operators_clock_counts(patch: Patch) -> None:
    """What the status says of times is compared with the operator's clock alone."""
    patch.setattr(TrustedTime, "shared", property(lambda time: time.now))


def later_clock_counts(patch: Patch) -> None:
    """A clock that is ahead cuts each wait short."""
    patch.setattr(TrustedTime, "shared", property(lambda time: time.later))


ENDS_BY_THE_TRUE_CLOCK = partial(
    databases.test_maintenance_ends_in_time_by_the_true_clock_whatever_the_operators_says, ahead=timedelta(hours=2)
)
ELSEWHERE = databases.test_what_another_database_says_at_the_same_address_ends_no_maintenance
OF_OTHERS = databases.test_the_maintenance_of_another_databases_own_people_stays_on


def declaration_not_read_again(patch: Patch) -> None:
    """What a GreptimeDBCluster declares may have changed since the look."""
    patch.setattr(RestartController, "_require_gate", lambda *_: None)


def gate_left_open(patch: Patch) -> None:
    """A partition that somebody lowered stays as it is."""
    patch.setattr(
        template, "_is_opened", lambda status, statefulset: status.drives_partition and statefulset.partition < 3
    )


def open_gates_are_driven(patch: Patch) -> None:
    """What is declared to be restarted without asking, or by somebody else's stages, is Seawall's, too."""
    patch.setattr(StatefulSet, "is_gated", property(lambda self: self.declared_partition is not None))


def anybodys_set_is_gated(patch: Patch) -> None:
    """Who controls the StatefulSet is not asked."""
    patch.setattr(
        named_reads.NamedSet, "gate", lambda self, found: replace(found, declared_partition=self.declared_partition)
    )


def parked_at_the_replicas(patch: Patch) -> None:
    """The partition is put back to the number of datanodes, and not as it is declared."""
    patch.setattr(StatefulSet, "parked", property(lambda self: self.replicas))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(RestartController, "_set_partition", "if not action.passed:", "if True:"),
        stories.test_a_person_lets_the_partition_be_lowered_although_another_datanode_is_down,
    ),
    (
        rewritten(gate.DatanodeGate, "_restart", "pod.ordinal, self._passed(status, pod)", "pod.ordinal"),
        stories.test_a_person_lets_the_partition_be_lowered_although_another_datanode_is_down,
    ),
    (replicas_ignored, stories.test_a_missing_in_sync_replica_keeps_all_datanodes_up_and_the_status_says_so),
    (wal_ignored, stories.test_a_broken_wal_keeps_the_datanode_up_by_what_this_very_look_found),
    (pause_ignored, stories.test_nothing_is_restarted_while_it_is_paused),
    (others_ignored, stories.test_a_pod_that_was_asked_for_waits_while_another_datanode_is_down),
    (deletes_ignored, stories.test_a_delete_that_has_begun_is_waited_for_and_no_longer_when_the_log_starts_there),
    (pods_not_read_again, stories.test_a_pod_that_goes_between_the_look_and_the_eviction_is_noticed),
    (object_not_read_again, stories.test_a_pause_between_the_look_and_the_eviction_is_obeyed),
    (no_finalizer, stories.test_an_annotation_restarts_all_datanodes_one_by_one_and_gives_maintenance_back),
    (maintenance_kept, stories.test_a_wal_cluster_that_is_deleted_in_mid_roll_gives_maintenance_back_first),
    (reports_believed_at_once, stories.test_a_new_process_takes_nobody_for_down_before_reports_were_seen_to_advance),
    (
        rewritten(decide, "_again", "[:FLUSH_BATCH]", ""),
        partial(stories.test_regions_are_asked_to_flush_a_few_at_a_time_and_all_of_them, busy=False),
    ),
    (flushes_repeated, stories.test_regions_that_cannot_flush_are_asked_now_and_then_and_replayed_in_the_end),
    (
        maintenance_kept_behind_a_shut_gate,
        stories.test_the_status_no_longer_says_what_the_gate_waited_for_when_a_pod_goes,
    ),
    (purges_go_on, purges.test_nothing_is_deleted_while_a_datanode_restarts_and_afterwards_it_is),
    (begun_deletes_stopped, purges.test_a_run_that_has_begun_goes_on_while_the_roll_waits_for_it),
    (moves_go_on, moves.test_no_replicas_begin_to_move_while_a_datanode_restarts),
    (address_not_remembered, ends.test_the_database_leaves_maintenance_when_it_is_taken_out_of_the_spec),
    (address_not_remembered, EDITED),
    (address_not_recorded, EDITED),
    (edits_ignored, EDITED),
    (
        edits_ignored_before_an_eviction,
        ends.test_the_roll_waits_visibly_while_the_database_of_before_is_in_maintenance,
    ),
    (edits_ignored_while_a_datanode_replays, ends.test_a_replay_does_not_keep_the_database_of_before_in_maintenance),
    (old_leases_have_no_address, ends.test_an_address_that_an_older_version_did_not_write_is_the_one_of_the_spec),
    (
        silence_not_reported,
        ends.test_a_database_of_before_that_is_silent_is_reported_once_with_the_command_and_nothing_goes_on,
    ),
    (
        maintenance_of_others_not_reported,
        ends.test_maintenance_that_a_restored_api_server_forgot_is_reported_with_the_command_until_a_person_ends_it,
    ),
    (given_up_at_once, ends.test_a_person_lets_restarts_go_on_without_a_database_that_never_answers_again),
    (
        given_up_where_it_stays,
        ends.test_a_person_who_lets_restarts_through_ends_no_maintenance_of_a_database_that_stays,
    ),
    (never_given_up, ends.test_a_person_lets_restarts_go_on_without_a_database_that_never_answers_again),
    (any_answer_believed, partial(ELSEWHERE, RollStage.MAINTENANCE, with_store=True)),
    (store_not_asked, partial(ELSEWHERE, RollStage.MAINTENANCE, with_store=False)),
    (contradictions_ignored, partial(OF_OTHERS, is_policy_readable=True)),
    (hidden_contradictions_ignored, partial(OF_OTHERS, is_policy_readable=False)),
    (
        silent_stores_believed,
        databases.test_a_metasrv_that_says_off_is_not_believed_while_the_store_is_silent,
    ),
    (
        database_not_asked_again,
        partial(databases.test_who_answers_is_asked_again_right_before_the_switch_is_turned, enabled=True),
    ),
    (
        rewritten(
            RestartController,
            "_set_maintenance",
            "self.observer.require_own_database(obj)\n    began = self.stopwatch.milliseconds()\n"
            "    self._require_unchanged(obj)",
            "began = self.stopwatch.milliseconds()\n    self._require_unchanged(obj)\n"
            "    self.observer.require_own_database(obj)",
        ),
        partial(
            databases.test_what_became_of_the_object_while_the_database_answered_is_noticed_and_nothing_turned_on,
            what="a person has just paused it",
        ),
    ),
    (
        rewritten(RestartController, "_set_maintenance", ", MAINTENANCE_ASKED_WITHIN_MS", ""),
        partial(databases.test_a_leader_that_was_frozen_while_it_read_the_object_turns_nothing_on, seconds=6),
    ),
    (
        database_not_recorded,
        databases.test_a_person_ends_the_wait_for_a_database_in_whose_place_another_one_answers,
    ),
    (
        other_databases_never_given_up,
        databases.test_a_person_ends_the_wait_for_a_database_in_whose_place_another_one_answers,
    ),
    (
        rewritten(clocks, "prolonged", " <= longest_break:", ":", maintenance),
        stories.test_a_time_in_which_nobody_asked_the_database_lets_no_deletion_go_on,
    ),
    (
        rewritten(roll, "_taken_up", "if request == status.request", "if False"),
        transcripts.test_a_configuration_that_changes_in_a_requested_restart_is_not_taken_for_rolled_out,
    ),
    (given_up_at_once, databases.test_a_persons_word_counts_only_after_ten_minutes),
    (operators_clock_counts, ENDS_BY_THE_TRUE_CLOCK),
    (later_clock_counts, databases.test_a_deletion_waits_ten_true_minutes_though_the_operators_clock_is_ahead),
    (
        declaration_not_read_again,
        gated.test_the_partition_is_not_lowered_when_the_greptimedbcluster_was_edited_since,
    ),
    (gate_left_open, gated.test_a_partition_that_somebody_lowered_is_put_back),
    (open_gates_are_driven, gated.test_a_partition_below_the_pods_that_are_left_is_not_seawalls),
    (anybodys_set_is_gated, gated.test_a_statefulset_that_another_operator_made_is_never_gated),
    (
        parked_at_the_replicas,
        gated.test_an_edit_restarts_one_after_the_other_from_the_highest_and_the_partition_is_put_back,
    ),
    (asked_all_the_time, ends.test_a_silent_database_is_asked_less_and_less_often),
    (
        rewritten(flush, "_candidates", "all_of_them or region.unlogged_bytes is not None", "all_of_them"),
        unlogged.test_they_flush_although_nobody_wants_flushes_and_no_other_region_does,
    ),
    (
        rewritten(requests, "_above", "need and pod.ordinal > min(need)", "False"),
        partial(requested.test_whom_the_partition_is_lowered_past_goes_too_and_before, {}),
    ),
    (
        rewritten(flush, "_candidates", "datanode.memtables", "datanode.regions"),
        unlogged.test_those_of_a_table_that_never_had_a_log_flush_too,
    ),
    (
        rewritten(flush, "flush", "if lost and facts.override is None:", "if False:", gate),
        unlogged.test_those_that_cannot_flush_stop_the_roll_and_that_is_said_once,
    ),
    (
        rewritten(flush, "flush", "if lost and facts.override is None:", "if lost:", gate),
        unlogged.test_a_person_gives_up_rows_that_cannot_flush,
    ),
    (
        rewritten(flush, "_stops", "if facts.now >= asked.start_time + ROLLOUT_AGAIN:", "if False:"),
        unlogged.test_one_with_little_in_memory_when_it_was_asked_is_asked_as_if_anew,
    ),
    (
        rewritten(flush, "_stops", "meanwhile(give_back(stopped, facts), waits)", "waits"),
        unlogged.test_those_that_cannot_flush_stop_the_roll_and_that_is_said_once,
    ),
    (
        rewritten(flush, "flush", "done if facts.override is None or not lost else ", "done if True else ", gate),
        unlogged.test_that_rows_are_given_up_is_said_by_whose_word_also_where_that_was_there_before,
    ),
    (
        rewritten(flush, "_unlogged", " and (region.leads or lives)", ""),
        unlogged.test_what_a_datanode_that_is_down_had_in_memory_stops_nothing,
    ),
    (
        rewritten(flush, "_unlogged", "(region.leads or lives)", "region.leads"),
        unlogged.test_what_a_datanode_that_serves_has_in_memory_is_waited_for_whatever_reports_say_of_who_leads,
    ),
    (
        rewritten(flush, "_stops", ', "reason": reason}', "}"),
        unlogged.test_a_datanode_in_the_journal_whose_rows_no_longer_flush_keeps_its_turn_and_stays,
    ),
    (
        rewritten(budget, "in_its_words", " or is_lossy", "", gate),
        unlogged.test_a_datanode_in_the_journal_whose_rows_no_longer_flush_keeps_its_turn_and_stays,
    ),
    (
        rewritten(InMemory, "is_flushed_since", "size is not None and self.size < size", "False"),
        unlogged.test_they_are_waited_for_until_less_is_in_memory_and_no_longer,
    ),
)


def test_every_guard_of_a_restart_is_needed() -> None:
    assert not find_survivors(MUTANTS)
