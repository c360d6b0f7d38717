"""MySQL as it is out there: users, TLS, who does not answer, and what is no such MySQL."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.mysql import MySQL
from seawall.adapters.greptimedb.mysql_errors import RIGHTS
from seawall.adapters.times import HTTP_ANSWER_SECONDS
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    MySQLConnection,
    NotReached,
    PartRefused,
)
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.sql_server import TABLE
from tests.support.sql import as_user, said, server, trouble_with, with_tls

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


def test_a_server_that_writes_no_redo_log_is_told(own: MysqlProcess) -> None:
    """It could be restored without anybody knowing."""
    own.sql("ALTER INSTANCE DISABLE INNODB REDO_LOG")
    assert said(own.connection, UNEXPECTED) == (
        "MySQL at HOST has no redo log, by which a restored copy is noticed: turn it on (Aurora has none)"
    )
