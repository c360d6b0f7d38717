"""Lists that ask for metadata alone: of 200 WALClusters the statuses would be megabytes, once a minute."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.errors import Forbidden

FOUND = {"namespace": "one", "name": "run", "uid": "1", "generation": 1}


class Lists(BaseHTTPRequestHandler):
    """An API server with one run in the namespace `one`; the Role of `gone` is gone."""

    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Accept"]))
        is_gone = "/namespaces/gone/" in self.path
        answer: dict[str, Any] = {"message": "no"} if is_gone else {"items": [{"metadata": FOUND}]}
        self.send_response(403 if is_gone else 200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def test_metadata_of_all_that_may_be_read_is_asked_for_alone(tmp_path: Path) -> None:
    Lists.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        path = tmp_path / "kubeconfig"
        cluster = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        users = [{"name": "me", "user": {}}]
        contexts = [{"name": "here", "context": {"cluster": "here", "user": "me"}}]
        config = {"clusters": [cluster], "users": users, "contexts": contexts, "current-context": "here"}
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
        api = KubeApi(connections=1, kubeconfig=str(path))
        assert KubeAdapter(api, ["one", "gone"]).list_metadata(WALPurge) == [FOUND]
        with pytest.raises(Forbidden):
            KubeAdapter(api, ["gone"]).list_metadata(WALPurge)
        server.shutdown()
    assert [path.rpartition("/v1alpha1")[2] for path, _ in Lists.asked] == [
        "/namespaces/one/walpurges",
        "/namespaces/gone/walpurges",
        "/namespaces/gone/walpurges",
    ]
    (accept,) = {accept for _, accept in Lists.asked}
    assert accept == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
