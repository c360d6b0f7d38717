"""What a controller sees of a database, in GreptimeDB's forms: keys in etcd, and by HTTP a metasrv and a frontend."""

from __future__ import annotations

import http.server
import itertools
import json
import secrets
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from jumping_clock import JumpingClock

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.interfaces import NODES
from seawall.adapters.greptimedb.keys import MAX_OPERATIONS
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.domain.dataplane.connection import EtcdConnection
from seawall_e2e.loopback.etcd import EtcdProcess
from walrecord import Full, RecordKey, encode_key

DATANODES = 3
REGIONS = 10
"""Of each topic; they are one table's."""
FIRST_TABLE = 1024
VERSION = "1.1.0"
SETTINGS = b'[wal]\nprovider = "kafka"\nauto_prune_interval = "0s"\n'
"""What its metasrv runs with: it prunes nothing by itself."""


class Database:
    """Topics, tables and datanodes; nothing is written but what the benchmark writes into the topics for it.

    Attributes:
        flushed: by topic, the entry id that its first region has flushed; each further region has flushed one more.
        clock: whose time the heartbeats have.
    """

    def __init__(self, etcd: EtcdProcess, topics: Sequence[str], clock: JumpingClock) -> None:
        self.flushed = dict.fromkeys(topics, 0)
        self.clock, self.topics = clock, list(topics)
        self.etcd_url, self.prefix = etcd.url, f"bench-{secrets.token_hex(3)}/"
        self._etcd = Etcd(EtcdConnection((etcd.url,), self.prefix))
        self._fill()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def identity(self) -> str:
        """Which metadata store it is."""
        return GreptimeMetadata(self._etcd).head().store_id

    def keys(self, topic: str) -> list[bytes]:
        """The keys of the records of the topic's regions, one of each."""
        regions = _regions(self.topics.index(topic))
        return [encode_key(RecordKey(region_id=region, type=Full())) for region in regions]

    def heartbeats(self) -> Any:
        """The newest heartbeat of each datanode: of now."""
        now = int(self.clock.now().timestamp() * 1000)
        return [[self._heartbeat(node, now)] for node in range(DATANODES)]

    def answer(self, statement: str) -> Any:
        """The one statement that a purge asks when nothing is to be flushed: of which processes the database is."""
        if statement != NODES:
            return {"code": 1001, "error": f"no answer to {statement}", "execution_time_ms": 0}
        names = ("peer_id", "peer_type", "peer_addr", "version")
        rows = [[node, "DATANODE", _address(node), VERSION] for node in range(DATANODES)]
        rows += [[0, "METASRV", "metasrv", VERSION], [-1, "FRONTEND", "frontend", VERSION]]
        schema = {"column_schemas": [{"name": name, "data_type": "String"} for name in names]}
        return {"output": [{"records": {"schema": schema, "rows": rows}}], "execution_time_ms": 0}

    def _heartbeat(self, node: int, now: int) -> dict[str, Any]:
        regions = [
            {
                "id": region,
                "engine": "mito",
                "role": "Leader",
                "region_manifest": {"Mito": {"manifest_version": 1, "flushed_entry_id": self.flushed[topic] + number}},
                "memtable_size": 0,
            }
            for table, topic in enumerate(self.topics)
            if table % DATANODES == node
            for number, region in enumerate(_regions(table))
        ]
        return {"timestamp_millis": now, "id": node, "addr": _address(node), "node_epoch": 1, "region_stats": regions}

    def _fill(self) -> None:
        pairs = self._pairs()
        while page := dict(itertools.islice(pairs, MAX_OPERATIONS)):
            self._etcd.write(page, [])

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for node in range(DATANODES):
            yield f"__node_address/0/{node}", json.dumps({"peer": {"id": node, "addr": _address(node)}})
        for table, topic in enumerate(self.topics):
            yield from _table_keys(table, topic).items()


def _address(node: int) -> str:
    return f"datanode-{node}:4001"


def _regions(table: int) -> list[int]:
    return [(FIRST_TABLE + table) << 32 | number for number in range(REGIONS)]


def _table_keys(table: int, topic: str) -> dict[str, str]:
    """The keys of one table, all of whose regions write to one topic."""
    node, identifier = table % DATANODES, FIRST_TABLE + table
    option = json.dumps({"wal.provider": "kafka", "wal.kafka.topic": topic})
    options = {str(number): option for number in range(REGIONS)}
    datanode_table = {"table_id": identifier, "regions": list(range(REGIONS)), "region_wal_options": options}
    leader = {"id": node, "addr": _address(node)}
    routes = [{"region": {"id": region, "name": ""}, "leader_peer": leader} for region in _regions(table)]
    return {
        f"__topic_name/kafka/{topic}": '{"pruned_entry_id":0}',
        f"__dn_table/{node}/{identifier}": json.dumps(datanode_table),
        f"__table_route/{identifier}": json.dumps({"type": "physical", "region_routes": routes, "version": 0}),
        **{f"__topic_region/{topic}/{region}": "" for region in _regions(table)},
    }


def _handler(database: Database) -> type[http.server.BaseHTTPRequestHandler]:
    """What a database answers by HTTP: GET is a look at the metasrv, POST a statement for the frontend."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/config":
                self._send(SETTINGS)
            else:
                self._say(database.heartbeats())

        def do_POST(self) -> None:
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._say(database.answer(form["sql"][0]))

        def _say(self, answer: Any) -> None:
            self._send(json.dumps(answer).encode())

        def _send(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:  # a line for each request would be noise
            pass

    return Handler
