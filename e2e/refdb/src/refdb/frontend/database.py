"""Runs statements: splits rows over regions, gathers rows from regions, passes the rest on to the metasrv."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from refdb.errors import DatabaseError, StatusCode, Unavailable, invalid
from refdb.frontend.catalog import Catalog, RoutedTable
from refdb.frontend.users import User
from refdb.schema import Column, ColumnType, Row, Table, arrow_table, rows_of
from refdb.sql.query import Result, run_query
from refdb.sql.statements import AdminCall, CreateTable, Insert, Query, parse_statement
from refdb.web import Client

MIGRATION_TIMEOUT = 300.0
"""How long a client waits by default; the migration goes on all the same."""
_MOVED = (StatusCode.REGION_NOT_FOUND, StatusCode.REGION_NOT_READY)
_PEERS = (
    Column("table_catalog", ColumnType.STRING),
    Column("table_schema", ColumnType.STRING),
    Column("table_name", ColumnType.STRING),
    Column("region_id", ColumnType.UINT64),
    Column("peer_id", ColumnType.UINT64),
    Column("peer_addr", ColumnType.STRING),
    Column("is_leader", ColumnType.STRING),
    Column("status", ColumnType.STRING),
    Column("down_seconds", ColumnType.INT64),
)
_NODES = (
    Column("peer_id", ColumnType.INT64),
    Column("peer_type", ColumnType.STRING),
    Column("peer_addr", ColumnType.STRING),
    Column("version", ColumnType.STRING),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows or a count; and, per region that took part, the last entry id that is in the answer."""

    result: Result | None = None
    affected: int = 0
    regions: Sequence[dict[str, Any]] = ()


