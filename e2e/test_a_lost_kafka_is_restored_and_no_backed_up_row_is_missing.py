"""Two backups, between which all that nobody holds is purged; then Kafka's disks are wiped, and its log comes back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.backups import NEXT
from seawall_e2e.cluster import wipe_kafka
from seawall_e2e.commands import Object
from seawall_e2e.faults import AllDatanodesKilled, FaultLog, TableFlushed
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import DATANODES, RefDb, in_sight
from seawall_e2e.restarts import RIGHTS, STATEFUL_SET
from seawall_e2e.restores import Restores
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


def wait_for_purge(purges: Purges, is_done: Callable[[], bool], what: str) -> None:
    """Waits until the runs of the policy have come so far."""
    wait_until(is_done, f"{what} is purged", within=90, explain=purges.explain)


def bring_back(jobs: Restores, site: Site, database: RefDb, cluster_id: str) -> tuple[Object, Object, Object]:
    """A plan, an approval, a database that is stopped late: the plan, what was made before that, and the end."""
    jobs.begin_restore(cluster_id)
    plan = jobs.wait_for_restore("AwaitingApproval")["plan"]
    jobs.approve(plan)
    jobs.wait_for_reason("DatabaseRunning")
    made_while_it_ran = site.topics()
    database.scale(0)
    return plan, made_while_it_ran, jobs.wait_for_restore("Completed")


# Four Spark applications one after another, a Kafka that starts anew, half a minute of silence. Each wait in it has its
# own bound.
@pytest.mark.timeout(1200)
@pytest.mark.helm_values("replayVerification.create=true", RIGHTS)
def test_no_backed_up_row_is_missing_and_new_ones_survive_the_next_replay(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, backup_image: str
) -> None:
    database, faults, wal = database_in_sight, FaultLog(), site.wal_cluster()
    flush = TableFlushed(database, TABLE)
    datanodes = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}}
    wal.apply(site.pool(4, maxMessageBytes="16Ki"), dataPlane={**in_sight(site.namespace), **datanodes})
    jobs = Restores(wal, backup_image)
    with AckedRows(database, checker_image) as rows:
        jobs.begin_once()
        faults.run(flush)
        purges.apply_policy(interval="15s", topics=sorted(site.topics()), safety=FAST)
        (first,) = jobs.wait_until_completed(1)
        held = {topic: end for topic, (_, end) in first.ranges.items()}
        rows.wait_until_written_everywhere()
        faults.run(flush)
        wait_for_purge(
            purges, lambda: all(site.log_starts()[topic] >= end for topic, end in held.items()), "what is backed up"
        )
        rows.wait_until_written_everywhere()
    purges.suspend()
    jobs.continue_from(first)  # its driver begins while the last run ends
    purges.wait_until_over()
    starts = site.log_starts()
    second = jobs.wait_for(NEXT)
    cluster_id = str(wal.status()["kafka"]["clusterId"])

    wipe_kafka()
    wal.wait("TopicLost", within=120)
    plan, made_while_it_ran, done = bring_back(jobs, site, database, cluster_id)
    restored = site.toolbox.offsets(f"{site.prefix}_")
    database.scale(DATANODES)
    wal.wait("Ready", within=120)
    wal.wait("Intact", kind="WALIntact", within=120)
    purges.resume()
    with AckedRows(database, checker_image) as rows:
        rows.wait_until_written_everywhere()
        faults.run(flush)
        wait_for_purge(
            purges,
            lambda: any(start > restored[topic][0] for topic, start in site.log_starts().items()),
            "what was restored and is flushed",
        )
        faults.run(AllDatanodesKilled(database))
    verdict = rows.judge()
    print(jobs.table(), plan, done["topics"], sep="\n")

    assert (second.parent, second.chain, second.reason) == (first.name, first.chain, "BackedUp")
    assert {topic: start for topic, (start, _) in second.ranges.items()} == held
    for topic, end in held.items():
        assert starts[topic] == end, "purged up to what the first backup has, and no further"
    assert made_while_it_ran == {}
    assert plan["lostAtMost"] == 0, "nothing was written since the newest backup"
    for row in done["topics"]:
        start, end = first.ranges[row["name"]][0], second.ranges[row["name"]][1]
        assert restored[row["name"]] == (row["start"], row["end"]) == (start, end)
    assert verdict["holds"]
    assert verdict["lost"] == 0
