"""The demonstration of the remote-WAL guide: kill a datanode, lose nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses

pytestmark = pytest.mark.integration
REGION = 4398046511105


def test_twelve_rows_survive_the_kill_of_datanode_0(guide: RefDbProcesses) -> None:
    rows = guide.rows("SELECT * FROM dist_table")
    assert [row[1:] for row in rows] == [[n, i + 1] for i, n in enumerate("abcdefghijkl")]

    guide.datanodes[0].kill()
    answer = guide.sql("SELECT * FROM dist_table")
    assert answer["code"] == 1003
    assert "datanode 0" in answer["error"]

    guide.start_datanode(0)
    log = guide.datanodes[0].log_since_start()
    assert f"Start replaying memtable at flushed_entry_id + 1 1 for region {REGION}(1024, 1)" in log
    assert f"Replay WAL for region: {REGION}(1024, 1), rows recovered: 5, last entry id: 5" in log
    assert log.index("Replay WAL") < log.index("all regions are opened") < log.index("starts to listen")
    assert guide.rows("SELECT * FROM dist_table") == rows


def test_after_a_flush_there_is_less_to_replay(guide: RefDbProcesses) -> None:
    rows = guide.rows("SELECT * FROM dist_table")
    assert "code" not in guide.sql(f"ADMIN flush_region({REGION})")
    guide.sql('INSERT INTO dist_table(n, row_num) VALUES ("cc", 13)')
    guide.datanodes[0].kill()
    guide.start_datanode(0)
    log = guide.datanodes[0].log_since_start()
    assert "flushed_entry_id + 1 6 for region" in log
    assert "rows recovered: 1, last entry id: 6" in log
    assert [row for row in guide.rows("SELECT * FROM dist_table") if row[1] != "cc"] == rows
    assert guide.rows("SELECT COUNT(*) FROM dist_table") == [[13]]


def test_a_table_is_flushed_as_a_whole(guide: RefDbProcesses) -> None:
    assert "code" not in guide.sql("ADMIN flush_table('dist_table')")
    for index in range(3):
        guide.datanodes[index].kill()
        guide.start_datanode(index)
        assert re.search(r"rows recovered: 0", guide.datanodes[index].log_since_start())
    assert guide.rows("SELECT COUNT(*) FROM dist_table") == [[12]]


def test_a_cut_says_up_to_which_entry_its_rows_go(guide: RefDbProcesses) -> None:
    cut = guide.sql("SELECT * FROM dist_table", cut=True)["regions"]
    assert [region["applied_entry_id"] for region in cut[:2]] == [5, 7]
    wrote = guide.sql("INSERT INTO dist_table(n, row_num) VALUES ('a1', 1), ('a2', 2), ('g1', 3)", cut=True)
    assert [(r["region_id"], r["entry_id"], r["rows"]) for r in wrote["regions"]] == [
        (REGION, 6, 2),
        (REGION + 1, 8, 1),
    ]
    after = guide.sql("SELECT * FROM dist_table", cut=True)["regions"]
    assert [r["applied_entry_id"] for r in after[:2]] == [r["entry_id"] for r in wrote["regions"]]


def test_region_peers_and_admin_interface(guide: RefDbProcesses) -> None:
    peers = guide.rows("SELECT region_id, peer_id, status FROM information_schema.region_peers ORDER BY region_id")
    assert peers == [[REGION + n, n, "ALIVE"] for n in range(3)]
    listed = "SELECT peer_type, peer_id, version FROM information_schema.cluster_info"
    nodes = guide.rows(f"{listed} ORDER BY peer_type, peer_id")
    assert nodes == [*(["DATANODE", n, "1.1.0"] for n in range(3)), ["METASRV", 0, "1.1.0"]]
    stats = guide.admin("/admin/heartbeat")
    assert [history[-1]["id"] for history in stats] == [0, 1, 2]
    region = stats[0][-1]["region_stats"][0]
    assert region["id"] == REGION
    assert region["region_manifest"]["Mito"]["flushed_entry_id"] == 0
    guide.metasrv.wait_ready(lambda: topic_stats(guide) == [(f"wal_{guide.prefix}_0", 5, 5)], 20)
    assert guide.admin("/admin/maintenance/status") == {"enabled": False}
    assert guide.admin("/admin/maintenance/enable", post=True) == {"enabled": True}
    assert guide.admin("/admin/maintenance/status") == {"enabled": True}
    assert guide.admin("/admin/leader") == guide.metasrv_address
    assert "test database" in guide.admin("/health")["note"]


def topic_stats(db: RefDbProcesses) -> list[tuple[str, int, int]]:
    stats = db.admin("/admin/heartbeat")[0][-1]["topic_stats"]
    assert all(topic["record_size"] > 80 * topic["record_num"] for topic in stats)
    return [(topic["topic"], topic["latest_entry_id"], topic["record_num"]) for topic in stats]


@pytest.fixture(scope="module")
def shared(one_kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[RefDbProcesses]:
    with RefDbProcesses(one_kafka.bootstrap_servers, etcd, datanodes=1) as db:
        assert "code" not in db.sql("CREATE TABLE dist_table(ts TIMESTAMP TIME INDEX, n STRING, row_num INT)")
        yield db


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC * FROM dist_table", 1004),
        ("SELECT * FROM nothing", 4001),
        ("INSERT INTO nothing VALUES (1)", 4001),
        ("ADMIN flush_table('nothing')", 4001),
        ("SELECT nothing FROM dist_table", 1004),
        ("INSERT INTO dist_table(n, row_num) VALUES (1, 2)", 1004),
        ("INSERT INTO dist_table(n, row_num) VALUES ('a', 9999999999)", 1004),
        ("CREATE TABLE t (n STRING)", 1004),
        ("ADMIN discard_unflushed('dist_table')", 1004),
        ("ADMIN flush_region(7)", 4005),
    ],
)
def test_statements_that_make_no_sense(shared: RefDbProcesses, sql: str, code: int) -> None:
    answer = shared.sql(sql)
    assert answer["code"] == code, answer
    assert answer["error"]
