"""A datanode's HTTP, its heartbeats, and the order in which it starts: claim, replay, and only then listen."""

from __future__ import annotations

import logging
import time
from typing import Any

from aiohttp import web

from refdb.datanode.node import Datanode
from refdb.errors import DatabaseError, invalid
from refdb.region.opener import Assignment
from refdb.repeats import every
from refdb.schema import Row, Schema
from refdb.web import Call, Client, application

LOG = logging.getLogger("refdb.datanode")


def datanode_application(node: Datanode) -> web.Application:
    """What the frontend and the metasrv call."""
    return application(
        {
            "POST /regions/{region_id}/create": lambda call: _create(node, call),
            "POST /regions/{region_id}/open": lambda call: _open(node, call),
            "POST /regions/{region_id}/close": lambda call: _close(node, call),
            "POST /regions/{region_id}/write": lambda call: _write(node, call),
            "POST /regions/{region_id}/scan": lambda call: _scan(node, call),
            "POST /regions/{region_id}/flush": lambda call: {"flushed": node.region(call.region_id()).flush()},
        }
    )


def start_heartbeats(node: Datanode, metasrv: str, period: float) -> None:
    """Two threads: a report must not wait for Kafka or for a flush."""
    client = Client(timeout=max(1.0, period * 2))

    def report() -> None:
        sent = time.monotonic()
        try:
            node.granted(client.post(metasrv, "/internal/heartbeat", node.report()), sent)
        except DatabaseError as error:
            LOG.warning("Heartbeat: %s", error)

    every(period, "Heartbeat", report)
    every(period, "Tick", node.tick)


def _create(node: Datanode, call: Call) -> Any:
    node.create(call.region_id(), call.body["topic"], Schema.from_json(call.body["schema"]))
    return {}


def _open(node: Datanode, call: Call) -> Any:
    node.open(Assignment(call.region_id(), call.body["topic"], int(call.body["term"])))
    return {}


def _close(node: Datanode, call: Call) -> Any:
    node.close(call.region_id(), int(call.body["before_term"]), flush=True)
    return {}


def _write(node: Datanode, call: Call) -> Any:
    region = node.region(call.region_id())
    columns = region.schema.columns
    rows: list[Row] = []
    for row in call.body["rows"]:
        if len(row) != len(columns):
            raise invalid(f"a row of {len(row)} values for {len(columns)} columns")
        rows.append(tuple(column.check(value) for column, value in zip(columns, row, strict=True)))
    return {"entry_id": region.write(rows), "topic": region.topic}


def _scan(node: Datanode, call: Call) -> Any:
    scan = node.region(call.region_id()).scan()
    return {"rows": scan.rows, "applied_entry_id": scan.applied_entry_id}
