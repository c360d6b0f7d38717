"""SELECT over rows in memory, by Arrow: WHERE, ORDER BY, LIMIT, COUNT, MIN, MAX. Enough to see what is there."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from refdb.arrow import arrow_table
from refdb.errors import invalid
from refdb.schema import Column, ColumnType, Row, Value
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
_AGGREGATES: dict[type[exp.Expr], Any] = {exp.Count: pc.count, exp.Min: pc.min, exp.Max: pc.max}


@dataclass(frozen=True, slots=True)
class Result:
    """Columns and rows of an answer."""

    columns: tuple[Column, ...]
    rows: list[Row]


def run_query(select: exp.Select, columns: Sequence[Column], rows: Iterable[Row]) -> Result:
    """Answers a SELECT."""
    by_name, clauses = {column.name: column for column in columns}, select.args
    try:
        table = arrow_table(columns, rows)
        if where := clauses.get("where"):
            table = table.filter(_expression(where.this))
        if any(item.find(exp.AggFunc) for item in select.expressions):
            shown, values = zip(*(_aggregate(item, by_name, table) for item in select.expressions), strict=True)
            return Result(shown, [values])
        if order := clauses.get("order"):
            table = table.take(pc.sort_indices(table, sort_keys=[_sort_key(term) for term in order.expressions]))
        if limit := clauses.get("limit"):
            table = table.slice(0, _natural(constant(limit.expression)))
        picked = _picked(select.expressions, by_name)
        selected = table.select([column.name for column, _ in picked])
    except (pa.ArrowException, KeyError) as error:
        raise invalid(f"refdb cannot answer this: {error}") from None
    shown = tuple(Column(alias or column.name, column.type) for column, alias in picked)
    return Result(shown, list(zip(*(column.to_pylist() for column in selected.columns), strict=True)))


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


def _picked(items: Iterable[exp.Expr], columns: dict[str, Column]) -> list[tuple[Column, str]]:
    """Columns, each with its alias."""
    picked: list[tuple[Column, str]] = []
    for item in items:
        match item.unalias():
            case exp.Star():
                picked += [(column, "") for column in columns.values()]
            case exp.Column(name=name):
                picked.append((columns[name], item.alias))
            case _:
                raise invalid(f"refdb selects columns, COUNT, MIN and MAX, not {item.sql(dialect=Greptime)}")
    return picked


def _aggregate(item: exp.Expr, columns: dict[str, Column], table: Any) -> tuple[Column, Value]:
    node = item.unalias()
    aggregate, argument = _AGGREGATES.get(type(node)), node.this
    name = item.alias or node.sql(dialect=Greptime).lower()
    if isinstance(node, exp.Count) and isinstance(argument, exp.Star):
        return Column(name, ColumnType.INT64), table.num_rows
    if aggregate is None or not isinstance(argument, exp.Column):
        raise invalid(f"refdb cannot answer {item.sql(dialect=Greptime)}")
    kind = ColumnType.INT64 if isinstance(node, exp.Count) else columns[argument.name].type
    return Column(name, kind), aggregate(table[argument.name]).as_py()


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
