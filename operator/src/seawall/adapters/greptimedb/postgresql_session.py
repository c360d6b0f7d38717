"""Connections to PostgreSQL, and how its transactions begin."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from pg8000.exceptions import InterfaceError
from pg8000.native import Connection

from seawall.adapters.greptimedb.postgresql_errors import POSTGRESQL, PostgresSentences
from seawall.adapters.greptimedb.sql_errors import Standby
from seawall.adapters.greptimedb.sql_session import Address, Hosts, SQLSession
from seawall.adapters.http import client_context
from seawall.adapters.times import HTTP_ANSWER_SECONDS, SQL_LOCK_SECONDS, SQL_WRITE_SECONDS
from seawall.domain.dataplane.connection import PostgresConnection

_BEGIN = (
    "BEGIN ISOLATION LEVEL {isolation}; SET LOCAL row_security = off; SET LOCAL bytea_output = hex;"
    " SET LOCAL synchronous_commit = on;"
    f" SET LOCAL statement_timeout = '{HTTP_ANSWER_SECONDS:g}s'; SET LOCAL lock_timeout = '{SQL_LOCK_SECONDS:g}s';"
    " SET LOCAL idle_in_transaction_session_timeout = '{idle:g}s'; LOCK TABLE {table} IN {lock} MODE;"
    " SET LOCAL statement_timeout = '{statement:g}s'"
)
"""The lock comes before the snapshot, which the first SELECT takes: whoever truncates or replaces the table meanwhile
would leave an empty one to read. Rows that a policy hides are an error, never left out. Nothing outlasts the
transaction, for a pooler may give the connection to others. The wait for the lock has a limit of its own, beside that
of the statements after it."""
_LEADS = "SELECT pg_is_in_recovery(), extract(epoch FROM pg_postmaster_start_time())::text"
"""In no transaction: a standby refuses the isolation and the lock of a write."""
_PRIMARY = """
SELECT pg_is_in_recovery(), (SELECT system_identifier::text FROM pg_control_system()),
       (SELECT oid::text FROM pg_database WHERE datname = current_database()), '{table}'::regclass::oid::text,
       pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint FROM pg_current_snapshot() AS s
"""


@dataclass(frozen=True, slots=True)
class Primary:
    """Which server, database and table answers, and what its snapshot may have seen.

    Attributes:
        system_identifier: made with the files of the server; a copy of them has the same one.
        database_oid: of the database in it.
        table_oid: of the table; one that was dropped and made anew has another one.
        xmin: all transactions below this one had ended.
        xmax: the first that had not begun. Both kinds of transaction have one snapshot: it is that of each statement.
    """

    system_identifier: str
    database_oid: str
    table_oid: str
    xmin: int
    xmax: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """How a transaction begins: what it sees, whom it keeps from the table, and when the server ends it by itself.

    Attributes:
        isolation: of SQL.
        lock: of the table.
        idle: seconds in which we say nothing.
        statement: seconds of one statement, once the table is locked.
    """

    isolation: str
    lock: str
    idle: float
    statement: float


READ = Transaction("REPEATABLE READ, READ ONLY", "ACCESS SHARE", 2 * HTTP_ANSWER_SECONDS, HTTP_ANSWER_SECONDS)
"""One snapshot; the table stays the same one."""
WRITE = Transaction("SERIALIZABLE", "SHARE ROW EXCLUSIVE", SQL_WRITE_SECONDS, SQL_WRITE_SECONDS)
"""No transaction that has written to the table is open then, and none can until the end: GreptimeDB writes checkpoints
outside of transactions, so a conflict with them would not show. One of its own transactions that began before, and has
read what we write, fails by being serializable, too, and is tried again by it."""


class PostgresSession(SQLSession):
    """One connection to PostgreSQL."""

    def __init__(
        self, connection: PostgresConnection, tls: ssl.SSLContext | None, address: Address, patience: float
    ) -> None:
        self._declared, self._tls = connection, tls
        super().__init__(address, PostgresSentences(address, connection), patience)

    def begin(self, kind: Transaction) -> Primary:
        """Begins a transaction.

        Raises:
            PartUnavailable: it is a standby; else as `rows`.
        """
        table = self._declared.table_name
        self.rows(_BEGIN.format(table=table, **asdict(kind)))
        with self._sentences.translated():
            (row,) = self.rows(_PRIMARY.format(table=table))
            return _primary(row)

    def rows(self, sql: str, **values: Any) -> list[list[Any]]:
        """What a statement answers.

        Raises:
            PartUnavailable: no answer, or not now.
            PartRefused: it said no.
        """
        with self._answers():
            return list(self._connection.run(sql, **values) or ())

    def _log_in(self, host: str, plain: socket.socket) -> None:
        declared = self._declared
        self._connection = Connection(
            declared.user.name,
            host=host,
            database=declared.database,
            password=declared.user.password,
            ssl_context=False if self._tls is None else self._tls,
            application_name="seawall",
            sock=plain,
        )

    def _log_out(self) -> None:
        with suppress(InterfaceError, OSError):
            self._connection.close()

    def _leader(self) -> str:
        """When the server started."""
        ((is_standby, since),) = self._connection.run(_LEADS)
        if is_standby:
            raise Standby
        return str(since)


def postgres_hosts(connection: PostgresConnection) -> Hosts[PostgresSession]:
    """The servers of one PostgreSQL.

    Raises:
        PartRefused: a certificate or key makes no sense.
    """
    tls = None if connection.tls is None else client_context(POSTGRESQL.name, connection.tls)
    return Hosts(
        POSTGRESQL, connection.hosts, lambda address, patience: PostgresSession(connection, tls, address, patience)
    )


def _primary(row: list[Any]) -> Primary:
    is_standby, *found = row
    if is_standby:
        raise Standby
    return Primary(*found)
