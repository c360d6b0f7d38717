"""The support matrix in docs/purging.md is what is decided."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.ledger.mode import PruneMode, VersionedDatabase, prune_mode_of

DOCS = Path(__file__).parents[4] / "docs/purging.md"
VERSIONS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "0.16 to 1.0": (("0.16", "0.16.0"), ("0.17", "0.17.2"), ("1.0", "1.0.2")),
    "1.1 and newer": (("1.1", "1.1.0"), ("1.1", "1.1.4"), ("1.2", "1.2.1"), ("2.0", "2.0.0")),
    "1.1 is declared, 1.0 runs": (("1.1", "1.0.2"),),
    "1.1 is declared, what runs is not known": (("1.1", None),),
}
RUNS: dict[str, tuple[WALSettings | None, ...]] = {
    "deletes": (WALSettings("kafka", "wal", 2, 1800.0), WALSettings("kafka", "wal", 2)),
    "off": (WALSettings("kafka", "wal", 2, 0.0), WALSettings("kafka", "wal", 2, 0.0, logical_delete=True)),
    "logical": (WALSettings("kafka", "wal", 2, 60.0, logical_delete=True),),
    "not in Kafka": (WALSettings("raft_engine"),),
    "not known": (None,),
}
DECLARED = ("Physical", "Logical", "Disabled")
HOLDS = {True: "refused", False: "granted", None: "wait"}


def rows() -> list[tuple[str, ...]]:
    """The table's."""
    table = DOCS.read_text().partition("### Support matrix")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()[2:]]


def decided(version: tuple[str, str | None], declared: str, wal: WALSettings | None) -> PruneMode:
    interval = 0.0 if declared == "Disabled" else None
    return prune_mode_of(
        VersionedDatabase(version[0], interval, logical_delete=declared == "Logical", running=version[1], wal=wal)
    )


@pytest.mark.parametrize("row", rows(), ids=" | ".join)
def test_a_row_is_what_is_decided(row: tuple[str, ...]) -> None:
    version, runs, declared, holds, purges = row
    said = DECLARED if declared == "any" else [each for each in DECLARED if f"`{each}`" in declared]
    found = {decided(*case) for case in product(VERSIONS[version], said, RUNS[runs])}
    assert {HOLDS[mode.database_deletes] for mode in found} == {holds}
    assert {f"mode {mode.mode}" if mode.report_only is None else f"`{mode.report_only}`" for mode in found} == {purges}


def test_each_case_of_the_supported_versions_has_one_row() -> None:
    listed = [
        (version, runs, each)
        for version, runs, declared, *_ in rows()
        for each in DECLARED
        if declared == "any" or f"`{each}`" in declared
    ]
    assert len(set(listed)) == len(listed)
    runs = {"deletes", "off", "not known"}
    assert set(product(["0.16 to 1.0", "1.1 and newer"], runs, DECLARED)) <= set(listed)
    assert set(product(["1.1 and newer"], ["logical"], DECLARED)) <= set(listed)
