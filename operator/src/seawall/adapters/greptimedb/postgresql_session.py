"""Connections to PostgreSQL: hosts in turn until one is the primary, TLS, and a deadline for every answer."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from pg8000.exceptions import InterfaceError
from pg8000.native import Connection

from seawall.adapters.greptimedb.http import client_context
from seawall.adapters.greptimedb.postgresql_errors import Late, Sentences, Standby, two_primaries
from seawall.adapters.times import (
    HTTP_ANSWER_SECONDS,
    HTTP_CONNECT_SECONDS,
    SQL_LOCK_SECONDS,
    SQL_OTHERS_SECONDS,
    SQL_WRITE_SECONDS,
)
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable, PostgresConnection

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


class Session:
    """One connection. It is closed in any case, which rolls back what was not committed.

    Args:
        patience: seconds for each answer.
    """

    def __init__(
        self,
        address: tuple[str, int],
        connection: PostgresConnection,
        tls: ssl.SSLContext | None,
        sentences: Sentences,
        patience: float = HTTP_ANSWER_SECONDS,
    ) -> None:
        self._sentences, self._patience = sentences, patience
        with sentences.translated():
            plain = socket.create_connection(address, min(HTTP_CONNECT_SECONDS, patience))
        plain.settimeout(None)  # each answer has a deadline; the socket's own would count anew with every byte
        self._guard = plain.dup()
        try:
            with sentences.translated(), self._deadline():
                self._connection = Connection(
                    connection.user.name,
                    host=address[0],
                    database=connection.database,
                    password=connection.user.password,
                    ssl_context=False if tls is None else tls,
                    application_name="seawall",
                    sock=plain,
                )
        except BaseException:
            plain.close()
            self._guard.close()
            raise

    def rows(self, sql: str, **values: Any) -> list[list[Any]]:
        """What a statement answers.

        Raises:
            PartUnavailable: no answer, or not now.
            PartRefused: it said no.
        """
        with self._sentences.translated(), self._deadline():
            return list(self._connection.run(sql, **values) or ())

    def leads_since(self) -> str:
        """When the server started, unless it is a standby: the same for all names that a server has.

        Raises:
            PartUnavailable: it is one; else as `rows`.
        """
        with self._sentences.translated():
            ((is_standby, since),) = self.rows(_LEADS)
            if is_standby:
                raise Standby
        return str(since)

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        with suppress(InterfaceError, OSError):
            self._connection.close()
        self._guard.close()

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        """Cuts the connection when the time is over: whoever waits for it is told at once."""
        is_late = threading.Event()

        def cut() -> None:
            is_late.set()
            with suppress(OSError):
                self._guard.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._patience, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (InterfaceError, OSError) as error:
            if is_late.is_set():
                raise Late from error
            raise
        finally:
            timer.cancel()


class Hosts:
    """The servers of one PostgreSQL; safe to use from many threads."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection, self._addresses = connection, connection.hosts
        self._tls = None if connection.tls is None else client_context("PostgreSQL", connection.tls)

    @contextmanager
    def primary(self, kind: Transaction) -> Iterator[tuple[Session, Primary]]:
        """A transaction on the primary, which is rolled back unless it is committed.

        Raises:
            PartUnavailable: no primary answered.
            PartRefused: none does, and one does not let us in or has no such table; or two lead.
        """
        session, primary = self._open(kind)
        try:
            yield session, primary
        finally:
            session.close()

    def _open(self, kind: Transaction) -> tuple[Session, Primary]:
        """Tries the hosts, first the one that was the primary last. A refusal is raised rather than a silence."""
        silent: PartUnavailable | None = None
        refused: PartRefused | None = None
        for address in self._addresses:
            try:
                found = self._begin(address, kind)
            except PartUnavailable as error:
                silent = silent or error
            except PartRefused as error:
                if error.why is NotReached.CONTRADICTION:
                    raise
                refused = refused or error
            else:
                self._addresses = (address, *self._addresses_without(address))
                return found
        trouble = refused or silent
        if trouble is None:
            raise ValueError("no hosts")
        raise trouble

    def _begin(self, address: tuple[str, int], kind: Transaction) -> tuple[Session, Primary]:
        sentences = Sentences(address, self._connection)
        session = Session(address, self._connection, self._tls, sentences)
        try:
            self._leads_alone(address, session.leads_since())
            table = self._connection.table_name
            session.rows(_BEGIN.format(table=table, **asdict(kind)))
            with sentences.translated():
                (row,) = session.rows(_PRIMARY.format(table=table))
                return session, _primary(row)
        except BaseException:
            session.close()
            raise

    def _leads_alone(self, address: tuple[str, int], since: str) -> None:
        """Asks the other hosts, too: an old primary that came back knows nothing of what the new one has.

        Raises:
            PartRefused: another server leads. Who is silent or refuses says nothing.
        """
        others = self._leaders(self._addresses_without(address))
        leaders = {address, *(other for other, started in others.items() if started != since)}
        if len(leaders) > 1:
            raise PartRefused(NotReached.CONTRADICTION, two_primaries(sorted(leaders)))

    def _leaders(self, addresses: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], str]:
        """Since when which of these lead, as far as they say so in time; all are asked at once."""
        found: dict[tuple[str, int], str] = {}

        def ask(address: tuple[str, int]) -> None:
            sentences = Sentences(address, self._connection)
            with suppress(PartUnavailable, PartRefused):
                session = Session(address, self._connection, self._tls, sentences, SQL_OTHERS_SECONDS)
                with closing(session):
                    found[address] = session.leads_since()

        threads = [threading.Thread(target=ask, args=(address,), daemon=True) for address in addresses]
        end = time.monotonic() + SQL_OTHERS_SECONDS
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
        return dict(found)

    def _addresses_without(self, address: tuple[str, int]) -> tuple[tuple[str, int], ...]:
        return tuple(other for other in self._addresses if other != address)


def _primary(row: list[Any]) -> Primary:
    is_standby, *found = row
    if is_standby:
        raise Standby
    return Primary(*found)
