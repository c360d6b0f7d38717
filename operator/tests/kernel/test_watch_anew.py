"""kopf looks for the kinds once: one that discovery lacked then is heard of by a watcher that begins anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from seawall.api.v1alpha1.kinds import KINDS
from seawall.handlers.event_filter import Subject
from seawall.handlers.watch import Watcher
from seawall_e2e.waiting import wait_until

LATE = "walpurges"
VERBS = ["list", "watch"]
CORE = {"namespaces": "Namespace", "customresourcedefinitions": "CustomResourceDefinition"}
"""kopf waits for these two, whoever it watches."""
GROUPS = ("seawall.dev", "v1alpha1"), ("apiextensions.k8s.io", "v1")


class Lagging(BaseHTTPRequestHandler):
    """An API server with one object of each kind, whose discovery lacks one kind until it does not."""

    protocol_version = "HTTP/1.1"
    knows, ends = Event(), Event()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if "watch=true" in query:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.ends.wait(60)
            self.close_connection = True
            return
        answer = json.dumps(self._answer(path)).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _answer(self, path: str) -> dict[str, Any]:
        if path == "/api":
            return {"versions": ["v1"]}
        if path == "/apis":
            found = [(name, {"groupVersion": f"{name}/{version}", "version": version}) for name, version in GROUPS]
            return {"groups": [{"name": name, "versions": [at], "preferredVersion": at} for name, at in found]}
        if path == "/apis/seawall.dev/v1alpha1":
            here = {kind.plural: kind.kind for kind in KINDS if kind.plural != LATE or self.knows.is_set()}
            return _resources(here, namespaced=True)
        if not path.startswith("/apis/seawall.dev/v1alpha1/"):
            return _resources(CORE, namespaced=False)
        (kind,) = (each.kind for each in KINDS if path.endswith(f"/{each.plural}"))
        one = {"kind": kind, "metadata": {"namespace": "db", "name": "one", "uid": kind}}
        return {"kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": [one]}

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def _resources(kinds: dict[str, str], *, namespaced: bool) -> dict[str, Any]:
    known = [
        {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": namespaced, "verbs": VERBS}
        for plural, kind in kinds.items()
    ]
    return {"resources": known}


@pytest.fixture
def _api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Lagging) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        cluster = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        contexts = [{"name": "here", "context": {"cluster": "here", "user": "me"}}]
        config = {"clusters": [cluster], "users": [{"name": "me", "user": {}}], "contexts": contexts}
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "here", **config}))
        monkeypatch.setenv("KUBECONFIG", str(path))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        yield
        Lagging.ends.set()
        server.shutdown()


@pytest.mark.usefixtures("_api_server")
def test_a_kind_that_was_not_served_at_the_start_is_heard_of_by_the_next_watcher() -> None:
    woken: list[Subject] = []
    first = Watcher((), woken.append)
    first.start()
    others = {kind.kind for kind in KINDS if kind.plural != LATE}
    wait_until(lambda: {each.kind for each in woken} == others, "all but one kind are heard of")
    assert first.is_watching()
    assert not first.has_heard("WALPurge", {"namespace": "db", "name": "one", "uid": "WALPurge"})
    woken.clear()
    Lagging.knows.set()
    second = first.successor()
    first.stop()
    assert first.has_ended()
    second.start()
    wait_until(
        lambda: second.has_heard("WALPurge", {"namespace": "db", "name": "one", "uid": "WALPurge"}), "the last one"
    )
    second.stop()
    assert second.has_ended()
    assert [each.kind for each in woken] == ["WALPurge"], "of all others it has heard"
