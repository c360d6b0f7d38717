"""Datanodes and a broker are killed, and a leader is stopped and comes back, while rows are written: none is lost."""

from __future__ import annotations

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.faults import (
    AllDatanodesKilled,
    BrokerKilled,
    DatanodeKilled,
    FaultKind,
    FaultLog,
    LeaderStopped,
    TableFlushed,
    homecoming,
)
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site


def test_no_acknowledged_row_is_lost_whatever_is_killed_or_stopped(
    site: Site, database: RefDb, checker_image: str
) -> None:
    faults = FaultLog()
    with AckedRows(database, checker_image) as rows:
        for datanode in range(DATANODES):
            faults.run(*homecoming(database), TableFlushed(database, TABLE))
            rows.wait_for_more(50)
            with faults.apply(DatanodeKilled(database, datanode)):
                rows.wait_for_more(10)  # the others go on
            rows.wait_until_written_everywhere()
        with faults.apply(BrokerKilled(site, 0)):
            rows.wait_until_written_everywhere()
        faults.run(*homecoming(database))
        with faults.apply(LeaderStopped(database, 1)):
            rows.wait_until_written_everywhere()  # soon: the writes that wait at the stopped leader must see it wake up
        faults.run(DatanodeKilled(database, 2))  # which took regions over
        faults.run(*homecoming(database))
        rows.wait_until_written_everywhere()
        rows.wait_for_more(50, readings=1)
    faults.run(AllDatanodesKilled(database))  # what is only in memory does not count

    verdict = rows.judge()

    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["read"] >= verdict["acked"] >= 500
    assert verdict["regions"] == rows.partitions
    assert verdict["topics"] == 4
    assert verdict["readings"] >= 5
    assert verdict["failedWrites"], "no write failed: the faults did not reach the writers"
    assert faults.counts[FaultKind.TABLE_FLUSHED] == DATANODES
    assert faults.counts[FaultKind.DATANODE_KILLED] == DATANODES + 1
    assert faults.counts[FaultKind.ALL_DATANODES_KILLED] == 1
    assert faults.counts[FaultKind.BROKER_KILLED] == 1
    assert faults.counts[FaultKind.LEADER_STOPPED] == 1
    assert faults.counts[FaultKind.REGION_MOVED] >= 2, "the regions of the stopped leader did not go home"
