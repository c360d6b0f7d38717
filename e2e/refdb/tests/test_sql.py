"""The dialect, and queries over rows in memory."""

from __future__ import annotations

import pytest

from refdb.errors import DatabaseError
from refdb.schema import Column, ColumnType, RangePartitions, Schema, Table
from refdb.sql.query import run_query
from refdb.sql.statements import AdminCall, CreateTable, Insert, Query, parse_statement
from seawall_e2e import guide

COLUMNS = (Column("a", ColumnType.INT32), Column("b", ColumnType.STRING))
PARTITIONED = "CREATE TABLE t (ts TIMESTAMP TIME INDEX, v INT) PARTITION BY RANGE COLUMNS (v)"
REST = "PARTITION c VALUES LESS THAN (MAXVALUE)"
ROWS = ((1, "x"), (2, None), (3, "y"), (4, "xy"))


def test_the_guides_table() -> None:
    columns = (
        Column("ts", ColumnType.TIMESTAMP, default_now=True),
        Column("n", ColumnType.STRING),
        Column("row_num", ColumnType.INT32),
    )
    partitions = RangePartitions("n", ("f", "z"))
    table = Table(0, "dist_table", Schema(columns, ("n",), "ts"), partitions)
    assert parse_statement(guide.CREATE_TABLE) == CreateTable(table, if_not_exists=False)


def test_the_guides_rows() -> None:
    assert parse_statement(guide.INSERTS[0]) == Insert("dist_table", ("n", "row_num"), (("a", 1),))


@pytest.mark.parametrize(
    ("sql", "call"),
    [
        ("ADMIN flush_region(4398046511105)", AdminCall("flush_region", (4398046511105,))),
        ("admin FLUSH_TABLE('t');", AdminCall("flush_table", ("t",))),
        ("ADMIN migrate_region(18446744073709551615, 0, 1, 60)", AdminCall("migrate_region", (2**64 - 1, 0, 1, 60))),
    ],
)
def test_admin_functions(sql: str, call: AdminCall) -> None:
    assert parse_statement(sql) == call


def test_literals() -> None:
    statement = parse_statement("INSERT INTO t VALUES (-1, 2.5, 'it''s', NULL, TRUE, 1e3)")
    assert statement == Insert("t", (), ((-1, 2.5, "it's", None, True, 1000.0),))


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT",
        "SELEC 1",
        "SELECT * FROM a; SELECT * FROM b",
        "SELECT * FROM a JOIN b",
        "SELECT a FROM t GROUP BY a",
        "SELECT DISTINCT a FROM t",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE t (v INT)",
        "CREATE TABLE t (v INT TIME INDEX)",
        "CREATE TABLE t (ts TIMESTAMP TIME INDEX, ts INT)",
        "CREATE TABLE t (ts TIMESTAMP TIME INDEX, v BLOB)",
        "CREATE TABLE t (ts TIMESTAMP TIME INDEX, v INT, PRIMARY KEY(w))",
        "CREATE TABLE t (ts TIMESTAMP TIME INDEX, v INT, TIME v)",
        f"{PARTITIONED} (PARTITION a VALUES LESS THAN (1))",
        f"{PARTITIONED} (PARTITION a VALUES LESS THAN (2), PARTITION b VALUES LESS THAN (1), {REST})",
        "INSERT INTO t SELECT * FROM u",
        "INSERT INTO t VALUES (now())",
        "ADMIN",
        "ADMIN 1",
    ],
)
def test_what_it_does_not_know_is_refused(sql: str) -> None:
    with pytest.raises(DatabaseError) as refused:
        parse_statement(sql)
    assert refused.value.code == 1004


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT * FROM t", list(ROWS)),
        ("SELECT b AS c, a FROM t WHERE a > 2", [("y", 3), ("xy", 4)]),
        ("SELECT a FROM t ORDER BY b DESC, a LIMIT 2", [(3,), (4,)]),
        ("SELECT a FROM t ORDER BY b", [(2,), (1,), (4,), (3,)]),
        ("SELECT a FROM t WHERE b <> 'x'", [(3,), (4,)]),
        ("SELECT a FROM t WHERE NOT b = 'x'", [(3,), (4,)]),
        ("SELECT a FROM t WHERE b IS NULL OR b LIKE '_'", [(1,), (2,), (3,)]),
        ("SELECT a FROM t WHERE b IS NOT NULL AND a IN (1, 2)", [(1,)]),
        ("SELECT COUNT(*), COUNT(b), MIN(a), MAX(b) FROM t", [(4, 3, 1, "y")]),
        ("SELECT COUNT(*) FROM t WHERE a > 100", [(0,)]),
        ("SELECT MAX(a) FROM t WHERE a > 100", [(None,)]),
    ],
)
def test_queries(sql: str, rows: list[tuple[object, ...]]) -> None:
    query = parse_statement(sql)
    assert isinstance(query, Query)
    assert run_query(query.select, COLUMNS, ROWS).rows == rows


@pytest.mark.parametrize(
    "sql", ["SELECT z FROM t", "SELECT a + 1 FROM t", "SELECT a FROM t WHERE b > 1", "SELECT SUM(a) FROM t"]
)
def test_queries_that_it_cannot_answer(sql: str) -> None:
    query = parse_statement(sql)
    assert isinstance(query, Query)
    with pytest.raises(DatabaseError):
        run_query(query.select, COLUMNS, ROWS)
