"""`/v1/sql`, with GreptimeDB's JSON shapes.

With the parameter `consistent_cut=1` the answer also says, per region, `applied_entry_id` (a SELECT: all entries up to
it are in these rows, and none after it) or `topic` and `entry_id` (an INSERT: where the rows are in the log).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from aiohttp import web

from refdb.errors import invalid
from refdb.frontend.database import Answer, Database
from refdb.frontend.users import EVERYBODY, User, Users, let_in
from refdb.web import application


def frontend_application(database: Database, users: Callable[[], Users] | None = None) -> web.Application:
    """The routes; without users everybody may ask."""

    def guard(header: str | None) -> User:
        return EVERYBODY if users is None else let_in(users(), header)

    def answer_sql(user: User, sql: str = "", consistent_cut: str = "", **_: str) -> Any:
        if not sql:
            raise invalid("sql is not given")
        started = time.monotonic()
        answer = database.execute(sql, user)
        took = int((time.monotonic() - started) * 1000)
        cut = {"regions": answer.regions} if consistent_cut == "1" else {}
        return {"output": [_output(answer)], "execution_time_ms": took, **cut}

    return application({"POST /v1/sql": answer_sql, "GET /v1/sql": answer_sql}, guard)


def _output(answer: Answer) -> dict[str, Any]:
    if answer.result is None:
        return {"affectedrows": answer.affected}
    columns = [{"name": column.name, "data_type": str(column.type)} for column in answer.result.columns]
    rows = answer.result.rows
    return {"records": {"schema": {"column_schemas": columns}, "rows": rows, "total_rows": len(rows)}}
