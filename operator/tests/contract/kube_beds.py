"""What the contract tests of the Kube port run on: the real API server, and the fake."""

import base64
import json
from typing import Any, Protocol

from seawall.adapters.kube import KubeAdapter
from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.ports import Kube
from seawall_e2e.loopback import ApiServer
from tests.fakes.kube import FakeKube


class Bed(Protocol):
    """A Kube and a person beside it."""

    @property
    def kube(self) -> Kube: ...
    @property
    def namespace(self) -> str: ...

    def apply(self, name: str, spec: dict[str, Any], kind: type[AnyResource] = WALCluster) -> None: ...
    def delete(self, name: str, kind: type[AnyResource] = WALCluster) -> None: ...
    def put_secret(self, name: str, data: dict[str, bytes]) -> None: ...
    def put_config_map(self, name: str, data: dict[str, str]) -> None: ...


class FakeBed:
    """In memory."""

    def __init__(self) -> None:
        self.kube = FakeKube()
        self.namespace = "default"

    def apply(self, name: str, spec: dict[str, Any], kind: type[AnyResource] = WALCluster) -> None:
        self.kube.apply(Key(self.namespace, name), spec, kind=kind)

    def delete(self, name: str, kind: type[AnyResource] = WALCluster) -> None:
        self.kube.remove(Key(self.namespace, name), kind)

    def put_secret(self, name: str, data: dict[str, bytes]) -> None:
        self.kube.secrets[Key(self.namespace, name)] = data

    def put_config_map(self, name: str, data: dict[str, str]) -> None:
        self.kube.put_config_map(Key(self.namespace, name), data)


class RealBed:
    """A namespace of a real API server."""

    def __init__(self, server: ApiServer, kube: KubeAdapter, namespace: str) -> None:
        self._server = server
        self.kube = kube
        self.namespace = namespace

    def apply(self, name: str, spec: dict[str, Any], kind: type[AnyResource] = WALCluster) -> None:
        self._apply({"apiVersion": "seawall.dev/v1alpha1", "kind": kind.KIND.kind, "spec": spec}, name)

    def delete(self, name: str, kind: type[AnyResource] = WALCluster) -> None:
        self._server.kubectl("-n", self.namespace, "delete", kind.KIND.plural, name, "--wait=false")

    def put_secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self._apply({"apiVersion": "v1", "kind": "Secret", "data": encoded}, name)

    def put_config_map(self, name: str, data: dict[str, str]) -> None:
        self._apply({"apiVersion": "v1", "kind": "ConfigMap", "data": data}, name)

    def _apply(self, body: dict[str, Any], name: str) -> None:
        body = {**body, "metadata": {"name": name}}
        self._server.kubectl("-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(body))
