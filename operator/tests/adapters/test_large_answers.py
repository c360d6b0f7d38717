"""An answer that is too large ends early, in one sentence: the operator's memory has a limit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seawall.adapters.greptimedb.interfaces import GreptimeDB
from seawall.adapters.http import Http
from seawall.domain.dataplane.connection import NotReached, PartRefused

LIMIT = 2 * 2**20
"""Bytes: 80 MiB would be asked of a slow machine within the deadline of an answer."""
PIECE = b" " * 2**16


class Endless(BaseHTTPRequestHandler):
    """Answers without an end; `sent` counts the bytes."""

    sent = 0

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while Endless.sent < 40 * LIMIT:
                self.wfile.write(PIECE)
                Endless.sent += len(PIECE)
        except OSError:  # whoever asked has hung up
            return

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def endless() -> Iterator[str]:
    """A metasrv whose answers never end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_answer_that_is_too_large_is_told_and_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = Http.__init__.__kwdefaults__ or {}
    assert defaults["max_bytes"] == 80 * 2**20, "the chart's limit of memory is for so much"
    monkeypatch.setitem(defaults, "max_bytes", LIMIT)
    with endless() as url, pytest.raises(PartRefused) as refused:
        GreptimeDB(url, url).reports()
    assert refused.value.why is NotReached.UNEXPECTED_ANSWER
    assert str(refused.value).startswith("the metasrv answers more than 2 MiB, and Seawall reads no more")
    assert LIMIT <= Endless.sent < 20 * LIMIT, "beyond it is only what sockets hold"
