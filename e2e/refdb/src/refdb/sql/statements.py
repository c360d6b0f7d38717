"""SQL text → statements as values. What refdb cannot do is refused here, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp, parse
from sqlglot.errors import ParseError, SqlglotError

from refdb.errors import DatabaseError, invalid
from refdb.schema import Column, ColumnType, RangePartitions, Schema, Table, Value, checked_table
from refdb.sql.dialect import Admin, Greptime, TimeIndex

_TYPES = {
    exp.DType.TEXT: ColumnType.STRING,
    exp.DType.VARCHAR: ColumnType.STRING,
    exp.DType.INT: ColumnType.INT32,
    exp.DType.BIGINT: ColumnType.INT64,
    exp.DType.UBIGINT: ColumnType.UINT64,
    exp.DType.DOUBLE: ColumnType.FLOAT64,
    exp.DType.BOOLEAN: ColumnType.BOOLEAN,
    exp.DType.TIMESTAMP: ColumnType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: ColumnType.TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE; the table has no id yet (0)."""

    table: Table
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT … VALUES; no columns named means all of them."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class AdminCall:
    """ADMIN f(arguments)."""

    function: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT from one table, or from information_schema."""

    schema_name: str
    table: str
    select: exp.Select


Statement = CreateTable | Insert | AdminCall | Query


def parse_statement(sql: str) -> Statement:
    """The one statement of a text."""
    try:
        parsed = [node for node in parse(sql, dialect=Greptime) if node is not None]
    except SqlglotError as error:
        said = error.errors[0]["description"] if isinstance(error, ParseError) and error.errors else "it cannot be read"
        raise invalid(f"invalid SQL: {said}") from None
    if len(parsed) != 1:
        raise invalid(f"expected one statement, got {len(parsed)}")
    match parsed[0]:
        case exp.Create() as node if node.kind == "TABLE":
            return _create(node)
        case exp.Insert() as node:
            return _insert(node)
        case Admin() as node:
            return _admin(node)
        case exp.Select() as node:
            return _query(node)
        case node:
            raise _unsupported(node)


def constant(node: Any) -> Value:
    """The value of a literal."""
    try:
        value = node.to_py()
    except ValueError:
        raise _unsupported(node) from None
    return float(value) if isinstance(value, Decimal) else value


def _unsupported(node: exp.Expr) -> DatabaseError:
    return invalid(f"refdb does not know this: {node.sql(dialect=Greptime)}")


def _create(node: exp.Create) -> CreateTable:
    if not isinstance(node.this, exp.Schema):
        raise _unsupported(node)
    for part in node.this.expressions:
        if not isinstance(part, exp.ColumnDef | exp.PrimaryKey | TimeIndex):
            raise _unsupported(part)
    columns = tuple(_column(part) for part in node.this.expressions if isinstance(part, exp.ColumnDef))
    primary_key, time_index = node.find(exp.PrimaryKey), node.find(TimeIndex)
    if time_index is None:
        raise invalid("a table needs a TIME INDEX")
    timed: Any = time_index.expressions[0] if time_index.expressions else time_index.find_ancestor(exp.ColumnDef)
    key = tuple(column.name for column in primary_key.expressions) if primary_key is not None else ()
    table = Table(0, node.this.this.name, Schema(columns, key, timed.name), _partitions(node))
    return CreateTable(checked_table(table), bool(node.args.get("exists")))


def _column(node: exp.ColumnDef) -> Column:
    kind = node.args.get("kind")
    if not isinstance(kind, exp.DataType) or kind.this not in _TYPES:
        raise invalid(f"column {node.name} has a type that refdb does not know")
    default_now = False
    for constraint in node.args.get("constraints") or []:
        match constraint.kind if isinstance(constraint, exp.ColumnConstraint) else constraint:
            case exp.DefaultColumnConstraint(this=exp.CurrentTimestamp()):
                default_now = True
            case TimeIndex() | exp.NotNullColumnConstraint():
                pass
            case _:
                raise _unsupported(constraint)
    return Column(node.name, _TYPES[kind.this], default_now)


def _partitions(create: exp.Create) -> RangePartitions:
    node = create.find(exp.PartitionByRangeProperty)
    if node is None:
        return RangePartitions()
    columns = node.args["partition_expressions"]
    bounds = [partition.expressions[0].expressions for partition in node.args["create_expressions"]]
    if len(columns) != 1 or any(len(bound) != 1 for bound in bounds):
        raise invalid("refdb partitions by one column")
    if not isinstance(bounds[-1][0], exp.Var):
        raise invalid("the last partition must be LESS THAN (MAXVALUE)")
    values = [constant(bound[0]) for bound in bounds[:-1]]
    if any(not isinstance(value, str | int) for value in values):
        raise invalid("bounds are strings or integers")
    return RangePartitions(columns[0].name, tuple(values))  # type: ignore[arg-type]


def _insert(node: exp.Insert) -> Insert:
    target, values = node.this, node.expression
    if not isinstance(values, exp.Values):
        raise _unsupported(node)
    columns = tuple(column.name for column in target.expressions)  # a table alone has none
    rows = tuple(tuple(constant(value) for value in row.expressions) for row in values.expressions)
    return Insert(target.find(exp.Table).name, columns, rows)


def _admin(node: Admin) -> AdminCall:
    call = node.this
    if not isinstance(call, exp.Anonymous):
        raise invalid("ADMIN needs a function of refdb: flush_region, flush_table, migrate_region or …_region_follower")
    return AdminCall(str(call.this).lower(), tuple(constant(argument) for argument in call.expressions))


def _query(node: exp.Select) -> Query:
    known = {"expressions", "from_", "where", "order", "limit", "kind", "hint"}
    if any(value for name, value in node.args.items() if name not in known):
        raise _unsupported(node)
    source = node.args["from_"].this if node.args.get("from_") else None
    if not isinstance(source, exp.Table):
        raise invalid("SELECT needs FROM and one table")
    return Query(source.db, source.name, node)
