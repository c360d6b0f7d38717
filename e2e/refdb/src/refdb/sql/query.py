"""SELECT over rows in memory: WHERE, ORDER BY, LIMIT, columns, COUNT, MIN, MAX. Enough to check what is there."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from refdb.errors import invalid
from refdb.schema import Column, ColumnType, Row, Value
from refdb.sql.dialect import Greptime
from refdb.sql.statements import constant

_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_Get = Callable[[Row], Any]


@dataclass(frozen=True, slots=True)
class Result:
    """Columns and rows of an answer."""

    columns: tuple[Column, ...]
    rows: list[Row]


def run_query(select: exp.Select, columns: Sequence[Column], rows: Iterable[Row]) -> Result:
    """Answers a SELECT."""
    names = {column.name: index for index, column in enumerate(columns)}
    where = select.args.get("where")
    kept = list(rows)
    if where is not None:
        condition = _compile(where.this, names)
        kept = [row for row in kept if condition(row) is True]
    if any(item.find(exp.AggFunc) for item in select.expressions):
        return _aggregate(select.expressions, columns, names, kept)
    for term in reversed(_order(select)):
        key = _compile(term.this, names)
        kept.sort(key=lambda row, key=key: _sortable(key(row)), reverse=bool(term.args.get("desc")))  # type: ignore[misc]
    limit = select.args.get("limit")
    if limit is not None:
        kept = kept[: _natural(constant(limit.expression))]
    picked = _picked(select.expressions, names, len(columns))
    shown = tuple(Column(alias or columns[index].name, columns[index].type) for index, alias in picked)
    return Result(shown, [tuple(row[index] for index, _ in picked) for row in kept])


def _order(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    return list(order.expressions) if order is not None else []


def _sortable(value: Value) -> tuple[bool, Any]:
    return value is not None, value if value is not None else 0


def _natural(value: Value) -> int:
    if type(value) is not int or value < 0:
        raise invalid("LIMIT needs a number")
    return value


def _picked(items: Iterable[exp.Expr], names: dict[str, int], width: int) -> list[tuple[int, str]]:
    picked: list[tuple[int, str]] = []
    for item in items:
        bare = item.unalias()
        if isinstance(bare, exp.Star):
            picked += [(index, "") for index in range(width)]
        elif isinstance(bare, exp.Column):
            picked.append((_index(bare.name, names), item.alias))
        else:
            raise invalid(f"refdb selects columns, COUNT, MIN and MAX, not {item.sql(dialect=Greptime)}")
    return picked


def _index(name: str, names: dict[str, int]) -> int:
    if name not in names:
        raise invalid(f"no column {name}")
    return names[name]


def _aggregate(items: Sequence[exp.Expr], columns: Sequence[Column], names: dict[str, int], rows: list[Row]) -> Result:
    shown: list[Column] = []
    values: list[Value] = []
    for item in items:
        node = item.unalias()
        argument = node.this if isinstance(node, exp.Count | exp.Min | exp.Max) else None
        name = item.alias or node.sql(dialect=Greptime).lower()
        if isinstance(node, exp.Count) and isinstance(argument, exp.Star):
            shown.append(Column(name, ColumnType.INT64))
            values.append(len(rows))
        elif isinstance(argument, exp.Column):
            index = _index(argument.name, names)
            present: list[Any] = [row[index] for row in rows if row[index] is not None]
            count = isinstance(node, exp.Count)
            shown.append(Column(name, ColumnType.INT64 if count else columns[index].type))
            pick = min if isinstance(node, exp.Min) else max
            values.append(len(present) if count else pick(present, default=None))
        else:
            raise invalid(f"refdb cannot answer {item.sql(dialect=Greptime)}")
    return Result(tuple(shown), [tuple(values)])


def _compile(node: exp.Expr, names: dict[str, int]) -> _Get:  # noqa: PLR0911 - a table of cases
    """A function of a row, with SQL's three values: what compares with NULL is NULL (None)."""
    match node:
        case exp.Paren():
            return _compile(node.this, names)
        case exp.Column():
            index = _index(node.name, names)
            return lambda row: row[index]
        case exp.And() | exp.Or():
            return _junction(node, names)
        case exp.Not():
            inner = _compile(node.this, names)
            return lambda row: None if (value := inner(row)) is None else not value
        case exp.Is(expression=exp.Null()):
            inner = _compile(node.this, names)
            return lambda row: inner(row) is None
        case exp.In() if node.expressions:
            inner, options = _compile(node.this, names), {constant(option) for option in node.expressions}
            return lambda row: None if (value := inner(row)) is None else value in options
        case exp.Like():
            return _like(node, names)
        case _ if type(node) in _COMPARE:
            return _comparison(node, names)
        case _:
            value = constant(node)
            return lambda _: value


def _junction(node: exp.Expr, names: dict[str, int]) -> _Get:
    left, right = _compile(node.left, names), _compile(node.right, names)  # type: ignore[attr-defined]
    decisive = isinstance(node, exp.Or)

    def decide(row: Row) -> bool | None:
        first, second = left(row), right(row)
        if decisive in (first, second):
            return decisive
        return None if None in (first, second) else not decisive

    return decide


def _comparison(node: exp.Expr, names: dict[str, int]) -> _Get:
    compare = _COMPARE[type(node)]
    left, right = _compile(node.left, names), _compile(node.right, names)  # type: ignore[attr-defined]

    def decide(row: Row) -> bool | None:
        first, second = left(row), right(row)
        if first is None or second is None:
            return None
        try:
            return compare(first, second)
        except TypeError:
            raise invalid(f"cannot compare {first!r} with {second!r}") from None

    return decide


def _like(node: exp.Expr, names: dict[str, int]) -> _Get:
    inner, text = _compile(node.this, names), constant(node.expression)
    pattern = re.compile("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in str(text)), re.DOTALL)
    return lambda row: None if (value := inner(row)) is None else pattern.fullmatch(str(value)) is not None
