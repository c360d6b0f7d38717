"""One test's corner of the world: a namespace, a topic prefix, and the WALClusters there."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaException

from seawall.api.meta import PAGE_KEY_ANNOTATION
from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.waiting import BOUND, wait_until
from tests.support.kafka import KafkaEyes, is_unknown_topic
from tests.support.kube import WAL_CLUSTERS, KubeClient, Object

FINALIZER = "seawall.dev/topics"


OF_BROKERS = ("ReplicationHealthy", "QuorumHealthy")
"""Conditions that come from a look of their own, before or after Ready."""


@dataclass(frozen=True, slots=True)
class Site:
    """Declares, edits and reads WALClusters; `operators` are those whose logs explain a failure."""

    kube: KubeClient
    kafka: KafkaProcesses
    eyes: KafkaEyes
    namespace: str
    operators: list[OperatorProcess] = field(default_factory=list)

    @property
    def operator(self) -> OperatorProcess:
        """The only operator."""
        (operator,) = self.operators
        return operator

    @property
    def prefix(self) -> str:
        """The topic prefix, as unique as the namespace."""
        return self.namespace

    def on(self, kafka: KafkaProcesses) -> Site:
        """The same corner, with another Kafka."""
        return replace(self, kafka=kafka, eyes=KafkaEyes(kafka.bootstrap_servers))

    def topic(self, index: int) -> str:
        """The name of a topic of the pool."""
        return f"{self.prefix}_{index}"

    def declare(
        self,
        name: str = "wal",
        *,
        topics: Mapping[str, Any] | None = None,
        external: Mapping[str, Any] | None = None,
        config_map: str | None = None,
        greptimedb: Mapping[str, Any] | None = None,
        http: Mapping[str, Any] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Object:
        """Creates a WALCluster on this site's Kafka: two topics, unless told otherwise."""
        spec: Object = {
            "kafka": {"external": {"bootstrapServers": list(self.kafka.bootstrap_servers), **(external or {})}},
            "topics": {"prefix": self.prefix, "count": 2, **(topics or {})},
        }
        data_plane: Object = {"greptimedb": greptimedb} if greptimedb is not None else {}
        if http is not None:
            data_plane["http"] = http
        if config_map is not None:
            data_plane["walConfig"] = {"configMapName": config_map}
        if data_plane:
            spec["dataPlane"] = data_plane
        body: Object = {
            "apiVersion": "seawall.dev/v1alpha1",
            "kind": "WALCluster",
            "metadata": {"name": name, "annotations": dict(annotations or {})},
            "spec": spec,
        }
        return self.kube.create(WAL_CLUSTERS.format(self.namespace), body)

    def path(self, name: str = "wal") -> str:
        """The API path of a WALCluster."""
        return f"{WAL_CLUSTERS.format(self.namespace)}/{name}"

    def core(self, plural: str, name: str = "") -> str:
        """The API path of a core object in the namespace."""
        return f"/api/v1/namespaces/{self.namespace}/{plural}/{name}".rstrip("/")

    def with_key(self, page: str) -> str:
        """The path of a page of the operator that leads here, as whoever may read its Lease asks for it."""
        namespace = self.operator.namespace
        lease = self.kube.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/seawall")
        return f"{page}?key={lease['metadata']['annotations'][PAGE_KEY_ANNOTATION]}"

    def read(self, name: str = "wal") -> Object:
        """A WALCluster that exists."""
        return self.kube.request("GET", self.path(name))

    def edit(self, name: str = "wal", **topics: object) -> Object:
        """Changes fields of spec.topics; None removes one."""
        return self.kube.merge(self.path(name), {"spec": {"topics": topics}})

    def annotate(self, name: str = "wal", **annotations: str | None) -> None:
        """Sets or removes annotations of ours: `paused="true"`."""
        ours = {f"seawall.dev/{key}": value for key, value in annotations.items()}
        self.kube.merge(self.path(name), {"metadata": {"annotations": ours}})

    def delete(self, name: str = "wal") -> None:
        """Asks for the deletion of a WALCluster."""
        self.kube.delete(self.path(name))

    def exists(self, name: str = "wal") -> bool:
        """Whether there is such a WALCluster."""
        return bool(self._find(name))

    def make_secret(self, name: str, **values: str) -> None:
        """Creates a Secret; `ca_crt` is written `ca.crt`."""
        data = {key.replace("_", "."): value for key, value in values.items()}
        self.kube.create(self.core("secrets"), {"metadata": {"name": name}, "stringData": data})

    def events(self, reason: str, name: str = "wal") -> list[Object]:
        """The events about a WALCluster with this reason."""
        events = self.kube.request("GET", self.core("events"))["items"]
        return [e for e in events if e["reason"] == reason and e["involvedObject"]["name"] == name]

    def wait_event(self, reason: str, name: str = "wal") -> Object:
        """Waits for the event with this reason, and returns it: events are posted after what they tell of.

        Raises:
            ValueError: If there are several.
        """
        wait_until(
            lambda: self.events(reason, name),
            f"{self.namespace}/{name}: event {reason}",
            explain=lambda: self.explain({}),
        )
        (event,) = self.events(reason, name)
        return event

    def wait_ready(self, name: str = "wal", within: float = BOUND) -> Object:
        """Waits until Ready is True for the spec as it is now."""
        return self.wait_for("Ready", "True", name=name, within=within)

    def wait_stalled(self, reason: str, name: str = "wal", within: float = BOUND) -> str:
        """Waits until Stalled is True for this reason, for the spec as it is now; returns the sentence."""
        found = self.wait_for("Stalled", "True", reason, name=name, within=within)
        return str(condition(found, "Stalled")["message"])

    def wait_for(
        self, kind: str, status: str, reason: str | None = None, *, name: str = "wal", within: float = BOUND
    ) -> Object:
        """Waits until a condition, computed from the spec as it is now, has this status (and reason)."""

        def holds(found: Object) -> bool:
            current = found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
            at = condition(found, kind)
            return current and at.get("status") == status and reason in {None, at.get("reason")}

        return self.wait_object(holds, f"{kind} is {status} ({reason or 'for any reason'})", name=name, within=within)

    def wait_brokers_told(self, name: str = "wal") -> None:
        """Waits until all is well with the brokers, as the spec is now."""

        def is_told(found: Object) -> bool:
            told = [condition(found, kind) for kind in OF_BROKERS]
            generation = found["metadata"]["generation"]
            return all(at.get("status") == "True" and at["observedGeneration"] == generation for at in told)

        self.wait_object(is_told, "all is well with the brokers", name=name)

    def wait_object(
        self, holds: Callable[[Object], bool], what: str, *, name: str = "wal", within: float = BOUND
    ) -> Object:
        """Waits until something holds for a WALCluster that exists, and returns it."""
        what = f"{self.namespace}/{name}: {what}"

        def look() -> Object | None:
            found = self.read(name)
            return found if holds(found) else None

        return wait_until(look, what, within=within, explain=lambda: self.explain(self._find(name)))

    def wait_gone(self, name: str = "wal", within: float = BOUND) -> None:
        """Waits until a WALCluster is gone."""
        wait_until(
            lambda: not self.exists(name),
            f"{self.namespace}/{name} is gone",
            within=within,
            explain=lambda: self.explain(self._find(name)),
        )

    def wait(self, holds: Callable[[], bool], what: str, within: float = BOUND) -> float:
        """Waits for something else in this corner; returns the seconds that took."""
        started = time.monotonic()
        wait_until(holds, what, within=within, explain=lambda: self.explain({}))
        return time.monotonic() - started

    def becomes(self, look: Callable[[], object], expected: object) -> None:
        """Waits until Kafka shows this: a broker may hear of it later than the one that the operator asked.

        What must not have changed is asked once instead.
        """
        seen: list[object] = []

        def is_so() -> bool:
            try:
                seen.append(look())
            except KafkaException as error:
                if not is_unknown_topic(error):
                    raise
                seen.append(error)
            return bool(seen[-1] == expected)

        wait_until(is_so, f"Kafka shows {expected}", explain=lambda: f"{seen[-1]}\n{self.explain({})}")

    def explain(self, found: Object) -> str:
        """The object and the operators' logs, for an error."""
        return "\n".join([json.dumps(found, indent=1), *(operator.tail() for operator in self.operators)])

    def clear(self) -> None:
        """Removes the WALClusters, whatever holds them, and their topics."""
        paths = [self.path(found["metadata"]["name"]) for found in self._all()]
        for path in paths:
            self.kube.merge(path, {"metadata": {"finalizers": None}})
            self.kube.delete(path)
        wait_until(lambda: not self._all(), f"namespace {self.namespace} is empty")
        self.eyes.delete(self.prefix)

    def _find(self, name: str) -> Object:
        return self.kube.find(self.path(name)) or {}

    def _all(self) -> list[Object]:
        found: list[Object] = self.kube.request("GET", WAL_CLUSTERS.format(self.namespace))["items"]
        return found


def condition(found: Object, kind: str) -> Object:
    """One condition of a WALCluster; empty when there is none."""
    conditions = found.get("status", {}).get("conditions", ())
    return next((dict(at) for at in conditions if at["type"] == kind), {})


def new_site(kube: KubeClient, kafka: KafkaProcesses, *operators: OperatorProcess) -> Site:
    """A corner that nobody else uses."""
    namespace = f"t-{uuid.uuid4().hex[:12]}"
    kube.make_namespace(namespace)
    return Site(kube, kafka, KafkaEyes(kafka.bootstrap_servers), namespace, list(operators))
