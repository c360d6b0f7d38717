"""A part of the demo: the WAL is mirrored to a second Kafka at its own offsets, and the database goes on with that."""

from __future__ import annotations

import json

from seawall_e2e import guide
from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import kubectl
from seawall_e2e.demo_restore import readopt
from seawall_e2e.mirrors import NAME, Mirror, start_second_kafka
from seawall_e2e.objects import find
from seawall_e2e.purges import SEAWALL
from seawall_e2e.refdb import WAL_CONFIG_MAP, RefDb, in_sight
from seawall_e2e.subscriptions import build_subscription_image
from seawall_e2e.telling import run_and_say, run_and_show, say, step, tell
from seawall_e2e.waiting import wait_until


def go_on_with_the_mirror(wal: WALCluster, database: RefDb, prefix: str, count: int) -> None:
    """A mirror, its promotion, and a database that starts on the copy: the rows are those of before."""
    mirror = Mirror(wal, build_subscription_image())
    with step("A second Kafka, and a WALSubscription that mirrors every topic there, at the same offsets"):
        servers = start_second_kafka()
        mirror.begin(servers)
        mirror.wait("Streaming")
        database.execute(*guide.INSERTS)
        run_and_show("-n", wal.namespace, "get", "walsub,walh")
    with step("The database stops, and the copy is promoted: nobody else writes to it any more, and nothing is lost"):
        before = database.rows(guide.SELECT)
        database.stop()
        mirror.edit(promote="Switchover")
        done = mirror.wait("Promoted", within=240)["promotion"]
        run_and_show("-n", wal.namespace, "get", "walsub")
        say(json.dumps({key: value for key, value in done.items() if key != "topics"}, indent=1))
        if done["lostEntries"]:
            raise AssertionError(f"entries were lost: {done}")
    with step("The WALCluster is declared anew, on the other Kafka, and the database starts with what it renders"):
        kubectl("-n", wal.namespace, "delete", "walsub", NAME)
        wal.delete()
        wait_until(lambda: find(wal.namespace, "configmaps", WAL_CONFIG_MAP) is None, "its configuration went with it")
        topics = {"prefix": prefix, "count": count, "replicationFactor": 1}
        wal.apply(topics, kafka={"bootstrapServers": [servers]}, dataPlane=in_sight(wal.namespace))
        wait_until(lambda: find(wal.namespace, "configmaps", WAL_CONFIG_MAP), "the other Kafka's is there")
        database.start_again()
        wal.wait("Ready", within=120)
        if database.rows(guide.SELECT) != before:
            raise AssertionError("the rows are not the same")
        tell(f"the {len(before)} rows are all there, read from the copy")
    with step("The claim on the database is the old WALCluster's: a person says that the new one has taken its place"):
        wal.wait("Connected", kind="DataPlaneReachable")
        readopt(wal, "it goes on with its mirror")
        wal.wait("Intact", kind="WALIntact")
        wait_until(lambda: wal.status()["dataPlane"]["claimed"], "the database is claimed", explain=wal.explain)
        run_and_say(str(SEAWALL), "status", wal.name, "-n", wal.namespace)
