"""A PostgreSQL of its own on loopback, with GreptimeDB's table of metadata."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import ssl
import tempfile
from pathlib import Path
from typing import Any, Self

from pg8000.exceptions import Error
from pg8000.native import Connection

from seawall.domain.dataplane.connection import ClientTLS, PostgresConnection, User
from seawall_e2e.commands import run
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import Process, free_ports, platform_folder

START_TIMEOUT = 60
INSTALL_TIMEOUT = 600
TABLE = "greptime_metakv"
DATABASE = "metadata"
ROOT = "postgres"
_CREATE = f"CREATE TABLE {TABLE} (k bytea PRIMARY KEY, v bytea)"
_GRANT = f"GRANT SELECT, INSERT, UPDATE ON {TABLE} TO seawall"


class PostgresProcess:
    """One server. Data survive kill and start, not `close()`. A secure one wants TLS and client certificates.

    The user of `connection` may do with the table what Seawall needs where it moves the markers. A standby has the
    files of another server, which is stopped while they are copied, and follows nobody.
    """

    def __init__(self, *, secure: bool = False, standby_of: PostgresProcess | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-postgresql-"))
        self._folder.chmod(0o755)
        self.data, (self._port,) = self._folder / "data", free_ports(1)
        self._passwords = (secrets.token_hex(), secrets.token_hex()) if standby_of is None else standby_of.passwords
        self._authority = CertificateAuthority(self._folder)
        self._client = self._authority.issue("client", "/CN=seawall")
        self._secure = secure
        self.bin = platform_folder("postgresql.sh", INSTALL_TIMEOUT)
        self._process = Process("postgresql", self._command(), self._folder)
        try:
            if standby_of is None:
                self._make_files()
                self.start()
                self._make_table()
            else:
                self._copy(standby_of)
                self.start()
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> PostgresConnection:
        """How Seawall gets in."""
        ca, client, address = self._authority.cert.read_text(), self._client, (("127.0.0.1", self._port),)
        tls = ClientTLS(ca, client.cert.read_text(), client.key.read_text()) if self._secure else None
        return PostgresConnection(address, DATABASE, User("seawall", self._passwords[1]), table=TABLE, tls=tls)

    @property
    def passwords(self) -> tuple[str, str]:
        """Of the superuser, and of the user of `connection`."""
        return self._passwords

    @property
    def url(self) -> str:
        """How the database itself gets in, which may do all."""
        return f"postgresql://{ROOT}:{self._passwords[0]}@127.0.0.1:{self._port}/{DATABASE}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process.start()
        self._process.wait_ready(self._is_ready, START_TIMEOUT)

    def kill(self) -> None:
        """Ends it as a crash would: nothing is written any more, and the next start recovers."""
        self._process.signal(signal.SIGQUIT)
        self._process.wait_ended(START_TIMEOUT)

    def stop(self) -> None:
        """Ends it in order."""
        self._process.signal(signal.SIGINT)
        self._process.wait_ended(START_TIMEOUT)

    def pause(self) -> None:
        """Freezes what accepts connections (SIGSTOP)."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def promote(self) -> None:
        """Makes a primary of a standby."""
        self.sql("SELECT pg_promote()")

    def back_up(self) -> Path:
        """A copy of its files, taken while it is stopped."""
        copy = Path(tempfile.mkdtemp(dir=self._folder)) / "data"
        self.stop()
        run("cp", "-a", self.data, copy)
        self.start()
        return copy

    def back_up_online(self) -> Path:
        """A copy of its files, taken while it runs and is written to (pg_basebackup)."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        if _as_nobody():
            shutil.chown(folder, "nobody")
        program: tuple[str | Path, ...] = (*_as_nobody(), self.bin / "pg_basebackup", "-X", "stream", "-c", "fast")
        run(*program, "-d", self.url.removesuffix(DATABASE), "-D", folder / "data")
        return folder / "data"

    def restore(self, copy: Path) -> None:
        """Puts the copy in the place of its files."""
        self.stop()
        shutil.rmtree(self.data)
        run("cp", "-a", copy, self.data)
        self.start()

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
            port=self._port,
            database=database,
            password=self._passwords[0],
            ssl_context=self._trust if self._secure else False,
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

    def close(self) -> None:
        """Ends it and removes its data."""
        if self._process.is_running():
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _trust(self) -> ssl.SSLContext:
        trust = ssl.create_default_context(cafile=self._authority.cert)
        trust.load_cert_chain(self._client.cert, self._client.key)
        return trust

    def _is_ready(self) -> bool:
        try:
            self.sql("SELECT 1", ROOT)
        except (Error, OSError):
            return False
        return True

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": "",
            "fsync": "off",  # the data need not outlive the machine
            "autovacuum": "off",  # tests count transactions
        }
        if self._secure:
            files = {"ssl_cert_file": "server.crt", "ssl_key_file": "server.key", "ssl_ca_file": "ca.crt"}
            settings |= {"ssl": "on", **{name: self._folder / file for name, file in files.items()}}
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        return [*_as_nobody(), self.bin / "postgres", "-D", self.data, *flags]

    def _make_files(self) -> None:
        server, password_file = self._authority.issue("server", "/CN=postgresql"), self._folder / "password"
        password_file.write_text(self._passwords[0])
        owned = (self._folder, password_file, server.key)
        if _as_nobody():
            for path in owned:
                shutil.chown(path, "nobody")
        initdb: list[str | Path] = [*_as_nobody(), self.bin / "initdb", "-D", self.data, "-U", ROOT]
        run(*initdb, "-A", "scram-sha-256", "--pwfile", password_file, "--no-sync", "--no-locale", "-E", "UTF8")
        method = "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca"
        plain = "host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256"
        (self.data / "pg_hba.conf").write_text(f"{method if self._secure else plain}\n")

    def _copy(self, other: PostgresProcess) -> None:
        run("cp", "-a", other.back_up(), self.data)
        (self.data / "standby.signal").touch()
        if _as_nobody():
            shutil.chown(self._folder, "nobody")
            shutil.chown(self.data / "standby.signal", "nobody")

    def _make_table(self) -> None:
        self.sql(f"CREATE DATABASE {DATABASE}", ROOT)
        self.sql(_CREATE)
        self.sql(f"CREATE ROLE seawall LOGIN PASSWORD '{self._passwords[1]}'")
        self.sql(_GRANT)


def _as_nobody() -> tuple[str, ...]:
    """PostgreSQL refuses to run as root. What kills it with the test bed is set anew: a change of user clears it."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=KILL")
