"""The metasrv's HTTP: GreptimeDB's admin interface (facts §5.3), and what refdb's other roles call."""

from __future__ import annotations

import threading
from typing import Any

from aiohttp import web

from refdb.meta import keys
from refdb.meta.etcd import Delete, Etcd, Put, Unchanged
from refdb.meta.values import topic_name_value
from refdb.metasrv.migration import Migrations
from refdb.metasrv.state import ClusterState
from refdb.metasrv.tables import Tables
from refdb.schema import Table
from refdb.web import Call, application


def register_topics(etcd: Etcd, topics: tuple[str, ...]) -> None:
    """Writes the markers of topics that have none yet."""
    for topic in topics:
        etcd.txn([Unchanged(keys.topic_name(topic), 0)], [Put(keys.topic_name(topic), topic_name_value(0))])


class Metasrv:
    """Answers requests."""

    def __init__(self, address: str, etcd: Etcd, state: ClusterState, tables: Tables, migrations: Migrations) -> None:
        self._address, self._etcd, self._state = address, etcd, state
        self._tables, self._migrations = tables, migrations
        self._creating = threading.Lock()

    def application(self) -> web.Application:
        """The routes."""
        return application(
            {
                "GET /admin/health": lambda _: {},
                "GET /admin/leader": lambda _: self._address,
                "GET /admin/heartbeat": self._heartbeats,
                "GET /admin/maintenance": self._maintenance,
                "GET /admin/maintenance/status": self._maintenance,
                "POST /admin/maintenance/enable": lambda _: self._switch(Put(keys.MAINTENANCE, "")),
                "POST /admin/maintenance/disable": lambda _: self._switch(Delete(keys.MAINTENANCE)),
                "POST /internal/heartbeat": lambda call: self._state.heartbeat(call.body),
                "POST /internal/datanodes": self._datanodes,
                "POST /internal/tables": self._create_table,
                "POST /internal/migrate": self._migrate,
            }
        )

    def _heartbeats(self, call: Call) -> Any:
        wanted = call.parameters.get("addr")
        nodes = [node for node in self._state.nodes() if node.reports and wanted in (None, node.peer.addr)]
        return [list(node.reports) for node in nodes]

    def _maintenance(self, _: Call) -> Any:
        return {"enabled": self._etcd.get(keys.MAINTENANCE) is not None}

    def _switch(self, operation: Put | Delete) -> Any:
        self._etcd.txn([], [operation])
        return {"enabled": isinstance(operation, Put)}

    def _datanodes(self, _: Call) -> Any:
        return [
            {"id": node.peer.id, "addr": node.peer.addr, "alive": not node.dead, "silent": int(node.silence)}
            for node in self._state.nodes()
        ]

    def _create_table(self, call: Call) -> Any:
        with self._creating:
            return {"table_id": self._tables.create(Table.from_json(call.body))}

    def _migrate(self, call: Call) -> Any:
        body = call.body
        self._migrations.migrate(int(body["region_id"]), int(body["source"]), int(body["target"]))
        return {}
