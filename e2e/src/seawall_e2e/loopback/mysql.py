"""A MySQL of its own on loopback, with GreptimeDB's table of metadata."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from pymysql import Connection, MySQLError

from seawall.domain.dataplane.connection import MySQLConnection
from seawall_e2e.commands import run
from seawall_e2e.loopback.processes import platform_folder
from seawall_e2e.loopback.sql_server import DATABASE, INSTALL_TIMEOUT, TABLE, SqlServer
from seawall_e2e.waiting import wait_until

ROOT = "root"
MEMORY = "16M"
CREATE = f"CREATE TABLE {TABLE} (k VARBINARY(3072) PRIMARY KEY, v MEDIUMBLOB)"


class MysqlProcess(SqlServer):
    """One server. Data survive kill and start, not `close()`. A secure one wants TLS and client certificates.

    The user of `connection` may do with the table what Seawall needs where it moves the markers. A standby replicates
    from the other server; like any replica it can be written to, unless it is told otherwise (`SET GLOBAL read_only`).
    """

    _crash, _end = signal.SIGKILL, signal.SIGTERM

    def __init__(
        self, *, secure: bool = False, standby_of: MysqlProcess | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        self._program, self._flags = platform_folder("mysql.sh", INSTALL_TIMEOUT), flags
        super().__init__("mysql", secure=secure, standby_of=standby_of)

    @property
    def connection(self) -> MySQLConnection:
        """How Seawall gets in."""
        return MySQLConnection(self.hosts, DATABASE, self.user, table=TABLE, tls=self.tls)

    @property
    def url(self) -> str:
        """How the database itself gets in, which may do all."""
        return f"mysql://{ROOT}:{self.passwords[0]}@127.0.0.1:{self.port}/{DATABASE}"

    def promote(self) -> None:
        """Makes a primary of a standby."""
        for statement in (
            "STOP REPLICA",
            "RESET REPLICA ALL",
            "SET GLOBAL super_read_only = 0",
            "SET GLOBAL read_only = 0",
        ):
            self.sql(statement)

    def restore_dump(self) -> None:
        """Makes the table anew with the same keys, as a restored dump does."""
        self.sql(f"CREATE TABLE dump AS SELECT * FROM {TABLE}")  # noqa: S608 - a constant
        self.sql(f"DROP TABLE {TABLE}")
        self.sql(CREATE)
        self.sql(f"INSERT INTO {TABLE} SELECT * FROM dump")  # noqa: S608
        self.sql("DROP TABLE dump")

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement answers to the superuser."""
        with self.open() as session:
            return run_sql(session, statement, *values)

    def open(self, database: str | None = DATABASE, password: str | None = None) -> Connection[Any]:
        """A connection of the superuser, which commits each statement unless it begins a transaction."""
        return Connection(
            host="127.0.0.1",
            port=self.port,
            user=ROOT,
            password=self.passwords[0] if password is None else password,
            database=database,
            ssl=self.trust if self.is_secure else None,
            read_timeout=20,
            autocommit=True,
        )

    def put(self, key: str, value: str) -> None:
        """Writes a key, as GreptimeDB's batch_put does."""
        statement = f"INSERT INTO {TABLE} (k, v) VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = VALUES(v)"  # noqa: S608
        self.sql(statement, key.encode(), value.encode())

    def delete(self, key: str) -> None:
        """Removes a key."""
        self.sql(f"DELETE FROM {TABLE} WHERE k = %s", key.encode())  # noqa: S608

    def get(self, key: str) -> str | None:
        """A key's value; None when it is not there."""
        rows = self.sql(f"SELECT v FROM {TABLE} WHERE k = %s", key.encode())  # noqa: S608
        return rows[0][0].decode() if rows else None

    def _is_ready(self) -> bool:
        for password in (self.passwords[0], ""):
            try:
                self.open(None, password).close()
            except (MySQLError, OSError, RuntimeError):
                continue
            return True
        return False

    def _command(self) -> list[str | Path]:
        settings = {
            "datadir": self.data,
            "bind-address": "127.0.0.1",
            "port": self.port,
            "server-id": self.port,
            "socket": self.folder / "mysql.sock",
            "pid-file": self.folder / "mysql.pid",
            "mysqlx": "OFF",
            "performance-schema": "OFF",
            "innodb-buffer-pool-size": MEMORY,
            "innodb-redo-log-capacity": "8M",
            "sync-binlog": 0,  # the data need not outlive the machine
        }
        if self.is_secure:
            files = {"ssl-ca": "ca.crt", "ssl-cert": "server.crt", "ssl-key": "server.key"}
            settings |= {"require-secure-transport": "ON", **{name: self.folder / file for name, file in files.items()}}
        return [self._program / "mysqld", *(f"--{name}={value}" for name, value in settings.items()), *self._flags]

    def _make_files(self) -> None:
        self.authority.issue("server", "/CN=mysql")
        run("cp", "-a", "--reflink=auto", self._program / "data", self.data)

    def _make_table(self) -> None:
        rights = ("SELECT, INSERT, UPDATE ON metadata.greptime_metakv", "REPLICATION CLIENT ON *.*")
        with self.open(None, "") as session:
            for statement in (
                f"ALTER USER {ROOT}@localhost IDENTIFIED BY '{self.passwords[0]}'",
                f"CREATE DATABASE {DATABASE}",
                f"USE {DATABASE}",
                CREATE,
                f"CREATE USER seawall IDENTIFIED BY '{self.passwords[1]}'{' REQUIRE X509' if self.is_secure else ''}",
                *(f"GRANT {right} TO seawall" for right in rights),
            ):
                run_sql(session, statement)

    def _follow(self, other: SqlServer) -> None:
        (self.data / "auto.cnf").unlink()  # a server of its own
        self.authority.issue("server", "/CN=mysql")
        self.start()
        self.sql(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %s, SOURCE_USER = %s,"
            " SOURCE_PASSWORD = %s, SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
            other.port,
            ROOT,
            other.passwords[0],
        )
        self.sql("START REPLICA")
        wait_until(lambda: self.sql("SELECT @@global.gtid_executed") == _executed(other), "the replica has caught up")


def _executed(other: SqlServer) -> list[tuple[Any, ...]]:
    return other.sql("SELECT @@global.gtid_executed") if isinstance(other, MysqlProcess) else []


def run_sql(session: Connection[Any], statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a statement answers."""
    with session.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())
