"""`/v1/sql`, with GreptimeDB's JSON shapes.

With the parameter `consistent_cut=1` the answer also says, per region, `applied_entry_id` (a SELECT: all entries up to
it are in these rows, and none after it) or `topic` and `entry_id` (an INSERT: where the rows are in the log).
"""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from refdb.errors import invalid
from refdb.frontend.database import Answer, Database
from refdb.sql.query import Result
from refdb.web import Call, application


def frontend_application(database: Database) -> web.Application:
    """The routes."""
    return application(
        {"POST /v1/sql": lambda call: _sql(database, call), "GET /v1/sql": lambda call: _sql(database, call)}
    )


def _sql(database: Database, call: Call) -> Any:
    sql = call.parameters.get("sql")
    if not sql:
        raise invalid("sql is not given")
    started = time.monotonic()
    answer = database.execute(sql)
    took = int((time.monotonic() - started) * 1000)
    body: dict[str, Any] = {"output": [_output(answer)], "execution_time_ms": took}
    if call.parameters.get("consistent_cut") == "1":
        body["regions"] = list(answer.regions)
    return body


def _output(answer: Answer) -> dict[str, Any]:
    if answer.result is None:
        return {"affectedrows": answer.affected}
    return {"records": _records(answer.result)}


def _records(result: Result) -> dict[str, Any]:
    columns = [{"name": column.name, "data_type": str(column.type)} for column in result.columns]
    return {"schema": {"column_schemas": columns}, "rows": result.rows, "total_rows": len(result.rows)}
