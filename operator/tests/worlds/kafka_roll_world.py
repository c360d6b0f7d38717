"""The world of a managed Kafka with restarts: pods that are evicted end, are away, start, and catch up, each in a look.

It is judged as each node goes by our act: nobody else is away by us (K1), writes go on (K2), all other voters are
caught up (K3), and only the node in the journal has another template (K7). What happened after Kafka was asked last is
no act of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus
from seawall.api.v1alpha1.rollout import RollStage, RollStatus
from seawall.controllers.kafka_roll import KafkaRollController
from seawall.domain.conditions import ConditionBuilder, with_own
from seawall.domain.managed_kafka.found import FoundPod
from seawall.domain.managed_kafka.node import nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind, template_hash
from seawall.domain.rollout.workload import BudgetForbids, Evicted, Eviction, NotThere, Pod
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.reconciler import Reconciler
from tests.fakes.intents import FakeIntentStore
from tests.fakes.meters import FakeMeters
from tests.fakes.workloads import FakeWorkloads
from tests.worlds.managed_world import CONTROLLERS, SPEC, WAITS, WAL, ManagedWorld
from tests.worlds.purge_world import Guard

CHANGES = frozenset({"create", "change_budget", "renew_template", "write_record", "replace_status", "evict", "delete"})
CATCHES_UP = 3
"""Looks."""
NO_DATABASE: Any = None
CRASHES, NO_IMAGE = "CrashLoopBackOff: bad", "ImagePullBackOff: not found"
PENDING = (NO_IMAGE, "persistentvolumeclaim")
"""How the trouble of a pod begins whose phase is Pending."""


@dataclass
class NodePods(FakeWorkloads):
    """The Workloads port for the pods of nodes."""

    world: RollWorld | None = None

    def evict(self, pod: Pod) -> Eviction:
        """Lets it end, as far as the budget that counts it allows that."""
        assert self.world is not None
        return self.world.evict(pod, by_us=True)


@dataclass(repr=False)
class RollWorld(ManagedWorld):
    """All that outlives a process.

    Attributes:
        rolls: processes roll; before that they bring up.
        ending: nodes whose pods are to end.
        absent: nodes that have no pod for a look.
        by_us: nodes that went by our act and were not well since.
        broken: nodes that do not come up with the template of this hash, and
        trouble: what Kubernetes says of them.
        is_unseen: the world moved since Kafka was asked last.
        is_unread: the same since the WALCluster was read last.
        evicted: in that order, by whomever.
    """

    pods: NodePods = field(default_factory=NodePods)
    meters: FakeMeters = field(default_factory=FakeMeters)
    rolls: bool = False
    ending: set[int] = field(default_factory=set)
    absent: set[int] = field(default_factory=set)
    by_us: set[int] = field(default_factory=set)
    broken: dict[int, str] = field(default_factory=dict)
    trouble: str = CRASHES
    is_unseen: bool = False
    is_unread: bool = False
    evicted: list[int] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pods.world = self

    # --- the operator

    def process(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """One that restarts nodes."""
        if not self.rolls:
            return super().process(calls)

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        clusters = guard(self.clusters())
        opener = ClusterOpener(self.kube, clusters, NO_DATABASE)
        ledgers = LedgerObserver(opener, FakeIntentStore(), self.time, self.time)
        controller = KafkaRollController(
            guard(self.kube),
            guard(self.objects),
            guard(self.pods),
            clusters,
            ledgers,
            self.time,
            self.time,
            self.meters,
        )
        return Reconciler(controller, may_write=lambda: True)

    def bring_up(self) -> RollWorld:
        """All nodes are Online and in sync, in topics that let one go."""
        super().bring_up()
        for name in ("two", "one"):  # of these none may go: their replicas are not enough
            self.kafka.logs.pop(name)
            self.kafka.topics.pop(name)
        self.rolls = True
        return self

    def go_on(self) -> None:
        """The same, and who makes nodes looks at them."""
        super().go_on()
        if self.rolls:
            self.look_at_nodes()

    def look_at_nodes(self) -> None:
        """Who makes nodes writes how they are."""
        nodes = super().process()
        for _ in range(3):
            if nodes.tick(WAL).after != 0:
                break

    # --- Kubernetes

    def kubelet(self) -> None:
        """Pods that were told to end are away for a look, and those made anew catch up."""
        away = self.ending | self.absent
        for node in self.ending:
            super().kill(node)
        self.ending = set()
        held = away - self.held
        back, self.absent = self.absent, set()
        self.held |= held - back
        self.absent = held - back
        self.behind = {node: left - 1 for node, left in self.behind.items() if left > 1}
        self.behind |= dict.fromkeys(away, CATCHES_UP)
        super().kubelet()
        self.held -= held
        for node in self.broken:
            pod = self.objects.pods.get(WAL, {}).get(node)
            if pod is not None and pod.template == self.broken[node]:
                self.running.discard(node)
                self.objects.update_pod(WAL, node, is_ready=False, is_started=False, trouble=self.trouble)

    def kill(self, node: int) -> None:
        """Its pod goes, and is away for a look."""
        super().kill(node)
        self.absent.add(node)

    def evict(self, pod: Pod, *, by_us: bool) -> Eviction:
        """What the API server does."""
        found = next((each for each in self.objects.pods.get(WAL, {}).values() if each.uid == pod.uid), None)
        if found is None:
            return NotThere()
        if found.is_terminating:
            return Evicted()
        if self.is_forbidden(found):
            return BudgetForbids("Cannot evict pod as it would violate the pod's disruption budget.")
        if by_us:
            self._judge(found.node, is_up=found.is_ready)
            self.by_us.add(found.node)
        self.objects.update_pod(WAL, found.node, is_terminating=True)
        self.ending.add(found.node)
        self.evicted.append(found.node)
        return Evicted()

    def is_forbidden(self, pod: FoundPod) -> bool:
        """Whether the budget is against it, as the eviction of Kubernetes asks it.

        A pod that never began passes. One that is not Ready passes with AlwaysAllow, or while enough others count; but
        a budget of 0 pods is never healthy to that. All others need a disruption that is allowed.
        """
        is_controller = pod.node >= CONTROLLERS[0]
        group = {n: each for n, each in self.objects.pods[WAL].items() if (n >= CONTROLLERS[0]) == is_controller}
        healthy = sum(self.counts(each) for each in group.values())
        budget = self._budget("controllers" if is_controller else "brokers")
        if budget is None or self.is_pending(pod):
            return False
        needed, policy = int(budget["minAvailable"]), budget["unhealthyPodEvictionPolicy"]
        if not self.counts(pod) and (policy == "AlwaysAllow" or healthy >= needed > 0):
            return False
        return healthy - needed <= 0

    def is_pending(self, pod: FoundPod) -> bool:
        """Whether no container of Kafka ever began in it: its volume, its image, or a machine is missing."""
        return not pod.is_started and (bool(pod.said) or pod.trouble.startswith(PENDING))

    def counts(self, pod: FoundPod) -> bool:
        """Whether a budget counts it: it is Ready, and stays."""
        is_open = not pod.is_gated or (pod.in_sync is not None and pod.in_sync.holds)
        return pod.is_ready and is_open and not pod.is_terminating

    def _budget(self, of: str) -> Mapping[str, Any] | None:
        name = f"wal-kafka-{of}"
        budgets = (each for (kind, _), each in self.objects.made.items() if kind is ObjectKind.BUDGET)
        return next((each.body["spec"] for each in budgets if each.name == name), None)

    # --- Kafka

    def elect(self) -> None:
        """Who was down lacks records of the metadata, and nobody is away any more who has all."""
        super().elect()
        self.kafka.moves.voter_lags = {
            node: 20 for node in CONTROLLERS if node not in self.running or node in self.behind
        }
        self.by_us -= {node for node in self.by_us if self.is_well(node)}

    def is_well(self, node: int) -> bool:
        """Runs, and has all."""
        pod = self.objects.pods.get(WAL, {}).get(node)
        return node in self.running and node not in self.behind and pod is not None and not pod.is_terminating

    # --- the laws

    def _judge(self, node: int, *, is_up: bool) -> None:
        entry = self.entry()
        if entry is not None and entry.kind != DisruptionKind.KAFKA_NODE_RESTART:
            self.violations.append(f"K1: {node} goes while {entry.kind} of {entry.name} stands")
        if self.by_us - {node} and (is_up or not self.is_let_through()):
            self.violations.append(f"K1: {node} goes while {self.by_us} are away by us")
        if self.is_unseen or not is_up:
            return
        for name, log in self.kafka.logs.items():
            left = len((log.isr & self.running) - {node})
            if node in log.isr and len(log.replicas) > 1 and left < log.min_isr:
                self.violations.append(f"K2: {left} in sync of {name} are left, {log.min_isr} are needed")
        others = [each for each in self.voters() if each != node and not self.is_well(each)]
        if node in self.voters() and others:
            self.violations.append(f"K3: voters {others} are not caught up, and {node} goes")

    def voters(self) -> Collection[int]:
        """The controllers that have a vote."""
        return CONTROLLERS

    def may_change(self, statefulset: str) -> bool:
        """Only of the node in the journal; who empties that right before the act makes a template early, no more."""
        entry = self.entry()
        if self.is_unread:
            return True
        if entry is None:
            return False
        pods = (pod for pod in self.objects.pods.get(WAL, {}).values() if pod.name == f"{statefulset}-0")
        is_stopped = all(not pod.is_started and bool(pod.said or pod.trouble) for pod in pods)
        return entry.name == f"{statefulset}-0" or (is_stopped and self.is_let_through())

    def is_let_through(self) -> bool:
        """A person's word: beside the node in the journal others may be mended that do not run."""
        return "seawall.dev/override-restart-gate" in self.annotations

    def entry(self) -> Disruption | None:
        """What the journal has."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else found.status.disruption

    # --- what people and others do

    def pass_time(self) -> None:
        """As when the operator waits."""
        self.go_on()
        self.time.time += timedelta(seconds=WAITS)

    def drain(self, node: int) -> None:
        """Somebody evicts its pod."""
        pod = self.objects.pods.get(WAL, {}).get(node)
        if pod is not None:
            self.evict(Pod(Key(WAL.namespace, pod.name), pod.uid, 0, "", ready=pod.is_ready), by_us=False)

    def edit(self, **managed: Any) -> None:
        """Somebody edits `kafka.managed`."""
        self.spec = {**self.spec, "kafka": {"managed": {**SPEC["kafka"]["managed"], **managed}}}
        self.kube.apply(WAL, self.spec, annotations=self.annotations)

    def annotate(self, **annotations: str) -> None:
        """Somebody sets annotations of `seawall.dev`."""
        self.annotations |= {f"seawall.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        self.kube.apply(WAL, self.spec, annotations=self.annotations)

    def declare(self, **spec: Any) -> None:
        """Somebody edits other parts of the spec."""
        self.spec |= spec
        self.kube.apply(WAL, self.spec, annotations=self.annotations)

    def say_of_datanodes(self, status: Literal["True", "False", "Unknown"] | None) -> None:
        """What the controller of datanodes writes."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        kind, conditions = ConditionType.DATANODES_HEALTHY, found.status.conditions
        build = ConditionBuilder(conditions, found.metadata.generation, self.time.time)
        own = () if status is None else (build(kind, status, "Said", "by the test"),)
        update = {"conditions": with_own(conditions, own, (kind,))}
        self.kube.replace_status(found, found.status.model_copy(update=update))

    def write_entry(self, entry: Disruption | None) -> None:
        """Another controller writes the journal."""
        found = self.kube.get(WALCluster, WAL)
        if found is not None:
            self.kube.replace_status(found, found.status.model_copy(update={"disruption": entry}))

    # --- what is true

    def roll(self) -> RollStatus:
        """As the status has it."""
        found = self.kube.get(WALCluster, WAL)
        managed = ManagedKafkaStatus() if found is None else found.status.managed_kafka or ManagedKafkaStatus()
        return managed.roll or RollStatus()

    def is_rolled(self) -> bool:
        """All nodes run as they are declared, and are well; the roll is over."""
        return self.roll().stage is RollStage.COMPLETED and self.entry() is None and self.is_as_declared()

    def is_as_declared(self) -> bool:
        """All nodes run as they are declared, and are well."""
        found = self.kube.get(WALCluster, WAL)
        if found is None:
            return False
        nodes = nodes_of(WAL, found.spec.kafka.managed)  # type: ignore[union-attr,arg-type]
        pods = self.objects.pods.get(WAL, {})
        return all(
            node.id in pods
            and pods[node.id].template == template_hash(node, self.kafka.cluster_id)
            and self.is_well(node.id)
            for node in nodes
        )
