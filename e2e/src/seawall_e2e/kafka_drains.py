"""Drains of a managed Kafka's pods by the Eviction API, and how many of its nodes are away meanwhile."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seawall_e2e.commands import CommandFailed, Object, kubectl
from seawall_e2e.objects import items
from seawall_e2e.waiting import wait_until

IN_SYNC = "seawall.dev/in-sync"
BUDGET = "seawall.dev/kafka-budget"
SAMPLES_EVERY, EVICTS_EVERY = 0.3, 1.0
SENTENCE = "Cannot evict pod as it would violate the pod's disruption budget."


@dataclass(frozen=True, slots=True)
class NodePod:
    """A pod of a node as the API server shows it."""

    name: str
    uid: str
    budget: str
    is_ready: bool
    is_serving: bool
    is_in_sync: bool

    @classmethod
    def of(cls, raw: Object) -> NodePod:
        """What its conditions say; one that ends serves no more."""
        said = {each["type"]: each["status"] == "True" for each in raw["status"].get("conditions", ())}
        metadata, stays = raw["metadata"], "deletionTimestamp" not in raw["metadata"]
        return cls(
            metadata["name"],
            metadata["uid"],
            metadata["labels"][BUDGET],
            stays and said.get("Ready", False),
            stays and said.get("ContainersReady", False),
            said.get(IN_SYNC, False),
        )


@dataclass(slots=True)
class Drains:
    """Somebody drains the pods of a managed Kafka.

    Attributes:
        sizes: by budget how many nodes there are.
        evicted: by name how often.
        refused: how often a budget was against it.
        most_away: by budget how many nodes were away at once at the most: no pod, or one whose port is closed.
        samples: how often it was looked.
    """

    namespace: str
    cluster: str
    sizes: dict[str, int]
    evicted: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    most_away: dict[str, int] = field(default_factory=dict)
    samples: int = 0
    errors: list[str] = field(default_factory=list)

    def pods(self) -> dict[str, NodePod]:
        """By name."""
        found = items(self.namespace, "pods", labels=f"seawall.dev/kafka={self.cluster}")
        return {pod.name: pod for pod in map(NodePod.of, found)}

    def is_all_ready(self) -> bool:
        """Whether budgets count all of them."""
        found = self.pods().values()
        return len(found) == sum(self.sizes.values()) and all(pod.is_ready and pod.is_in_sync for pod in found)

    def evict(self, name: str) -> str | None:
        """Evicts a pod; the sentence of the refusal, if a budget is against it."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self.namespace}}
        try:
            kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))
        except CommandFailed as failed:
            if SENTENCE not in failed.said:
                raise
            self.refused += 1
            return failed.said
        self.evicted[name] = self.evicted.get(name, 0) + 1
        return None

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Meanwhile it is looked how many are away."""
        with _repeated(self._sample, SAMPLES_EVERY, self.errors):
            yield

    def seconds_until_back(self, name: str, uid: str | None, within: float = 120) -> float:
        """How long it takes until the port of another pod of this name is open."""
        began = time.monotonic()

        def is_back() -> bool:
            found = self.pods().get(name)
            return found is not None and found.uid != uid and found.is_serving

        wait_until(is_back, f"{name} is back", within=within, explain=self.pods)
        return time.monotonic() - began

    @contextmanager
    def going_on(self, at_most: int) -> Iterator[None]:
        """Meanwhile pods are evicted in any order, so many times; each when it is Ready."""
        chance = random.Random(26)  # noqa: S311 - an order
        before = sum(self.evicted.values())

        def evict_one() -> None:
            ready = sorted(name for name, pod in self.pods().items() if pod.is_ready)
            if not ready or sum(self.evicted.values()) - before >= at_most:
                return
            try:
                self.evict(chance.choice(ready))
            except CommandFailed as failed:
                if "not found" not in failed.said:
                    raise

        with _repeated(evict_one, EVICTS_EVERY, self.errors):
            yield

    def _sample(self) -> None:
        found = self.pods().values()
        for budget, size in self.sizes.items():
            away = size - sum(pod.is_serving for pod in found if pod.budget == budget)
            self.most_away[budget] = max(away, self.most_away.get(budget, 0))
        self.samples += 1


@contextmanager
def _repeated(look: Callable[[], None], every: float, errors: list[str]) -> Iterator[None]:
    """In a thread of its own; what is raised in it ends it, and is kept."""
    stop = threading.Event()

    def repeat() -> None:
        try:
            while not stop.wait(every):
                look()
        except Exception as error:  # noqa: BLE001 - the test asserts that there was none
            errors.append(repr(error))

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(90)
