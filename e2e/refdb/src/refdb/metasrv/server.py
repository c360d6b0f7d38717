"""The metasrv's HTTP: GreptimeDB's admin interface (facts §5.3), and what refdb's other roles call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from refdb.meta import keys
from refdb.meta.store import KeyValue, Store
from refdb.meta.values import topic_name_value
from refdb.metasrv.migration import Migrations
from refdb.metasrv.state import ClusterState
from refdb.metasrv.tables import Tables
from refdb.schema import Table
from refdb.web import Text, application


def register_topics(etcd: Store, topics: tuple[str, ...]) -> None:
    """Writes the markers of topics that have none yet."""
    for topic in topics:
        absent = KeyValue(keys.topic_name(topic))
        etcd.txn([absent], {absent.key: topic_name_value(0)})


@dataclass(frozen=True, slots=True)
class NodeListing:
    """How the metasrv lists itself: where it is, and the GreptimeDB whose interfaces it says it has."""

    address: str
    version: str
    config: str
    """Its options as it runs, in TOML."""


def metasrv_application(
    listed: NodeListing, etcd: Store, state: ClusterState, tables: Tables, migrations: Migrations
) -> web.Application:
    """The routes."""

    def heartbeats(addr: str | None = None) -> Any:
        return [list(node.reports) for node in state.nodes() if node.reports and addr in (None, node.peer.addr)]

    def maintenance() -> Any:
        return {"enabled": etcd.get(keys.MAINTENANCE).exists}

    def switch(value: str | None) -> Any:
        etcd.txn([], {keys.MAINTENANCE: value})
        return {"enabled": value is not None}

    def datanodes() -> Any:
        return [
            {"id": node.peer.id, "addr": node.peer.addr, "alive": not node.dead, "silent": int(node.silence)}
            for node in state.nodes()
        ]

    def processes() -> Any:
        reported = [node for node in state.nodes() if node.reports]
        datanodes = [
            {"id": node.peer.id, "type": "DATANODE", "addr": node.peer.addr, "version": node.version}
            for node in reported
        ]
        return [*datanodes, {"id": 0, "type": "METASRV", "addr": listed.address, "version": listed.version}]

    return application(
        {
            "GET /admin/health": dict,
            "GET /config": lambda: Text(listed.config),
            "GET /admin/leader": lambda: listed.address,
            "GET /admin/heartbeat": heartbeats,
            "GET /admin/maintenance": maintenance,
            "GET /admin/maintenance/status": maintenance,
            "POST /admin/maintenance/enable": lambda: switch(""),
            "POST /admin/maintenance/disable": lambda: switch(None),
            "POST /internal/heartbeat": lambda **body: state.heartbeat(body),
            "POST /internal/datanodes": datanodes,
            "POST /internal/nodes": processes,
            "POST /internal/tables": lambda **table: tables.create(Table.from_json(table)),
            "POST /internal/migrate": migrations.migrate,
            "POST /internal/follow": migrations.follow,
        }
    )
