"""Connections to MySQL, and how its transactions begin."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pymysql import Connection, MySQLError
from pymysql.cursors import DictCursor

from seawall.adapters.greptimedb.mysql_errors import HELD, MYSQL, MysqlSentences, ReadOnly, Unfit
from seawall.adapters.greptimedb.sql_errors import Standby
from seawall.adapters.greptimedb.sql_session import Address, Hosts, SQLSession
from seawall.adapters.http import client_context
from seawall.adapters.times import HTTP_ANSWER_SECONDS, SQL_LOCK_SECONDS, SQL_WRITE_SECONDS
from seawall.domain.dataplane.connection import MySQLConnection

OLDEST = (8, 0, 30)
"""The first that says to everybody how far its redo log is."""
_VARIABLES = """
SHOW GLOBAL VARIABLES WHERE Variable_name IN
('server_uuid', 'hostname', 'port', 'read_only', 'super_read_only', 'wsrep_on', 'group_replication_single_primary_mode')
"""
_SETTINGS = """
SET SESSION transaction_isolation = 'REPEATABLE-READ', time_zone = '+00:00', information_schema_stats_expiry = 0,
    sql_mode = 'STRICT_ALL_TABLES', lock_wait_timeout = {lock}, innodb_lock_wait_timeout = {idle},
    net_read_timeout = {idle}, net_write_timeout = {idle}, max_execution_time = {statement}, wait_timeout = {idle}
