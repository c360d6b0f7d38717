"""What MySQL's table shows of GreptimeDB's keys: writers that overlap, locks, crashes, backups that are restored."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from seawall.adapters.greptimedb.keys import HasValue, NothingNewer, Unchanged
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.mysql import MySQL
from seawall.adapters.times import SQL_LOCK_SECONDS
from seawall.domain.dataplane.connection import MySQLConnection, PartUnavailable
from seawall.domain.dataplane.metadata import MarkerMove
from seawall_e2e.loopback.mysql import CREATE, MysqlProcess, run_sql
from seawall_e2e.loopback.sql_server import TABLE
from seawall_e2e.waiting import wait_until
from tests.support.sql import marked, trouble_with

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mysql")]

SLACK = 2.0


@pytest.fixture
def mine(mysql: MysqlProcess) -> MySQLConnection:
    """A corner of the shared server."""
    return replace(mysql.connection, prefix=uuid.uuid4().hex)


@pytest.fixture
def own() -> Iterator[MysqlProcess]:
    """A server that only one test has."""
    with MysqlProcess() as process:
        yield process


def test_neither_binary_log_nor_gtids_are_needed() -> None:
    with MysqlProcess(flags=("--skip-log-bin", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")) as plain:
        store = GreptimeMetadata(MySQL(plain.connection))
        before = marked(store, plain, "")
        assert store.advance_markers([MarkerMove("t", 7, before.topics["t"], before.revision)], "wal", "me") == {}
        # MySQL 9.7 computes its status anew every few milliseconds only.
        wait_until(
            lambda: store.head().issued_revision > before.issued_revision, "the redo log went on", within=2, every=0.01
        )


def test_a_region_that_was_being_born_while_the_snapshot_was_taken_stops_the_marker(
    mine: MySQLConnection, mysql: MysqlProcess
) -> None:
    store = GreptimeMetadata(MySQL(mine))
    marked(store, mysql, mine.prefix)
    with mysql.open() as birth:
        run_sql(birth, "BEGIN")
        run_sql(birth, f"INSERT INTO {TABLE} VALUES (%s, '')", f"{mine.prefix}__topic_region/t/2".encode())
        before = store.snapshot()
        assert len(before.region_keys) == 1
        run_sql(birth, "COMMIT")
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    assert "region of t changed" in store.advance_markers([move], "wal", "me")["t"]


def test_a_marker_waits_for_whoever_is_writing(mine: MySQLConnection, mysql: MysqlProcess) -> None:
    store = GreptimeMetadata(MySQL(mine))
    before = marked(store, mysql, mine.prefix)
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    with mysql.open() as birth:
        run_sql(birth, "BEGIN")
        run_sql(birth, f"INSERT INTO {TABLE} VALUES (%s, '')", f"{mine.prefix}__topic_region/t/2".encode())
        begin = time.monotonic()
        with pytest.raises(PartUnavailable, match="cannot answer now"):
            store.advance_markers([move], "wal", "me")
        assert SQL_LOCK_SECONDS - 0.5 < time.monotonic() - begin < SQL_LOCK_SECONDS + SLACK
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(store.advance_markers, [move], "wal", "me")
            time.sleep(0.5)
            run_sql(birth, "COMMIT")
            assert "region of t changed" in waiting.result(10)["t"]
    assert store.snapshot().topics["t"].pruned_entry_id == 0


def test_another_process_knows_no_revision_and_learns_it(mine: MySQLConnection, mysql: MysqlProcess) -> None:
    """After a restart a marker that was decided before does not move, and the next one does."""
    first, second = GreptimeMetadata(MySQL(mine)), GreptimeMetadata(MySQL(mine))
    before = marked(first, mysql, mine.prefix)
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    assert second.advance_markers([move], "wal", "me")
    assert second.snapshot().topics["t"].pruned_entry_id == 0
    after = second.snapshot()
    assert after.issued_revision >= before.issued_revision
    assert second.advance_markers([MarkerMove("t", 7, after.topics["t"], after.revision)], "wal", "me") == {}


def test_a_region_that_was_missing_in_a_view_is_new_when_it_comes_back(
    mine: MySQLConnection, mysql: MysqlProcess
) -> None:
    store = GreptimeMetadata(MySQL(mine))
    before = marked(store, mysql, mine.prefix)
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    mysql.delete(f"{mine.prefix}__topic_region/t/1")
    store.snapshot()
    mysql.put(f"{mine.prefix}__topic_region/t/1", "")
    assert "region of t changed" in store.advance_markers([move], "wal", "me")["t"]


def test_two_who_compare_the_same_do_not_both_write(mine: MySQLConnection) -> None:
    store = MySQL(mine)
    assert store.write({"x": "0"}, [HasValue("x", None)])
    with store.view() as view:
        found = view.get("x")
    assert found is not None
    with ThreadPoolExecutor(4) as threads:  # each writes something new: what stays as it was is not changed
        won = list(threads.map(lambda n: store.write({"x": n}, [Unchanged("x", found.mod_revision)]), "1234"))
    assert won.count(True) == 1


def test_of_two_who_claim_one_gets_it(mine: MySQLConnection) -> None:
    """Both lock the gap where nothing is."""
    stores = [GreptimeMetadata(MySQL(mine)) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(lambda store: store.claim("wal", str(id(store)), None), stores))
    assert won.count(True) == 1


def test_keys_are_compared_letter_for_letter(mine: MySQLConnection) -> None:
    """`_` and `%` stand for others in SQL's patterns, which GreptimeDB uses; and keys are bytes, large and small."""
    store = MySQL(mine)
    assert store.write({"__a/x": "1", "_ba/x": "2", "__a%": "3", "\\x41": "4", "__A/x": "5", "__a/x ": "6'"}, [])
    with store.view() as view:
        assert [pair.key for pair in view.range("__a/")] == ["__a/x", "__a/x "]
        assert [pair.value for pair in view.range("\\x")] == ["4"]
        revision = view.revision
    assert store.write({"_ba/y": ""}, [NothingNewer("__a/", revision)])
    assert store.write({"__a/y": ""}, [NothingNewer("__a/", revision)])
    assert not store.write({"__a/z": ""}, [NothingNewer("__a/", revision)])


