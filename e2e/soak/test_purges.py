"""Purges all the time while rows are written; the operator dies, freezes, wakes up. Counts: results/purges.json."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import BROKERS
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, DatanodeKilled, FaultLog
from seawall_e2e.invariants import GRANTED, InvariantSampler
from seawall_e2e.operator_faults import LeadingPodCrashed, StoppedBeforeDelete
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site
from seawall_e2e.soak import OFTEN, SECONDS, write_counts


@pytest.mark.timeout(SECONDS + 900)
def test_purges_all_the_time_lose_no_acknowledged_row(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    site.operator.scale(2)
    database, faults, holds = database_in_sight, FaultLog(), Counter[str]()
    with AckedRows(database, checker_image, period=OFTEN) as rows, InvariantSampler(site, rows) as sampler:
        purges.apply_policy()
        began = time.monotonic()
        for number in count():
            holds += stop_before_a_delete(number, site, purges, faults)
            apply_one_of_each(number, site, database, rows, faults)
            sampler.check()
            if time.monotonic() - began >= SECONDS:
                break
        seconds = time.monotonic() - began
        purges.wait_for_a_whole_run()
        purges.suspend()
        purges.wait_until_over()
        rows.wait_for_more(50, readings=1)
    faults.run(AllDatanodesKilled(database))

    verdict = rows.judge()

    runs = Counter(str(one.stage) for one in purges.runs())
    write_counts(
        "purges",
        {
            "seconds": round(seconds),
            "faults": faults.counts,
            "runs": runs,
            "entriesDeleted": purges.entries_deleted(),
            "holdsWhileStopped": holds,
            "samples": sampler.samples,
            "unanswered": sampler.unanswered,
            "regionsWithRowsOnlyInTheLog": sampler.largest["needed"],
            "violations": sampler.violations,
            **verdict,
        },
    )
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert runs["Completed"] > 0
    assert all(site.log_starts().values())
    assert sampler.samples > 0
    assert holds["granted"] > 0
    assert holds["granted"] == holds["lost"]
    assert holds["overtaken"] == 0


def apply_one_of_each(number: int, site: Site, database: RefDb, rows: AckedRows, faults: FaultLog) -> None:
    """One round: the operator dies twice, once while a datanode is down, and a broker dies."""
    victim = number % DATANODES
    faults.run(LeadingPodCrashed(site.operator))
    with faults.apply(DatanodeKilled(database, victim)):
        faults.run(LeadingPodCrashed(site.operator))
        rows.wait_for_more(10)
    rows.wait_until_written_everywhere()
    with faults.apply(BrokerKilled(site, number % BROKERS)):
        rows.wait_until_written_everywhere()


def stop_before_a_delete(number: int, site: Site, purges: Purges, faults: FaultLog) -> Counter[str]:
    """The leader is stopped right before it deletes; another grants a hold; then the first one goes on.

    Of each topic with a delete under way a hold at its intent must be `granted`, one below it `lost`. Returns how
    many were, and how many of the granted ones were `overtaken`, which must not be.
    """
    stop = StoppedBeforeDelete(site)
    with faults.apply(stop):
        stop.wait_for_another()
        at = purges.request(f"at-{number}", stop.pending)
        below = purges.request(f"below-{number}", {topic: intent - 1 for topic, intent in stop.pending.items()})
    purges.wait_for_a_whole_run()
    starts = site.log_starts()
    overtaken = sum(starts[topic] > intent for topic, intent in stop.pending.items())
    purges.let_go(f"at-{number}")
    return Counter(granted=at in GRANTED, lost=below == "Lost", overtaken=overtaken)