"""
"""Until the connection ends, which is soon. The last one ends a transaction in which we say nothing."""
_TABLE = """
SELECT UNIX_TIMESTAMP(create_time) AS made, engine AS engine, @@server_uuid AS server, @@session.wait_timeout AS idle
FROM information_schema.tables WHERE table_schema = %s AND table_name = %s
"""
_LOG = """
SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_redo_log_flushed_to_disk_lsn', 'Innodb_redo_log_enabled')
"""


@dataclass(frozen=True, slots=True)
class Primary:
    """Which server and table answers, and how far its log is.

    Attributes:
        server_uuid: made with the files of the server; a copy of them has the same one, a replica has not.
        made: when the table was made, or altered, in seconds since 1970 UTC.
        flushed: how far the redo log is on disk: it only rises, whatever is written, and also when the server crashes.
    """

    server_uuid: str
    made: int
    flushed: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """How a transaction begins, and when the server ends it by itself.

    Attributes:
        start: in SQL.
        idle: seconds in which we say nothing, or nothing of what was said arrives; whole ones.
        statement: seconds of one statement that reads.
    """

    start: str
    idle: float
    statement: float


READ = Transaction(
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", 2 * HTTP_ANSWER_SECONDS, HTTP_ANSWER_SECONDS
)
"""One snapshot. A table that was made anew or emptied after it is an error (1412), never an empty one."""
WRITE = Transaction("START TRANSACTION", SQL_WRITE_SECONDS, SQL_WRITE_SECONDS)
"""What reads in it locks, what it has read and the gaps between, until the end."""


class Held(Exception):  # noqa: N818 - never leaves the adapter
    """Somebody else holds a row."""


class MysqlSession(SQLSession):
    """One connection to MySQL."""

    def __init__(self, connection: MySQLConnection, tls: ssl.SSLContext, address: Address, patience: float) -> None:
        self._declared, self._tls = connection, tls
        super().__init__(address, MysqlSentences(address, connection), patience)

    def begin(self, kind: Transaction) -> Primary:
        """Begins a transaction.

        Raises:
            as `rows`.
        """
        with self._answers():
            times = {"idle": int(kind.idle), "statement": int(1000 * kind.statement), "lock": int(SQL_LOCK_SECONDS)}
            self._run(_SETTINGS.format(**times))
            self._run(kind.start)
            self._run(f"SELECT k FROM {self._declared.table_name} LIMIT 1")  # noqa: S608 - names are checked
            tables = self._run(_TABLE, self._declared.database, self._declared.table)
            log = _named(self._run(_LOG))
            return _primary(tables, log, int(kind.idle))

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement answers.

        Raises:
            PartUnavailable: no answer, or not now.
            PartRefused: it said no.
        """
        with self._answers():
            return self._run(sql, *values)

    def locked(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement answers that locks, or writes.

        Raises:
            Held: somebody else holds a row; else as `rows`.
        """
        try:
            return self.rows(sql, *values)
        except Exception as error:
            if isinstance(error.__cause__, MySQLError) and error.__cause__.args[:1] in {(code,) for code in HELD}:
                raise Held(str(error)) from error
            raise

    def _run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def _log_in(self, host: str, plain: socket.socket) -> None:
        """A server without TLS is refused before any password is sent."""
        user = self._declared.user
        self._connection: Connection[Any] = Connection(
            host=host,
            user=user.name,
            password=user.password.encode(),  # as text it would have to be Latin-1
            ssl=self._tls,
            charset="utf8mb4",
            autocommit=None,
            defer_connect=True,
            program_name="seawall",
        )
        try:
            self._connection.connect(plain)
        finally:
            _check_version(getattr(self._connection, "server_version", ""))

    def _log_out(self) -> None:
        with suppress(MySQLError, OSError):
            self._connection.close()

    def _leader(self) -> str:
        """Its server_uuid, and where it runs: a copy of its files has the same one."""
        found = _named(self._run(_VARIABLES))
        if found.get("wsrep_on") == "ON" or found.get("group_replication_single_primary_mode") == "OFF":
            raise Unfit(
                "is one of several primaries (Galera, or Group Replication in multi-primary mode), and what locks here"
                " locks nobody there: let one primary write"
            )
        if "ON" in {found["read_only"], found["super_read_only"]}:
            raise ReadOnly
        with self._connection.cursor(DictCursor) as cursor:
            cursor.execute("SHOW REPLICA STATUS")
            if any(_follows(channel) for channel in cursor.fetchall()):
                raise Standby
        return "/".join(found[name] for name in ("server_uuid", "hostname", "port"))


def mysql_hosts(connection: MySQLConnection) -> Hosts[MysqlSession]:
    """The servers of one MySQL.

    Raises:
        PartRefused: a certificate or key makes no sense.
    """
    tls = _encrypted() if connection.tls is None else client_context(MYSQL.name, connection.tls)
    return Hosts(MYSQL, connection.hosts, lambda address, patience: MysqlSession(connection, tls, address, patience))


def _encrypted() -> ssl.SSLContext:
    """TLS to whoever answers. Every MySQL that we read has it, unless somebody turned it off."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _named(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    return {str(name): str(value) for name, value in rows}


def _follows(channel: dict[str, Any]) -> bool:
    """Whether what another server wrote is still applied; a primary of Group Replication has channels of its own."""
    return channel["Replica_SQL_Running"] != "No" and not channel["Channel_Name"].startswith("group_replication_")


def _check_version(version: str) -> None:
    """By the greeting, which comes before any password."""
    if "MariaDB" in version:
        raise Unfit(
            "is MariaDB, which has no server_uuid: GreptimeDB's metadata are read in MySQL, PostgreSQL and etcd"
        )
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is not None and tuple(map(int, found.groups())) < OLDEST:
        raise Unfit(f"is MySQL {version}: Seawall needs {'.'.join(map(str, OLDEST))} or newer")


def _primary(tables: list[tuple[Any, ...]], log: dict[str, str], idle: int) -> Primary:
    if not tables:
        raise Unfit("does not show the table in information_schema: write database and tableName as it does")
    ((made, engine, server_uuid, kept_idle),) = tables
    if engine != "InnoDB":
        raise Unfit(f"keeps the table in {engine}, which has no snapshots: make it InnoDB's")
    if kept_idle != idle:
        raise Unfit("has not taken over wait_timeout, so who freezes in a write is not ended: leave out the proxy")
    flushed = int(log.get("Innodb_redo_log_flushed_to_disk_lsn", 0))
    if not flushed or log.get("Innodb_redo_log_enabled") != "ON":
        raise Unfit("has no redo log, by which a restored copy is noticed: turn it on (Aurora has none)")
    return Primary(server_uuid, int(made), flushed)
