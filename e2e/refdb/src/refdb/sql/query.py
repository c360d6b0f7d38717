"""SELECT over rows in memory, by Arrow: WHERE, ORDER BY, LIMIT, COUNT, MIN, MAX. Enough to see what is there."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from refdb.errors import invalid
from refdb.schema import Column, ColumnType, Row, Value, arrow_table
from refdb.sql.dialect import Greptime
from refdb.sql.statements import constant

_OPERATORS = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.And: operator.and_,
    exp.Or: operator.or_,
}


@dataclass(frozen=True, slots=True)
class Result:
    """Columns and rows of an answer."""

    columns: tuple[Column, ...]
    rows: list[Row]


def run_query(select: exp.Select, columns: Sequence[Column], rows: Iterable[Row]) -> Result:
    """Answers a SELECT."""
    by_name, clauses = {column.name: column for column in columns}, select.args
    aggregated = [item for item in select.expressions if item.find(exp.AggFunc)]
    if aggregated and len(aggregated) < len(select.expressions):
        raise invalid("refdb has no GROUP BY")
    try:
        table = arrow_table(columns, rows)
        if where := clauses.get("where"):
            table = table.filter(_expression(where.this))
        if (order := clauses.get("order")) and not aggregated:
            table = table.take(pc.sort_indices(table, sort_keys=[_sort_key(term) for term in order.expressions]))
        if (limit := clauses.get("limit")) and not aggregated:
            table = table.slice(0, _natural(constant(limit.expression)))
        shown = [pair for item in select.expressions for pair in _shown(item, by_name, table)]
    except (pa.ArrowException, KeyError) as error:
        raise invalid(f"refdb cannot answer this: {error}") from None
    return Result(tuple(column for column, _ in shown), list(zip(*(values for _, values in shown), strict=True)))


def _shown(item: exp.Expr, columns: dict[str, Column], table: Any) -> list[tuple[Column, list[Value]]]:
    """What an item of the SELECT shows: columns, each with its values."""
    node = item.unalias()
    alias = item.alias or node.sql(dialect=Greptime).lower()
    match node:
        case exp.Star():
            return [(column, table[column.name].to_pylist()) for column in columns.values()]
        case exp.Column(name=name):
            return [(Column(item.alias or name, columns[name].type), table[name].to_pylist())]
        case exp.Count(this=exp.Star()):
            return [(Column(alias, ColumnType.INT64), [table.num_rows])]
        case exp.Count(this=exp.Column(name=name)):
            return [(Column(alias, ColumnType.INT64), [pc.count(table[name]).as_py()])]
        case exp.Min(this=exp.Column(name=name)) | exp.Max(this=exp.Column(name=name)):
            extreme = pc.min if isinstance(node, exp.Min) else pc.max
            return [(Column(alias, columns[name].type), [extreme(table[name]).as_py()])]
    raise invalid(f"refdb selects columns, COUNT, MIN and MAX, not {item.sql(dialect=Greptime)}")


def _sort_key(term: exp.Expr) -> tuple[str, str, str]:
    """NULLs are the smallest values, as in MySQL."""
    if not isinstance(term.this, exp.Column):
        raise invalid("refdb orders by columns")
    name = term.this.name
    return (name, "descending", "at_end") if term.args.get("desc") else (name, "ascending", "at_start")


def _natural(value: Value) -> int:
    if type(value) is not int or value < 0:
        raise invalid("LIMIT needs a number")
    return value


def _expression(node: exp.Expr) -> Any:  # noqa: PLR0911 - a table of cases
    """A condition as Arrow's, which has SQL's three values."""
    match node:
        case exp.Paren():
            return _expression(node.this)
        case exp.Column():
            return pc.field(node.name)
        case exp.Not():
            return ~_expression(node.this)
        case exp.Is(expression=exp.Null()):
            return _expression(node.this).is_null()
        case exp.In() if node.expressions:
            return _expression(node.this).isin([constant(option) for option in node.expressions])
        case exp.Like():
            return pc.match_like(_expression(node.this), str(constant(node.expression)))
        case exp.Binary() if type(node) in _OPERATORS:
            return _OPERATORS[type(node)](_expression(node.left), _expression(node.right))
        case _:
            return pc.scalar(constant(node))
