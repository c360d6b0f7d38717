"""The world of rolls with readiness gates: pods count in their budget when the operator has said that they are in sync.

Somebody drains all the time, as far as budgets let him. It is judged as he evicts, and as the operator says that a node
is in sync: both only if it is true. What happened after Kafka was asked last is not known yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.kafka_in_sync import KafkaInSyncController
from seawall.domain.conditions import find_condition
from seawall.domain.kafka_in_sync.reasons import NodeReason
from seawall.domain.managed_kafka.found import FoundPod, InSync
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.reconciler import Reconciler
from tests.fakes.kafka_pods import FakeKafkaPods
from tests.worlds.kafka_roll_world import CATCHES_UP, RollWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL
from tests.worlds.purge_world import Guard

CHANGES = frozenset({"say_in_sync", "replace_status"})


@dataclass
class JudgedPods(FakeKafkaPods):
    """The KafkaPods port; what is written is judged."""

    world: InSyncWorld | None = None

    def say_in_sync(self, namespace: str, pod: FoundPod, said: InSync, now: datetime) -> None:
        """Writes the condition."""
        super().say_in_sync(namespace, pod, said, now)
        assert self.world is not None
        self.world.judge_said(pod.node, said)


@dataclass(repr=False)
class InSyncWorld(RollWorld):
    """All that outlives a process.

    Attributes:
        gates: processes say who is in sync; before that they are those of a roll.
        starts: how often the container of a node began.
        said: in that order, by whomever.
        is_drained: somebody evicts whom he may.
    """

    gates: bool = False
    starts: dict[int, int] = field(default_factory=dict)
    said: list[tuple[int, bool]] = field(default_factory=list)
    is_drained: bool = False
    readiness: JudgedPods = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.readiness = JudgedPods(self.objects, self)

    # --- the operator

    def process(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """One that says who is in sync."""
        return self.gate_keeper(calls) if self.gates else super().process(calls)

    def gate_keeper(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of readiness gates, of a new operator process."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        clusters = guard(self.clusters())
        controller = KafkaInSyncController(
            guard(self.kube), guard(self.objects), guard(self.readiness), clusters, self.time, self.time
        )
        return Reconciler(controller, may_write=lambda: True)

    def bring_up(self) -> InSyncWorld:
        """All nodes are Online; nobody has said that they are in sync."""
        super().bring_up()
        self.gates = True
        return self

    def go_on(self) -> None:
        """The same, and before it the one who drains evicts whom he may."""
        if self.gates and self.is_drained:
            for node in sorted(self.ready(), key=self.evicted.count):  # machine by machine, each when it is back
                self.drain(node)
        self.is_unseen = True
        super().go_on()

    # --- Kubernetes

    def _new_pod(self, node: Node) -> FoundPod:
        """As the StatefulSet says."""
        template = self.objects.made[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)].body["spec"]["template"]
        return replace(super()._new_pod(node), is_gated="readinessGates" in template["spec"])

    def kubelet(self) -> None:
        """Each start of a container is another one."""
        before = set(self.running)
        super().kubelet()
        for node, pod in dict(self.objects.pods.get(WAL, {})).items():
            if node in self.running and (node not in before or not pod.container):
                self.starts[node] = self.starts.get(node, 0) + 1
            runs = f"test://{node}-{self.starts.get(node, 0)}" if node in self.running else ""
            self.objects.update_pod(WAL, node, container=runs)

    def crash(self, node: int) -> None:
        """Its container ends, and begins anew in the same pod; the port is open before all replicas are in sync."""
        if node not in self.running:
            return
        self.running.discard(node)
        self.objects.update_pod(WAL, node, container="", is_started=False, is_ready=False)
        self.falls_behind(node)
        super().kubelet()
        self.kubelet()

    def falls_behind(self, node: int, looks: int = CATCHES_UP) -> None:
        """Its replicas, or its metadata, lack records."""
        self.behind[node] = looks
        self.elect()

    def evict(self, pod: Any, *, by_us: bool) -> Any:
        """What the API server does; what it lets go is judged."""
        found = next((each for each in self.objects.pods.get(WAL, {}).values() if each.uid == pod.uid), None)
        is_allowed = found is not None and not found.is_terminating and not self.is_forbidden(found)
        if found is not None and is_allowed and not self.is_unseen:
            group = BROKERS if found.node in BROKERS else CONTROLLERS
            away = [each for each in group if each != found.node and not self.is_in_sync(each)]
            if away:
                self.violations.append(f"drain: {found.node} goes while {away} are not in sync")
        return super().evict(pod, by_us=by_us)

    def elect(self) -> None:
        """Who lacks records leads no quorum, and is in no ISR where somebody else is."""
        for node in self.behind:
            for log in self.kafka.logs.values():
                if len(log.isr) > 1:
                    log.isr.discard(node)
        super().elect()
        lags = self.kafka.moves.voter_lags
        self.kafka.moves.controllers = tuple(sorted(CONTROLLERS, key=lambda node: lags.get(node, 0)))

    # --- what is true

    def is_in_sync(self, node: int) -> bool:
        """Runs, has all, and no log lacks it."""
        is_lacking = any(node in log.replicas and node not in log.isr for log in self.kafka.logs.values())
        return self.is_well(node) and not (node in BROKERS and is_lacking)

    def judge_said(self, node: int, said: InSync) -> None:
        """What is said must be so, of what runs."""
        self.said.append((node, said.holds))
        pod = self.objects.pods[WAL][node]
        if said.holds and not said.message.endswith(f" {pod.container}"):
            self.violations.append(f"{node} is said to be in sync of a container that is gone: {said.message}")
        if said.holds and not self.is_unseen and not self.is_in_sync(node):
            self.violations.append(f"{node} is said to be in sync, and is not")

    def ready(self) -> set[int]:
        """The nodes that budgets count."""
        return {node for node, pod in self.objects.pods.get(WAL, {}).items() if self.counts(pod)}

    def is_all_ready(self) -> bool:
        """Budgets count all, and rightly so."""
        everybody = {*BROKERS, *CONTROLLERS}
        return self.ready() == everybody and all(map(self.is_in_sync, everybody)) and self.told() == "AllInSync"

    def reason_of(self, node: int) -> NodeReason | None:
        """Why its gate is so."""
        found = self.objects.pods[WAL][node].in_sync
        return None if found is None else NodeReason(found.reason)

    def told(self) -> str | None:
        """The reason of KafkaNodesInSync."""
        found = self.in_sync_condition()
        return None if found is None else found.reason

    def in_sync_condition(self) -> Condition | None:
        """The condition KafkaNodesInSync."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else find_condition(found.status.conditions, ConditionType.KAFKA_NODES_IN_SYNC)
