"""The world of a managed Kafka out of which brokers are taken: whoever moves replicas does so, one in two looks.

It is judged after each call: nothing is stopped with a replica on it, nothing forgotten that runs or is not empty, no
id is used again, and no volume deleted unless the pool says so (K5, K6). What happened after Kafka was asked last is no
act of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.managed_kafka_status import NodeRemoval
from seawall.controllers.kafka_removal import KafkaRemovalController
from seawall.domain.ledger.restarts import pod_that_restarts
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.partitions import PartitionId
from seawall.reconciler import Reconciler
from tests.fakes.kafka_moves import FakeMove
from tests.worlds.managed_world import CHANGES as BASE
from tests.worlds.managed_world import WAL, Log, ManagedWorld
from tests.worlds.purge_world import Guard

CHANGES = BASE | {"stop", "unregister", "delete"}


@dataclass(repr=False)
class RemovalWorld(ManagedWorld):
    """All that outlives a process.

    Attributes:
        removes: processes take brokers out; before that they bring up.
        keeps: nobody moves replicas.
        ending: nodes whose pods end.
        is_unseen: the world moved since Kafka was asked last.
        stopped: nodes that were stopped for good.
        forgotten: brokers that Kafka forgot.
        volumes: of all nodes that ever were.
    """

    removes: bool = False
    keeps: bool = False
    ending: set[int] = field(default_factory=set)
    is_unseen: bool = False
    stopped: set[int] = field(default_factory=set)
    forgotten: set[int] = field(default_factory=set)
    volumes: set[str] = field(default_factory=set)
    may_delete_volumes: bool = False

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Who makes nodes, and who takes them out."""
        return [self.process(calls), *([self.remover(calls)] if self.removes else [])]

    def remover(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """Of a new operator process."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        controller = KafkaRemovalController(
            guard(self.kube), guard(self.objects), guard(self.clusters()), self.time, self.time
        )
        return Reconciler(controller, may_write=lambda: True)

    def bring_up(self) -> RemovalWorld:
        """Four brokers; of the topics none has more replicas than three."""
        super().bring_up()
        self.removes = True
        self.scale(4)
        self.live(until=lambda: self.says("AllOnline") and "late-3" in self.kafka.logs and not self.tokens())
        return self

    # --- Kubernetes

    def kubelet(self) -> None:
        """Pods of what makes none end, and are gone a look later."""
        for node in self.ending:
            self.kill(node)
        self.ending = set()
        for meta in self.objects.meta.values():
            if meta.replicas == 0 and meta.node in self.objects.pods.get(WAL, {}):
                self.objects.update_pod(WAL, meta.node, is_terminating=True)
                self.ending.add(meta.node)
        super().kubelet()

    # --- Kafka

    def elect(self) -> None:
        """Who runs registers, also again."""
        again = self.kafka.moves.unregistered & self._online()
        if again:
            self.violations.append(f"K5: {again} register again")
        self.move_away()
        super().elect()

    def move_away(self) -> None:
        """Who moves replicas takes one away from the broker that leaves, unless a pod restarts meanwhile."""
        self.end_moves()
        removal, found = self.removal(), self.kube.get(WALCluster, WAL)
        if removal is None or found is None or self.keeps or pod_that_restarts(found.status) is not None:
            return
        if self.kafka.moves.ongoing:
            return
        for name, log in sorted(self.kafka.logs.items()):
            others = sorted(self._online() - set(log.replicas))
            if removal.node in log.replicas and others and log.leader is not None and self._has_all(name, log):
                self.begin_move(name, removal.node, others[0])
                return

    def _has_all(self, name: str, log: Log) -> bool:
        return log.leader is not None and self._log(log.leader, name) >= log.acknowledged

    def move(self, name: str, source: int, target: int) -> None:
        """One replica, with its records, at once."""
        self.begin_move(name, source, target)
        self.kafka.logs[name].isr.add(target)
        self.end_moves()

    def begin_move(self, name: str, source: int, target: int) -> None:
        """Until the new replica is in sync there is one more, as the metadata shows them: the old ones last."""
        log, at = self.kafka.logs[name], PartitionId(name, 0)
        wanted = tuple(target if each == source else each for each in log.replicas)
        self.kafka.moves.ongoing[at] = FakeMove(log.replicas, wanted)
        if log.leader is not None:
            self._put(target, name, self._log(log.leader, name))
        log.replicas = (*wanted, source)
        self.kafka.topics[name].place(0, log.replicas)

    def end_moves(self) -> None:
        """Those whose new replicas are in sync, and whom somebody leads."""
        for at, move in list(self.kafka.moves.ongoing.items()):
            log = self.kafka.logs[at.topic]
            if log.leader is None or not {*move.adding} <= log.isr:
                continue
            del self.kafka.moves.ongoing[at]
            log.replicas, log.isr, log.elr = move.target, log.isr - {*move.removing}, log.elr - {*move.removing}
            log.leader = log.leader if log.leader in move.target else move.adding[0]
            self.kafka.topics[at.topic].place(0, log.replicas)
            for disk in filter(None, map(self.disk_of, move.removing)):
                disk.logs.pop(at.topic, None)

    def put_topic(self, *replicas: int, name: str = "") -> None:
        """Somebody makes a topic there."""
        name = name or f"put-{len(self.kafka.logs)}"
        self.kafka.add_topic(name, replicas=replicas, configs={"min.insync.replicas": "1"})
        self.kafka.logs[name] = Log(replicas, 1, set(replicas))

    # --- the laws

    def check(self, after: str) -> None:
        """K5 and K6 beside the others."""
        self._check_stopped(after)
        self._check_forgotten(after)
        volumes = {key.name for kind, key in self.objects.made if kind is ObjectKind.VOLUME}
        if (gone := self.volumes - volumes) and after == "delete" and not self.may_delete_volumes:
            self.violations.append(f"K6: {gone} were deleted")
        self.volumes = volumes
        super().check(after)

    def _check_stopped(self, after: str) -> None:
        stopped = self.taken_out()
        for node in stopped - self.stopped:
            if not self.is_unseen and self.on(node):
                self.violations.append(f"K5: {node} is stopped with {self.on(node)} on it {after}")
        self.stopped |= stopped

    def taken_out(self) -> set[int]:
        """Nodes that the operator has stopped, and not somebody else."""
        return {meta.node for meta in self.objects.meta.values() if meta.is_taken_out and meta.node is not None}

    def _check_forgotten(self, after: str) -> None:
        for node in self.kafka.moves.unregistered - self.forgotten:
            if node in self.running or node in self.objects.pods.get(WAL, {}):
                self.violations.append(f"K5: {node} is forgotten and runs {after}")
            if not self.is_unseen and self.on(node):
                self.violations.append(f"K5: {node} is forgotten with {self.on(node)} on it {after}")
        self.forgotten |= self.kafka.moves.unregistered

    def on(self, node: int) -> set[str]:
        """The topics that are on a broker."""
        return {name for name, log in self.kafka.logs.items() if node in log.replicas}

    # --- what is true, and what people do

    def cluster(self) -> WALCluster:
        """The WALCluster."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        return found

    def removal(self) -> NodeRemoval | None:
        """As the status has it."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else found.status.removal

    def entry(self) -> Disruption | None:
        """What the journal has."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else found.status.disruption

    def write_entry(self, entry: Disruption | None) -> None:
        """Another controller writes the journal."""
        found = self.kube.get(WALCluster, WAL)
        if found is not None:
            self.kube.replace_status(found, found.status.model_copy(update={"disruption": entry}))

    def is_done(self) -> bool:
        """Nothing leaves, and nothing is left of what left."""
        kept = {key.name for kind, key in self.objects.made if kind is ObjectKind.STATEFUL_SET}
        leaves = any(node.is_leaving for node in self.nodes)
        declared = {node.name for node in self.nodes}
        return self.removal() is None and self.entry() is None and not leaves and kept == declared
