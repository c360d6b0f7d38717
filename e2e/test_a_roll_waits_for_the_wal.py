"""Datanodes restart one by one while rows are written, topics are purged and the operator is killed: no row is lost.

Before that a broker is away: no datanode is restarted while a replica is not in sync, and the status says so.
"""

from __future__ import annotations

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import broker_away
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.restarts import RIGHTS, SAFETY, DownSampler, Restarts
from seawall_e2e.site import Site


@pytest.mark.helm_values(RIGHTS)
def test_each_datanode_restarts_once_never_two_at_once_and_no_acknowledged_row_is_lost(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    database, restarts = database_in_sight, Restarts(site, database_in_sight)
    restarts.declare(replayBudget="5m")
    before = restarts.uids()
    with (
        AckedRows(database, checker_image) as rows,
        InvariantSampler(site, rows) as sampler,
        DownSampler(database) as down,
    ):
        purges.apply_policy(safety=SAFETY)
        rows.wait_until_written_everywhere()
        site.wal_cluster().wait("Serving", kind="DatanodesHealthy")
        with broker_away():
            restarts.ask("monday")
            refused = restarts.wait_for_reason("NotFullyInSync")
            assert restarts.uids() == before
        restarts.wait_for_stage("Restarting", "Replaying")
        (pod,) = site.operator.pods()
        site.operator.crash(pod)
        done = restarts.wait_for_stage("Completed", within=150)
        rows.wait_until_written_everywhere()
        sampler.check()
    purges.suspend()
    purges.wait_until_over()
    verdict = rows.judge()
    print(done, f"{down.samples} samples of pods, {sampler.samples} of invariants", sep="\n")

    assert "lacks an in-sync replica" in refused["message"]
    assert refused["restarted"] == 0
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert done["restarted"] == DATANODES
    assert set(before) == down.seen
    assert not set(before.values()) & set(restarts.uids().values())
    assert len(down.most) == 1, f"{sorted(down.most)} were down at once"
    assert down.samples >= 30
    assert not database.in_maintenance()
    found = site.wal_cluster().find() or {}
    assert not found["metadata"].get("finalizers")
    assert site.operator.restarts() == 1