def test_a_write_locks_no_more_than_it_compares(mine: MySQLConnection, mysql: MysqlProcess) -> None:
    for number in range(20):
        mysql.put(f"{mine.prefix}__topic_region/t{number}/1", "")
    keys = ", ".join(["%s"] * 3)
    for where, values in (
        ("k >= %s AND k < %s FOR SHARE NOWAIT", ("__topic_region/t3/", "__topic_region/t30")),
        (f"k IN ({keys}) FOR UPDATE NOWAIT", ("__topic_region/t1/1", "__topic_region/t2/1", "seawall/claim/wal")),
    ):
        sql = f"EXPLAIN FORMAT = TRADITIONAL SELECT k, v FROM {TABLE} FORCE INDEX (PRIMARY) WHERE {where}"
        ((*_, kind, _, key, _, _, rows, _, _),) = mysql.sql(sql, *(f"{mine.prefix}{each}".encode() for each in values))
        assert (kind, key) == ("range", "PRIMARY")
        assert rows <= 3


def test_a_table_that_is_emptied_below_a_view_is_never_an_empty_one(own: MysqlProcess) -> None:
    own.put("x", "1")
    with MySQL(own.connection).view() as view, ThreadPoolExecutor(1) as other:
        waiting = other.submit(own.sql, f"TRUNCATE TABLE {TABLE}")
        time.sleep(0.5)
        assert view.get("x") is not None, "who empties it waits"
        del waiting
    with own.open() as late:
        run_sql(late, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        own.sql(f"TRUNCATE TABLE {TABLE}")
        with pytest.raises(Exception, match="Table definition has changed"):
            run_sql(late, f"SELECT k FROM {TABLE}")


def test_a_crash_is_no_restore(own: MysqlProcess) -> None:
    store = GreptimeMetadata(MySQL(own.connection))
    marked(store, own, "")
    with own.open() as busy:
        run_sql(busy, "BEGIN")
        run_sql(busy, f"INSERT INTO {TABLE} VALUES ('lost', REPEAT('x', 1000000))")
        before = store.head()
        own.kill()
    assert "does not answer" in str(trouble_with(own.connection))
    own.start()
    after = store.head()
    assert (after.store_id, after.claims) == (before.store_id, before.claims)
    assert after.issued_revision >= before.issued_revision
    assert own.get("lost") is None


def test_a_restored_copy_of_the_files_has_an_older_log(own: MysqlProcess) -> None:
    store = GreptimeMetadata(MySQL(own.connection))
    own.put("__topic_name/kafka/t", "")
    copy = own.back_up()
    for number in range(300):
        own.put("__topic_name/kafka/t", f'{{"pruned_entry_id":{number}}}')
    before = store.snapshot()
    own.restore(copy)
    after = store.head()
    assert after.store_id == before.store_id
    assert after.issued_revision < before.issued_revision


def test_a_table_that_was_made_anew_is_another_store(own: MysqlProcess) -> None:
    """However much was written since: by a dump, or by whoever rebuilds it."""
    store = GreptimeMetadata(MySQL(own.connection))
    own.put("__topic_name/kafka/t", "")
    found = [store.head()]
    for remake in (own.restore_dump, lambda: own.sql(f"OPTIMIZE TABLE {TABLE}")):
        time.sleep(1.1)  # tables have the second in which they were made
        remake()
        found.append(store.head())
    assert len({head.store_id for head in found}) == len(found)
    assert found[-1].issued_revision > found[0].issued_revision, "which tells nothing"
    assert set(store.snapshot().topics) == {"t"}
    own.sql(f"ANALYZE TABLE {TABLE}")
    own.sql("SET GLOBAL time_zone = '+05:00'")
    assert store.head().store_id == found[-1].store_id


def test_the_table_is_greptimedbs(own: MysqlProcess) -> None:
    """As its kv_backend/rds/mysql.rs makes it, also with the BLOB of before 1.0.1."""
    for kind in ("MEDIUMBLOB", "BLOB"):
        own.sql(f"DROP TABLE {TABLE}")
        own.sql(CREATE.replace("MEDIUMBLOB", kind))
        assert GreptimeMetadata(MySQL(own.connection)).claim("wal", "me", None)
