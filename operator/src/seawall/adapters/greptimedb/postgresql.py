"""PostgreSQL's table of GreptimeDB's keys: views of one snapshot, and writes that compare first under a lock.

A revision is a transaction id of 64 bits: that of a row is the one that wrote it (`xmin`), that of a view the newest
one of which all older ones had ended, too. docs/adr/0042-metadata-in-postgresql.md says why, and what it cannot show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from seawall.adapters.greptimedb.keys import Comparison, HasValue, KeyValue, NothingNewer, Unchanged, range_end
from seawall.adapters.greptimedb.postgresql_session import READ, WRITE, PostgresSession, postgres_hosts
from seawall.domain.dataplane.connection import PostgresConnection


@dataclass(frozen=True, slots=True)
class PostgresView:
    """The keys of a table in one snapshot."""

    store_id: str
    revision: int
    _session: PostgresSession
    _table: str
    _prefix: bytes
    _before: int
    """The first transaction id that the snapshot cannot have."""

    @property
    def issued(self) -> int | None:
        """All ids of transactions below the snapshot's end had been given out, whether they had ended or not."""
        return self._before - 1

    def range(self, start: str) -> Iterator[KeyValue]:
        """All keys that begin with `start`."""
        first = self._prefix + start.encode()
        yield from self._pairs("k >= :first AND k < :last ORDER BY k", first=first, last=range_end(first))

    def get(self, key: str) -> KeyValue | None:
        """One key."""
        return next(self._pairs("k = :key", key=self._prefix + key.encode()), None)

    def _pairs(self, where: str, **values: bytes) -> Iterator[KeyValue]:
        """What is no UTF-8 text shows as such and makes no sense to whoever reads it."""
        sql = f"SELECT k, v, xmin::text::bigint FROM {self._table} WHERE {where}"  # noqa: S608 - names are checked
        for key, value, xid in self._session.rows(sql, **values):
            name = key.removeprefix(self._prefix).decode(errors="replace")
            yield KeyValue(name, (value or b"").decode(errors="replace"), full_xid(xid, self._before))


class PostgreSQL:
    """A client for the keys below a prefix; safe to use from many threads. Each call has a connection of its own."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._hosts, self._prefix = postgres_hosts(connection), connection.prefix.encode()
        self._table = connection.table_name

    @property
    def doubt(self) -> str:
        """What overlaps with an open transaction counts as newer than it may be."""
        return (
            " (or a transaction that writes, in whatever database of this PostgreSQL, has been open since before then)"
        )

    def close(self) -> None:
        """Nothing is kept open."""

    @contextmanager
    def view(self) -> Iterator[PostgresView]:
        """The keys as they are now."""
        with self._hosts.primary(lambda session: session.begin(READ)) as (session, primary):
            table = f"{primary.database_oid}.{primary.table_oid}"
            store_id = f"postgresql/{primary.system_identifier}/{table}/{self._prefix.decode()}"
            yield PostgresView(store_id, primary.xmin - 1, session, self._table, self._prefix, primary.xmax)

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        """Writes keys if everything is as compared; False means that nothing was written."""
        with self._hosts.primary(lambda session: session.begin(WRITE)) as (session, primary):
            before = primary.xmax
            if not (self._are_as_compared(session, compare, before) and self._is_old(session, compare, before)):
                return False
            keys = [self._prefix + key.encode() for key in values]
            sql = (
                f"INSERT INTO {self._table} (k, v)"  # noqa: S608 - names are checked
                " SELECT * FROM unnest(CAST(:keys AS bytea[]), CAST(:texts AS bytea[]))"
                " ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v"
            )
            session.rows(sql, keys=keys, texts=[value.encode() for value in values.values()])
            session.rows("COMMIT")
            return True

    def _are_as_compared(self, session: PostgresSession, compare: Sequence[Comparison], before: int) -> bool:
        """Whether single keys have the value, or the revision, that they should have."""
        single = [item for item in compare if not isinstance(item, NothingNewer)]
        sql = f"SELECT k, v, xmin::text::bigint FROM {self._table} WHERE k = ANY(CAST(:keys AS bytea[]))"  # noqa: S608
        rows = session.rows(sql, keys=[self._prefix + item.key.encode() for item in single]) if single else []
        held = {key: (value or b"", full_xid(xid, before)) for key, value, xid in rows}
        return all(_is_as_compared(item, held.get(self._prefix + item.key.encode())) for item in single)

    def _is_old(self, session: PostgresSession, compare: Sequence[Comparison], before: int) -> bool:
        """Whether no key of a range is newer than it may be."""
        at_most: dict[bytes, int] = {}
        for item in compare:
            if isinstance(item, NothingNewer):
                start = self._prefix + item.start.encode()
                at_most[start] = min(item.revision, at_most.get(start, item.revision))
        if not at_most:
            return True
        sql = (
            "SELECT r.first, t.xmin::text::bigint"  # noqa: S608 - names are checked
            f" FROM {self._table} AS t JOIN unnest(CAST(:starts AS bytea[]), CAST(:ends AS bytea[])) AS r(first, last)"
            " ON t.k >= r.first AND t.k < r.last"
        )
        rows = session.rows(sql, starts=list(at_most), ends=[range_end(start) for start in at_most])
        return all(full_xid(xid, before) <= at_most[start] for start, xid in rows)


def full_xid(xid: int, before: int) -> int:
    """The 64 bits of a row's transaction id, of which PostgreSQL shows 32: the newest below `before`.

    A row that is older than 2³² transactions looks newer than it is. So does one that no transaction of this server
    can have written.
    """
    found = before - 1 - (before - 1 - xid) % 2**32
    return found if found >= 0 else found + 2**32


def _is_as_compared(item: Unchanged | HasValue, held: tuple[bytes, int] | None) -> bool:
    match item:
        case HasValue(_, value):
            return (None if held is None else held[0]) == (None if value is None else value.encode())
        case Unchanged(_, revision):
            return held is not None and held[1] == revision
