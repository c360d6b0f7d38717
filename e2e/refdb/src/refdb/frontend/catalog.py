"""Tables and routes as etcd has them, remembered for a moment, and for longer while etcd is down."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from refdb.errors import DatabaseError, StatusCode, Unavailable
from refdb.meta import keys
from refdb.meta.store import Store
from refdb.meta.values import TableRoute, node_peer
from refdb.schema import Table

REMEMBERED = 1.0


@dataclass(frozen=True, slots=True)
class RoutedTable:
    """A table and where its regions are."""

    table: Table
    route: TableRoute


class Catalog:
    """Looks tables up."""

    def __init__(self, etcd: Store) -> None:
        self._etcd = etcd
        self._known: dict[str, tuple[float, RoutedTable]] = {}

    def table(self, name: str, *, fresh: bool = False) -> RoutedTable:
        """A table by name; `fresh`: what was remembered led to the wrong place."""
        at, known = self._known.get(name, (0.0, None))
        if known is None or fresh or time.monotonic() - at > REMEMBERED:
            try:
                known = self._read(name)
            except Unavailable:
                if known is None:
                    raise
            self._known[name] = (time.monotonic(), known)
        return known

    def tables(self) -> list[RoutedTable]:
        """All tables."""
        named = self._etcd.range(keys.TABLE_NAMES).pairs
        return [self.table(pair.key.removeprefix(keys.TABLE_NAMES)) for pair in named]

    def _read(self, name: str) -> RoutedTable:
        found = self._etcd.get(keys.table_name(name))
        if not found.exists:
            raise DatabaseError(StatusCode.TABLE_NOT_FOUND, f"Table not found: {name}")
        table_id = json.loads(found.value)["table_id"]
        info, route = self._etcd.get(keys.table_info(table_id)), self._etcd.get(keys.table_route(table_id))
        peers = (node_peer(pair.value) for pair in self._etcd.range(keys.NODE_ADDRESSES).pairs)
        addresses = {peer.id: peer for peer in peers}
        return RoutedTable(Table.from_json(json.loads(info.value)), TableRoute.from_text(route.value).at(addresses))
