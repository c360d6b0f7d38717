"""Purges of a database that serves the contract: by markers, by durable starts, and never by less than it declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from seawall.controllers import permission, purge
from seawall.domain.dataplane import identity
from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.observe import database
from tests.ledger.test_wrong_database import blocked
from tests.purge.test_purge_crash import end_state
from tests.purge.test_purge_run import FULL, NOTHING, skipped
from tests.support.deaths import die_at_every_call
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.contract_world import ALL, PLAIN, Balanced, ContractWorld, said
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


@pytest.mark.parametrize("answer", ["reports", "nodes", "wal_settings"])
@pytest.mark.parametrize("capabilities", [PLAIN, ALL], ids=["durable starts", "markers"])
def test_an_answer_of_another_database_at_the_same_url_is_none(capabilities: Capabilities, answer: str) -> None:
    """A copy has the same nodes and regions, and has flushed what the original has only in its logs."""
    world = ContractWorld(capabilities=capabilities)
    Balanced.before(world, answer)
    world.start_run()
    world.settle(ticks=60)
    assert (world.log_starts(), markers(world)) == (NOTHING, {0})
    page = blocked(world)
    what = "reports are" if answer == "reports" else "description is"
    said = f"the {what} of database http/copy, and the metadata of {world.store.head().store_id}: one URL leads to both"
    assert (page.why.value, page.message) == ("DatabaseContradictsItself", said)


def test_reports_of_another_database_right_before_markers_move_move_none() -> None:
    """The copy answers nothing but what is asked last."""
    world = ContractWorld(capabilities=ALL)
    balanced, calls = Balanced.before(world), Calls(world.check)

    def before(_: str) -> None:
        is_last = calls.names[-3:] == ["head", "wal_settings", "reports"]
        balanced.copied = {"reports"} if is_last else set()

    calls.before = before
    world.start_run()
    world.settle(world.process(calls), ticks=60)
    assert ["head", "wal_settings", "reports"] in [calls.names[at : at + 3] for at in range(len(calls.names))]
    assert (world.log_starts(), markers(world)) == (NOTHING, {0})


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


def of_another(answers: str, without: str) -> Callable[[pytest.MonkeyPatch], None]:
    return rewritten(identity, "find_contradiction", answers, without, database)


def of_the_copy(answer: str) -> None:
    test_an_answer_of_another_database_at_the_same_url_is_none(PLAIN, answer)


def believes_the_last_reports() -> Callable[[pytest.MonkeyPatch], None]:
    return rewritten(permission, "require_flushed", "why = why or why_less", "why = why_less", purge)


def undeclared() -> None:
    test_what_it_does_not_declare_is_not_relied_on(said(replace(PLAIN, durable_starts=False)), "StartsNotDurable")


def test_each_guard_is_missed() -> None:
    mutants = (
        (relies_on_what_is_not_declared, undeclared),
        (of_another("(*reported.values(), ", "("), lambda: of_the_copy("reports")),
        (of_another("*listed, ", ""), lambda: of_the_copy("nodes")),
        (of_another("*(() if wal is None else (wal,))", ""), lambda: of_the_copy("wal_settings")),
        (believes_the_last_reports(), test_reports_of_another_database_right_before_markers_move_move_none),
        (asks_no_more_before_the_delete, test_what_is_withdrawn_right_before_the_delete_is_not_relied_on),
    )
    assert find_survivors(mutants) == []
