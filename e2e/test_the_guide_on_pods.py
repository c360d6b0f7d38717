"""The table of the remote-WAL guide on pods: a killed datanode replays it; what cannot be replayed is told of.

Each test looks at another region, so that both do with one database, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from seawall_e2e import guide
from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import run
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import INTERNAL_ERROR, RefDb, RefDbImages, in_sight
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


@dataclass(frozen=True)
class Shown:
    """The guide's table in a database without failover, at which the operator looks."""

    site: Site
    database: RefDb
    inserted: list[dict[str, Any]]
    """What the database answered to the guide's inserts."""
    rows: list[list[Any]]


@pytest.fixture(scope="module")
def shown(shared_site: Site, refdb_images: RefDbImages) -> Shown:
    """Three regions on three datanodes and in three topics."""
    site = shared_site
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(3), dataPlane=in_sight(site.namespace))
    wal.wait("Ready")
    database = RefDb(site.namespace, refdb_images)
    database.start()
    created, *inserted, selected = database.execute(guide.CREATE_TABLE, *guide.INSERTS, guide.SELECT)
    assert "code" not in created, created
    assert [each["output"] for each in inserted] == [[{"affectedrows": 1}]] * len(guide.ROWS)
    assert list(database.leaders().values()) == [0, 1, 2]
    wal.wait("Intact", kind="WALIntact")
    return Shown(site, database, inserted, selected["output"][0]["records"]["rows"])


# In every run: the same database without pods (e2e/refdb/tests/test_the_guide.py), a topic that is made again
# (operator/tests/integration/test_purge.py), and its datanodes on pods (test_a_roll_waits_for_the_wal.py).
pytestmark = pytest.mark.soak
AS_RENDERED = ("AsDeclared", "the metasrv's [wal] is as declared, and that of 3 datanodes")


def _config_of(wal: WALCluster) -> tuple[str, str]:
    """What is said of the `[wal]` that the database's pods mount."""
    (found,) = (each for each in wal.status()["conditions"] if each["type"] == "DataPlaneConfigDiffers")
    return found["reason"], found["message"]


def test_twelve_rows_survive_the_kill_of_a_datanode_because_it_replays_them_from_kafka(shown: Shown) -> None:
    database, wal = shown.database, shown.site.wal_cluster()
    wal.wait("Connected", kind="DataPlaneReachable")
    wait_until(lambda: wal.status()["dataPlane"]["datanodes"] == 3, "three datanodes are seen", explain=wal.explain)
    wait_until(lambda: _config_of(wal) == AS_RENDERED, "each datanode says what it runs with", explain=wal.explain)
    assert len(shown.rows) == 12
    assert [tuple(row[1:]) for row in shown.rows] == list(guide.ROWS)
    first = min(database.leaders())

    with database.killed(0):
        (refused,) = database.execute(guide.SELECT)
        assert refused["code"] == INTERNAL_ERROR
        assert "datanode 0" in refused["error"]
        assert database.restarts("datanode-1") == database.restarts("datanode-2") == 0

    written = [region for answer in shown.inserted for region in answer["regions"] if region["region_id"] == first]
    rows, last = sum(region["rows"] for region in written), max(region["entry_id"] for region in written)
    log = database.log("datanode-0")
    assert f"Replay WAL for region: {first}(1024, 1), rows recovered: {rows}, last entry id: {last}" in log
    assert log.index("Start replaying memtable") < log.index("Replay WAL") < log.index("starts to listen")
    assert rows == len("abcde")
    assert {region["topic"] for region in written} <= shown.site.topics().keys()
    assert database.rows(guide.SELECT) == shown.rows


def test_a_topic_that_was_recreated_breaks_the_fence_and_is_not_purged(shown: Shown) -> None:
    """It takes writes that no restart would replay."""
    site = shown.site
    wal, purges = site.wal_cluster(), Purges(site.wal_cluster(), site.operator)
    topic = str(shown.inserted[-1]["regions"][0]["topic"])

    site.toolbox.delete_topics(topic)
    wal.wait("TopicLost", kind="WALIntact")
    purges.readopt("a test gives it up")  # it is made again, and the regions know of ids beyond its end
    wal.wait("IdentityFenceBroken", kind="WALIntact")
    purged = purges.purge_once("after", topics=[topic], flush={"whenBehindEntries": 1, "timeout": "5s"})

    assert purged.skipped == {topic: "IdentityFenceBroken"}
    assert site.log_starts()[topic] == 0
    line = purges.ledger()[topic]
    assert line["reason"] == "IdentityFenceBroken"
    assert line["purge_to"] is None
    assert "seawall.dev/readopt" in run(*purges.ledger_command("--topic", topic))
