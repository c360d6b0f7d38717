"""sqlglot's MySQL, with what GreptimeDB adds: TIME INDEX, RANGE COLUMNS with a comma too many, ADMIN f()."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.parsers.mysql import MySQLParser


class TimeIndex(exp.Expression):
    """TIME INDEX (column), or after a column's type."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": False}


class Admin(exp.Expression):
    """ADMIN f(arguments)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class _Parser(MySQLParser):
    CONSTRAINT_PARSERS: ClassVar[Any] = {
        **MySQLParser.CONSTRAINT_PARSERS,
        "TIME": lambda self: self._parse_time_index(),
    }
    SCHEMA_UNNAMED_CONSTRAINTS: ClassVar[Any] = {*MySQLParser.SCHEMA_UNNAMED_CONSTRAINTS, "TIME"}

    def _parse_statement(self) -> Any:
        if self._match_text_seq("ADMIN"):
            return self.expression(Admin(this=self._parse_function()))
        return super()._parse_statement()

    def _parse_time_index(self) -> Any:
        if not self._match_text_seq("INDEX"):
            self.raise_error("expected INDEX after TIME")
        columns = self._parse_wrapped_id_vars() if self._match_text_seq("(", advance=False) else []
        return self.expression(TimeIndex(expressions=columns))

    def _parse_partition_property(self) -> Any:
        if not self._match_text_seq("RANGE", "COLUMNS"):
            return super()._parse_partition_property()
        columns = self._parse_wrapped_csv(self._parse_id_var)
        ranges = self._parse_wrapped_csv(self._parse_less_than)
        return self.expression(exp.PartitionByRangeProperty(partition_expressions=columns, create_expressions=ranges))

    def _parse_less_than(self) -> Any:
        # The guide's last partition has a comma after it.
        return self._parse_partition_range_value() if self._match_text_seq("PARTITION", advance=False) else None


class Greptime(MySQL):
    """The dialect: `parse(sql, dialect=Greptime)`."""

    Parser = _Parser
