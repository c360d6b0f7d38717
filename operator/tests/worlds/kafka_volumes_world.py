"""The world of a managed Kafka whose disks are of a size: they grow when claims ask for more, and brokers fill them.

It is judged by claims: none asks for less than before, none that the identity does not know is changed by the operator,
and none asks for more than somebody has declared. No template changes (K7), and no pod goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from seawall.api.meta import ConditionType, Key
from seawall.api.quantity import parse_bytes
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.kafka_volumes import KafkaVolumesController
from seawall.domain.conditions import find_condition
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.identity import IDENTITY, Identity
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.reconciler import Reconciler
from tests.fakes.ids import new_uid
from tests.fakes.kafka_objects import FakeKafkaObjects
from tests.worlds.managed_world import WAL, ManagedWorld
from tests.worlds.purge_world import Guard

CHANGES = frozenset({"grow", "replace_status"})
GI = 2**30


@dataclass
class JudgedObjects(FakeKafkaObjects):
    """The KafkaObjects port; what grows is judged."""

    world: VolumesWorld | None = None

    def grow(self, volume: FoundObject, namespace: str, size: int) -> None:
        """Lets a claim ask for more."""
        before = self.meta.get((volume.kind, Key(namespace, volume.name)))
        super().grow(volume, namespace, size)
        assert self.world is not None
        assert before is not None
        self.world.judge_grown(before, size)


@dataclass(repr=False)
class VolumesWorld(ManagedWorld):
    """All that outlives a process.

    Attributes:
        sizes: processes look at sizes, too; before that they bring up nodes only.
        full: by node the bytes that its records take.
        is_slow: the storage driver does not get to it.
        grown: claims that the operator let grow, in that order.
        asked: by UID of a claim the most that it ever asked for.
        declared: the most that was ever declared.
        known: UIDs of claims that the identity has named; it may be lost right before a call.
    """

    sizes: bool = False
    full: dict[int, int] = field(default_factory=dict)
    is_slow: bool = False
    grown: list[str] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    declared: int = GI
    known: set[str | None] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.objects = JudgedObjects(world=self)
        super().__post_init__()

    # --- the operator

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Those of a new operator process; the calls of who looks at sizes are guarded."""
        return [self.process(), self.grower(calls)] if self.sizes else [self.process(calls)]

    def grower(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of sizes, of a new operator process."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        controller = KafkaVolumesController(guard(self.kube), guard(self.objects), self.time)
        return Reconciler(controller, may_write=lambda: True)

    def bring_up(self) -> VolumesWorld:
        """All nodes are Online, and volumes are looked at from now on."""
        super().bring_up()
        self.sizes = True
        return self

    # --- Kubernetes

    def provision(self, node: Node) -> None:
        """A driver that is slow binds new volumes, and lets none grow."""
        place = (ObjectKind.VOLUME, Key(WAL.namespace, node.volume))
        meta = self.objects.meta.get(place)
        is_bound = meta is not None and meta.size is not None and meta.size.capacity is not None
        if not (self.is_slow and is_bound):
            super().provision(node)

    def kubelet(self) -> None:
        """A broker whose disk is full ends, whatever it is given else."""
        for node, takes in self.full.items():
            if self.size(node) < takes:
                self.running.discard(node)
        super().kubelet()
        for node, takes in self.full.items():
            if self.size(node) < takes and node in self.objects.pods.get(WAL, {}):
                self.running.discard(node)
                trouble = "CrashLoopBackOff: No space left on device"
                self.objects.update_pod(WAL, node, is_started=False, is_ready=False, trouble=trouble)

    def fill(self, node: int) -> None:
        """The disk of a broker is full."""
        self.full[node] = self.size(node) + 1

    # --- people, and others

    def grow(self, size: str, pool: str = "brokers") -> None:
        """Somebody wants larger volumes."""
        managed = self.spec["kafka"]["managed"]
        pools = [
            {**each, "storage": {**each["storage"], "size": size}} if each["name"] == pool else each
            for each in managed["nodePools"]
        ]
        self.spec = {**self.spec, "kafka": {"managed": {**managed, "nodePools": pools}}}
        self.declared = max(self.declared, int(str(parse_bytes(size))))
        self.kube.apply(WAL, self.spec)

    def claim_grows(self, node: int, size: int) -> None:
        """Somebody lets a claim ask for more by hand."""
        place = self._place(node)
        meta = self.objects.meta.get(place)
        if meta is not None and meta.size is not None and meta.size.requested < size:
            self.objects.resize(place, requested=size)
            self.declared = max(self.declared, size)

    def another_claim(self, node: int) -> None:
        """Somebody puts another claim in the place of a node's, with another disk."""
        place = self._place(node)
        if place in self.objects.meta:
            self.kill(node)
            self.objects.meta[place] = replace(self.objects.meta[place], uid=new_uid())

    # --- what is true

    def _place(self, node: int) -> tuple[ObjectKind, Key]:
        return ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}")

    def size(self, node: int) -> int:
        """The bytes that its volume has."""
        meta = self.objects.meta.get(self._place(node))
        return 0 if meta is None or meta.size is None else meta.size.capacity or 0

    def judge_grown(self, before: FoundObject, size: int) -> None:
        """What the operator has let grow."""
        self.grown.append(before.name)
        self.read_identity()
        if before.uid not in self.known:
            self.violations.append(f"{before.name} is not what the identity knows, and grows")
        if size > self.declared:
            self.violations.append(f"{before.name} asks for {size}: nobody wants that")

    def check(self, after: str) -> None:
        """What must be true after each change."""
        self.read_identity()
        for (kind, _), meta in self.objects.meta.items():
            if kind is ObjectKind.VOLUME and meta.size is not None:
                if meta.size.requested < self.asked.get(meta.uid, 0):
                    self.violations.append(f"{meta.name} asks for less {after}")
                self.asked[meta.uid] = meta.size.requested
        super().check(after)

    def read_identity(self) -> None:
        """Whichever claims it names now."""
        for key, record in self.objects.records.items():
            if key.name.endswith("identity"):
                self.known |= {each.volume for each in _identity(record.data).nodes.values()}

    def told(self) -> tuple[str, str, str] | None:
        """Status, reason and message of KafkaVolumesSized."""
        found = self.kube.get(WALCluster, WAL)
        now = None if found is None else find_condition(found.status.conditions, ConditionType.KAFKA_VOLUMES_SIZED)
        return None if now is None else (now.status, now.reason, now.message)

    def is_sized(self) -> bool:
        """All volumes that are declared have what is declared, and it is said so."""
        told = self.told()
        sizes = (self.size(node.id) >= node.pool.storage.size for node in self.nodes if not node.is_leaving)
        return all(sizes) and told is not None and told[1] == "AllSized"


def _identity(data: Any) -> Identity:
    return Identity.model_validate_json(data[IDENTITY])
