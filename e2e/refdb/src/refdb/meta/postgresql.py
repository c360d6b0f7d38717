"""PostgreSQL, as GreptimeDB keeps its metadata there: one table, serializable transactions, tried again in conflicts.

A revision is the id of the transaction that wrote last; of this server, which is young, 32 bits of it are all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self
from urllib.parse import urlsplit

from pg8000.exceptions import Error
from pg8000.native import Connection, DatabaseError

from refdb.errors import Unavailable
from refdb.meta.store import KeyValue, Snapshot

TIMEOUT = 3
TRIES = 4
TABLE = "greptime_metakv"
CONFLICTS = ("40001", "40P01")
_ROWS = f"SELECT k, v, xmin::text::bigint FROM {TABLE}"  # noqa: S608 - a constant
_RANGE = f"{_ROWS} WHERE k >= :first AND k < :last ORDER BY k"


class Postgresql:
    """A client; each call has a connection of its own. `prefix` goes before every key, without a separator."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self._url, self._prefix = urlsplit(url), prefix.encode()

    def get(self, key: str) -> KeyValue:
        """One key, there or not."""
        with self._session() as session:
            return self._get(session.connection, key)

    def range(self, prefix: str) -> Snapshot:
        """All keys with a prefix."""
        with self._session("REPEATABLE READ") as session:
            ((first_open,),) = session.connection.run("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            pairs = tuple(map(self._pair, session.connection.run(_RANGE, **self._bounds(prefix))))
            return Snapshot(prefix, first_open - 1, pairs)

    def txn(self, unchanged: Sequence[KeyValue | Snapshot], writes: Mapping[str, str | None]) -> bool:
        """Writes all (None removes a key), if what was read is unchanged; False means that nothing was written."""
        for _ in range(TRIES):
            try:
                with self._session("SERIALIZABLE") as session:
                    if not all(self._is_unchanged(session.connection, read) for read in unchanged):
                        return False
                    for key, value in writes.items():
                        self._write(session.connection, key, value)
                    session.connection.run("COMMIT")
                    return True
            except _ConflictError:
                continue
        raise Unavailable("the metadata store (PostgreSQL) is written to by others all the time")

    def _is_unchanged(self, connection: Connection, read: KeyValue | Snapshot) -> bool:
        match read:
            case KeyValue(key, _, revision):
                return self._get(connection, key).mod_revision == revision
            case Snapshot(prefix, revision):
                rows = connection.run(_RANGE, **self._bounds(prefix))
                return all(xid <= revision for _, _, xid in rows)

    def _get(self, connection: Connection, key: str) -> KeyValue:
        rows = connection.run(f"{_ROWS} WHERE k = :k", k=self._prefix + key.encode())
        return self._pair(rows[0]) if rows else KeyValue(key)

    def _write(self, connection: Connection, key: str, value: str | None) -> None:
        name = self._prefix + key.encode()
        if value is None:
            connection.run(f"DELETE FROM {TABLE} WHERE k = :k", k=name)  # noqa: S608 - a constant
        else:
            upsert = f"INSERT INTO {TABLE} VALUES (:k, :v) ON CONFLICT (k) DO UPDATE SET v = excluded.v"  # noqa: S608
            connection.run(upsert, k=name, v=value.encode())

    def _pair(self, row: Sequence[bytes | int]) -> KeyValue:
        key, value, xid = row
        return KeyValue(bytes(key).removeprefix(self._prefix).decode(), bytes(value).decode(), int(xid))

    def _bounds(self, prefix: str) -> dict[str, bytes]:
        first = self._prefix + prefix.encode()
        return {"first": first, "last": first[:-1] + bytes([first[-1] + 1])}

    def _session(self, isolation: str = "READ COMMITTED") -> _Session:
        return _Session(self._url.geturl(), isolation)


class _ConflictError(Exception):
    """Another transaction was first, and this one may be tried again."""


class _Session:
    """A connection in a transaction, which is rolled back unless it is committed."""

    def __init__(self, url: str, isolation: str) -> None:
        self._url, self._isolation = urlsplit(url), isolation
        self.connection: Connection

    def __enter__(self) -> Self:
        url = self._url
        try:
            self.connection = Connection(
                url.username or "postgres",
                host=url.hostname or "127.0.0.1",
                port=url.port or 5432,
                database=url.path.removeprefix("/"),
                password=url.password or "",
                ssl_context=False,
                timeout=TIMEOUT,
            )
        except (Error, OSError) as error:
            raise self._silence(error) from error
        try:
            self.connection.run(f"BEGIN ISOLATION LEVEL {self._isolation}")
        except (Error, OSError) as error:
            self._close()
            raise self._silence(error) from error
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        self._close()
        if isinstance(error, DatabaseError) and dict(error.args[0]).get("C") in CONFLICTS:
            raise _ConflictError from error
        if isinstance(error, Error | OSError):
            raise self._silence(error) from error

    def _close(self) -> None:
        try:
            self.connection.close()
        except (Error, OSError):
            return

    def _silence(self, error: Exception) -> Unavailable:
        where = f"{self._url.hostname}:{self._url.port}"
        return Unavailable(f"the metadata store (PostgreSQL) does not answer: {where}: {error}")
