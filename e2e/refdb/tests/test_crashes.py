"""kill -9, SIGSTOP and migrations while rows are written: what was acknowledged is there."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable

import pytest
from writers import FIRST, TABLE, Writers, lost

from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses, wait_healthy

pytestmark = pytest.mark.integration


def test_kill_9_in_the_middle_of_writes_loses_no_acknowledged_row(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(datanodes=2)
    assert "code" not in db.sql(TABLE)
    with Writers(db) as writers:
        for victim in (0, 1, 0):
            writers.wait_for_more(40)
            if victim == 1:
                db.sql("ADMIN flush_table('t')")
            db.datanodes[victim].kill()
            db.start_datanode(victim)
        writers.wait_for_more(40)
    assert lost(db, writers) == set()


def test_a_stopped_leader_that_wakes_up_after_failover_acknowledges_nothing(
    make_db: Callable[..., RefDbProcesses],
) -> None:
    db = make_db(datanodes=2, flags=("--lease=2", "--dead-after=2"))
    assert "code" not in db.sql(TABLE)
    with Writers(db) as writers:
        writers.wait_for_more(40)
        db.datanodes[0].signal(signal.SIGSTOP)
        time.sleep(0.5)
        assert "code" not in db.sql(f"ADMIN migrate_region({FIRST}, 0, 1)")
        writers.wait_for_more(20)
        db.datanodes[0].signal(signal.SIGCONT)
        writers.wait_for_more(40)
    assert lost(db, writers) == set()
    told = f"Region {FIRST}(1024, 1) is led by another datanode now"
    db.datanodes[0].wait_ready(lambda: told in db.datanodes[0].log_since_start(), 30)
    db.datanodes[1].kill()
    db.start_datanode(1)
    assert lost(db, writers) == set()


def test_a_region_moves_while_it_is_written(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(datanodes=2)
    assert "code" not in db.sql(TABLE)
    with Writers(db) as writers:
        for source, target in ((0, 1), (1, 0)):
            writers.wait_for_more(30)
            assert "code" not in db.sql(f"ADMIN migrate_region({FIRST}, {source}, {target})")
        writers.wait_for_more(30)
    assert lost(db, writers) == set()
    assert db.sql(f"ADMIN migrate_region({FIRST}, 1, 0)")["code"] == 1004


def test_without_etcd_writes_go_on_and_metadata_changes_fail(
    make_db: Callable[..., RefDbProcesses], etcd: EtcdProcess
) -> None:
    db = make_db(datanodes=1)
    assert "code" not in db.sql(TABLE)
    db.sql("INSERT INTO t(ts, k) VALUES (1, 'before')")
    etcd.kill()
    try:
        time.sleep(6)  # longer than leases and than what the frontend remembers
        assert db.sql("INSERT INTO t(ts, k) VALUES (2, 'without')")["output"] == [{"affectedrows": 1}]
        assert len(db.rows("SELECT * FROM t")) == 2
        answer = db.sql(TABLE.replace("TABLE t", "TABLE other"))
        assert answer["code"] == 1003
        assert "metadata store" in answer["error"]
        assert "metadata store" in db.sql(f"ADMIN migrate_region({FIRST}, 0, 1)")["error"]
    finally:
        etcd.start()
    assert "code" not in db.sql(TABLE.replace("TABLE t", "TABLE other"))


def test_a_datanode_that_starts_without_etcd_waits_and_does_not_listen(
    make_db: Callable[..., RefDbProcesses], etcd: EtcdProcess
) -> None:
    db = make_db(datanodes=1)
    assert "code" not in db.sql(TABLE)
    db.sql("INSERT INTO t(ts, k) VALUES (1, 'before')")
    db.datanodes[0].kill()
    etcd.kill()
    try:
        db.datanodes[0].start()
        db.datanodes[0].wait_ready(lambda: db.datanodes[0].log_since_start().count("trying again") > 1, 60)
        assert "Waiting, and trying again in 1.0 s: the metadata store (etcd)" in db.datanodes[0].log_since_start()
        assert "does not answer" in db.sql("SELECT * FROM t")["error"]
    finally:
        etcd.start()
    wait_healthy(db.datanodes[0], db.addresses[0])
    assert len(db.rows("SELECT * FROM t")) == 1


def test_a_full_disk_at_a_flush_keeps_the_rows_and_the_log(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(datanodes=1)
    assert "code" not in db.sql("CREATE TABLE t (ts TIMESTAMP TIME INDEX, v STRING)")
    incompressible = os.urandom(200_000).hex()
    assert "code" not in db.sql(f"INSERT INTO t VALUES (1, '{incompressible}')")
    # The kernel refuses to let any file of the process grow larger: the flush ends in the middle of its file.
    _, hard = resource.prlimit(db.datanodes[0].pid, resource.RLIMIT_FSIZE)
    resource.prlimit(db.datanodes[0].pid, resource.RLIMIT_FSIZE, (100_000, hard))
    refused = db.sql("ADMIN flush_table('t')")
    assert refused["code"] == 1003
    assert "File too large" in refused["error"]
    assert flushed_entry_id(db) == 0
    assert list(db.folder.glob("storage/*/*/data/*")) == []
    assert "code" not in db.sql("INSERT INTO t VALUES (2, 'after')")
    assert [row[0] for row in db.rows("SELECT ts FROM t ORDER BY ts")] == [1, 2]
    db.datanodes[0].kill()
    db.start_datanode(0)  # without the limit
    assert [row[0] for row in db.rows("SELECT ts FROM t ORDER BY ts")] == [1, 2]
    assert "code" not in db.sql("ADMIN flush_table('t')")
    db.metasrv.wait_ready(lambda: flushed_entry_id(db) == 2, 20)


def flushed_entry_id(db: RefDbProcesses) -> int:
    """Of the only region, as it last reported."""
    (region,) = db.admin("/admin/heartbeat")[0][-1]["region_stats"]
    return int(region["region_manifest"]["Mito"]["flushed_entry_id"])


def test_two_datanodes_with_one_id_are_not_possible(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(datanodes=1)
    stranger = db.new_datanode(0, db.addresses[0], "stranger")
    stranger.start()
    stranger.wait_ended(90)
    assert stranger.exit_code == 1
    assert "datanode id 0 belongs to another home" in stranger.tail()
    twin = db.new_datanode(0, db.addresses[0])
    twin.start()
    twin.wait_ended(90)
    assert twin.exit_code == 1
    assert "another datanode runs in" in twin.tail()
    assert db.datanodes[0].is_running()


def test_an_idle_region_says_so_and_writes_a_checkpoint(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(
        datanodes=2,
        flags=("--heartbeat=0.3", "--idle-heartbeats=2"),
        wal={"num_topics": 1, "auto_prune_interval": "1s", "auto_prune_logical_delete": True},
    )
    assert "code" not in db.sql(TABLE)
    for number in range(10):
        db.sql(f"INSERT INTO t(ts, k) VALUES ({number}, 'w0-{number}')")
    assert "code" not in db.sql("ADMIN flush_table('t')")

    def reported() -> list[int]:
        stats = [history[-1]["region_stats"] for history in db.admin("/admin/heartbeat")]
        return [region["data_topic_latest_entry_id"] for regions in stats for region in regions]

    deadline = time.monotonic() + 20
    while reported() != [10, 10] or "Moved pruned markers" not in db.metasrv.tail():
        assert time.monotonic() < deadline, (reported(), db.metasrv.tail())
        time.sleep(0.1)
    checkpoint = f"Checkpoint of idle region {FIRST + 1}(1024, 2): 10"
    db.metasrv.wait_ready(lambda: checkpoint in db.datanodes[1].log_since_start(), 20)
    db.datanodes[1].kill()
    db.start_datanode(1)
    log = db.datanodes[1].log_since_start()
    assert "flushed_entry_id + 1 11 for region" in log, json.dumps(log)
    assert len(db.rows("SELECT * FROM t")) == 10
