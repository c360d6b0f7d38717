"""The demonstration of the remote-WAL guide, on pods: a datanode is killed, and no row is lost."""

from __future__ import annotations

from seawall_e2e import guide
from seawall_e2e.refdb import INTERNAL_ERROR, WAL_CONFIG_MAP, RefDb, RefDbImages, greptimedb
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


def test_twelve_rows_survive_the_kill_of_a_datanode_because_it_replays_them_from_kafka(
    site: Site, refdb_images: RefDbImages
) -> None:
    site.install()
    wal = site.wal_cluster()
    plane = {"walConfig": {"configMapName": WAL_CONFIG_MAP}, "greptimedb": greptimedb(site.namespace)}
    wal.apply(site.pool(3), dataPlane=plane)
    wal.wait("Ready")
    database = RefDb(site.namespace, refdb_images)
    database.start()
    wal.wait("Connected", kind="DataPlaneReachable")
    wait_until(lambda: wal.status()["dataPlane"]["datanodes"] == 3, "three datanodes are seen", explain=wal.explain)
    created, *inserted, selected = database.execute(guide.CREATE_TABLE, *guide.INSERTS, guide.SELECT)
    assert "code" not in created, created
    assert [each["output"] for each in inserted] == [[{"affectedrows": 1}]] * len(guide.ROWS)
    before = selected["output"][0]["records"]["rows"]
    assert len(before) == 12
    assert [tuple(row[1:]) for row in before] == list(guide.ROWS)
    leaders = database.leaders()
    assert list(leaders.values()) == [0, 1, 2]
    first = min(leaders)

    with database.killed(0):
        (refused,) = database.execute(guide.SELECT)
        assert refused["code"] == INTERNAL_ERROR
        assert "datanode 0" in refused["error"]
        assert database.restarts("datanode-1") == database.restarts("datanode-2") == 0

    written = [region for answer in inserted for region in answer["regions"] if region["region_id"] == first]
    rows, last = sum(region["rows"] for region in written), max(region["entry_id"] for region in written)
    log = database.log("datanode-0")
    assert f"Replay WAL for region: {first}(1024, 1), rows recovered: {rows}, last entry id: {last}" in log
    assert log.index("Start replaying memtable") < log.index("Replay WAL") < log.index("starts to listen")
    assert rows == len("abcde")
    assert {region["topic"] for region in written} <= site.topics().keys()
    assert database.rows(guide.SELECT) == before
