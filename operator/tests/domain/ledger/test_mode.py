"""Which database may be purged in which mode."""

from __future__ import annotations

import pytest

from seawall.domain.dataplane.identity import parse_version
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.ledger.mode import Mode, PruneMode, VersionedDatabase, prune_mode_of
from seawall.domain.ledger.reasons import Reason

KAFKA = ("kafka", "wal", 3)
PHYSICAL, LOGICAL = WALSettings(*KAFKA, 1800.0), WALSettings(*KAFKA, 1800.0, logical_delete=True)
OFF, NOT_SAID = WALSettings(*KAFKA, 0.0), WALSettings(*KAFKA)
OTHER = WALSettings("raft_engine")
ONE_KEY = 'auto_prune_interval = "0s"'
TWO_KEYS = f"auto_prune_logical_delete = true, or {ONE_KEY}"
TOO_OLD = PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)


def second_pruner(mode: Mode, cure: str = TWO_KEYS) -> PruneMode:
    return PruneMode(
        mode, Reason.SECOND_PRUNER, database_deletes=True, cure=f"set {cure}, in the [wal] of every metasrv"
    )


def database(version: str, declared: str, running: str | None, wal: WALSettings | None) -> VersionedDatabase:
    seconds = 0.0 if declared == "Disabled" else None
    return VersionedDatabase(version, seconds, logical_delete=declared == "Logical", running=running, wal=wal)


@pytest.mark.parametrize(
    ("version", "running", "expected"),
    [
        ("1.1.0", "1.1.0", PruneMode(Mode.B)),
        ("v1.2.0-beta.2", "v1.2.0-beta.2", PruneMode(Mode.B)),
        ("1.1", "1.2.1", PruneMode(Mode.B)),
        ("1.1", "1.0.2", PruneMode(Mode.C, Reason.VERSION_DIFFERS)),
        ("1.2", "1.1.4", PruneMode(Mode.B, Reason.VERSION_DIFFERS)),
        ("1.1", "1.1.0-rc.1", PruneMode(Mode.C, Reason.VERSION_DIFFERS)),
        ("1.1", None, PruneMode(Mode.B, Reason.VERSION_UNKNOWN)),
        ("1.0", "1.1.0", TOO_OLD),
        ("1.1.0-rc.1", "1.1.0-rc.1", TOO_OLD),
        ("1.0.2", "1.0.2", TOO_OLD),
        ("0.17.0", "0.17.0", TOO_OLD),
        ("nightly", "nightly", TOO_OLD),
    ],
)
def test_the_regime_by_version(version: str, running: str | None, expected: PruneMode) -> None:
    assert prune_mode_of(database(version, "Disabled", running, OFF)) == expected


@pytest.mark.parametrize(
    ("declared", "wal", "expected"),
    [
        ("Logical", LOGICAL, PruneMode(Mode.A)),
        ("Disabled", OFF, PruneMode(Mode.B)),
        ("Physical", PHYSICAL, second_pruner(Mode.A)),
        ("Logical", PHYSICAL, second_pruner(Mode.A)),
        ("Disabled", PHYSICAL, second_pruner(Mode.A)),
        ("Logical", NOT_SAID, second_pruner(Mode.A)),
        ("Logical", OFF, PruneMode(Mode.B, Reason.SETTINGS_DIFFER)),
        ("Disabled", LOGICAL, PruneMode(Mode.A, Reason.SETTINGS_DIFFER)),
        ("Physical", LOGICAL, PruneMode(Mode.A, Reason.SETTINGS_DIFFER)),
        ("Physical", OFF, PruneMode(Mode.B, Reason.SETTINGS_DIFFER)),
        ("Disabled", OTHER, PruneMode(Mode.B, Reason.SETTINGS_DIFFER)),
        ("Logical", OTHER, PruneMode(Mode.B, Reason.SETTINGS_DIFFER)),
        ("Logical", None, PruneMode(Mode.A, Reason.SETTINGS_UNKNOWN, database_deletes=None)),
        ("Disabled", None, PruneMode(Mode.B, Reason.SETTINGS_UNKNOWN, database_deletes=None)),
        ("Physical", None, second_pruner(Mode.A)),
    ],
)
def test_what_runs_decides_and_what_differs_or_is_unknown_is_only_reported(
    declared: str, wal: WALSettings | None, expected: PruneMode
) -> None:
    assert prune_mode_of(database("1.1", declared, "1.1.0", wal)) == expected


@pytest.mark.parametrize("version", ["0.16", "0.17", "1.0"])
@pytest.mark.parametrize("declared", ["Physical", "Logical", "Disabled"])
def test_an_old_one_that_deletes_is_a_danger_first_and_has_one_key_that_ends_it(version: str, declared: str) -> None:
    found = prune_mode_of(database(version, declared, f"{version}.0", PHYSICAL))
    assert found == second_pruner(Mode.C, ONE_KEY)


def test_an_old_process_in_a_new_cluster_has_no_logical_prune() -> None:
    assert prune_mode_of(database("1.1", "Logical", "1.0.2", PHYSICAL)) == second_pruner(Mode.C, ONE_KEY)


def test_nothing_is_deleted_unless_all_is_known_and_as_declared() -> None:
    wals = (PHYSICAL, LOGICAL, OFF, NOT_SAID, OTHER, None)
    allowed = {
        (version, declared, running, wal)
        for version in ("1.0", "1.1")
        for declared in ("Physical", "Logical", "Disabled")
        for running in ("1.0.2", "1.1.0", None)
        for wal in wals
        if prune_mode_of(database(version, declared, running, wal)).report_only is None
    }
    assert allowed == {("1.1", "Logical", "1.1.0", LOGICAL), ("1.1", "Disabled", "1.1.0", OFF)}


def test_a_pre_release_counts_as_older() -> None:
    assert parse_version("1.1.4-x") == (1, 1, 3)
    assert parse_version("2.0.0-alpha") == (1, 0, 0)
    assert parse_version("1") is None
