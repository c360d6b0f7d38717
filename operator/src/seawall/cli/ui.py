"""`seawall ui`: opens the page that the operator serves, in a browser on this machine.

A small server on the loopback interface passes what the browser asks for on to the leading operator, over the API
server's pod proxy, with the rights of whoever typed the command. It answers on a path that nobody can guess, to a
browser that means this host and port, and only to questions: nothing can be changed by it.
"""

from __future__ import annotations

import argparse
import secrets
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from seawall.adapters.kube.api import Fetched
from seawall.cli.connection import add_connection, add_operator
from seawall.cli.ledger import leading_lease, pages_path
from seawall.cli.session import Session
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from seawall.domain.overview.browser import HEADERS

HOST = "127.0.0.1"
MOST_PORT = 65535
PASSED_ON = ("text/html", "text/css")
"""What a browser is given; all else is a sentence of the API server's, and is shown as one."""


class Api(Protocol):
    """What is needed of the API server."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Reads a path; None when there is nothing."""
        ...

    def fetch(self, path: str) -> Fetched:
        """Reads a page of a pod, whatever the answer is."""
        ...


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall ui`."""
    parser.add_argument("--port", type=_port, default=0, help="on this machine; default: one that is free")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    add_connection(parser)
    add_operator(parser)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: the address, as long as the page is served.

    Raises:
        Refused: there is no such operator, the person may not look, or the port is taken.
        OutsideUnavailable: the API server or the operator did not answer.
    """
    relay = Relay(session.api, arguments.operator)
    relay.require()
    with serving(relay, arguments.port) as address:
        yield f"{address}\nOnly this address opens it, and only on this machine; Ctrl-C ends it."
        if not arguments.no_browser:
            webbrowser.open(address)
        threading.Event().wait()


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes questions on to whoever leads."""

    api: Api
    operator: str

    def fetch(self, target: str) -> Fetched:
        """A page, by its path and query below `/ui/`.

        Raises:
            Refused: nobody leads, or the person may not read the Lease.
            OutsideUnavailable: the API server did not answer.
        """
        lease = leading_lease(self.api.get, self.operator)
        asked = urlsplit(target)
        query = parse_qsl(asked.query, keep_blank_values=True)
        return self.api.fetch(pages_path(self.operator, lease, f"ui/{asked.path}", query))

    def require(self) -> None:
        """That the page can be seen, before a browser opens on one that cannot.

        Raises:
            Refused: the person may not.
            OutsideUnavailable: there is no answer.
        """
        found = self.fetch("")
        if found.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
            raise Refused(f"the operator's page: {found.status} {_sentence(found)}")
        if found.status != HTTPStatus.OK:
            raise OutsideUnavailable(f"the operator's page: {found.status} {_sentence(found)}")


@contextmanager
def serving(relay: Relay, port: int) -> Iterator[str]:
    """Serves the page; gives its address.

    Raises:
        Refused: the port is taken.
    """
    secret = secrets.token_urlsafe(24)
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(relay.fetch, secret))
    except OSError as error:
        raise Refused(f"port {port} of {HOST} cannot be served: {error.strerror}") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/{secret}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(fetch: Callable[[str], Fetched], secret: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET, and nothing else."""

        server: ThreadingHTTPServer

        def do_GET(self) -> None:
            # The name of the host: a page from elsewhere whose name is bound to this address later is not this page.
            hosts = {f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"}
            prefix = f"/{secret}/"
            if self.headers.get("Host") not in hosts or not self.path.startswith(prefix):
                self._answer(
                    Fetched(HTTPStatus.NOT_FOUND, "text/plain", b"use the address that `seawall ui` printed\n")
                )
                return
            try:
                found = fetch(self.path.removeprefix(prefix))
            except SeawallError as error:
                found = Fetched(HTTPStatus.BAD_GATEWAY, "text/plain", f"{error}\n".encode())
            self._answer(found)

        def _answer(self, found: Fetched) -> None:
            is_page = found.content_type.startswith(PASSED_ON)
            body = found.body if is_page else f"{_sentence(found)}\n".encode()
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type if is_page else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Says nothing: the address is a secret."""

    return Handler


def _sentence(found: Fetched) -> str:
    """What the API server or the operator says of an answer that is no page."""
    return found.body[:500].decode(errors="replace").strip()
