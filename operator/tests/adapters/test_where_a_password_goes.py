"""A password goes to the frontend at its declared address, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.interfaces import GreptimeDB, GreptimeMaintenance
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    ClientTLS,
    DataPlaneConnection,
    EtcdConnection,
    NotReached,
    PartRefused,
    User,
)

USER = User("seawall", "hunter2")
HEADER = "Basic c2Vhd2FsbDpodW50ZXIy"


class Server(ThreadingHTTPServer):
    """Answers all with one status; `heard` has the path and the Authorization header of each request."""

    def __init__(self, status: int, location: str = "", body: bytes = b"") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.location, self.body = status, location, body
        self.heard: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Notes who asks."""

    server: Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer()

    def _answer(self) -> None:
        self.server.heard.append((self.path, self.headers.get("Authorization")))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location + self.path)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def listening(status: int, location: str = "", body: bytes = b"") -> Iterator[Server]:
    with Server(status, location, body) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_the_metasrv_never_hears_of_it() -> None:
    with listening(200) as metasrv, listening(200) as frontend:
        database = GreptimeDB(metasrv.url, frontend.url, SYSTEM_TRUST, USER)
        for ask in (database.reports, database.wal_settings, database.nodes, lambda: database.flush_regions([1])):
            with pytest.raises(PartRefused):
                ask()
        with pytest.raises(PartRefused):
            GreptimeMaintenance(metasrv.url).in_maintenance()
    assert metasrv.heard == [("/admin/heartbeat", None), ("/config", None), ("/admin/maintenance/status", None)]
    assert frontend.heard == [("/v1/sql", HEADER)] * 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_it_follows_no_redirect(status: int) -> None:
    with listening(200) as elsewhere, listening(status, elsewhere.url) as frontend:
        with pytest.raises(PartRefused, match=rf"answers {status}") as refused:
            GreptimeDB(frontend.url, frontend.url, SYSTEM_TRUST, USER).nodes()
        assert refused.value.why is NotReached.UNEXPECTED_ANSWER
    assert elsewhere.heard == []


def test_it_is_in_no_text_of_a_connection() -> None:
    tls = ClientTLS("a CA", "a certificate", "a private key")
    connection = DataPlaneConnection("https://m", "https://f", EtcdConnection(("https://e",), "", tls, USER), tls, USER)
    for secret in ("hunter2", "seawall", "private key"):
        assert secret not in repr(connection)
        assert secret not in str(connection)


@pytest.mark.parametrize("status", [203, 206])
def test_what_a_proxy_has_rewritten_is_not_quoted(status: int) -> None:
    """Settings begin with where the metadata are, and etcd's token is an answer by itself."""
    settings, token = b'store_addrs = ["postgres://greptime:hunter2@pg/meta"]', b'{"token": "hunter2"}'
    with listening(status, body=settings) as metasrv, pytest.raises(PartRefused, match=f"answers {status}") as refused:
        GreptimeDB(metasrv.url, metasrv.url).wal_settings()
    assert "hunter2" not in str(refused.value)
    with listening(status, body=token) as etcd, pytest.raises(PartRefused, match=f"answers {status}") as refused:
        Etcd(EtcdConnection((etcd.url,), user=USER)).head("a")
    assert "hunter2" not in str(refused.value)
