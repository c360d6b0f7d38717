"""Runs statements: splits rows over regions, gathers rows from regions, passes the rest on to the metasrv."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from refdb.errors import DatabaseError, StatusCode, Unavailable, invalid
from refdb.frontend.catalog import Catalog, RoutedTable
from refdb.meta.values import RegionRoute
from refdb.schema import Column, ColumnType, Row, Table
from refdb.sql.query import Result, run_query
from refdb.sql.statements import AdminCall, CreateTable, Insert, Query, parse_statement
from refdb.web import Client
from walrecord.region import table_id as table_id_of

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


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows or a count; and, per region that took part, the last entry id that is in the answer."""

    result: Result | None = None
    affected: int = 0
    regions: tuple[dict[str, Any], ...] = ()


class Database:
    """Answers SQL."""

    def __init__(self, catalog: Catalog, client: Client, metasrv: str) -> None:
        self._catalog, self._client, self._metasrv = catalog, client, metasrv
        self._pool = ThreadPoolExecutor(32)

    def execute(self, sql: str) -> Answer:
        """Runs one statement."""
        match parse_statement(sql):
            case CreateTable() as statement:
                return self._create(statement)
            case Insert() as statement:
                return self._insert(statement)
            case AdminCall() as statement:
                return self._admin(statement)
            case Query(schema_name="information_schema", table="region_peers") as query:
                return Answer(run_query(query.select, _PEERS, self._region_peers()))
            case Query() as query:
                return self._select(query)

    def _create(self, statement: CreateTable) -> Answer:
        try:
            self._client.post(self._metasrv, "/internal/tables", asdict(statement.table))
        except DatabaseError as error:
            if error.code is not StatusCode.TABLE_ALREADY_EXISTS or not statement.if_not_exists:
                raise
        return Answer()

    def _insert(self, statement: Insert) -> Answer:
        routed = self._catalog.table(statement.table)
        rows = _complete_rows(routed.table, statement)
        split: dict[int, list[Row]] = {}
        for row in rows:
            split.setdefault(routed.table.region_of(row), []).append(row)
        calls = [
            self._pool.submit(self._on_region, statement.table, place, "write", {"rows": part})
            for place, part in split.items()
        ]
        answers = [call.result() for call in calls]
        regions = tuple(
            {"region_id": region.region_id, "topic": answer["topic"], "entry_id": answer["entry_id"], "rows": len(part)}
            for (region, answer), part in zip(answers, split.values(), strict=True)
        )
        return Answer(affected=len(rows), regions=regions)

    def _select(self, query: Query) -> Answer:
        routed = self._catalog.table(query.table)
        places = range(len(routed.route.regions))
        calls = [self._pool.submit(self._on_region, query.table, place, "scan", {}) for place in places]
        answers = [call.result() for call in calls]
        rows = (tuple(row) for _, answer in answers for row in answer["rows"])
        regions = tuple({"region_id": r.region_id, "applied_entry_id": a["applied_entry_id"]} for r, a in answers)
        return Answer(run_query(query.select, routed.table.schema.columns, rows), regions=regions)

    def _admin(self, call: AdminCall) -> Answer:
        match call.function, call.arguments:
            case "flush_region", (int(region_id),):
                routed = self._of_region(region_id)
                places = [n for n, region in enumerate(routed.route.regions) if region.region_id == region_id]
                self._flush(routed, places)
            case "flush_table", (str(name),):
                routed = self._catalog.table(name)
                self._flush(routed, list(range(len(routed.route.regions))))
            case "migrate_region", (int(region_id), int(source), int(target), *timeout):
                body = {"region_id": region_id, "source": source, "target": target}
                seconds = float(timeout[0] or 0) if timeout else MIGRATION_TIMEOUT
                self._client.post(self._metasrv, "/internal/migrate", body, seconds)
            case name, arguments:
                raise invalid(f"refdb has no ADMIN {name} with {len(arguments)} arguments of these types")
        column = Column(f"ADMIN {call.function}", ColumnType.INT64)
        return Answer(Result((column,), [(0,)]))

    def _flush(self, routed: RoutedTable, places: list[int]) -> None:
        for place in places:
            self._on_region(routed.table.name, place, "flush", {})

    def _of_region(self, region_id: int) -> RoutedTable:
        for routed in self._catalog.tables():
            if routed.table.table_id == table_id_of(region_id) and routed.route.of(region_id) is not None:
                return routed
        raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"no region {region_id}")

    def _on_region(self, table: str, place: int, verb: str, body: Any) -> tuple[RegionRoute, Any]:
        """Asks the leader of a table's region; when it has moved meanwhile, the new one."""
        region = self._catalog.table(table).route.regions[place]
        try:
            return region, self._ask(region, verb, body)
        except DatabaseError as error:
            if error.code not in _MOVED:
                raise
            moved = self._catalog.table(table, fresh=True).route.regions[place]
            if moved.leader == region.leader:
                raise
            return moved, self._ask(moved, verb, body)

    def _ask(self, region: RegionRoute, verb: str, body: Any) -> Any:
        try:
            return self._client.post(region.leader.addr, f"/regions/{region.region_id}/{verb}", body)
        except Unavailable as error:
            raise Unavailable(f"datanode {region.leader.id}: {error}") from None

    def _region_peers(self) -> list[Row]:
        nodes = {node["id"]: node for node in self._client.post(self._metasrv, "/internal/datanodes", {})}
        rows: list[Row] = []
        for routed in self._catalog.tables():
            for region in routed.route.regions:
                node = nodes.get(region.leader.id)
                alive = node is not None and node["alive"] and not region.downgrading
                down = None if alive or node is None else node["silent"]
                peer = (region.leader.id, region.leader.addr, "Yes", "ALIVE" if alive else "DOWNGRADED", down)
                rows.append(("greptime", "public", routed.table.name, region.region_id, *peer))
        return rows


def _complete_rows(table: Table, statement: Insert) -> list[Row]:
    """Rows with all columns: what is not given is NULL, or the present time."""
    names = statement.columns or table.schema.names
    positions = {table.schema.index(name): given for given, name in enumerate(names)}
    now = int(time.time() * 1000)
    rows: list[Row] = []
    for values in statement.rows:
        if len(values) != len(names):
            raise invalid(f"{len(values)} values for {len(names)} columns")
        rows.append(
            tuple(
                column.check(values[positions[index]]) if index in positions else (now if column.default_now else None)
                for index, column in enumerate(table.schema.columns)
            )
        )
    time_index = table.schema.index(table.schema.time_index)
    if any(row[time_index] is None for row in rows):
        raise invalid(f"column {table.schema.time_index} is the time index and cannot be NULL")
    return rows
