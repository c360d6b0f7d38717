"""The world of a managed Kafka in which all happens to its nodes: they are restarted, vote, and are taken out."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.disruption import DisruptionKind, of_kind
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.managed_kafka.names import TEMPLATE_HASH_ANNOTATION
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind, template_hash
from seawall.reconciler import Reconciler
from tests.worlds.kafka_roll_world import CRASHES, NO_IMAGE, RollWorld
from tests.worlds.kafka_voters_world import VotersWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL, ManagedWorld, pool
from tests.worlds.purge_world import Guard

CONTROLLER_POOL, BROKER_POOL = 0, 1
WRONG = "-XX:+Wrong"


@dataclass(repr=False)
class WholeWorld(RollWorld, VotersWorld):
    """All that outlives a process; all controllers of nodes tick in it, each judged by its own laws.

    Attributes:
        wrong: the hashes of templates with which no node comes up.
    """

    wrong: set[str] = field(default_factory=set)

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Who makes nodes, who restarts them, who changes votes, and who takes nodes out."""
        return [*([ManagedWorld.process(self, calls)] if self.rolls else []), *super().processes(calls)]

    def look_at_nodes(self) -> None:
        """Who makes nodes ticks as the others do, and remembers what it saw."""

    def elect(self) -> None:
        """The quorum is that of votes, which tells by itself who lacks records."""
        VotersWorld.elect(self)
        self.by_us -= {node for node in self.by_us if self.is_well(node)}

    def _judge(self, node: int, *, is_up: bool) -> None:
        """Who is out for good is not away."""
        self.by_us &= {node.id for node in self.nodes}
        super()._judge(node, is_up=is_up)

    def voters(self) -> Collection[int]:
        """By the votes that there are."""
        return self.votes()

    def pools(self, controllers: int = len(CONTROLLERS), brokers: int = len(BROKERS)) -> None:
        """Somebody wants so many."""
        managed = copy.deepcopy(self.spec["kafka"]["managed"])
        managed["nodePools"] = [
            {**managed["nodePools"][CONTROLLER_POOL], **pool("controllers", "controller", CONTROLLERS[0], controllers)},
            {**managed["nodePools"][BROKER_POOL], **pool("brokers", "broker", BROKERS[0], brokers)},
        ]
        self.declare(kafka={"managed": managed})

    def give_options(self, which: int, *options: str) -> None:
        """Somebody edits the Java options of a pool."""
        managed = copy.deepcopy(self.spec["kafka"]["managed"])
        managed["nodePools"][which]["javaOptions"] = list(options)
        self.declare(kafka={"managed": managed})

    def breaks(self, which: int, trouble: str = CRASHES) -> None:
        """Somebody gives the nodes of a pool options with which none comes up."""
        self.give_options(which, WRONG)
        self.trouble = trouble

    def kubelet(self) -> None:
        """What is made with those options does not come up."""
        wrong = [node for node in self.nodes if WRONG in node.pool.java_options]
        self.wrong |= {template_hash(node, self.pinned()) for node in wrong}
        made_of = {node.id: self._made_of(node) for node in self.nodes}
        self.broken = {node: template for node, template in made_of.items() if template in self.wrong}
        super().kubelet()

    def _made_of(self, node: Node) -> str:
        """The hash of the template of its pod, or of the one that is made next."""
        pod = self.objects.pods.get(WAL, {}).get(node.id)
        if pod is not None:
            return pod.template or ""
        found = self.objects.meta.get((ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)))
        return "" if found is None else found.annotations[TEMPLATE_HASH_ANNOTATION]

    def _start(self, node: Node) -> None:
        """Without an image nothing is formatted either."""
        if self.trouble == NO_IMAGE and self.objects.pods[WAL][node.id].template == self.broken.get(node.id):
            self.objects.update_pod(WAL, node.id, is_started=False, is_ready=False, trouble=NO_IMAGE)
            return
        super()._start(node)

    def answer_for_it(self) -> None:
        """A person lets restarts through, for half a day."""
        until = self.time.time + timedelta(hours=12)
        self.annotate(override_restart_gate=f"an edit was wrong@{until:%Y-%m-%dT%H:%M:%SZ}")

    def stalls(self, node: int) -> None:
        """Somebody asks for restarts, and the machine of this node does not survive its own."""
        self.annotate(restart_kafka=f"{self.time.time}")
        pod = f"wal-{node}-0"
        self.live(until=lambda: (entry := self.entry()) is not None and entry.name == pod)
        self.held.add(node)
        self.live(until=lambda: self.roll().stage is RollStage.STALLED)

    def restarts(self) -> str:
        """The pod whose restart is in the journal; empty: none."""
        found = of_kind(self.entry(), DisruptionKind.KAFKA_NODE_RESTART)
        return "" if found is None else found.name

    def is_whole(self) -> bool:
        """Nothing is under way, all that are declared vote, and all are Online."""
        return self.is_done() and not self.restarts() and self.says("AllOnline")

    def bring_up(self) -> WholeWorld:
        """All nodes are Online and in sync."""
        super().bring_up()
        return self

    def brought_up(self, controllers: int = len(CONTROLLERS), brokers: int = len(BROKERS)) -> WholeWorld:
        """So many, and all are Online."""
        self.bring_up()
        self.pools(controllers, brokers)
        self.live(ticks=2_000, until=lambda: self.is_whole() and len(self.objects.pods[WAL]) == controllers + brokers)
        return self
