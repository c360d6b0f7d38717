"""An answer that comes byte by byte ends at its deadline, whatever its header says of its length; so does a header."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

from seawall.adapters import http, http_body, http_deadline
from seawall.adapters.http import Http, Part
from seawall.adapters.kube.api import KubeApi
from seawall.domain.dataplane.connection import NotReached, PartUnavailable
from seawall.domain.errors import OutsideUnavailable
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

SECONDS, BETWEEN, BYTES = 0.5, 0.05, 60_000
LATE = 2.5
"""Seconds: far less than what all of the answer takes, and more than a busy machine adds to the deadline."""
LONGEST = 6.0
"""Seconds after which the server gives up: whoever still reads has no deadline."""
PART = Part("the metasrv", "the spec", NotReached.METASRV_UNREACHABLE, "")


class Trickle(BaseHTTPRequestHandler):
    """A byte now and then; as one piece by its Content-Length, or in chunks. At once: two bytes and the end.

    Or a byte now and then of a header; or two bytes of a body without a length, and silence.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        if self.path in {"/header", "/silence"}:
            self.close_connection = True
            with suppress(OSError):  # whoever asked has hung up
                self._begin_only()
            return
        is_whole = self.path == "/whole"
        chunked = self.path in {"/chunks", "/whole"}
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(BYTES))))
        self.end_headers()
        piece = b"1\r\n1\r\n" if chunked else b"1"
        try:
            if is_whole:
                self.wfile.write(2 * piece + b"0\r\n\r\n")
                return
            until = time.monotonic() + LONGEST
            while time.monotonic() < until:
                self.wfile.write(piece)
                time.sleep(BETWEEN)
            self.close_connection = True
        except OSError:  # whoever asked has hung up
            self.close_connection = True

    def _begin_only(self) -> None:
        if self.path == "/silence":
            self.end_headers()
            self.wfile.write(b"1")
            time.sleep(SECONDS / 2)  # no silence is as long as the deadline when that comes
            self.wfile.write(b"1")
            time.sleep(LONGEST)
            return
        self.flush_headers()
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            self.wfile.write(b"X")
            time.sleep(BETWEEN)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    """Counts its connections."""

    connections = 0

    def process_request(self, *request: object) -> None:
        self.connections += 1
        super().process_request(*request)  # type: ignore[arg-type]


@contextmanager
def trickling() -> Iterator[tuple[str, Server]]:
    """Its URL."""
    with Server(("127.0.0.1", 0), Trickle) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server
        server.shutdown()


def kube_at(url: str, folder: Path) -> KubeApi:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (folder / "kubeconfig").write_text(json.dumps(config))
    return KubeApi(1, kubeconfig=str(folder / "kubeconfig"), request_seconds=SECONDS)


def cut_in_time(path: str) -> None:
    with trickling() as (url, _):
        is_cut_in_time(Http(PART), url, path)


def is_cut_in_time(part: Http, url: str, path: str) -> None:
    begun = time.monotonic()
    with pytest.raises(PartUnavailable) as silence:
        part.get(f"{url}{path}", seconds=SECONDS)
    assert SECONDS <= time.monotonic() - begun < LATE
    advice = "check that it runs and that network policies let Seawall in"
    assert str(silence.value) == f"the metasrv at {url} does not answer (no whole answer within 0.5 s): {advice}"


def test_a_trickle_of_headers_is_cut_in_time_on_a_connection_that_was_used_before() -> None:
    with trickling() as (url, server):
        part = Http(PART)
        assert part.get(f"{url}/whole").body == b"11"
        is_cut_in_time(part, url, "/header")
        assert server.connections == 1
        assert part.get(f"{url}/whole").body == b"11"


@pytest.mark.parametrize("path", ["/length", "/chunks", "/header", "/silence"])
def test_a_trickle_of_a_part_of_the_database_is_cut_in_time(path: str) -> None:
    cut_in_time(path)


@pytest.mark.parametrize("path", ["/length", "/chunks"])
def test_a_trickle_of_the_api_server_is_cut_in_time(path: str, tmp_path: Path) -> None:
    with trickling() as (url, _):
        api, begun = kube_at(url, tmp_path), time.monotonic()
        with pytest.raises(OutsideUnavailable, match=f"GET {path}: no answer"):
            api.get(path)
        assert SECONDS <= time.monotonic() - begun < LATE


def test_what_came_in_time_is_read_whole_and_its_connection_kept(tmp_path: Path) -> None:
    with trickling() as (url, server):
        part, api = Http(PART), kube_at(url, tmp_path)
        assert [part.get(f"{url}/whole").body for _ in range(3)] == [b"11"] * 3
        assert server.connections == 1
        assert [api.read_text("/whole") for _ in range(3)] == ["11"] * 3
        assert server.connections == 2
        part.close()


class Slow(io.BytesIO):
    """A body of which a byte comes each second, by a clock of its own."""

    now = 0.0

    def read1(self, size: int | None = -1, /) -> bytes:
        """What is there: after a second, a byte."""
        self.now += 1
        return super().read1(min(size or 0, 1))

    def read(self, size: int | None = -1, /) -> bytes:
        """As many bytes, once they are all there."""
        found = super().read(size)
        self.now += len(found)
        return found


def test_nobody_waits_for_more_of_a_body_than_there_is() -> None:
    body = Slow(b"1" * 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_body, "time", SimpleNamespace(monotonic=lambda: body.now))
        with pytest.raises(HTTPTimeoutError):
            list(http_body.pieces(cast("BaseHTTPResponse", body), until=5.0))
    assert body.now == 6
    assert body.closed


def test_each_guard_against_a_trickle_is_needed() -> None:
    story = test_nobody_waits_for_more_of_a_body_than_there_is
    assert not find_survivors(
        [
            (rewritten(http_body, "pieces", "time.monotonic() > until", "False"), story),
            (rewritten(http_body, "pieces", "response.read1(PIECE)", "response.read(PIECE)"), story),
            (rewritten(http_body, "pieces", "with response:", "if True:"), story),
        ]
    )


def test_each_guard_against_a_slow_beginning_is_needed() -> None:
    def at(path: str) -> Callable[[], None]:
        return lambda: cut_in_time(path)

    header, believed = at("/header"), "close()\n    if False"
    handle = "self._handle = socket.socket(fileno=os.dup(connected.fileno()))"
    assert not find_survivors(
        [
            (rewritten(http_deadline._Guard, "end", "self._cut()", "pass"), header),
            (rewritten(http_deadline._Guard, "watch", handle, "pass"), header),
            (rewritten(http_deadline, "deadline", "close()\n    if guard.is_late", believed, http), at("/silence")),
        ]
    )
