"""MySQL as it is out there: users, TLS, what is no such MySQL, writers that overlap, backups that are restored."""

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
from seawall.adapters.greptimedb.mysql_errors import RIGHTS
from seawall.adapters.times import HTTP_ANSWER_SECONDS, SQL_LOCK_SECONDS
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    MySQLConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
)
from seawall.domain.dataplane.metadata import MarkerMove
from seawall_e2e.loopback.mysql import CREATE, MysqlProcess, run_sql
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.sql_server import TABLE
from tests.support.sql import as_user, marked, said, server, trouble_with, with_tls

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mysql")]

AUTHENTICATION, TLS = NotReached.AUTHENTICATION_FAILED, NotReached.TLS_FAILED
UNEXPECTED, SILENT = NotReached.UNEXPECTED_ANSWER, NotReached.METADATA_STORE_UNREACHABLE
NEEDS = f"it needs {RIGHTS}"
LOGIN = (
    "MySQL at HOST refused the user name or password, or wants TLS or a client certificate of this user:"
    " correct metadataStore.mysql"
)
SLACK = 2.0


@pytest.fixture
def mine(mysql: MysqlProcess) -> MySQLConnection:
    """A corner of the shared server."""
    return replace(mysql.connection, prefix=uuid.uuid4().hex)


@pytest.fixture
def secure(secure_mysql: MysqlProcess) -> MySQLConnection:
    """A corner of the server with TLS."""
    return replace(secure_mysql.connection, prefix=uuid.uuid4().hex)


@pytest.fixture
def own() -> Iterator[MysqlProcess]:
    """A server that only one test has."""
    with MysqlProcess() as process:
        yield process


def as_root(server: MysqlProcess) -> MySQLConnection:
    return as_user(server.connection, name="root", password=server.passwords[0])


def test_a_wrong_password_is_told(mine: MySQLConnection) -> None:
    for wrong in (as_user(mine, password="wrong"), as_user(mine, name="nobody"), as_user(mine, password="pässwörd ☃")):
        assert said(wrong, AUTHENTICATION) == LOGIN


def test_a_user_without_the_right_is_told(mine: MySQLConnection, mysql: MysqlProcess) -> None:
    mysql.sql("CREATE TABLE closed (k VARBINARY(3072) PRIMARY KEY, v MEDIUMBLOB)")
    sentence = said(replace(mine, table="closed"), AUTHENTICATION)
    assert sentence.startswith("MySQL at HOST does not let the user do this (SELECT command denied to user 'seawall'@")
    assert sentence.endswith(NEEDS)


def test_a_user_who_may_not_know_whom_the_server_follows_is_told(own: MysqlProcess) -> None:
    own.sql("REVOKE REPLICATION CLIENT ON *.* FROM seawall")
    sentence = said(own.connection, AUTHENTICATION)
    assert sentence.startswith("MySQL at HOST does not let the user do this (Access denied; you need")
    assert sentence.endswith(NEEDS)


def test_a_user_who_may_only_read_reads_and_is_told_when_it_writes(own: MysqlProcess) -> None:
    own.sql(f"REVOKE INSERT, UPDATE ON {TABLE} FROM seawall")
    store = GreptimeMetadata(MySQL(own.connection))
    assert store.snapshot().claims == {}
    with pytest.raises(PartRefused, match="command denied to user"):
        store.claim("wal", "me", None)


def test_what_is_not_there_is_told(mysql: MysqlProcess) -> None:
    for change in ({"database": "elsewhere"}, {"table": "elsewhere"}):
        missing = replace(as_root(mysql), **change)  # type: ignore[arg-type]
        assert said(missing, UNEXPECTED) == (
            f"MySQL at HOST has no table {missing.table_name}: correct database and tableName"
        )


def test_a_table_that_is_not_greptimedbs_is_told(mysql: MysqlProcess) -> None:
    mysql.sql("CREATE TABLE other (name text)")
    sentence = said(replace(as_root(mysql), table="other"), UNEXPECTED)
    assert sentence == (
        "MySQL at HOST refused a statement (Unknown column 'k' in 'field list'):"
        " is the table `metadata`.`other` GreptimeDB's?"
    )


