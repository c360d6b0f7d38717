"""WALClusters on a real API server: declared by kubectl, edited and watched by the API."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from beds import new_namespace
from kubernetes import client, config, watch
from urllib3.exceptions import HTTPError

from seawall_e2e.loopback import ApiServer

GROUP, VERSION, PLURAL = "seawall.dev", "v1alpha1", "walclusters"
TIMEOUT = 120.0

Object = dict[str, Any]


class WALClusters:
    """Declares WALClusters in a namespace of their own and watches all of them from a thread."""

    def __init__(self, server: ApiServer, bootstrap_servers: Sequence[str]) -> None:
        self._server = server
        self._servers = list(bootstrap_servers)
        self.namespace = new_namespace(server)
        connection = config.new_client_from_config(str(server.kubeconfig))  # type: ignore[no-untyped-call]
        self._api = client.CustomObjectsApi(connection)
        self._observed_before: queue.SimpleQueue[tuple[float, str, Object]] = queue.SimpleQueue()
        self._numbers = itertools.count()
        threading.Thread(target=self._watch, daemon=True).start()

    def apply(self, prefix: str, count: int, replication_factor: int) -> float:
        """Kubectl apply; returns the seconds until a watch saw it Ready. The prefix is also the object's name."""
        started = time.monotonic()
        self._server.kubectl("apply", "-f", "-", stdin=json.dumps(self._declare(prefix, count, replication_factor)))
        return self._until(lambda kind, found: kind != "DELETED" and _is_ready(found, prefix)) - started

    def create(self, prefixes: Sequence[str], count: int, replication_factor: int, *, seconds: float = TIMEOUT) -> None:
        """Creates many at once and waits until all are Ready."""
        for prefix in prefixes:
            self._api.create_namespaced_custom_object(
                GROUP, VERSION, self.namespace, PLURAL, self._declare(prefix, count, replication_factor)
            )
        open_ = set(prefixes)

        def all_ready(_: str, found: Object) -> bool:
            if _is_ready(found, found["metadata"]["name"]):
                open_.discard(found["metadata"]["name"])
            return not open_

        self._until(all_ready, seconds)

    def delete(self, name: str) -> None:
        """Deletes one (its topics stay) and waits until it is gone."""
        self._api.delete_namespaced_custom_object(GROUP, VERSION, self.namespace, PLURAL, name)
        self._until(lambda kind, found: kind == "DELETED" and found["metadata"]["name"] == name)

    def edit(self, name: str) -> float:
        """Edits the spec; returns the seconds until a watch saw a status that was computed from it."""
        started = time.monotonic()
        # Belongs to somebody else: the status must say that it was seen, and Kafka has nothing to do.
        ignored: Object = {"spec": {"topics": {"ignoredConfigs": [f"bench.{next(self._numbers)}"]}}}
        generation = self._patch(name, ignored)["metadata"]["generation"]

        def answered(_: str, found: Object) -> bool:
            observed: int = found.get("status", {}).get("observedGeneration", 0)
            return bool(found["metadata"]["name"] == name) and observed >= generation

        return self._until(answered) - started

    def poke(self, name: str) -> None:
        """Has the operator look at it once more, by an annotation that means nothing."""
        self._patch(name, {"metadata": {"annotations": {f"{GROUP}/bench": str(next(self._numbers))}}})

    def patch(self, name: str, patch: Object) -> None:
        """Edits it."""
        self._patch(name, patch)

    def wait(self, holds: Callable[[Object], bool], name: str, seconds: float) -> float:
        """When the watch saw the object as it is waited for."""
        return self._until(
            lambda kind, found: kind != "DELETED" and found["metadata"]["name"] == name and holds(found), seconds
        )

    def _patch(self, name: str, patch: Object) -> Object:
        patched: Any = self._api.patch_namespaced_custom_object(GROUP, VERSION, self.namespace, PLURAL, name, patch)
        return dict(patched)

    def _declare(self, prefix: str, count: int, replication_factor: int) -> Object:
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "WALCluster",
            "metadata": {"name": prefix, "namespace": self.namespace},
            "spec": {
                "kafka": {"external": {"bootstrapServers": self._servers}},
                "topics": {"prefix": prefix, "count": count, "replicationFactor": replication_factor},
                "dataPlane": {"walConfig": {"configMapName": f"{prefix}-wal"}},
            },
        }

    def _until(self, holds: Callable[[str, Object], bool], seconds: float = TIMEOUT) -> float:
        """When the watch saw what holds."""
        deadline, last = time.monotonic() + seconds, "nothing"
        while True:
            try:
                at, kind, found = self._observed_before.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"not within {seconds:g} s; the watch saw last: {last}") from None
            if holds(kind, found):
                return at
            last = f"{kind} {found['metadata']['name']}: {json.dumps(found.get('status'))}"

    def _watch(self) -> None:
        watching: Any = watch.Watch()  # type: ignore[no-untyped-call]
        with contextlib.suppress(HTTPError):  # the server's end; before that, whoever waits for an event tells
            for event in watching.stream(
                self._api.list_namespaced_custom_object, GROUP, VERSION, self.namespace, PLURAL
            ):
                self._observed_before.put((time.monotonic(), event["type"], event["object"]))


def _is_ready(found: Object, name: str) -> bool:
    status = found.get("status", {})
    current = bool(status.get("observedGeneration") == found["metadata"]["generation"])
    ready = any(at["type"] == "Ready" and at["status"] == "True" for at in status.get("conditions", ()))
    return bool(found["metadata"]["name"] == name) and current and ready
