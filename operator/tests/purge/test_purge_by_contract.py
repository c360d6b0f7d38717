"""Purges of a database that serves the contract: by markers, by durable starts, and never by less than it declares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seawall.controllers import permission
from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.observe import database
from tests.purge.test_purge_crash import end_state
from tests.purge.test_purge_run import FULL, NOTHING, skipped
from tests.support.deaths import die_at_every_call
from tests.support.mutants import find_survivors
from tests.worlds.contract_world import ALL, PLAIN, ContractWorld, said
from tests.worlds.purge_world import Calls, World


def markers(world: World) -> set[int | None]:
    return {marker.pruned_entry_id for marker in world.store.snapshot().topics.values()}


def test_by_markers_seawall_announces_and_deletes() -> None:
    world = ContractWorld(capabilities=ALL)
    world.start_run()
    assert skipped(world.settle()) == {}
    assert world.log_starts() == FULL
    assert world.store.head().claims == {"wal": world.cluster().metadata.uid}
    assert markers(world) != {0}


def test_by_durable_starts_it_deletes_what_is_flushed_and_writes_nothing_into_the_database() -> None:
    world = ContractWorld()
    world.start_run()
    calls = Calls(world.check)
    assert skipped(world.settle(world.process(calls))) == {}
    assert world.log_starts() == FULL
    assert not {"claim", "advance_markers"} & set(calls.names)
    assert (world.store.head().claims, markers(world)) == ({}, {0})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (said(replace(PLAIN, durable_starts=False)), "StartsNotDurable"),
        (said(ALL, deletes=True), "SecondPruner"),
        (None, "SettingsUnknown"),
        (WALSettings("kafka", "wal", 3, 0.0), "SettingsUnknown"),
    ],
)
def test_what_it_does_not_declare_is_not_relied_on(settings: WALSettings | None, reason: str) -> None:
    world = ContractWorld()
    world.data_plane.wal = settings
    world.start_run()
    assert set(skipped(world.settle()).values()) == {reason}
    assert world.log_starts() == NOTHING


def test_what_is_withdrawn_right_before_the_delete_is_not_relied_on() -> None:
    """The last thing that is asked before records are deleted is what the database can do."""
    assert deleted_after(replace(PLAIN, durable_starts=False)) == NOTHING


def deleted_after(declared: Capabilities) -> dict[str, int]:
    """Where logs start after the first try to delete, right before which the database declares something else."""
    world = ContractWorld()
    world.start_run()
    calls = Calls(world.check)

    def withdraw(name: str) -> None:
        """The run has looked, decided, and asks for the newest Kafka before it asks the database."""
        if name == "head" and {record.intent for record in world.records().values()} == set(FULL.values()):
            world.data_plane.wal = said(declared)

    calls.before = withdraw
    process = world.process(calls)
    for _ in range(60):
        world.settle(process, ticks=1)
    assert world.data_plane.wal == said(declared), "the database was asked right before the delete"
    return world.log_starts()


def test_a_death_at_any_call_changes_nothing_about_the_end_without_markers() -> None:
    world = ContractWorld()
    world.start_run()
    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state)
    assert world.log_starts() == FULL
    assert worlds > 20


def relies_on_what_is_not_declared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(database, "prune_mode_by_contract", lambda _: PruneMode(Mode.C))


def asks_no_more_before_the_delete(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(permission, "require_settings", lambda *_: None)


def undeclared() -> None:
    test_what_it_does_not_declare_is_not_relied_on(said(replace(PLAIN, durable_starts=False)), "StartsNotDurable")


def test_each_guard_is_missed() -> None:
    mutants = (
        (relies_on_what_is_not_declared, undeclared),
        (asks_no_more_before_the_delete, test_what_is_withdrawn_right_before_the_delete_is_not_relied_on),
    )
    assert find_survivors(mutants) == []
