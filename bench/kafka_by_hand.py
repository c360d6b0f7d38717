"""The same Kafka by hand: the objects that Seawall made, in another namespace, all applied at once.

What is left out is what only Seawall needs: its readiness gate, and its record of who this Kafka is. The tokens are
those that Seawall gave the nodes to format their volumes (docs/adr/0056-format-tokens.md).
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from seawall_e2e.commands import Object, kubectl
from seawall_e2e.objects import apply, delete, get, items
from seawall_e2e.waiting import wait_until

KINDS = ("configmaps", "services", "persistentvolumeclaims", "statefulsets")
VERSIONS = {"StatefulSet": "apps/v1"}
KAFKA = "seawall.dev/kafka"
FORMAT = "{name}-kafka-format"


def tokens_of(namespace: str, name: str, nodes: int) -> dict[str, str]:
    """The tokens, once each node has one."""

    def whole() -> dict[str, str] | None:
        found = [
            each for each in items(namespace, "configmaps") if each["metadata"]["name"] == FORMAT.format(name=name)
        ]
        data: dict[str, str] = found[0].get("data", {}) if found else {}
        return data if len(data) == nodes else None

    return wait_until(whole, "each node may format its volume")


@dataclass(frozen=True, slots=True)
class ByHand:
    """A Kafka that nobody looks after.

    Attributes:
        namespace: where it is.
        name: of the WALCluster whose objects they were.
    """

    namespace: str
    name: str

    def copy(self, namespace: str, tokens: dict[str, str]) -> list[Object]:
        """What is to be applied here of what Seawall made there."""
        found = [each for each in items(namespace, *KINDS, labels=f"{KAFKA}={self.name}") if _is_for_nodes(each)]
        told = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FORMAT.format(name=self.name)}}
        return [self._here(each, namespace) for each in ({**told, "data": tokens}, *map(_plain, found))]

    def restart(self, node: int, within: float) -> None:
        """Deletes the pod of a node, and waits until the next one serves."""
        name = f"{self.name}-{node}-0"
        before = get(self.namespace, "pods", name)["metadata"]["uid"]
        delete(self.namespace, "pods", name)

        def serves() -> bool:
            found = [each for each in items(self.namespace, "pods") if each["metadata"]["name"] == name]
            return any(each["metadata"]["uid"] != before and _is_serving(each) for each in found)

        wait_until(serves, f"{name} serves", within=within)

    def clear(self) -> None:
        """Removes all of it."""
        for kind in ("statefulsets", "services", "configmaps"):
            delete(self.namespace, kind)
        flags = ("--force", "--grace-period=0", "--ignore-not-found")
        kubectl("-n", self.namespace, "delete", "pods", "--all", *flags, timeout=120)
        delete(self.namespace, "persistentvolumeclaims")

    def _here(self, each: Object, namespace: str) -> Object:
        """Nodes find each other by names of their namespace."""
        moved: Object = json.loads(json.dumps(each).replace(f".{namespace}.svc", f".{self.namespace}.svc"))
        moved["metadata"]["namespace"] = self.namespace
        return moved

    def apply(self, objects: list[Object]) -> None:
        """All at once."""
        apply(*objects)


def with_addresses(objects: list[Object]) -> list[Object]:
    """The same with Services that have a ClusterIP each, and publish as before those that are not ready."""
    found: list[Object] = copy.deepcopy(objects)
    ports = {each["metadata"]["name"]: _ports(each) for each in found if each["kind"] == "StatefulSet"}
    for each in found:
        if each["kind"] == "Service":
            spec = {key: value for key, value in each["spec"].items() if key not in {"clusterIP", "clusterIPs"}}
            each["spec"] = {**spec, "ports": ports[each["metadata"]["name"]]}
    return found


def _ports(statefulset: Object) -> list[dict[str, Any]]:
    """A headless Service needs none, and one with an address names each."""
    (container,) = statefulset["spec"]["template"]["spec"]["containers"]
    return [{"name": each["name"], "port": each["containerPort"]} for each in container["ports"]]


def _is_for_nodes(each: Object) -> bool:
    return "-kafka-" not in each["metadata"]["name"]


def _plain(each: Object) -> Object:
    """Without what the API server wrote into it."""
    metadata = {key: value for key, value in each["metadata"].items() if key in {"name", "labels"}}
    body = {key: value for key, value in each.items() if key in {"data", "immutable", "spec"}}
    spec: dict[str, Any] = body.get("spec", {})
    if each["kind"] == "PersistentVolumeClaim":
        spec.pop("volumeName", None)
    if each["kind"] == "StatefulSet":
        spec["template"]["spec"].pop("readinessGates", None)
    return {"apiVersion": VERSIONS.get(each["kind"], "v1"), "kind": each["kind"], "metadata": metadata, **body}


def _is_serving(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "ContainersReady" and each["status"] == "True" for each in conditions)
