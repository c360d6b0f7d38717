"""The reference database run by the real greptimedb-operator, from the GreptimeDBCluster of the documented example."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from seawall_e2e.cluster import PLATFORM, REPOSITORY, START_SECONDS
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, find, get, items, wait_complete
from seawall_e2e.refdb import ASK, REFDB, RefDb
from seawall_e2e.shell import Shell
from seawall_e2e.waiting import wait_until

EXAMPLE = REPOSITORY / "docs/examples/greptimedb-operator"
NAME, RENDERED = "db", "greptimedb-wal"
STORAGE = "/var/lib/refdb-storage"
COMPONENT = "app.greptime.io/component"


def install_greptimedb_operator() -> str:
    """Builds and installs it unless it is there; the reference of its initializer's image."""
    return run(str(PLATFORM / "greptimedb/deploy.sh"), timeout=1200, show_progress=True).strip()


def example(file: str) -> Object:
    """An object of the documented example."""
    found: Object = yaml.safe_load((EXAMPLE / f"{file}.yaml").read_text())
    return found


@dataclass(frozen=True)
class ManagedRefDb(RefDb):
    """A reference database that greptimedb-operator runs, in a namespace.

    Attributes:
        initializer: the image of greptimedb-operator's init container.
        groups: of each of `datanodeGroups` how many datanodes it has; none: one `datanode` as in the example.
        patch: what is merged into the `spec` of the example's GreptimeDBCluster.
    """

    initializer: str = ""
    groups: Mapping[str, int] = field(default_factory=dict)
    patch: Object = field(default_factory=dict)

    def start(self) -> None:
        """Applies the GreptimeDBCluster, and waits until every datanode has reported."""
        # greptimedb-operator gives its init container no securityContext: Pod Security `restricted` refuses the pod.
        label = {"pod-security.kubernetes.io/enforce": "baseline"}
        apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": label}})
        apply(*map(self._placed, yaml.safe_load_all(self._manifests("etcd"))))
        wait_complete(self.namespace, "statefulsets", "etcd", within=START_SECONDS, explain=self.explain)
        apply(*map(self._placed, (_claim(), *map(_alias, ("meta", "frontend")))), self._placed(self.declared()))
        wait_until(
            lambda: self.phase() == "Running" and self._reporting() == self.datanodes,
            "greptimedb-operator says Running, and every datanode has reported",
            within=3 * START_SECONDS,
            explain=self.explain,
        )

    @property
    def datanodes(self) -> int:
        """How many there are."""
        return sum(self.groups.values()) or int(example("greptimedbcluster")["spec"]["datanode"]["replicas"])

    @property
    def stateful_sets(self) -> list[str]:
        """The names of those of its datanodes."""
        return [f"{NAME}-datanode-{group}" for group in self.groups] or [f"{NAME}-datanode"]

    def declared(self) -> Object:
        """The example's GreptimeDBCluster with the `[wal]` that Seawall rendered, refdb's image, and what that needs.

        The batches of its datanodes are larger than declared: somebody pasted what was rendered before.
        """
        found = deepcopy(example("greptimedbcluster"))
        spec = merged(found["spec"], self.patch)
        found["spec"], base, datanode = spec, spec["base"], spec["datanode"]
        spec["initializer"] = {"image": self.initializer}
        base["securityContext"] = {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
        base["main"]["image"] = self.images.refdb
        base["main"].setdefault("env", []).extend(
            [{"name": "REFDB_ETCD", "value": "http://etcd:2379"}, {"name": "REFDB_STORAGE", "value": STORAGE}]
        )
        rendered = get(self.namespace, "configmaps", RENDERED)["data"]
        spec["meta"] |= {"enableRegionFailover": self.region_failover, "config": rendered["metasrv.toml"]}
        datanode["config"] = rendered["datanode.toml"].replace('"16KB"', '"1MB"')
        template = datanode["template"]
        storage = {"name": "storage", "persistentVolumeClaim": {"claimName": "refdb-storage"}}
        template.setdefault("volumes", []).append(storage)
        template["main"].setdefault("volumeMounts", []).append({"name": "storage", "mountPath": STORAGE})
        template["main"]["startupProbe"]["periodSeconds"] = 1
        template["main"]["readinessProbe"] = {"httpGet": {"path": "/health", "port": 4000}, "periodSeconds": 1}
        datanode["storage"] = {"fs": {"storageSize": "1Gi"}}
        if self.groups:
            del spec["datanode"]
            spec["datanodeGroups"] = [
                {**deepcopy(datanode), "name": name, "replicas": count} for name, count in self.groups.items()
            ]
        return found

    def data_plane(self) -> Object:
        """`spec.dataPlane` of the WALCluster that names it. Its metasrv does not prune: Seawall does all of it.

        refdb's image has no version in its tag, so it is declared.
        """
        found: Object = deepcopy(example("walcluster")["spec"]["dataPlane"])
        found["greptimedb"] |= {"autoPrune": "Disabled", "version": "1.1"}
        return found

    def edit(self, spec: Object) -> None:
        """Somebody edits the GreptimeDBCluster."""
        self._kubectl("patch", "greptimedbcluster", NAME, "--type=merge", "-p", yaml.safe_dump({"spec": spec}))

    def spec(self) -> Object:
        """Of the GreptimeDBCluster."""
        found: Object = get(self.namespace, "greptimedbclusters", NAME)["spec"]
        return found

    def phase(self) -> str:
        """How greptimedb-operator says it is."""
        found = find(self.namespace, "greptimedbclusters", NAME) or {}
        return str(found.get("status", {}).get("clusterPhase", ""))

    def partitions(self) -> dict[str, int]:
        """Of the StatefulSets of the datanodes."""
        sets = items(self.namespace, "statefulsets", labels=COMPONENT)
        return {each["metadata"]["name"]: each["spec"]["updateStrategy"]["rollingUpdate"]["partition"] for each in sets}

    def datanode_pods(self) -> list[Object]:
        """The pods of its datanodes."""
        return items(self.namespace, "pods", labels=f"{COMPONENT} in ({','.join(self.stateful_sets)})")

    def explain(self) -> str:
        """Its objects, and the ends of logs, for people."""
        objects = self._kubectl("get", "greptimedbclusters,statefulsets,pods", "-o", "wide", "--ignore-not-found")
        pods = self._kubectl("logs", "-l", COMPONENT, "--prefix", "--tail=10", "--ignore-errors")
        return f"{objects}\n{pods}\n{kubectl('-n', 'greptimedb-admin', 'logs', '-l', 'control-plane', '--tail=20')}"

    def _reporting(self) -> int:
        return len(self._ask(("http://metasrv:4000/admin/heartbeat", {}))[0])

    @cached_property
    def _shell(self) -> Shell:
        return Shell(self.namespace, f"deployment/{NAME}-frontend", ("python", "-c", ASK))


def merged(spec: Object, patch: Object) -> Object:
    """As `kubectl patch --type merge` merges: mappings by key, all else is replaced."""
    both = {key: (spec[key], patch[key]) for key in spec.keys() & patch.keys()}
    return {
        **spec,
        **deepcopy(patch),
        **{
            key: merged(old, new) for key, (old, new) in both.items() if isinstance(old, dict) and isinstance(new, dict)
        },
    }


def _claim() -> Object:
    found = next(
        each
        for each in yaml.safe_load_all((REFDB / "deploy/refdb.yaml").read_text())
        if each["kind"] == "PersistentVolumeClaim"
    )
    return dict(found)


def _alias(role: str) -> dict[str, Any]:
    """The names by which tests and their pods call the database."""
    ports = [{"name": "http", "port": 4000}]
    spec = {"selector": {COMPONENT: f"{NAME}-{role}"}, "ports": ports}
    name = {"meta": "metasrv"}.get(role, role)
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
