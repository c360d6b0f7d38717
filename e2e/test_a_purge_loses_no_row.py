"""Topics are purged while rows are written, and operator, datanode and broker are killed: no row is lost."""

from __future__ import annotations

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, DatanodeKilled, FaultLog
from seawall_e2e.operator_faults import OperatorKilled
from seawall_e2e.purges import POLICY, Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

BACKUP = "backup"


def test_topics_shrink_to_a_hold_and_no_acknowledged_row_is_lost_whatever_is_killed(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    database, faults = database_in_sight, FaultLog()
    with AckedRows(database, checker_image) as rows:
        purges.purge_always()
        wait_until(
            lambda: all(site.log_starts().values()),
            "every topic shrinks",
            within=120,
            every=0.5,
            explain=purges.explain,
        )
        held, (_, offset) = min(site.toolbox.offsets(f"{site.prefix}_").items())
        purges.hold(BACKUP, {held: offset}, reason="nightly backup")
        purges.wait_for_stage("Purge")
        faults.run(OperatorKilled(site.operator))
        with faults.apply(DatanodeKilled(database, 0)):
            rows.wait_for_more(10)
        rows.wait_until_written_everywhere()
        purges.wait_for_stage("Purge")
        faults.run(OperatorKilled(site.operator))
        with faults.apply(BrokerKilled(site, 0)):
            rows.wait_until_written_everywhere()
        wait_until(
            lambda: site.log_starts()[held] == offset,
            "it shrinks to the hold",
            within=120,
            every=0.5,
            explain=purges.explain,
        )
        before = site.log_starts()
        run = purges.wait_for_a_whole_run()
        after = site.log_starts()
        line = purges.ledger()[held]
        table = purges.table("walp", "walh", "walpp")
        purges.let_go(BACKUP)
        wait_until(
            lambda: site.log_starts()[held] > offset,
            "what was held goes",
            within=120,
            every=0.5,
            explain=purges.explain,
        )
        purges.suspend()
    faults.run(AllDatanodesKilled(database))
    verdict = rows.judge()
    print(table)

    assert run.entries_deleted > 0
    assert after[held] == offset
    assert all(after[topic] > before[topic] for topic in before.keys() - {held})
    assert line["held_by"] == f"WALHold {BACKUP}"
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert purges.entries_deleted() == sum(site.log_starts().values())
    assert {one.stage for one in purges.runs()} == {"Completed"}
    assert not any(one.finalizers for one in purges.runs())
    assert POLICY in table
