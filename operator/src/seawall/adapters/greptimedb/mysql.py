"""MySQL's table of GreptimeDB's keys: views of one snapshot, and writes that compare first under locks.

InnoDB shows nobody which transaction wrote a row: a row's revision is the first view of this process that found it as
it is. docs/adr/0046-metadata-in-mysql.md says why that is enough, and what it cannot show.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from seawall.adapters.greptimedb.keys import Comparison, HasValue, KeyValue, NothingNewer, Unchanged, range_end
from seawall.adapters.greptimedb.mysql_session import READ, WRITE, Held, MysqlSession, Primary, mysql_hosts
from seawall.adapters.greptimedb.row_revisions import Numbers, RowRevisions
from seawall.adapters.times import SQL_LOCK_SECONDS, SQL_RETRY_SECONDS
from seawall.domain.dataplane.connection import MySQLConnection, NotReached, PartUnavailable


@dataclass(frozen=True, slots=True)
class MysqlView:
    """The keys of a table in one snapshot."""

    store_id: str
    issued: int | None
    """How far the redo log was on disk: it tells whether the store went back, and no row's age."""
    _numbers: Numbers
    _session: MysqlSession
    _table: str
    _prefix: bytes
    _revisions: RowRevisions

    @property
    def revision(self) -> int:
        """What is found later, and was not there, has a greater one."""
        return self._numbers.view

    def range(self, start: str) -> Iterator[KeyValue]:
        """All keys that begin with `start`."""
        first = self._prefix + start.encode()
        yield from self._pairs(first, "k >= %s AND k < %s ORDER BY k", first, range_end(first))

    def get(self, key: str) -> KeyValue | None:
        """One key."""
        name = self._prefix + key.encode()
        return next(self._pairs(name, "k = %s", name), None)

    def _pairs(self, start: bytes, where: str, *values: bytes) -> Iterator[KeyValue]:
        """What is no UTF-8 text shows as such and makes no sense to whoever reads it."""
        sql = f"SELECT k, v FROM {self._table} FORCE INDEX (PRIMARY) WHERE {where}"  # noqa: S608 - names are checked
        rows = [(key, value or b"") for key, value in self._session.rows(sql, *values)]
        for (key, value), revision in zip(rows, self._revisions.observe(start, rows, self._numbers.rows), strict=True):
            name = key.removeprefix(self._prefix).decode(errors="replace")
            yield KeyValue(name, value.decode(errors="replace"), revision)


class MySQL:
    """A client for the keys below a prefix; safe to use from many threads. Each call has a connection of its own."""

    def __init__(self, connection: MySQLConnection) -> None:
        self._hosts, self._prefix = mysql_hosts(connection), connection.prefix.encode()
        self._connection, self._table = connection, connection.table_name
        self._revisions = RowRevisions()

    @property
    def doubt(self) -> str:
        """What two views find first at the same time is newer than either."""
        return " (or this Seawall has read it for the first time since)"

    def close(self) -> None:
        """Nothing is kept open."""

    @contextmanager
    def view(self) -> Iterator[MysqlView]:
        """The keys as they are now."""
        asked = self._revisions.ask()
        with self._hosts.primary(lambda session: session.begin(READ)) as (session, primary):
            store_id = self._store_id(primary)
            numbers = self._revisions.number(asked, primary.flushed, store_id)
            yield MysqlView(store_id, primary.flushed, numbers, session, self._table, self._prefix, self._revisions)

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        """Writes keys if everything is as compared; False means that nothing was written.

        It waits for no lock while it holds one, but for the gap where a key is new: nobody waits in a circle with it.
        """
        end = time.monotonic() + SQL_LOCK_SECONDS
        while True:
            with self._hosts.primary(lambda session: session.begin(WRITE)) as (session, primary):
                try:
                    return self._written(session, self._store_id(primary), values, compare)
                except Held as held:
                    if time.monotonic() > end:
                        raise PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, str(held)) from held
            time.sleep(SQL_RETRY_SECONDS)

    def _written(
        self, session: MysqlSession, store_id: str, values: Mapping[str, str], compare: Sequence[Comparison]
    ) -> bool:
        if not (self._are_as_compared(session, store_id, compare) and self._is_old(session, store_id, compare)):
            return False
        pairs = [part for key, value in values.items() for part in (self._prefix + key.encode(), value.encode())]
        places = ", ".join(["(%s, %s)"] * len(values))
        sql = (
            f"INSERT INTO {self._table} (k, v) VALUES {places} AS new"  # noqa: S608 - names are checked
            " ON DUPLICATE KEY UPDATE v = new.v"
        )
        session.locked(sql, *pairs)
        session.rows("COMMIT")
        return True

    def _are_as_compared(self, session: MysqlSession, store_id: str, compare: Sequence[Comparison]) -> bool:
        """Whether single keys have the value, or the revision, that they should have. Nobody else writes them now."""
        single = [item for item in compare if not isinstance(item, NothingNewer)]
        if not single:
            return True
        keys = sorted({self._prefix + item.key.encode() for item in single})
        places = ", ".join(["%s"] * len(keys))
        held = dict(self._locked(session, f"k IN ({places}) FOR UPDATE NOWAIT", *keys))
        return all(self._is_as_compared(item, store_id, held) for item in single)

    def _is_as_compared(self, item: Unchanged | HasValue, store_id: str, held: Mapping[bytes, bytes]) -> bool:
        key = self._prefix + item.key.encode()
        match item:
            case HasValue(_, value):
                return held.get(key) == (None if value is None else value.encode())
            case Unchanged(_, revision):
                return key in held and self._revisions.known(key, held[key], store_id) == revision

    def _is_old(self, session: MysqlSession, store_id: str, compare: Sequence[Comparison]) -> bool:
        """Whether no key of a range is newer than it may be. No other can be born there now."""
        at_most: dict[bytes, int] = {}
        for item in compare:
            if isinstance(item, NothingNewer):
                start = self._prefix + item.start.encode()
                at_most[start] = min(item.revision, at_most.get(start, item.revision))
        return all(self._is_range_old(session, store_id, start, revision) for start, revision in at_most.items())

    def _is_range_old(self, session: MysqlSession, store_id: str, start: bytes, at_most: int) -> bool:
        rows = self._locked(session, "k >= %s AND k < %s FOR SHARE NOWAIT", start, range_end(start))
        revisions = [self._revisions.known(key, value, store_id) for key, value in rows]
        return all(revision is not None and revision <= at_most for revision in revisions)

    def _locked(self, session: MysqlSession, where: str, *values: bytes) -> list[tuple[bytes, bytes]]:
        sql = f"SELECT k, v FROM {self._table} FORCE INDEX (PRIMARY) WHERE {where}"  # noqa: S608 - names are checked
        return [(key, value or b"") for key, value in session.locked(sql, *values)]

    def _store_id(self, primary: Primary) -> str:
        table = f"{self._connection.database}.{self._connection.table}@{primary.made}"
        return f"mysql/{primary.server_uuid}/{table}/{self._prefix.decode()}"
