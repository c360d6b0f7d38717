"""Faults of all kinds in a loop while rows are written; the counts go to results/acked-rows.json."""

from __future__ import annotations

import time
from itertools import count

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.cluster import BROKERS
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
from seawall_e2e.soak import OFTEN, SECONDS, write_counts

OF_DATABASE = {
    FaultKind.DATANODE_KILLED,
    FaultKind.ALL_DATANODES_KILLED,
    FaultKind.BROKER_KILLED,
    FaultKind.LEADER_STOPPED,
    FaultKind.REGION_MOVED,
    FaultKind.TABLE_FLUSHED,
}


@pytest.mark.timeout(SECONDS + 900)
def test_a_loop_of_faults_loses_no_acknowledged_row(site: Site, database: RefDb, checker_image: str) -> None:
    faults = FaultLog()
    with AckedRows(database, checker_image, period=OFTEN) as rows:
        began = time.monotonic()
        for number in count():
            apply_one_of_each(number, site, database, rows, faults)
            if time.monotonic() - began >= SECONDS:
                break
        seconds = time.monotonic() - began
        rows.wait_for_more(50, readings=1)
    faults.run(AllDatanodesKilled(database))

    verdict = rows.judge()

    write_counts("acked-rows", {"seconds": round(seconds), "faults": faults.counts, **verdict})
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert set(faults.counts) == OF_DATABASE


def apply_one_of_each(number: int, site: Site, database: RefDb, rows: AckedRows, faults: FaultLog) -> None:
    """One round; each has other victims."""
    victim, other = number % DATANODES, (number + 1) % DATANODES
    faults.run(*homecoming(database), TableFlushed(database, TABLE))
    with faults.apply(DatanodeKilled(database, victim)):
        rows.wait_for_more(10)
    faults.run(DatanodeKilled(database, other))
    rows.wait_until_written_everywhere()
    with faults.apply(BrokerKilled(site, number % BROKERS)):
        faults.run(DatanodeKilled(database, victim))
        rows.wait_until_written_everywhere()
    faults.run(*homecoming(database), TableFlushed(database, TABLE))
    with faults.apply(LeaderStopped(database, victim)):
        rows.wait_until_written_everywhere()  # soon: the writes that wait at the stopped leader must see it wake up
    faults.run(DatanodeKilled(database, other))
    rows.wait_until_written_everywhere()
    faults.run(AllDatanodesKilled(database))
    rows.wait_until_written_everywhere()
