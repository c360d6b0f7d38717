"""Topics are purged all the time while rows are written, and everything is killed or stopped: no row is lost.

The operator is stopped right before a delete; another takes over and grants a hold; then the first one goes on. The
invariants are sampled throughout.
"""

from __future__ import annotations

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, DatanodeKilled, FaultKind, FaultLog
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.operator_faults import OperatorKilled, StoppedBeforeDelete
from seawall_e2e.purges import POLICY, Purges
from seawall_e2e.refdb import RefDb
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
    faults.run(AllDatanodesKilled(database))
    purges.wait_until_over()
    verdict = rows.judge()
    print(table, f"{sampler.samples} samples, {sampler.unanswered} unanswered, {dict(sampler.largest)}", sep="\n")

    assert below == "Lost"
    assert site.log_starts()[held] == offset
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert sampler.samples >= 10
    assert sampler.largest["needed"] == rows.partitions, "rows that were only in the log were seen of all regions"
    assert sampler.largest["granted"] == 1
    assert faults.counts[FaultKind.OPERATOR_KILLED] == 2
    assert faults.counts[FaultKind.OPERATOR_STOPPED] == 1
    assert purges.entries_deleted() == sum(site.log_starts().values())
    assert {one.stage for one in purges.runs()} == {"Completed"}
    assert not any(one.finalizers for one in purges.runs())
    assert POLICY in table
