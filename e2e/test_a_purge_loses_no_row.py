"""Topics are purged all the time while rows are written, and everything is killed or stopped: no row is lost.

The operator is stopped right before a delete; another takes over and grants a hold; then the first one goes on. A
broker and datanodes are killed, and a leader is stopped until others lead its regions, and comes back. The invariants
are sampled throughout.
"""

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
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.operator_faults import OperatorKilled, StoppedBeforeDelete
from seawall_e2e.purges import POLICY, Purges
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

BACKUP, LATE = "backup", "late"


def test_topics_shrink_to_a_hold_and_no_acknowledged_row_is_lost_whatever_is_killed_or_stopped(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    database, faults, stop = database_in_sight, FaultLog(), StoppedBeforeDelete(site)
    site.operator.scale(2)
    with AckedRows(database, checker_image) as rows, InvariantSampler(site, rows) as sampler:
        purges.apply_policy()
        with faults.apply(stop):
            held, offset = min(stop.pending.items())
            faults.run(DatanodeKilled(database, 0))
            stop.wait_for_another()
            purges.hold(BACKUP, {held: offset}, reason="nightly backup")
            below = purges.request(LATE, {held: offset - 1}, reason="below what is about to be deleted")
        before = site.log_starts()
        with faults.apply(BrokerKilled(site, 0)):
            faults.run(OperatorKilled(site.operator), OperatorKilled(site.operator))
            rows.wait_until_written_everywhere()
        kill_and_stop_datanodes(database, rows, faults)

        def shrink() -> bool:
            sampler.check()
            starts = site.log_starts()
            others = all(starts[topic] > start for topic, start in before.items() if topic != held)
            return others and starts[held] == offset

        wait_until(shrink, "topics shrink, one of them to its hold", within=150, every=1, explain=purges.explain)
        # Until its regions flush once more, they need what the hold protects themselves, and are named first.
        wait_until(
            lambda: purges.ledger()[held]["held_by"] == f"WALHold {BACKUP}",
            "the hold alone keeps its topic",
            every=1,
            explain=purges.explain,
        )
        table = purges.table("walp", "walh", "walpp")
        purges.suspend()
        rows.wait_for_more(50, readings=1)
    faults.run(AllDatanodesKilled(database))  # what is only in memory does not count
    purges.wait_until_over()
    verdict = rows.judge()
    print(table, f"{sampler.samples} samples, {sampler.unanswered} unanswered, {dict(sampler.largest)}", sep="\n")

    assert below == "Lost"
    assert site.log_starts()[held] == offset
    assert purges.entries_deleted() == sum(site.log_starts().values())
    assert {one.stage for one in purges.runs()} == {"Completed"}
    assert not any(one.finalizers for one in purges.runs())
    assert POLICY in table
    assert sampler.samples >= 10
    assert sampler.largest["needed"] == rows.partitions, "rows that were only in the log were seen of all regions"
    assert sampler.largest["granted"] == 1
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["read"] >= verdict["acked"] >= 500
    assert verdict["regions"] == rows.partitions
    assert verdict["topics"] == 4
    assert verdict["readings"] >= 5
    assert verdict["failedWrites"], "no write failed: the faults did not reach the writers"
    assert_every_fault_was_applied(faults)


def kill_and_stop_datanodes(database: RefDb, rows: AckedRows, faults: FaultLog) -> None:
    """Each datanode is killed after a flush; one is stopped until others lead its regions, and comes back to them."""
    for datanode in range(DATANODES):
        faults.run(*homecoming(database), TableFlushed(database, TABLE))
        rows.wait_for_more(50)
        with faults.apply(DatanodeKilled(database, datanode)):
            rows.wait_for_more(10)  # the others go on
        rows.wait_until_written_everywhere()
    faults.run(*homecoming(database))
    with faults.apply(LeaderStopped(database, 1)):
        rows.wait_until_written_everywhere()  # soon: the writes that wait at the stopped leader must see it wake up
    faults.run(DatanodeKilled(database, 2))  # which took regions over
    faults.run(*homecoming(database))
    rows.wait_until_written_everywhere()


def assert_every_fault_was_applied(faults: FaultLog) -> None:
    """Each as often as this test means it; regions go home after the stop of their leader at least."""
    moves = faults.counts[FaultKind.REGION_MOVED]
    assert faults.counts == {
        FaultKind.REGION_MOVED: moves,
        FaultKind.OPERATOR_STOPPED: 1,
        FaultKind.OPERATOR_KILLED: 2,
        FaultKind.BROKER_KILLED: 1,
        FaultKind.TABLE_FLUSHED: DATANODES,
        FaultKind.DATANODE_KILLED: DATANODES + 2,
        FaultKind.LEADER_STOPPED: 1,
        FaultKind.ALL_DATANODES_KILLED: 1,
    }
    assert moves >= 2, "the regions of the stopped leader did not go home"
