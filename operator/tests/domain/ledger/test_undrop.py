"""UNDROP TABLE opens regions by their manifests' flushed ids, and reads neither marker nor checkpoint (ADR 81)."""

from __future__ import annotations

from dataclasses import replace

from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.mode import Mode, PruneMode, VersionedDatabase, prune_mode_of
from seawall.domain.ledger.reasons import Reason
from tests.domain.ledger import oracle
from tests.domain.ledger.test_rules import HEALTHY, MODE_B, TOPIC_AT_10, as_inputs

IDLE = replace(HEALTHY, inner=(oracle.Inner(10, 12, 25),))
UNDROPS = replace(MODE_B, undrops=True)


def floor(cluster: oracle.Cluster, *regions: oracle.Region, marker: int = 0) -> int | None:
    inputs, _ = as_inputs(cluster, [replace(TOPIC_AT_10, regions=regions, marker=marker)])
    return plan(inputs).floor.at(0)


def test_nothing_beyond_the_manifests_flushed_ids_is_announced() -> None:
    assert floor(MODE_B, IDLE) == 25
    assert floor(UNDROPS, IDLE) == 10
    metric = replace(IDLE, inner=(oracle.Inner(10, 12, 25), oracle.Inner(8, 20, 25)))
    assert (floor(MODE_B, metric), floor(UNDROPS, metric)) == (25, 8)


def test_a_marker_that_stands_is_not_taken_back() -> None:
    assert floor(UNDROPS, IDLE, marker=15) == 15


def test_the_database_moves_its_own_marker() -> None:
    assert floor(replace(UNDROPS, mode="A"), IDLE, marker=25) == 25


def test_a_topic_with_a_dropped_table_stays() -> None:
    """Also if all else of it may go."""
    dropped = replace(IDLE, reported=False, dropped=True)
    inputs, _ = as_inputs(MODE_B, [replace(TOPIC_AT_10, regions=(IDLE, dropped))])
    ledger = plan(inputs)
    assert ledger.reason(0) is Reason.REGION_DROPPED
    assert ledger.purge_to.at(0) is None


def test_the_metasrv_says_whether_tables_are_dropped_softly() -> None:
    wal = WALSettings("kafka", "wal", 3, 0.0)
    for soft_drop in (False, True):
        said = replace(wal, soft_drop=soft_drop)
        found = prune_mode_of(VersionedDatabase("1.2.0-beta.2", 0.0, running="1.2.0-beta.2", wal=said))
        assert found == PruneMode(Mode.B, undrops=soft_drop)
        assert found.may_announce
    assert not prune_mode_of(VersionedDatabase("1.2.0-beta.2", 0.0, running="1.2.0-beta.2", wal=None)).undrops
