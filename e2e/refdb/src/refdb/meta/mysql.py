"""MySQL, as GreptimeDB keeps its metadata there: one table, serializable transactions, tried again after deadlocks.

No row has a revision: 1 for what is there, and what was read is compared by its values, as GreptimeDB does.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from pymysql import Connection, MySQLError

from refdb.errors import Unavailable
from refdb.meta.store import KeyValue, Snapshot

TIMEOUT = 3
TRIES = 4
TABLE = "greptime_metakv"
CONFLICTS = (1213, 1205)
"""A deadlock, and a lock that was held for too long."""
_ROWS = f"SELECT k, v FROM {TABLE}"  # noqa: S608 - a constant
_RANGE = f"{_ROWS} WHERE k >= %s AND k < %s ORDER BY k"


class Mysql:
    """A client; each call has a connection of its own. `prefix` goes before every key, without a separator."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self._url, self._prefix = url, prefix.encode()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    def get(self, key: str) -> KeyValue:
        """One key, there or not."""
        with self._session() as session:
            return self._get(session, key)

    def range(self, prefix: str) -> Snapshot:
        """All keys with a prefix."""
        with self._session() as session:
            return self._range(session, prefix)

    def txn(self, unchanged: Sequence[KeyValue | Snapshot], writes: Mapping[str, str | None]) -> bool:
        """Writes all (None removes a key), if what was read is unchanged; False means that nothing was written."""
        for _ in range(TRIES):
            try:
                with self._session("SERIALIZABLE") as session:
                    if not all(self._is_unchanged(session, read) for read in unchanged):
                        return False
                    for key, value in writes.items():
                        self._write(session, key, value)
                    session.run("COMMIT")
                    return True
            except _ConflictError:
                continue
        raise Unavailable("the metadata store (MySQL) is written to by others all the time")

    def _is_unchanged(self, session: _Session, read: KeyValue | Snapshot) -> bool:
        match read:
            case KeyValue(key):
                return self._get(session, key) == read
            case Snapshot(prefix, _, pairs):
                return set(self._range(session, prefix).pairs) <= set(pairs)

    def _get(self, session: _Session, key: str) -> KeyValue:
        rows = session.run(f"{_ROWS} WHERE k = %s", self._prefix + key.encode())
        return self._pair(rows[0]) if rows else KeyValue(key)

    def _range(self, session: _Session, prefix: str) -> Snapshot:
        first = self._prefix + prefix.encode()
        rows = session.run(_RANGE, first, first[:-1] + bytes([first[-1] + 1]))
        return Snapshot(prefix, 1, tuple(map(self._pair, rows)))

    def _write(self, session: _Session, key: str, value: str | None) -> None:
        name = self._prefix + key.encode()
        if value is None:
            session.run(f"DELETE FROM {TABLE} WHERE k = %s", name)  # noqa: S608 - a constant
        else:
            upsert = f"INSERT INTO {TABLE} (k, v) VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = VALUES(v)"  # noqa: S608
            session.run(upsert, name, value.encode())

    def _pair(self, row: Sequence[bytes]) -> KeyValue:
        key, value = row
        return KeyValue(key.removeprefix(self._prefix).decode(), value.decode(), 1)

    def _session(self, isolation: str = "REPEATABLE READ") -> _Session:
        return _Session(self._url, self._tls, isolation)


class _ConflictError(Exception):
    """Another transaction was first, and this one may be tried again."""


class _Session:
    """A connection in a transaction, which is rolled back unless it is committed."""

    def __init__(self, url: str, tls: ssl.SSLContext, isolation: str) -> None:
        self._url, self._tls, self._isolation = urlsplit(url), tls, isolation
        self._connection: Connection[Any]

    def run(self, sql: str, *values: bytes) -> list[tuple[Any, ...]]:
        """What a statement answers."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def __enter__(self) -> Self:
        url = self._url
        try:
            self._connection = Connection(
                host=url.hostname or "127.0.0.1",
                port=url.port or 3306,
                user=unquote(url.username or "root"),
                password=unquote(url.password or ""),
                database=url.path.removeprefix("/"),
                ssl=self._tls,
                connect_timeout=TIMEOUT,
                read_timeout=TIMEOUT,
                write_timeout=TIMEOUT,
            )
        except (MySQLError, OSError) as error:
            raise self._silence(error) from error
        try:
            self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {self._isolation}")
            self.run("START TRANSACTION")
        except (MySQLError, OSError) as error:
            self._close()
            raise self._silence(error) from error
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        self._close()
        if isinstance(error, MySQLError) and error.args[:1] in {(code,) for code in CONFLICTS}:
            raise _ConflictError from error
        if isinstance(error, MySQLError | OSError):
            raise self._silence(error) from error

    def _close(self) -> None:
        try:
            self._connection.close()
        except (MySQLError, OSError):
            return

    def _silence(self, error: Exception) -> Unavailable:
        where = f"{self._url.hostname}:{self._url.port}"
        return Unavailable(f"the metadata store (MySQL) does not answer: {where}: {error}")
