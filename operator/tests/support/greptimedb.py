"""The part of people on an API server with greptimedb-operator's real CRDs: they write GreptimeDBClusters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seawall.api.meta import Key
from seawall_e2e.loopback.processes import platform_folder
from tests.support.kube import KubeClient, Object

BUILD_SECONDS = 600.0
GROUP = "/apis/greptime.io/v1alpha1"
KINDS = {"greptimedbclusters": "GreptimeDBCluster", "greptimedbstandalones": "GreptimeDBStandalone"}
EXAMPLE = Path(__file__).parents[3] / "docs/examples/greptimedb-operator"


def install_greptimedb_crds(kube: KubeClient) -> None:
    """Installs the CRDs that are in its Go module, and waits for them."""
    if all(kube.find(f"{GROUP}/namespaces/default/{plural}") is not None for plural in KINDS):
        return
    text = (platform_folder("greptimedb/operator.sh", BUILD_SECONDS) / "manifests/crds.yaml").read_text()
    for crd in yaml.load_all(text, yaml.CSafeLoader):
        kube.install_crd(crd)


def example(file: str) -> Object:
    """An object of the documented example."""
    found: Object = yaml.safe_load((EXAMPLE / f"{file}.yaml").read_text())
    return found


@dataclass(frozen=True, slots=True)
class GreptimeDBRole:
    """Writes what people would."""

    kube: KubeClient

    def put(self, key: Key, spec: dict[str, Any], plural: str = "greptimedbclusters") -> None:
        """Somebody makes or edits one."""
        path = f"{GROUP}/namespaces/{key.namespace}/{plural}/{key.name}"
        body = {"apiVersion": "greptime.io/v1alpha1", "kind": KINDS[plural], "metadata": {"name": key.name}}
        self.kube.apply(path, {**body, "spec": spec})
