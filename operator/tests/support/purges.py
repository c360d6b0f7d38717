"""One test's corner of the world for purges: a namespace with a WALCluster, policies and runs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from seawall_e2e.loopback import OperatorProcess
from seawall_e2e.waiting import wait_until
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.site import condition

FoundT = TypeVar("FoundT")

NOWHERE = {"kafka": {"external": {"bootstrapServers": ["127.0.0.1:9"]}}}
"""A policy needs the WALCluster to be there, and nothing of its Kafka."""


@dataclass(frozen=True, slots=True)
class Corner:
    """A namespace with the WALCluster `wal` and what policies make there."""

    kube: KubeClient
    namespace: str
    operators: list[OperatorProcess] = field(default_factory=list)

    def path(self, plural: str, name: str = "") -> str:
        """The API path of our objects of a kind, or of one of them."""
        return f"{OBJECTS.format(self.namespace, plural)}/{name}".rstrip("/")

    def make(self, kind: str, plural: str, name: str, spec: Object, **annotations: str) -> None:
        """Creates one of our objects; annotations are named without our group."""
        metadata = {"name": name, "annotations": {f"seawall.dev/{each}": annotations[each] for each in annotations}}
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
        self.kube.create(self.path(plural), body)

    def make_cluster(self) -> None:
        """The WALCluster of the policies, paused: a run of it waits, so that the test can end it."""
        self.make("WALCluster", "walclusters", "wal", NOWHERE, paused="true")

    def declare(self, name: str = "often", **spec: Any) -> None:
        """Creates a policy; it runs every second unless it says otherwise."""
        when = {} if "schedule" in spec else {"interval": "1s"}
        self.make("WALPurgePolicy", "walpurgepolicies", name, {"clusterRef": {"name": "wal"}, **when, **spec})

    def edit(self, name: str = "often", **spec: object) -> None:
        """Changes fields of a policy; None removes one."""
        self.kube.merge(self.path("walpurgepolicies", name), {"spec": spec})

    def policy(self, name: str = "often") -> Object:
        """A policy that exists."""
        return self.kube.request("GET", self.path("walpurgepolicies", name))

    def runs(self) -> list[Object]:
        """All runs, by their names."""
        found: list[Object] = self.kube.request("GET", self.path("walpurges"))["items"]
        return sorted(found, key=lambda run: str(run["metadata"]["name"]))

    def active(self) -> list[Object]:
        """Runs that are not finished."""
        return [run for run in self.runs() if run.get("status", {}).get("stage") not in {"Completed", "Failed"}]

    def wait_active(self, but: str = "") -> Object:
        """Waits for a run that is not finished and not called so."""
        found = self.wait(lambda: [run for run in self.active() if run["metadata"]["name"] != but], "a run begins")
        (run,) = found
        return run

    def end(self, run: Object, stage: str = "Completed") -> None:
        """Ends a run, as its own controller does."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = self.path("walpurges", run["metadata"]["name"])
        status = {"stage": stage, "observedGeneration": 1, "completionTime": now}
        self.kube.merge(f"{path}/status", {"status": status})

    def wait_for(self, kind: str, reason: str, name: str = "often") -> str:
        """Waits until a condition is True for this reason; returns its sentence."""

        def look() -> Object | None:
            policy = self.policy(name)
            at = condition(policy, kind)
            current = policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"]
            return at if current and (at.get("status"), at.get("reason")) == ("True", reason) else None

        return str(self.wait(look, f"{kind} is True: {reason}")["message"])

    def wait_looks(self, count: int = 3) -> None:
        """Waits until the operator has looked at the policy so many times when a run could have been due."""
        seen: set[str] = set()

        def look() -> bool:
            seen.add(str(self.policy().get("status", {}).get("nextRunTime")))
            return len(seen) > count

        self.wait(look, f"the next time moves {count} times")

    def reasons(self, name: str = "often") -> list[str]:
        """The reasons of the events about a policy."""
        events = self.kube.request("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [event["reason"] for event in events if event["involvedObject"]["name"] == name]

    def wait(self, look: Callable[[], FoundT | None], what: str) -> FoundT:
        """Waits until there is something to see; an error shows the policies, the runs and the operators' logs."""
        return wait_until(look, f"{self.namespace}: {what}", explain=self.explain)

    def explain(self) -> str:
        """What there is, for an error."""
        found = [self.kube.request("GET", self.path(plural))["items"] for plural in ("walpurgepolicies", "walpurges")]
        return "\n".join([json.dumps(found, indent=1), *(operator.tail() for operator in self.operators)])

    def clear(self) -> None:
        """Removes what would keep an operator busy."""
        for plural in ("walpurgepolicies", "walclusters"):
            for each in self.kube.request("GET", self.path(plural))["items"]:
                self.kube.delete(self.path(plural, each["metadata"]["name"]))


def new_corner(kube: KubeClient, *operators: OperatorProcess) -> Corner:
    """A corner that nobody else uses."""
    corner = Corner(kube, f"policy-{uuid.uuid4().hex[:12]}", list(operators))
    kube.make_namespace(corner.namespace)
    corner.make_cluster()
    return corner
