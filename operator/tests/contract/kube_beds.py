"""What the contract tests of the Kube port run on: the real API server, and the fake."""

import base64
from typing import Any, Protocol

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.ports import Kube
from tests.fakes.kube import FakeKube
from tests.support.kube import OBJECTS, KubeClient

API_VERSION = "seawall.dev/v1alpha1"
CORE = "/api/v1/namespaces/{}/{}"


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

    def __init__(self, client: KubeClient, kube: KubeAdapter, namespace: str) -> None:
        self._client = client
        self.kube = kube
        self.namespace = namespace

    def apply(self, name: str, spec: dict[str, Any], kind: type[AnyResource] = WALCluster) -> None:
        self._apply(OBJECTS, kind.KIND.plural, name, {"apiVersion": API_VERSION, "kind": kind.KIND.kind, "spec": spec})

    def delete(self, name: str, kind: type[AnyResource] = WALCluster) -> None:
        self._client.delete(f"{OBJECTS.format(self.namespace, kind.KIND.plural)}/{name}")

    def put_secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self._apply(CORE, "secrets", name, {"apiVersion": "v1", "kind": "Secret", "data": encoded})

    def put_config_map(self, name: str, data: dict[str, str]) -> None:
        self._apply(CORE, "configmaps", name, {"apiVersion": "v1", "kind": "ConfigMap", "data": data})

    def _apply(self, paths: str, plural: str, name: str, body: dict[str, Any]) -> None:
        self._client.apply(f"{paths.format(self.namespace, plural)}/{name}", {**body, "metadata": {"name": name}})