def test_a_table_without_snapshots_is_told(mysql: MysqlProcess) -> None:
    mysql.sql("CREATE TABLE heap (k VARBINARY(1000) PRIMARY KEY, v BLOB) ENGINE = MyISAM")
    assert said(replace(as_root(mysql), table="heap"), UNEXPECTED) == (
        "MySQL at HOST keeps the table in MyISAM, which has no snapshots: make it InnoDB's"
    )


def test_a_missing_client_certificate_is_told(secure: MySQLConnection) -> None:
    assert said(with_tls(secure, client_cert_pem=None, client_key_pem=None), AUTHENTICATION) == LOGIN
    assert said(replace(secure, tls=None), AUTHENTICATION) == LOGIN


def test_an_unknown_ca_is_told(secure: MySQLConnection, tmp_path_factory: pytest.TempPathFactory) -> None:
    stranger = CertificateAuthority(tmp_path_factory.mktemp("ca")).cert.read_text()
    for ca in (stranger, None):
        assert said(with_tls(secure, ca_pem=ca), TLS).startswith("MySQL at HOST: its certificate does not fit (")


def test_a_certificate_for_another_host_is_told(secure: MySQLConnection) -> None:
    """This is another way to write 127.0.0.1, and not the name in the certificate."""
    sentence = said(replace(secure, hosts=(("127.1", secure.hosts[0][1]),)), TLS)
    assert sentence.startswith("MySQL at HOST: its certificate does not fit (Hostname mismatch")


def test_a_server_without_tls_gets_no_password() -> None:
    with MysqlProcess(flags=("--tls-version=",)) as bare:
        for tls in (None, SYSTEM_TRUST):
            assert said(replace(bare.connection, tls=tls), TLS) == (
                "MySQL at HOST has no TLS, and gets no password without: turn its TLS on"
            )


@pytest.mark.parametrize("text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----"])
def test_a_ca_that_is_none_is_told(secure: MySQLConnection, text: str) -> None:
    with pytest.raises(PartRefused, match=r"the CA certificate .* of MySQL cannot be read") as refused:
        MySQL(with_tls(secure, ca_pem=text))
    assert refused.value.why is TLS


def test_who_does_not_answer_is_told(mine: MySQLConnection) -> None:
    advice = "check that it runs and that network policies let Seawall in"
    nobody = said(replace(mine, hosts=(("127.0.0.1", 1),)), SILENT)
    assert nobody == f"MySQL at HOST does not answer (Connection refused): {advice}"
    nowhere = said(replace(mine, hosts=(("mysql.invalid", 3306),)), SILENT)
    assert nowhere == "MySQL at HOST has no IP address: correct metadataStore.mysql.hosts, or the DNS"


def test_what_closes_connections_is_told(mine: MySQLConnection) -> None:
    with server(b"") as port:
        sentence = said(replace(mine, hosts=(("127.0.0.1", port),)), SILENT)
    assert sentence == "MySQL at HOST closes connections: check that it is MySQL, and that it runs"


