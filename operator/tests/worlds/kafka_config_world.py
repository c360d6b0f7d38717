"""A world for configs that a managed Kafka takes while it runs: the nodes' world, with defaults of all brokers.

What must never be: a default that others set is changed, a default is set that nobody declares, or that the status does
not name, or another Kafka is changed; but for one call that was under way. And no node is restarted (K7).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.kafka_config import KafkaConfigController
from seawall.domain.conditions import find_condition
from seawall.domain.kafka_config.decide import recorded_keys
from seawall.reconciler import Reconciler
from tests.worlds.managed_world import SPEC, WAL, ManagedWorld
from tests.worlds.purge_world import Guard

LARGEST, KEPT = "message.max.bytes", "log.segment.bytes"
STATIC = {"num.io.threads": "4"}
CONFIG = STATIC | {LARGEST: "2000000", KEPT: "50000000"}
CONFIGURED = copy.deepcopy(SPEC)
CONFIGURED["kafka"]["managed"]["config"] = CONFIG
FOREIGN = ("log.retention.ms", "1")


@dataclass
class KafkaConfigWorld(ManagedWorld):
    """All that outlives a process.

    Attributes:
        had: the defaults at the last check.
        strangers: what somebody else set since then.
        stale: how often a default changed to what is not declared by then,
        unnamed: to what the status does not name, and
        elsewhere: in another Kafka than that of the WALCluster.
    """

    spec: dict[str, Any] = field(default_factory=lambda: dict(CONFIGURED))
    had: dict[str, str] = field(default_factory=dict)
    strangers: dict[str, str] = field(default_factory=dict)
    stale: int = 0
    unnamed: int = 0
    elsewhere: int = 0

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Both controllers."""
        return [self.process(calls), self.config(calls)]

    def config(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of configs."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        controller = KafkaConfigController(guard(self.kube), guard(self.clusters()), self.time, True)
        return Reconciler(controller, may_write=lambda: True)

    def check(self, after: str) -> None:
        """What must be true after each change."""
        now, declared = dict(self.kafka.defaults), self.declared()
        changed = {key for key in {*now, *self.had} if now.get(key) != self.had.get(key)}
        self.had = now
        self.stale += any(now.get(key) != declared.get(key) for key in changed)
        self.unnamed += not changed <= set(self.recorded())
        self.elsewhere += bool(changed) and self.kafka.cluster_id != self.pinned()
        lost = [key for key, value in self.strangers.items() if now.get(key) != value]
        if lost:
            self.violations.append(f"C1: {lost} of others was changed {after}")
        for name, count in (("C2: stale", self.stale), ("C3: unnamed", self.unnamed), ("C4: other", self.elsewhere)):
            if count > 1:
                self.violations.append(f"{name}: {changed} {count} times {after}")
        super().check(after)

    def declared(self) -> dict[str, str]:
        """What brokers that run should have."""
        found = self.kube.get(WALCluster, WAL)
        managed = None if found is None else found.managed_kafka
        return {} if managed is None else dict(managed.dynamic_config)

    def recorded(self) -> tuple[str, ...]:
        """Those that the status names."""
        found = self.kube.get(WALCluster, WAL)
        return () if found is None else recorded_keys(found)

    def told(self) -> tuple[str, str, str] | None:
        """Status, reason and message of the condition."""
        found = self.kube.get(WALCluster, WAL)
        kind = ConditionType.KAFKA_CONFIG_APPLIED
        now = None if found is None else find_condition(found.status.conditions, kind)
        return None if now is None else (now.status, now.reason, now.message)

    def is_applied(self) -> bool:
        """Whether all nodes are Online, and brokers have what is declared, and are said to."""
        told, declared = self.told(), self.declared()
        is_said = told is None if not declared else told is not None and told[0] == "True"
        has = {key: value for key, value in self.kafka.defaults.items() if key in declared}
        return self.says("AllOnline") and not self.tokens() and is_said and has == declared

    # --- what people do

    def set_config(self, **config: str) -> None:
        """Somebody edits what brokers take while they run; the names of configs have _ for dots."""
        named = STATIC | {key.replace("_", "."): value for key, value in config.items()}
        managed = {**self.spec["kafka"]["managed"], "config": named}
        self.spec = {**self.spec, "kafka": {"managed": managed}}
        self.kube.apply(WAL, self.spec)

    def set_default(self, key: str, value: str | None) -> None:
        """Somebody changes a default by Kafka's own tool."""
        self.kafka.defaults.pop(key, None)
        self.had.pop(key, None)
        if value is not None:
            self.kafka.defaults[key] = self.had[key] = value
        if key not in {*self.declared(), *self.recorded()} and value is not None:
            self.strangers[key] = value
