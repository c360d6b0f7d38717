"""A datanode's HTTP and its heartbeats."""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from refdb.datanode.node import Datanode
from refdb.region.opener import Assignment
from refdb.region.region import Region
from refdb.repeats import every
from refdb.schema import Row, Schema
from refdb.web import Client, Text, application


def datanode_application(node: Datanode, config: str) -> web.Application:
    """What the frontend and the metasrv call, and its options as it runs, in TOML, for everybody."""
    region = "/regions/{region_id}"
    return application(
        {
            "GET /config": lambda: Text(config),
            f"POST {region}/create": lambda region_id, topic, schema: node.create(
                region_id, topic, Schema.from_json(schema)
            ),
            f"POST {region}/open": lambda **assignment: node.open(Assignment(**assignment)),
            f"POST {region}/close": lambda region_id, before_term: node.close(region_id, before_term, flush=True),
            f"POST {region}/write": lambda region_id, rows: _write(node.region(region_id), rows),
            f"POST {region}/scan": lambda region_id: _scan(node.region(region_id)),
            f"POST {region}/flush": lambda region_id: node.region(region_id).flush(),
        }
    )


def start_heartbeats(node: Datanode, metasrv: str, period: float) -> None:
    """Two threads: a report must not wait for Kafka or for a flush."""
    client = Client(timeout=max(1.0, period * 2))

    def report() -> None:
        sent = time.monotonic()
        node.granted(client.post(metasrv, "/internal/heartbeat", **node.report()), sent)

    every(period, "Heartbeat", report, after_failure=1)
    every(period, "Tick", node.tick)


def _write(region: Region, rows: list[Row]) -> Any:
    entry_id = region.write([tuple(row) for row in rows])
    return {"region_id": region.region_id, "topic": region.topic, "entry_id": entry_id, "rows": len(rows)}


def _scan(region: Region) -> Any:
    scan = region.scan()
    return {"region_id": region.region_id, "applied_entry_id": scan.applied_entry_id, "rows": scan.rows}
