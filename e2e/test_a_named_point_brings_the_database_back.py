"""A restore point is made while rows are written; later all is wrong, and the database goes back to it."""

from __future__ import annotations

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.faults import AllDatanodesKilled, FaultLog, TableFlushed
from seawall_e2e.object_store import start_object_store
from seawall_e2e.refdb import RefDb, in_sight
from seawall_e2e.restarts import RIGHTS, STATEFUL_SET
from seawall_e2e.restores import Restores
from seawall_e2e.site import Site

POINT = "before-upgrade"
MADE = "CREATE TABLE {} (at TIMESTAMP TIME INDEX, v DOUBLE)"
WRITTEN = "INSERT INTO {} (at, v) VALUES ({}, {})"


@pytest.mark.helm_values("replayVerification.create=true", RIGHTS)
@pytest.mark.timeout(900)  # three Spark applications one after another; each wait in it has its own bound
def test_all_rows_of_the_point_are_there_and_nothing_later_is(
    site: Site, database_in_sight: RefDb, checker_image: str, backup_image: str, s3_image: str
) -> None:
    database, faults, wal = database_in_sight, FaultLog(), site.wal_cluster()
    datanodes = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}}
    wal.apply(site.pool(4, maxMessageBytes="16Ki"), dataPlane={**in_sight(site.namespace), **datanodes})
    store = start_object_store(site.namespace, s3_image)
    jobs = Restores(wal, backup_image, store.storage)
    database.execute(MADE.format("early"), WRITTEN.format("early", 1, 1.0))
    with AckedRows(database, checker_image) as rows:
        jobs.begin_point(POINT)
        rows.wait_until_written_everywhere()
        saved = jobs.run_snapshot("save", POINT)
        faults.run(TableFlushed(database, TABLE))  # into files that the snapshot does not have
        rows.wait_until_written_everywhere()
    point = jobs.end_point(POINT, f"claim:snapshots/{POINT}")

    database.execute(WRITTEN.format("early", 2, 2.0), MADE.format("late"), WRITTEN.format("late", 1, 1.0))
    ends = site.toolbox.offsets(f"{site.prefix}_")
    database.stop()
    site.toolbox.delete_topics(f"{site.prefix}_")
    wal.wait("TopicLost", within=120)
    jobs.begin_restore(str(wal.status()["kafka"]["clusterId"]), target={"point": POINT}, padAboveFlushed=False)
    plan = jobs.wait_for_restore("AwaitingApproval")["plan"]
    jobs.approve(plan)
    restored = jobs.run_snapshot("restore", POINT)
    jobs.wait_for_restore("Completed")
    logs = site.toolbox.offsets(f"{site.prefix}_")
    published = f"{jobs.published()}\n{site.operator.log(-1)}"
    database.start_again()
    wal.wait("Ready", within=120)
    wal.wait("Intact", kind="WALIntact", within=120)
    early, (late,) = database.rows("SELECT v FROM early"), database.execute("SELECT v FROM late")
    with AckedRows(database, checker_image) as rows:
        rows.wait_until_written_everywhere()
        faults.run(AllDatanodesKilled(database))
    verdict = rows.judge()
    print(jobs.table(), plan, saved, restored, point.ranges, ends, sep="\n")

    assert plan["restorePoint"] == {"name": POINT, "snapshot": f"claim:snapshots/{POINT}"}
    assert logs == point.ranges
    assert "s3-root" in published
    assert not [key for key in store.keys if key in published], "the keys of the store are for the job's pods alone"
    assert sum(end for _, end in logs.values()) < sum(end for _, end in ends.values()), "later records are given up"
    assert early == [[1.0]]
    assert "code" in late, "its table was made after the point"
    assert verdict["holds"]
    assert verdict["lost"] == 0
