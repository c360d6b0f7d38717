"""Failover by itself: datanodes that are killed or stopped, a metasrv that is killed meanwhile, maintenance mode."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from writers import FIRST, TABLE, Writers, lost

from refdb.meta import keys
from refdb.meta.etcd import Etcd
from refdb.meta.values import TableRoute
from refdb.metasrv.migration import Migrations
from refdb.metasrv.state import ClusterState
from refdb.web import Client
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.processes import Process
from seawall_e2e.loopback.refdb import RefDbProcesses

# In every run: a failover under a purge that loses no row, in operator/tests/integration/test_purge.py, and datanodes
# that are killed, in test_crashes.py. What is asked here can break by a change of refdb's metasrv alone.
pytestmark = [pytest.mark.integration, pytest.mark.soak]
LEASE, DEAD_AFTER = 2, 4
"""Seconds. A datanode reports each second, or later on a busy machine: it must not count as dead then."""
FLAGS = (f"--lease={LEASE}", f"--dead-after={DEAD_AFTER}")
SELECT = "SELECT COUNT(*) FROM t"


@pytest.fixture
def failing_over(make_db: Callable[..., RefDbProcesses]) -> RefDbProcesses:
    """A database that fails over, with the two regions of a table on datanodes 0 and 1."""
    db = make_db(flags=(*FLAGS, "--enable-region-failover=true"))
    assert "code" not in db.sql(TABLE)
    return db


def leaders(db: RefDbProcesses) -> list[int]:
    """Who leads the regions, in order."""
    peers = db.rows("SELECT region_id, peer_id FROM information_schema.region_peers ORDER BY region_id")
    return [peer for _, peer in peers]


def wait_for(db: RefDbProcesses, condition: Callable[[], object]) -> None:
    db.metasrv.wait_ready(lambda: bool(condition()), 60)


def wait_for_log(process: Process, text: str) -> None:
    process.wait_ready(lambda: text in process.log_since_start(), 60)


def wait_until_led_by_others(db: RefDbProcesses, datanode: int) -> None:
    wait_for(db, lambda: datanode not in leaders(db))


def answers(db: RefDbProcesses) -> bool:
    return "code" not in db.sql(SELECT)


def test_the_regions_of_a_killed_datanode_move_and_no_acknowledged_row_is_lost(failing_over: RefDbProcesses) -> None:
    db = failing_over
    with Writers(db) as writers:
        writers.wait_for_more(40)
        db.datanodes[0].kill()
        wait_until_led_by_others(db, 0)
        writers.wait_for_more(40)
        db.start_datanode(0)
        writers.wait_for_more(40)
    assert lost(db, writers) == set()
    assert leaders(db) == [2, 1], "the datanode that led none took it"
    assert "Try to open region" not in db.datanodes[0].log_since_start()


def test_a_follower_reads_the_leaders_manifest_and_leads_after_failover(failing_over: RefDbProcesses) -> None:
    db = failing_over
    assert db.sql(f"ADMIN add_region_follower({FIRST}, 0)")["code"] == 1004, "it leads it"
    assert "code" not in db.sql(f"ADMIN add_region_follower({FIRST}, 1)")

    def followed() -> Any:
        (newest,) = [reports[-1] for reports in db.admin("/admin/heartbeat") if reports[-1]["id"] == 1]
        return next((one for one in newest["region_stats"] if one["id"] == FIRST), None)

    with Writers(db) as writers:
        writers.wait_for_more(40)
        assert "code" not in db.sql(f"ADMIN flush_region({FIRST})")
        wait_for(db, lambda: followed() and followed()["region_manifest"]["Mito"]["flushed_entry_id"] > 0)
        assert followed()["role"] == "Follower"
        db.datanodes[0].kill()
        db.datanodes[2].kill()
        wait_until_led_by_others(db, 0)
        writers.wait_for_more(40)
    assert lost(db, writers) == set()
    assert leaders(db) == [1, 1]
    wait_for(db, lambda: followed()["role"] == "Leader")


def test_a_stopped_datanode_that_returns_after_failover_acknowledges_nothing(failing_over: RefDbProcesses) -> None:
    db = failing_over
    with Writers(db) as writers:
        for _ in range(2):
            writers.wait_for_more(40)
            leader = leaders(db)[0]
            db.datanodes[leader].signal(signal.SIGSTOP)
            wait_until_led_by_others(db, leader)
            writers.wait_for_more(20)
            db.datanodes[leader].signal(signal.SIGCONT)
            wait_for_log(db.datanodes[leader], "is led by another datanode now")
        writers.wait_for_more(40)
    assert lost(db, writers) == set()
    for datanode in set(leaders(db)):
        db.datanodes[datanode].kill()
        db.start_datanode(datanode)
    wait_for(db, lambda: answers(db))
    assert lost(db, writers) == set()


def test_maintenance_mode_stops_failover(failing_over: RefDbProcesses) -> None:
    db = failing_over
    assert db.admin("/admin/maintenance/enable", post=True) == {"enabled": True}
    db.datanodes[0].kill()
    wait_for_log(db.metasrv, "Datanode 0 is dead")
    time.sleep(3)
    assert leaders(db) == [0, 1]
    assert db.sql(SELECT)["code"] == 1003
    assert db.admin("/admin/maintenance/disable", post=True) == {"enabled": False}
    wait_for(db, lambda: answers(db))
    assert leaders(db) == [2, 1]


def test_without_the_flag_nothing_moves(make_db: Callable[..., RefDbProcesses]) -> None:
    db = make_db(flags=FLAGS)
    assert "code" not in db.sql(TABLE)
    db.datanodes[0].kill()
    wait_for_log(db.metasrv, "Datanode 0 is dead")
    time.sleep(3)
    assert leaders(db) == [0, 1]


def test_a_metasrv_that_starts_while_a_datanode_is_silent_waits_before_it_calls_it_dead(
    failing_over: RefDbProcesses,
) -> None:
    db = failing_over
    with Writers(db) as writers:
        writers.wait_for_more(20)
        db.datanodes[0].signal(signal.SIGSTOP)
        db.metasrv.kill()
        time.sleep(DEAD_AFTER + 1)  # longer than it takes to be dead: it must not count
        db.metasrv.start()
        wait_for_log(db.metasrv, "moved from datanode 0")
        db.datanodes[0].signal(signal.SIGCONT)
        writers.wait_for_more(40)
    log = db.metasrv.log_since_start()
    assert seconds_of(log, "Datanode 0 is dead") - seconds_of(log, "test database") >= DEAD_AFTER
    assert seconds_of(log, f"Region {FIRST} moved") - seconds_of(log, "Datanode 0 is dead") >= LEASE, "one lease more"
    assert lost(db, writers) == set()


def test_a_migration_that_ended_half_way_is_ended_elsewhere_and_its_late_opening_harms_nobody(
    failing_over: RefDbProcesses,
) -> None:
    db = failing_over
    with Writers(db) as writers:
        writers.wait_for_more(20)
        db.datanodes[2].signal(signal.SIGSTOP)
        asking = threading.Thread(target=db.sql, args=(f"ADMIN migrate_region({FIRST}, 0, 2)",))
        asking.start()
        wait_for_log(db.datanodes[0], f"Region {FIRST}(1024, 1) is closed")
        db.metasrv.wait_ready(lambda: unread_bytes(db.addresses[2]) > 0, 60)  # it is asked to open the region
        db.metasrv.kill()
        asking.join()
        db.metasrv.start()
        wait_for(db, lambda: re.search(f"Region {FIRST} moved from datanode 0 to [01]", db.metasrv.log_since_start()))
        writers.wait_for_more(20)
        db.datanodes[2].signal(signal.SIGCONT)  # here it finds the request to open the region
        wait_for_log(db.datanodes[2], "Try to open region")
        writers.wait_for_more(20)
        assert "code" not in db.sql("ADMIN flush_table('t')"), "the late opening has shut the leader out"
        writers.wait_for_more(20)
    assert lost(db, writers) == set()


def test_a_replay_that_takes_longer_than_a_call_is_waited_for(
    make_db: Callable[..., RefDbProcesses], etcd: EtcdProcess
) -> None:
    db = make_db(datanodes=2, flags=("--lease=2", "--dead-after=60"))
    assert "code" not in db.sql(TABLE)
    db.metasrv.kill()  # this test is the metasrv
    store, state = Etcd(etcd.url, f"{db.prefix}/"), ClusterState(lease=2, dead_after=60)
    migrations = Migrations(store, state, Client(timeout=0.5))
    migrations.refresh()
    for datanode, address in enumerate(db.addresses):
        state.heartbeat(silent_report(datanode, address))
    db.datanodes[1].signal(signal.SIGSTOP)
    moving = threading.Thread(target=migrations.migrate, args=(FIRST, 0, 1))
    moving.start()
    time.sleep(3)  # so many calls time out
    assert moving.is_alive()
    db.datanodes[1].signal(signal.SIGCONT)
    moving.join(30)
    held = store.get(keys.table_route(1024))
    route = TableRoute.from_text(held.value).of(FIRST)
    assert route is not None
    assert (route.leader.id, route.downgrading) == (1, False)


def silent_report(datanode: int, address: str) -> dict[str, Any]:
    stat = {"id": datanode, "addr": address, "node_epoch": 1, "region_stats": []}
    return {"stat": stat, "terms": [], "version": "1.1.0"}


def unread_bytes(address: str) -> int:
    """What arrived at an address of this machine and was not read yet, as proc(5) says it of /proc/net/tcp."""
    port = int(address.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].rpartition(":")[2], 16) for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01")


def seconds_of(log: str, text: str) -> float:
    line = next(line for line in log.splitlines() if text in line)
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp()  # noqa: DTZ007 - only differences count
