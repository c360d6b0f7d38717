"""Purges all the time while rows are written; the operator dies, freezes, wakes up. Counts: results/purges.json.

Written and type-checked, and never run so far: issue 5 stays open for it.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import BROKERS
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, DatanodeKilled, FaultLog
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.operator_faults import LeadingPodCrashed, LeadingPodStopped
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site
from seawall_e2e.soak import SECONDS, write_counts

LATE_STEP_SECONDS = 5.0
"""What a process that wakes up had decided, it does at once."""


@pytest.mark.timeout(SECONDS + 900)
def test_purges_all_the_time_lose_no_acknowledged_row(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    site.install("replicas=2")
    database, faults, holds = database_in_sight, FaultLog(), Counter[str]()
    with AckedRows(database, checker_image) as rows, InvariantSampler(purges) as sampler:
        purges.apply_policy()
        purges.wait_for_a_whole_run()
        began = time.monotonic()
        for number in count():
            apply_one_of_each(number, site, database, rows, faults)
            holds += freeze_before_a_delete(site, purges, faults)
            if time.monotonic() - began >= SECONDS:
                break
        seconds = time.monotonic() - began
        purges.wait_for_a_whole_run()
        purges.suspend()
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
            "holds": holds,
            "ledgerSamples": sampler.samples,
            "ledgerUnanswered": sampler.unanswered,
            "leftAlone": sampler.reasons,
            "violations": sampler.violations,
            **verdict,
        },
    )
    assert sampler.violations == []
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert runs["Completed"] > 0
    assert all(site.log_starts().values())
    assert holds["granted"] > 0, "no hold was granted while a leader was frozen"
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


def freeze_before_a_delete(site: Site, purges: Purges, faults: FaultLog) -> Counter[str]:
    """The leader is frozen when it is about to delete; another grants a hold; then the first one goes on.

    Returns how many topics were `granted`, `lost` (the intent was written already) and `overtaken`, which must not be.
    """
    purges.wait_for_deletes_to_be_near()
    with faults.apply(LeadingPodStopped(site.operator)):
        held = site.log_starts()
        names = {topic: f"late-{number}" for number, topic in enumerate(sorted(held))}
        states = {topic: purges.request(names[topic], {topic: held[topic]}) for topic in held}
    time.sleep(LATE_STEP_SECONDS)
    purges.wait_for_a_whole_run()
    after = site.log_starts()
    granted = [topic for topic, state in states.items() if state in {"Active", "Extended", "AtRisk"}]
    for name in names.values():
        purges.let_go(name)
    return Counter(
        granted=len(granted),
        lost=sum(state == "Lost" for state in states.values()),
        overtaken=sum(after[topic] > held[topic] for topic in granted),
    )
