"""A person whose token has expired, as the exit code tells it: that is no silence of the API server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from seawall.__main__ import main
from seawall.cli.parser import Exit
from seawall.cli.session import Session
from seawall.domain.errors import Unauthenticated

Type = Callable[..., tuple[int, str]]


class Refusing(BaseHTTPRequestHandler):
    """An API server that answers with the status that is shown as the token."""

    def do_GET(self) -> None:
        status = int(self.headers["Authorization"].removeprefix("Bearer "))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps({"kind": "Status", "message": "no words"}).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def type_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Type]:
    """Types a command with a token; returns the exit code and the errors."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()

        def type_it(token: int, *words: str) -> tuple[int, str]:
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "one", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                "users": [{"name": "me", "user": {"token": str(token)}}],
                "contexts": [{"name": "one", "context": {"cluster": "one", "user": "me"}}],
                "current-context": "one",
            }
            (tmp_path / "kubeconfig").write_text(json.dumps(config))
            monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
            monkeypatch.setattr(sys, "argv", ["seawall", *words])
            code = main()
            return code, capsys.readouterr().err

        yield type_it
        server.shutdown()


@pytest.mark.parametrize("words", [("ledger", "wal"), ("verify", "wal"), ("restore", "plan", "one"), ("status",)])
def test_credentials_that_are_refused_are_a_no(words: tuple[str, ...], type_: Type) -> None:
    code, errors = type_(401, *words)
    assert code == Exit.REFUSED
    assert errors.startswith("error: the credentials were refused: ")
    assert errors.endswith(": 401 no words\n")


@pytest.mark.parametrize(("status", "code"), [(403, Exit.REFUSED), (500, Exit.NO_ANSWER), (503, Exit.NO_ANSWER)])
def test_other_refusals_are_as_they_were(status: int, code: Exit, type_: Type) -> None:
    assert type_(status, "ledger", "wal")[0] == code


def test_credentials_that_cannot_be_had_are_a_no_as_well(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program that the kubeconfig names, and that asks nobody."""

    def no_token(_: Session) -> None:
        raise Unauthenticated("GET /api: no credentials (ConfigException)")

    monkeypatch.setattr(Session, "api", property(no_token))
    assert type_(200, "ledger", "wal") == (Exit.REFUSED, "error: GET /api: no credentials (ConfigException)\n")
