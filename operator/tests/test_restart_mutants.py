"""The guards of restarts are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from seawall.controllers import ledger_look
from seawall.controllers.restart import RestartController
from seawall.domain.ledger.restarts import RestartClaims
from seawall.domain.reassignment import stages
from seawall.domain.restart import gather, next_step
from seawall.domain.restart.observed import Observed
from seawall.domain.rollout import begin, checks, claims, finish, maintenance
from seawall.domain.rollout import next_step as roll
from seawall.domain.rollout.reasons import Shut
from tests import test_purge_restarts as purges
from tests import test_reassignment_run as moves
from tests import test_restart as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def _open_gate(patch: Patch, reason: Shut) -> None:
    patch.setattr(checks, "GATE", MappingProxyType({**checks.GATE, reason: lambda _: None}))


def replicas_ignored(patch: Patch) -> None:
    """A replica that is missing does not matter."""
    _open_gate(patch, Shut.NOT_FULLY_IN_SYNC)


def wal_ignored(patch: Patch) -> None:
    """Nor whether the log is whole."""
    _open_gate(patch, Shut.WAL_NOT_INTACT)
    _open_gate(patch, Shut.LOG_START_BEYOND_REPLAY)


def pause_ignored(patch: Patch) -> None:
    """Nor what a person stopped."""
    _open_gate(patch, Shut.PAUSED)


def others_ignored(patch: Patch) -> None:
    """Nor who else is down."""
    _open_gate(patch, Shut.ANOTHER_DOWN)
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
    patch.setattr(next_step, "_stands", lambda _: True)


def maintenance_kept(patch: Patch) -> None:
    """Nobody gives it back."""
    for module in (begin, finish, maintenance, roll):
        patch.setattr(module, "give_back", lambda *_: None)


def reports_believed_at_once(patch: Patch) -> None:
    """A new process takes for down whose report it has not seen to advance."""
    original = RestartController.observe

    def settled(self: RestartController, obj: Any) -> Observed:
        return replace(original(self, obj), is_settling=False)

    patch.setattr(RestartController, "observe", settled)


def flushes_repeated(patch: Patch) -> None:
    """A region is asked to flush whenever it is looked at."""
    patch.setattr(next_step, "_again", lambda action, _: action)


def maintenance_kept_behind_a_shut_gate(patch: Patch) -> None:
    """The pod goes while the status still says that the gate is shut."""
    patch.setattr(finish, "give_back", lambda *_: None)


def purges_go_on(patch: Patch) -> None:
    """The ledger hears of no restart."""
    patch.setattr(ledger_look, "claims_of", lambda _: RestartClaims())


def begun_deletes_stopped(patch: Patch) -> None:
    """A run that the roll waits for is stopped, and both wait."""
    original = claims.claims_of
    patch.setattr(
        ledger_look,
        "claims_of",
        lambda status: RestartClaims(original(status).datanodes | original(status).lets_finish),
    )


def moves_go_on(patch: Patch) -> None:
    """Reassignments hear of no restart."""
    patch.setattr(stages, "pod_that_restarts", lambda _: None)


MUTANTS: tuple[Mutant, ...] = (
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
    (flushes_repeated, stories.test_regions_that_cannot_flush_are_asked_now_and_then_and_replayed_in_the_end),
    (
        maintenance_kept_behind_a_shut_gate,
        stories.test_the_status_no_longer_says_what_the_gate_waited_for_when_a_pod_goes,
    ),
    (purges_go_on, purges.test_nothing_is_deleted_while_a_datanode_restarts_and_afterwards_it_is),
    (begun_deletes_stopped, purges.test_a_run_that_has_begun_goes_on_while_the_roll_waits_for_it),
    (moves_go_on, moves.test_no_replicas_begin_to_move_while_a_datanode_restarts),
)


def test_every_guard_of_a_restart_is_needed() -> None:
    assert not find_survivors(MUTANTS)
