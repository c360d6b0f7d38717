"""The guards of backups are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.controllers import backup as wal_backup
from seawall.controllers.backup import WALBackupController
from seawall.controllers.spark_job import SparkJobController
from seawall.domain import decision
from seawall.domain.backup import contract, kind, parent, policy, policy_case, runs, selection
from seawall.domain.spark_job import attempt, case, decide, holding
from tests.backup import test_backup as stories
from tests.backup import test_backup_chain as chains
from tests.backup import test_backup_policy as policies
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.backup_world import BACKUP, FULL, BackupWorld
from tests.worlds.purge_world import NAMESPACE

Patch = pytest.MonkeyPatch


def no_grant(patch: Patch) -> None:
    """A hold that is not granted is as good as one that is."""
    for module in (holding, case, attempt):
        patch.setattr(module, "is_granted", lambda _: True)


def any_topic_id(patch: Patch) -> None:
    """A topic that was made again is the same topic."""
    honest = selection._break

    def blind(topics: Any, row: Any, against: Any) -> str | None:
        log = topics.log(row.name)
        return honest(topics, row.model_copy(update={"topic_id": log.topic_id}), None if against else against)

    patch.setattr(selection, "_break", blind)


def gaps_allowed(patch: Patch) -> None:
    """An incremental backup begins where the log does, wherever its parent ended."""
    patch.setattr(selection, "_break", lambda *_: None)
    honest = selection._range

    def gluing(topics: Any, name: str, row: Any, needed: Any) -> Any:
        found = honest(topics, name, row, needed)
        return found if found.start >= found.log_start else honest(topics, name, None, needed)

    patch.setattr(selection, "_range", gluing)


def any_parent(patch: Patch) -> None:
    """Whatever became of the parent, it is continued."""
    honest = parent.as_parent
    patch.setattr(kind, "as_parent", lambda found, *others: found if found is not None else honest(found, *others))


def any_store(patch: Patch) -> None:
    """The parent may be kept anywhere."""
    patch.setattr("seawall.api.v1alpha1.backup_template.BackupStorage.describe", lambda _: "s3://wal/greptimedb")


def forks_allowed(patch: Patch) -> None:
    """Two continue one parent."""
    patch.setattr(WALBackupController, "sibling", lambda *_: None)


def youngest_wins(patch: Patch) -> None:
    """Of two that continue one parent the younger one does."""
    patch.setattr(parent, "_age", lambda obj: -obj.metadata.creation_timestamp.timestamp())


def names_alone(patch: Patch) -> None:
    """Objects are named after the backup, and not after this one of its name."""
    patch.setattr(kind, "backup_name", lambda subject: subject.name)


def proof_taken_for_granted(patch: Patch) -> None:
    """As much as was asked for was proved, whatever the job says."""
    honest = contract.Summary.model_validate_json

    def generous(text: str) -> Any:
        return honest(text).model_copy(update={"verified": "Checksums"})

    patch.setattr(contract.Summary, "model_validate_json", generous)


def failures_count(patch: Patch) -> None:
    """A manifest counts, whatever the verdict."""
    patch.setattr(kind.Backup, "_failed", lambda _, each, message: each.ends("BackedUp", message, complete=True))


def secrets_taken_for_granted(patch: Patch) -> None:
    """The Secrets of the store are not looked for."""
    patch.setattr(kind, "secrets_of", lambda *_: ())


def regions_not_waited_for(patch: Patch) -> None:
    """A region that has not reported is not waited for."""
    patch.setattr(kind, "_wait_for_reports", lambda *_: None)


def own_hold_goes_first(patch: Patch) -> None:
    """The hold of a backup goes when it has passed, whoever holds next."""
    patch.setattr(wal_backup, "why_hold_stays", lambda *_: None)


def nobody_holds_between(patch: Patch) -> None:
    """Between two backups nobody holds the log."""
    patch.setattr(policy, "plan_holds", lambda *_: ())
    patch.setattr(wal_backup, "why_hold_stays", lambda *_: None)


def held_from_nowhere(patch: Patch) -> None:
    """The log is held from one record too late."""
    honest = runs._spec_of_hold

    def late(*arguments: Any) -> Any:
        spec = honest(*arguments)
        return spec.model_copy(update={"topics": {name: int(offset) + 1 for name, offset in spec.topics.items()}})

    patch.setattr(runs, "_spec_of_hold", late)


def lost_holds_unnoticed(patch: Patch) -> None:
    """That a hold was lost says nothing of the chain."""
    patch.setattr(runs.OwnBackups, "lost_hold", None)


def newest_removed(patch: Patch) -> None:
    """The history limits take the newest."""

    def newest(self: Any, spec: Any) -> Any:
        return self.completed[spec.successful_runs_history_limit - 1 :]

    patch.setattr(runs.OwnBackups, "beyond", newest)


def chains_for_ever(patch: Patch) -> None:
    """No full backup is ever due."""
    patch.setattr(policy_case.Case, "last_full", lambda self: self.now)


def test_a_backup_of_the_same_name_writes_over_nothing() -> None:
    world = BackupWorld()
    first = world.backed_up()
    world.kube.remove(FULL, type(first))
    for application in list(world.spark.applications.values()):
        world.spark.delete(application)
    world.kube.remove_config_map(Key(NAMESPACE, "full-1"))
    second = world.backed_up()
    assert second.status.manifest is not None
    assert second.status.manifest.name != first.status.manifest.name
    assert len(world.stored) == 2


def two_names_for_one_time(patch: Patch) -> None:
    """What is due is called otherwise by whoever decides next."""
    honest, turns = policy._create, count()

    def other(case: Any, spec: Any, key: Key, times: Any) -> Any:
        minute = case.now.replace(second=0) - timedelta(minutes=next(turns) % 2)
        name = runs.backup_name_at(case.own.policy, minute)
        return replace(honest(case, spec, key, times), key=Key(key.namespace, name))

    patch.setattr(policy, "_create", other)


by_schedule = policies.test_the_first_backup_is_full_and_the_others_continue_it
immediate = policies.test_an_immediate_policy_begins_at_once_and_goes_on_as_scheduled
parents = chains.test_a_parent_that_cannot_be_continued_is_refused_in_one_sentence
MUTANTS: tuple[Mutant, ...] = (
    (no_grant, stories.test_nothing_is_submitted_before_the_hold_is_granted_and_what_it_holds_stays),
    (
        rewritten(attempt, "run", "if lost is not None", "if False", decide),
        partial(stories.test_a_backup_whose_application_is_deleted_begins_anew_and_writes_over_nothing, {}),
    ),
    (any_topic_id, chains.test_a_topic_that_was_made_again_ends_the_chain),
    (
        rewritten(policy, "_begin", "spec.immediate and", ""),
        policies.test_the_first_backup_is_full_and_the_others_continue_it,
    ),
    (rewritten(policy, "_begin", "and case.last_run is None", ""), immediate),
    (
        rewritten(runs, "_changed", "wanted == hold.spec", "True"),
        policies.test_limits_of_the_hold_that_are_edited_count_at_once,
    ),
    (rewritten(policy, "_begin", "due.append(case.created)", "pass"), immediate),
    (gaps_allowed, chains.test_records_that_were_deleted_before_they_were_backed_up_end_the_chain),
    (
        rewritten(WALBackupController, "now", "self.clock.trusted().shared", "self.clock.now()"),
        stories.test_a_clock_that_was_ahead_when_an_attempt_ended_keeps_no_backup,
    ),
    (
        rewritten(decide, "_in_time", "not_to_come(obj.status.attempt_time, now)", "obj.status.attempt_time"),
        stories.test_the_next_attempt_waits_for_no_time_that_is_to_come,
    ),
    (
        rewritten(selection, "_break_in_log", "_break_before(topics, name, parent.chain_start)", "None"),
        chains.test_metadata_of_an_older_copy_end_the_chain,
    ),
    (
        rewritten(selection, "_range", "start if parent is None else parent.chain_start", "start"),
        chains.test_where_the_chain_begins_is_known_of_every_backup_of_it,
    ),
    (
        rewritten(selection, "_break_before", "max(_first_kept(topics, name), read)", "0"),
        chains.test_a_version_that_is_not_known_for_a_moment_ends_no_chain,
    ),
    (any_parent, chains.test_a_parent_that_failed_is_not_continued),
    (
        any_store,
        partial(
            parents,
            "is kept at s3://wal/greptimedb, and the WALCluster declares s3://elsewhere",
            lambda world: world.declare({**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}}),
        ),
    ),
    (
        forks_allowed,
        partial(
            parents,
            "is continued by other already",
            lambda world: world.backed_up(chains.OTHER, **chains.CONTINUES),
        ),
    ),
    (youngest_wins, chains.test_of_two_that_continue_one_parent_the_older_one_does),
    (names_alone, test_a_backup_of_the_same_name_writes_over_nothing),
    (proof_taken_for_granted, stories.test_a_backup_that_proved_less_than_was_asked_for_is_not_completed),
    (failures_count, stories.test_what_is_damaged_in_the_store_does_not_count),
    (
        secrets_taken_for_granted,
        stories.test_a_secret_of_the_store_that_is_missing_stalls_it_until_somebody_makes_it,
    ),
    (own_hold_goes_first, policies.test_the_own_hold_of_a_backup_stays_until_the_next_one_is_granted),
    (nobody_holds_between, policies.test_no_purge_takes_a_record_between_two_backups),
    (held_from_nowhere, policies.test_the_log_is_held_from_the_end_of_the_last_backup_on_and_only_there),
    (
        lost_holds_unnoticed,
        partial(
            policies.test_where_the_chain_ends_the_reason_is_a_condition_and_the_next_backup_is_full,
            policies.chain_ended,
        ),
    ),
    (newest_removed, policies.test_the_history_limits_never_take_the_backup_to_continue),
    (chains_for_ever, policies.test_a_full_one_that_is_due_begins_another_chain),
    (two_names_for_one_time, policies.test_two_planners_at_once_make_one_chain),
    (
        regions_not_waited_for,
        stories.test_a_topic_whose_regions_are_silent_is_waited_for_and_then_backed_up_from_its_start,
    ),
    (
        rewritten(selection, "_range", "topics.regions_at_most(name, start)", "topics.regions(name) or ()"),
        stories.test_a_region_of_which_nobody_knows_where_it_reads_from_is_judged_from_where_the_backup_begins,
    ),
    (
        rewritten(decision, "with_edit_observed", "obj.status.observed_generation == generation", "True", decide),
        stories.test_an_edit_of_a_backup_that_is_over_is_observed_and_changes_nothing_else,
    ),
    (
        rewritten(SparkJobController, "record", " and not obj.status.is_over", ""),
        stories.test_a_backup_that_is_over_is_counted_once_although_it_is_edited_later,
    ),
)


def test_every_guard_of_a_backup_is_needed() -> None:
    assert not find_survivors(MUTANTS)
