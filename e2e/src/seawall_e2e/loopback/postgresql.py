"""A PostgreSQL of its own on loopback, with GreptimeDB's table of metadata."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from pg8000.exceptions import Error
from pg8000.native import Connection

from seawall.domain.dataplane.connection import PostgresConnection
from seawall_e2e.commands import run
from seawall_e2e.loopback.processes import platform_folder
from seawall_e2e.loopback.sql_server import DATABASE, INSTALL_TIMEOUT, TABLE, SqlServer

ROOT = "postgres"
_CREATE = f"CREATE TABLE {TABLE} (k bytea PRIMARY KEY, v bytea)"
_GRANT = f"GRANT SELECT, INSERT, UPDATE ON {TABLE} TO seawall"


class PostgresProcess(SqlServer):
    """One server. Data survive kill and start, not `close()`. A secure one wants TLS and client certificates.

    The user of `connection` may do with the table what Seawall needs where it moves the markers. A standby has the
    files of another server, which is stopped while they are copied, and follows nobody.
    """

    _crash, _end = signal.SIGQUIT, signal.SIGINT

    def __init__(self, *, secure: bool = False, standby_of: PostgresProcess | None = None) -> None:
        self.bin = platform_folder("postgresql.sh", INSTALL_TIMEOUT)
        super().__init__("postgresql", secure=secure, standby_of=standby_of)

    @property
    def connection(self) -> PostgresConnection:
        """How Seawall gets in."""
        return PostgresConnection(self.hosts, DATABASE, self.user, table=TABLE, tls=self.tls)

    @property
    def url(self) -> str:
        """How the database itself gets in, which may do all."""
        return f"postgresql://{ROOT}:{self.passwords[0]}@127.0.0.1:{self.port}/{DATABASE}"

    def promote(self) -> None:
        """Makes a primary of a standby."""
        self.sql("SELECT pg_promote()")

    def back_up_online(self) -> Path:
        """A copy of its files, taken while it runs and is written to (pg_basebackup)."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        if _as_nobody():
            shutil.chown(folder, "nobody")
        program: tuple[str | Path, ...] = (*_as_nobody(), self.bin / "pg_basebackup", "-X", "stream", "-c", "fast")
        run(*program, "-d", self.url.removesuffix(DATABASE), "-D", folder / "data")
        return folder / "data"

    def restore_dump(self) -> None:
        """Makes the table anew with the same keys, in one transaction, as a restored dump does."""
        with self.open() as session:
            session.run("BEGIN")
            session.run(f"CREATE TEMPORARY TABLE dump AS SELECT * FROM {TABLE}")  # noqa: S608
            session.run(f"DROP TABLE {TABLE}")
            session.run(_CREATE)
            session.run(f"INSERT INTO {TABLE} SELECT * FROM dump")  # noqa: S608
            session.run(_GRANT)
            session.run("COMMIT")

    def sql(self, statement: str, database: str = DATABASE, **values: Any) -> list[list[Any]]:
        """What a statement answers to the superuser."""
        with self.open(database) as session:
            return list(session.run(statement, **values) or ())

    def open(self, database: str = DATABASE) -> Connection:
        """A connection of the superuser."""
        return Connection(
            ROOT,
            host="127.0.0.1",
            port=self.port,
            database=database,
            password=self.passwords[0],
            ssl_context=self.trust if self.is_secure else False,
            timeout=20,
        )

    def put(self, key: str, value: str) -> None:
        """Writes a key, as GreptimeDB's batch_put does."""
        statement = f"INSERT INTO {TABLE} VALUES (:k, :v) ON CONFLICT (k) DO UPDATE SET v = excluded.v"  # noqa: S608
        self.sql(statement, k=key.encode(), v=value.encode())

    def delete(self, key: str) -> None:
        """Removes a key."""
        self.sql(f"DELETE FROM {TABLE} WHERE k = :k", k=key.encode())  # noqa: S608

    def get(self, key: str) -> str | None:
        """A key's value; None when it is not there."""
        rows = self.sql(f"SELECT v FROM {TABLE} WHERE k = :k", k=key.encode())  # noqa: S608
        return rows[0][0].decode() if rows else None

    def _is_ready(self) -> bool:
        try:
            self.sql("SELECT 1", ROOT)
        except (Error, OSError):
            return False
        return True

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",  # the data need not outlive the machine
            "autovacuum": "off",  # tests count transactions
        }
        if self.is_secure:
            files = {"ssl_cert_file": "server.crt", "ssl_key_file": "server.key", "ssl_ca_file": "ca.crt"}
            settings |= {"ssl": "on", **{name: self.folder / file for name, file in files.items()}}
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        return [*_as_nobody(), self.bin / "postgres", "-D", self.data, *flags]

    def _make_files(self) -> None:
        server, password_file = self.authority.issue("server", "/CN=postgresql"), self.folder / "password"
        password_file.write_text(self.passwords[0])
        owned = (self.folder, password_file, server.key)
        if _as_nobody():
            for path in owned:
                shutil.chown(path, "nobody")
        initdb: list[str | Path] = [*_as_nobody(), self.bin / "initdb", "-D", self.data, "-U", ROOT]
        run(*initdb, "-A", "scram-sha-256", "--pwfile", password_file, "--no-sync", "--no-locale", "-E", "UTF8")
        method = "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca"
        plain = "host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256"
        (self.data / "pg_hba.conf").write_text(f"{method if self.is_secure else plain}\n")

    def _follow(self, _: SqlServer) -> None:
        (self.data / "standby.signal").touch()
        if _as_nobody():
            shutil.chown(self.folder, "nobody")
            shutil.chown(self.data / "standby.signal", "nobody")
        self.start()

    def _make_table(self) -> None:
        self.sql(f"CREATE DATABASE {DATABASE}", ROOT)
        self.sql(_CREATE)
        self.sql(f"CREATE ROLE seawall LOGIN PASSWORD '{self.passwords[1]}'")
        self.sql(_GRANT)


def _as_nobody() -> tuple[str, ...]:
    """PostgreSQL refuses to run as root. What kills it with the test bed is set anew: a change of user clears it."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=KILL")