def greeting(version: bytes) -> bytes:
    """What a server says first."""
    data = b"\x0a" + version + b"\0" + bytes(4) + b"saltsalt\0" + b"\xff\xf7\x2d\x02\0\xff\xdf\x15" + bytes(10)
    data += b"saltsaltsalt\0caching_sha2_password\0"
    return len(data).to_bytes(3, "little") + b"\0" + data


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (
            b"5.5.5-10.11.14-MariaDB-0+deb12u2",
            "is MariaDB, which has no server_uuid: GreptimeDB's metadata are read in MySQL, PostgreSQL and etcd",
        ),
        (b"5.7.44-log", "is MySQL 5.7.44-log: Seawall needs 8.0.30 or newer"),
        (b"8.0.29", "is MySQL 8.0.29: Seawall needs 8.0.30 or newer"),
    ],
    ids=["MariaDB", "5.7", "8.0.29"],
)
def test_what_cannot_be_read_is_told_by_its_greeting(mine: MySQLConnection, version: bytes, sentence: str) -> None:
    with server(greeting(version)) as port:
        assert said(replace(mine, hosts=(("127.0.0.1", port),)), UNEXPECTED) == f"MySQL at HOST {sentence}"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
        bytes(64),
        b"\x05\0\0\0\x0a8.0",
        b"\x05\0\0\x07\x0a8.0\0",
        greeting(b"8.4.0")[:40],
        greeting(b"8.4.0") + b"\x01\0\0\x02\x07",
    ],
    ids=["HTTP", "SSH", "zeros", "short", "out of order", "half", "nonsense"],
)
def test_what_speaks_otherwise_is_told(mine: MySQLConnection, answer: bytes) -> None:
    with server(answer) as port:
        trouble = trouble_with(replace(mine, hosts=(("127.0.0.1", port),)))
    assert str(trouble).startswith(f"MySQL at 127.0.0.1:{port} "), trouble
    told = trouble.why, "correct metadataStore.mysql.hosts" in str(trouble)
    assert told in {(UNEXPECTED, True), (SILENT, False), (TLS, False)}, "it may close before it is understood"


@pytest.mark.parametrize("host", ["db..svc", "a" * 70 + ".svc"], ids=["empty label", "long label"])
def test_a_host_that_cannot_be_one_is_told(mine: MySQLConnection, host: str) -> None:
    assert said(replace(mine, hosts=((host, 3306),)), UNEXPECTED) == (
        "MySQL at HOST is no name of a host: correct metadataStore.mysql.hosts"
    )


def test_a_trickle_is_cut_in_time(mine: MySQLConnection) -> None:
    """A timeout of the socket would count anew with every byte."""
    begin = time.monotonic()
    with server(b"\0\x10\0\0", pause=0.2, times=60) as port:
        trouble = trouble_with(replace(mine, hosts=(("127.0.0.1", port),)))
        assert time.monotonic() - begin < HTTP_ANSWER_SECONDS + SLACK
    assert "no whole answer within 5 s" in str(trouble)


def test_a_server_that_hangs_is_told_in_time_and_used_again(own: MysqlProcess) -> None:
    own.pause()
    begin = time.monotonic()
    assert "no whole answer within 5 s" in str(trouble_with(own.connection))
    assert time.monotonic() - begin < HTTP_ANSWER_SECONDS + SLACK
    own.resume()
    with MySQL(own.connection).view() as view:
        assert view.get("x") is None


def test_many_threads_share_one_client(secure: MySQLConnection) -> None:
    store = MySQL(secure)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: GreptimeMetadata(store).head().store_id, range(16)))
    assert len(set(found)) == 1


def test_no_connection_is_left(own: MysqlProcess) -> None:
    store = GreptimeMetadata(MySQL(own.connection))
    store.snapshot()
    store.claim("wal", "me", None)
    assert not store.claim("wal", "me", None)
    deadline = time.monotonic() + 10
    while any(row[1] == "seawall" for row in own.sql("SHOW PROCESSLIST")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_neither_binary_log_nor_gtids_are_needed() -> None:
    with MysqlProcess(flags=("--skip-log-bin", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")) as plain:
        store = GreptimeMetadata(MySQL(plain.connection))
        before = marked(store, plain, "")
        assert store.advance_markers([MarkerMove("t", 7, before.topics["t"], before.revision)], "wal", "me") == {}
        assert store.head().issued_revision > before.issued_revision


def test_a_server_that_writes_no_redo_log_is_told(own: MysqlProcess) -> None:
    """It could be restored without anybody knowing."""
    own.sql("ALTER INSTANCE DISABLE INNODB REDO_LOG")
    assert said(own.connection, UNEXPECTED) == (
        "MySQL at HOST has no redo log, by which a restored copy is noticed: turn it on (Aurora has none)"
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
    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(lambda n: store.write({"x": str(n)}, [Unchanged("x", found.mod_revision)]), range(4)))
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
