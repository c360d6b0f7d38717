"""The guards of retention are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.controllers.backup import WALBackupController
from seawall.domain.backup import chains, contract, kind, retention, runs, selection
from seawall.domain.spark_job import attempt, decide
from tests.backup import test_retention as stories
from tests.backup import test_retention_adversary as moves
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def in_one_jump(patch: Patch) -> None:
    """A backup moves the time on by whatever the clocks say."""
    honest = chains._moved
    patch.setattr(chains, "_moved", lambda time, backup, _, now: honest(time, backup, timedelta(days=9999), now))


def behind_its_time(patch: Patch) -> None:
    """A full backup is as old as a clock said."""
    honest = chains._begun
    patch.setattr(chains, "_begun", lambda backup, _: honest(backup, None))


def unproved(patch: Patch) -> None:
    """Full backups count that nobody proved."""
    honest = retention.choose

    def choose(rows: Any, *others: Any, **more: Any) -> Any:
        return honest([row.model_copy(update={"verified": "Checksums"}) for row in rows], *others, **more)

    patch.setattr(retention, "choose", choose)
    patch.setattr(stories, "choose", choose)


def fewer(patch: Patch) -> None:
    """One chain is enough."""
    honest = retention.choose

    def choose(rows: Any, declared: Any, *others: Any, **more: Any) -> Any:
        return honest(rows, declared.model_copy(update={"minimum_fulls": 1}), *others, **more)

    patch.setattr(retention, "choose", choose)
    patch.setattr(stories, "choose", choose)


def keep_unread(patch: Patch) -> None:
    """Nobody looks at keep."""
    for module in (chains, retention, runs):
        patch.setattr(module, "keeps", lambda _: False)


def keep_forgotten(patch: Patch) -> None:
    """What no object keeps is not kept."""
    honest = chains._kept

    def kept(row: Any, backups: Any) -> Any:
        return honest(row.model_copy(update={"kept_by": None}), backups)

    patch.setattr(chains, "_kept", kept)


def restores_unread(patch: Patch) -> None:
    """Nobody looks for restores."""
    honest = retention._needed

    def needed(found: Any, names: Any) -> Any:
        return honest(retention.Surroundings(found.policy, found.backups, ()), names)

    patch.setattr(retention, "_needed", needed)


def any_place(patch: Patch) -> None:
    """Chains are where they are declared now."""
    honest = retention.plan_expiry

    def plan(found: Any, location: str, *others: Any) -> Any:
        rows = tuple(row.model_copy(update={"location": location}) for row in found.policy.status.chains)
        policy = WALBackupPolicy(
            found.policy.metadata, found.policy.spec, found.policy.status.model_copy(update={"chains": rows})
        )
        return honest(retention.Surroundings(policy, found.backups, found.restores), location, *others)

    patch.setattr(kind, "plan_expiry", plan)


def each_attempt(patch: Patch) -> None:
    """Whoever tries again deletes, too."""
    honest = kind._expiry

    def expiry(case: Any, *others: Any) -> Any:
        status = case.status.model_copy(update={"attempt": 1})
        again = type(case)(case.kind, type(case.obj)(case.obj.metadata, case.obj.spec, status), *_rest(case))
        return honest(again, *others)

    patch.setattr(kind, "_expiry", expiry)


def _rest(case: Any) -> tuple[Any, ...]:
    return case.spec, case.cluster, case.kafka, case.observed


def deleted_unheard(patch: Patch) -> None:
    """What the job says was deleted is not recorded."""
    patch.setattr(contract.SummaryExpired, "as_status", lambda *_: None)


def looked_once(patch: Patch) -> None:
    """Which restores there are is asked once."""
    honest, first = WALBackupController.details, dict[Any, Any]()

    def details(self: Any, obj: Any) -> Any:
        found = honest(self, obj)
        return found if found is None else first.setdefault(obj.metadata.uid, found)

    patch.setattr(WALBackupController, "details", details)


def after(move: moves.Move, *, is_made: bool = True) -> partial[None]:
    """The story of a list that is frozen when somebody moves."""
    return partial(moves.goes_on_without_the_list, move, is_made=is_made)


READABLE = "not isinstance(backup.spec, InvalidSpec) and"
WITHDRAWN = "if withdrawn is not None:"

MUTANTS: tuple[Mutant, ...] = (
    (in_one_jump, partial(stories.test_nothing_goes_when_the_clock_jumps_ten_years, is_of_all=True)),
    (behind_its_time, stories.test_a_clock_that_is_behind_makes_no_full_backup_old),
    (unproved, stories.test_the_choice),
    (fewer, stories.test_the_choice),
    (keep_unread, stories.test_what_is_kept_stays_with_its_object_until_that_is_taken_back),
    (
        rewritten(runs, "keeps", "isinstance(backup.spec, InvalidSpec) or", READABLE, chains, retention),
        stories.test_what_is_kept_stays_when_its_spec_cannot_be_read_any_more,
    ),
    (keep_forgotten, stories.test_what_was_kept_stays_also_if_its_object_is_deleted),
    (restores_unread, partial(stories.test_what_a_restore_needs_that_is_not_over_stays, is_named=True)),
    (any_place, stories.test_chains_of_another_place_stay),
    (each_attempt, stories.test_a_retry_only_backs_up),
    (deleted_unheard, stories.test_chains_go_whole_with_their_objects_and_the_status_says_what_is_left),
    (looked_once, stories.test_a_restore_that_appears_when_the_list_is_in_the_status_takes_its_chain_off_it),
    (rewritten(attempt, "_submit", WITHDRAWN, "if False:"), after(moves.stops_deletes, is_made=False)),
    (rewritten(attempt, "_submit", WITHDRAWN, "if False:"), after(moves.keeps_it, is_made=False)),
    (rewritten(attempt, "_follow", WITHDRAWN, "if False:"), after(moves.stops_deletes)),
    (rewritten(attempt, "_follow", WITHDRAWN, "if False:"), after(moves.declares_more)),
    (
        rewritten(kind.Backup, "why_withdrawn", "case.cluster.metadata.stops_deletes", "False"),
        after(moves.stops_deletes),
    ),
    (
        rewritten(
            kind.Backup,
            "why_withdrawn",
            "if not isinstance(found, Surroundings):",
            "if found is None:\n        return None\n    if False:",
        ),
        after(moves.declares_none),
    ),
    (rewritten(kind.Backup, "why_withdrawn", "find_needed(found, case.status)", "None"), after(moves.keeps_it)),
    (rewritten(kind.Backup, "why_withdrawn", "find_needed(found, case.status)", "None"), after(moves.needs_it)),
    (
        rewritten(
            kind.Backup, "goes_by_details", "status.stage is JobStage.RUNNING and bool(status.expiring)", "False"
        ),
        moves.test_a_list_that_still_may_go_interrupts_nobody,
    ),
    (
        rewritten(decide, "_stopped", "kind.goes_by_details(obj.status)", "False"),
        moves.test_a_driver_that_is_to_delete_is_stopped_while_its_backup_cannot_be_read,
    ),
    (
        rewritten(decide, "_stopped", "isinstance(observed.driver, Ended)", "False"),
        moves.test_what_the_driver_of_a_backup_has_said_counts_although_that_cannot_be_read,
    ),
    (
        rewritten(retention, "find_needed", ", None)\n    names", ")\n    names", moves),
        moves.test_another_chain_that_may_go_by_now_keeps_none_of_the_list,
    ),
    (
        rewritten(retention, "plan_expiry", ", asked_in_vain=_asked_in_vain(found)", "", stories),
        stories.test_as_many_chains_as_go_at_once_and_are_left_alone_are_in_nobodys_way,
    ),
    (
        rewritten(kind, "_plan", "None if selection.beyond_replay else", ""),
        stories.test_while_regions_read_what_the_log_has_no_more_not_even_what_is_too_old_goes,
    ),
    (
        rewritten(chains, "_begun", " and not _beyond_replay(backup)", ""),
        stories.test_while_regions_read_what_the_log_has_no_more_the_chains_that_have_it_stay,
    ),
    (
        rewritten(selection, "select", "beyond.keys() | silent.keys()", "beyond", kind),
        stories.test_a_region_that_reports_no_more_may_read_what_the_log_has_no_more,
    ),
)


def test_every_guard_of_retention_is_needed() -> None:
    assert not find_survivors(MUTANTS)
