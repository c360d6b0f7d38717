"""A part of the demo: the WAL is backed up, Kafka loses all its disks, and the log comes back at its own offsets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from seawall_e2e import guide
from seawall_e2e.acked_rows import TABLE
from seawall_e2e.backups import build_backup_image
from seawall_e2e.cluster import WALCluster, wipe_kafka
from seawall_e2e.purges import SEAWALL
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.restores import RESTORE, Restores
from seawall_e2e.telling import run_and_say, run_and_show, say, step, tell

BACKUP = "before-the-fire"


def lose_kafka(wal: WALCluster, database: RefDb) -> None:
    """A backup, a fire, and a restore that a person approves; the rows are those of before."""
    jobs = Restores(wal, build_backup_image())
    with step("Rows that are in the log only, and a WALBackup of it on Spark, which reads back all that it wrote"):
        # Of rows in memory that have been there for long nobody says the ids: a restore would ask for this flush.
        database.execute(f"ADMIN flush_table('{TABLE}')", *guide.INSERTS)
        before = database.rows(guide.SELECT)
        jobs.declare()
        made = jobs.back_up(BACKUP, verify={"level": "Checksums"})  # Integrity finds the bad record of before
        run_and_show("-n", wal.namespace, "get", "walb", "-o", "wide")
        tell(f"{made.records} records of {len(made.ranges)} topics")
    with step("Kafka loses all its disks. Seawall makes no empty logs under a database that would skip their rows"):
        cluster_id = str(wal.status()["kafka"]["clusterId"])
        wipe_kafka()
        wal.wait("TopicLost", within=120)
        run_and_show("-n", wal.namespace, "get", "walc", wal.name)
    with step("A WALRestore plans what comes back, and waits for a person, and for the database to stop"):
        jobs.begin_restore(cluster_id)
        plan = jobs.wait_for_restore("AwaitingApproval")["plan"]
        run_and_say(str(SEAWALL), "restore", "plan", RESTORE, "-n", wal.namespace)
        database.scale(0)
        run_and_say(str(SEAWALL), "restore", "approve", RESTORE, plan["digest"], "-n", wal.namespace)
        done = jobs.wait_for_restore("Completed")
        run_and_show("-n", wal.namespace, "get", "walrs")
        say(json.dumps([row for row in done["topics"] if row["planned"]][:3], indent=1))
    with step("Topics that no region has used are in no backup: a person gives them up, and they are made anew"):
        readopt(wal, "no region used them")
        wal.wait("Ready", within=120)
    with step("The database starts, and replays the log at the offsets that it knows"):
        database.scale(DATANODES)
        wal.wait("Intact", kind="WALIntact", within=120)
        if database.rows(guide.SELECT) != before:
            raise AssertionError("the rows are not the same")
        tell(f"the {len(before)} rows are all there; {plan['lostAtMost']} offsets were lost")


def readopt(wal: WALCluster, why: str) -> None:
    """A person says for an hour that what differs from before is right."""
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    run_and_show("-n", wal.namespace, "annotate", "walc", wal.name, f"seawall.dev/readopt={why}@{until}")