class Database:
    """Answers SQL."""

    def __init__(self, catalog: Catalog, client: Client, metasrv: str) -> None:
        self._catalog, self._client, self._metasrv = catalog, client, metasrv
        self._pool = ThreadPoolExecutor(32)

    def execute(self, sql: str, user: User) -> Answer:
        """Runs one statement."""
        parsed = parse_statement(sql)
        user.require(parsed)
        match parsed:
            case CreateTable() as statement:
                return self._create(statement)
            case Insert() as statement:
                return self._insert(statement)
            case AdminCall() as statement:
                return self._admin(statement)
            case Query(schema_name="information_schema", table="region_peers") as query:
                return Answer(run_query(query.select, _PEERS, self._region_peers()))
            case Query(schema_name="information_schema", table="cluster_info") as query:
                return Answer(run_query(query.select, _NODES, self._nodes()))
            case Query() as query:
                return self._select(query)

    def _create(self, statement: CreateTable) -> Answer:
        try:
            self._client.post(self._metasrv, "/internal/tables", **asdict(statement.table))
        except DatabaseError as error:
            if error.code is not StatusCode.TABLE_ALREADY_EXISTS or not statement.if_not_exists:
                raise
        return Answer()

    def _insert(self, statement: Insert) -> Answer:
        routed = self._catalog.table(statement.table)
        rows = _complete_rows(routed.table, statement)
        parts: dict[int, list[Row]] = defaultdict(list)
        for row in rows:
            parts[routed.route.regions[routed.table.region_of(row)].region_id].append(row)
        wrote = self._on_regions(statement.table, "write", {region: {"rows": part} for region, part in parts.items()})
        return Answer(affected=len(rows), regions=wrote)

    def _select(self, query: Query) -> Answer:
        routed = self._catalog.table(query.table)
        scans = self._on_regions(query.table, "scan", _everywhere(routed))
        rows = [tuple(row) for scan in scans for row in scan.pop("rows")]
        return Answer(run_query(query.select, routed.table.schema.columns, rows), regions=scans)

    def _admin(self, call: AdminCall) -> Answer:
        match call.function, call.arguments:
            case "flush_region", (int(region_id),):
                self._on_regions(self._table_of(region_id), "flush", {region_id: {}})
            case "flush_table", (str(name),):
                self._on_regions(name, "flush", _everywhere(self._catalog.table(name)))
            case "add_region_follower" | "remove_region_follower" as name, (int(region_id), int(datanode)):
                follow = {"region_id": region_id, "datanode": datanode, "follows": name.startswith("add")}
                self._client.post(self._metasrv, "/internal/follow", **follow)
            case "migrate_region", (int(region_id), int(source), int(target), *timeout):
                seconds = float(timeout[0] or 0) if timeout else MIGRATION_TIMEOUT
                move = {"region_id": region_id, "source": source, "target": target}
                self._client.post(self._metasrv, "/internal/migrate", seconds, **move)
            case name, arguments:
                raise invalid(f"refdb has no ADMIN {name} with {len(arguments)} arguments of these types")
        column = Column(f"ADMIN {call.function}", ColumnType.INT64)
        return Answer(Result((column,), [(0,)]))

    def _table_of(self, region_id: int) -> str:
        for routed in self._catalog.tables():
            if region_id in _everywhere(routed):
                return routed.table.name
        raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"no region {region_id}")

    def _on_regions(self, table: str, verb: str, bodies: Mapping[int, dict[str, Any]]) -> list[dict[str, Any]]:
        """Asks the leaders of a table's regions at once, each with its body."""
        calls = [self._pool.submit(self._on_region, table, region, verb, body) for region, body in bodies.items()]
        return [call.result() for call in calls]

    def _on_region(self, table: str, region_id: int, verb: str, body: dict[str, Any]) -> Any:
        """Asks the leader of a region; when it has moved meanwhile, the new one."""
        leader = self._catalog.table(table).route.of(region_id).leader
        try:
            return self._client.post(leader.addr, f"/regions/{region_id}/{verb}", **body)
        except Unavailable as error:
            raise Unavailable(f"datanode {leader.id}: {error}") from None
        except DatabaseError as error:
            if error.code not in _MOVED or self._catalog.table(table, fresh=True).route.of(region_id).leader == leader:
                raise
        return self._on_region(table, region_id, verb, body)

    def _nodes(self) -> list[Row]:
        listed = self._client.post(self._metasrv, "/internal/nodes")
        return [(node["id"], node["type"], node["addr"], node["version"]) for node in listed]

    def _region_peers(self) -> list[Row]:
        nodes = {node["id"]: node for node in self._client.post(self._metasrv, "/internal/datanodes")}
        rows: list[Row] = []
        for routed in self._catalog.tables():
            for region in routed.route.regions:
                node = nodes.get(region.leader.id)
                alive = node is not None and node["alive"] and not region.downgrading
                down = None if alive or node is None else node["silent"]
                peer = (region.leader.id, region.leader.addr, "Yes", "ALIVE" if alive else "DOWNGRADED", down)
                rows.append(("greptime", "public", routed.table.name, region.region_id, *peer))
        return rows


def _everywhere(routed: RoutedTable) -> dict[int, dict[str, Any]]:
    return {region.region_id: {} for region in routed.route.regions}


def _complete_rows(table: Table, statement: Insert) -> list[Row]:
    """Rows with all columns: what is not given is NULL, or the present time."""
    schema, now = table.schema, int(time.time() * 1000)
    names = statement.columns or schema.names
    if any(len(values) != len(names) for values in statement.rows):
        raise invalid(f"rows must have {len(names)} values")
    given = {schema.index(name): values for name, values in zip(names, zip(*statement.rows, strict=True), strict=True)}
    defaults = [now if column.default_now else None for column in schema.columns]
    columns = [given.get(index, (value,) * len(statement.rows)) for index, value in enumerate(defaults)]
    checked = arrow_table(schema.columns, zip(*columns, strict=True))
    if checked[schema.time_index].null_count:
        raise invalid(f"column {schema.time_index} is the time index and cannot be NULL")
    return rows_of(checked)
