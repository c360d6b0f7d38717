"""What one e2e test has for itself."""

from __future__ import annotations

from typing import Any

from seawall_e2e.cluster import Operator, WALCluster
from seawall_e2e.commands import CommandFailed, helm, kubectl
from seawall_e2e.objects import delete, find, items
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.waiting import wait_until


class Site:
    """Two namespaces, of the operator and of its WALClusters, and a topic prefix that nobody else uses."""

    def __init__(self, name: str, image: str, toolbox: Toolbox) -> None:
        self.namespace = name
        self.prefix = f"{name}_wal"
        self.operator = Operator(f"{name}-op", image)
        self.toolbox = toolbox

    def install(self, *values: str) -> None:
        """Installs the operator for the namespace, with a resync that is short enough to wait for."""
        scope = "scope.namespaces={" + self.namespace + "}"
        self.operator.install(scope, "settings.resyncSeconds=5", *values)

    def wal_cluster(self, name: str = "wal") -> WALCluster:
        """A WALCluster of this site."""
        return WALCluster(self.namespace, name)

    def pool(self, count: int, **more: Any) -> dict[str, Any]:
        """A topic pool of this site, as in `spec.topics`."""
        return {"prefix": self.prefix, "count": count, "replicationFactor": 3, **more}

    def topics(self) -> dict[str, Any]:
        """The site's topics in Kafka."""
        return self.toolbox.topics(f"{self.prefix}_")

    def wait_for_topics(self, count: int) -> dict[str, Any]:
        """Waits until Kafka shows so many topics: a broker may hear of one later than another that was asked before."""
        return wait_until(lambda: found if len(found := self.topics()) == count else None, f"there are {count} topics")

    def log_starts(self) -> dict[str, int]:
        """Where the logs of the site's topics begin."""
        return {topic: start for topic, (start, _) in self.toolbox.offsets(f"{self.prefix}_").items()}

    def clear(self) -> None:
        """Removes all of it, as fast as it goes: the namespaces go on terminating in the background."""
        delete(self.namespace, "walclusters")
        for held in items(self.namespace, "walclusters"):
            self._release(held["metadata"]["name"])
        helm("uninstall", "seawall", "--namespace", self.operator.namespace, "--ignore-not-found")
        # While pods end in their own time, Kubernetes goes through all kinds of the namespace again and again.
        for kind in ("deployments", "statefulsets", "pods"):
            delete(self.namespace, kind, gracePeriodSeconds="0")
        for namespace in (self.namespace, self.operator.namespace):
            delete(None, "namespaces", namespace)
        self.toolbox.delete_topics(f"{self.prefix}_")

    def _release(self, wal_cluster: str) -> None:
        """Takes its finalizers, unless the operator has let it go meanwhile."""
        no_finalizer = ("--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        try:
            kubectl("-n", self.namespace, "patch", "walc", wal_cluster, *no_finalizer)
        except CommandFailed:
            if find(self.namespace, "walclusters", wal_cluster) is not None:
                raise
