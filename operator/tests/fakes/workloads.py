"""StatefulSets in memory, with pods that end when a test says so. It passes the Workloads contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from seawall.api.meta import Key
from seawall.domain.errors import Conflict
from seawall.domain.rollout.workload import (
    BudgetForbids,
    Evicted,
    Eviction,
    NotThere,
    Pod,
    StatefulSet,
    Template,
    Termination,
    UpdateStrategy,
)

_START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


@dataclass
class FakeWorkloads:
    """The Workloads port.

    Attributes:
        now: the time of the world: a pod that was told to end is given 30 s.
        statefulsets: by key.
        running: the pods, by key.
        forbids: what a PodDisruptionBudget says; None: it allows, or there is none.
        evicted: pods that were told to end, in that order.
    """

    now: Callable[[], datetime] = lambda: _START
    statefulsets: dict[Key, StatefulSet] = field(default_factory=dict)
    running: dict[Key, Pod] = field(default_factory=dict)
    forbids: str | None = None
    evicted: list[Pod] = field(default_factory=list)
    _counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def get(self, key: Key) -> StatefulSet | None:
        """Reads the StatefulSet."""
        return self.statefulsets.get(key)

    def pods(self, statefulset: StatefulSet) -> tuple[Pod, ...]:
        """Its pods."""
        prefix = f"{statefulset.key.name}-"
        mine = [pod for pod in self.running.values() if pod.name.rpartition("-")[0] + "-" == prefix]
        return tuple(sorted(mine, key=lambda pod: pod.ordinal))

    def has_pod(self, key: Key) -> bool:
        """Whether there is a pod of this name."""
        return key in self.running

    def evict(self, pod: Pod) -> Eviction:
        """Lets a pod end."""
        found = self.running.get(pod.key)
        if found is None or found.uid != pod.uid:
            return NotThere()
        if found.is_terminating:
            return Evicted()
        if self.forbids is not None:
            return BudgetForbids(self.forbids)
        self.running[pod.key] = replace(found, gone_by=self.now() + timedelta(seconds=30))
        self.evicted.append(found)
        return Evicted()

    def set_partition(self, statefulset: StatefulSet, partition: int) -> None:
        """Patches the partition."""
        self._at_version(statefulset)
        self._write(statefulset.key, partition=partition)

    def set_config_hash(self, statefulset: StatefulSet, config_hash: str, partition: int | None) -> None:
        """Patches the template."""
        self._at_version(statefulset)
        template = replace(statefulset.template, config_hash=config_hash)
        kept = statefulset.partition if partition is None else partition
        self._write(statefulset.key, template=template, partition=kept)

    # --- what people, the StatefulSet's controller and the kubelet do

    def apply(
        self,
        key: Key,
        *,
        replicas: int = 3,
        strategy: UpdateStrategy = UpdateStrategy.ON_DELETE,
        partition: int = 0,
        template: Template = Template(),  # noqa: B008 - it is frozen
        controller: str | None = None,
    ) -> None:
        """Makes a StatefulSet; its pods are made by `make_pod`."""
        self.statefulsets[key] = StatefulSet(
            key,
            f"set-{next(self._counter)}",
            str(next(self._counter)),
            replicas,
            strategy,
            partition,
            update_revision="",
            observed=False,
            template=template,
            selector=f"app={key.name}",
            controller=controller,
        )

    def observe(self, key: Key, revision: str) -> None:
        """The StatefulSet's controller sees the newest spec."""
        self._write(key, observed=True, update_revision=revision)

    def edit_template(self, key: Key, partition: int) -> None:
        """Another operator writes another pod template, and its partition with it."""
        template = self.statefulsets[key].template
        longer = replace(template, startup_seconds=(template.startup_seconds or 0) + 1)
        self._write(key, template=longer, partition=partition)

    def scale(self, key: Key, replicas: int) -> None:
        """Somebody scales it, and its pods go or come at once."""
        self._write(key, replicas=replicas, generation=self.statefulsets[key].generation + 1)
        for pod in self.pods(self.statefulsets[key]):
            if pod.ordinal >= replicas:
                del self.running[pod.key]
        there = {pod.ordinal for pod in self.pods(self.statefulsets[key])}
        for ordinal in set(range(replicas)) - there:
            self.make_pod(key, ordinal, "")

    def make_pod(self, key: Key, ordinal: int, revision: str, restart: str | None = None) -> None:
        """The StatefulSet's controller makes a pod; the one before is gone."""
        template = self.statefulsets[key].template
        made = Key(key.namespace, f"{key.name}-{ordinal}")
        self.running[made] = Pod(
            made,
            f"pod-{next(self._counter)}",
            ordinal,
            revision,
            ready=False,
            restart=restart,
            config_hash=template.config_hash,
            restarted_at=template.restarted_at,
        )

    def remove_pod(self, key: Key, ordinal: int) -> None:
        """The kubelet is done with it."""
        del self.running[Key(key.namespace, f"{key.name}-{ordinal}")]

    def report(
        self,
        key: Key,
        ordinal: int,
        *,
        ready: bool,
        restarts: int = 0,
        waiting: str = "",
        last: Termination | None = None,
    ) -> None:
        """The kubelet writes its status."""
        pod = Key(key.namespace, f"{key.name}-{ordinal}")
        self.running[pod] = replace(
            self.running[pod],
            ready=ready,
            address=f"10.0.0.{ordinal}",
            restarts=restarts,
            waiting=waiting,
            last_termination=last,
        )

    def _at_version(self, statefulset: StatefulSet) -> None:
        found = self.statefulsets.get(statefulset.key)
        if found is None or (found.uid, found.resource_version) != (statefulset.uid, statefulset.resource_version):
            raise Conflict(f"StatefulSet {statefulset.key} changed")

    def _write(self, key: Key, **changes: object) -> None:
        changes = {"observed": False, **changes, "resource_version": str(next(self._counter))}
        self.statefulsets[key] = replace(self.statefulsets[key], **changes)  # type: ignore[arg-type]
