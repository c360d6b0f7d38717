"""How long one request to an API server may take: a person waits longer than the operator."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from seawall.adapters.kube.api import KubeApi
from seawall.cli.connection import connect
from seawall.domain.errors import OutsideUnavailable

OPERATORS, ANSWERS_AFTER = 0.2, 1.0
"""Seconds."""


class Late(BaseHTTPRequestHandler):
    """An API server under load."""

    def do_GET(self) -> None:
        time.sleep(ANSWERS_AFTER)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Late) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        here = {"cluster": "late", "user": "me", "namespace": "wal"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "late", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "late", "context": here}],
            "current-context": "late",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config))
        yield str(path)
        server.shutdown()


def test_a_person_is_answered_by_an_api_server_that_is_late_for_the_operator(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = KubeApi.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "request_seconds", OPERATORS)
    with pytest.raises(OutsideUnavailable, match=r"GET /api: no answer \(ReadTimeoutError\)"):
        KubeApi(connections=1, kubeconfig=kubeconfig).get("/api")
    arguments = argparse.Namespace(kubeconfig=kubeconfig, context=None, namespace=None)
    assert connect(arguments).get("/api") == {}
    assert arguments.namespace == "wal"
