"""The StatefulSet of the datanodes and its pods, as the API server shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from seawall.api.meta import GROUP, Key
from seawall.domain.times import ROLLOUT_STUCK

RESTART_ANNOTATION = f"{GROUP}/restart"
"""On a WALCluster, any new value: restart all datanodes. On a pod of one, any value: restart this one
(docs/restarting.md)."""

OVERRIDE_ANNOTATION = f"{GROUP}/override-restart-gate"
"""On a WALCluster, `<reason>@<expiry>`: a person lets restarts of datanodes and Kafka nodes through a gate that is
shut."""

APPROVE_ROLLOUT_ANNOTATION = f"{GROUP}/approve-rollout"
"""On a WALCluster with kafka.managed, the value of `status.managedKafka.awaitingApproval`: what only a newer Seawall
makes of its nodes may be rolled out (docs/kafka.md#a-newer-seawall)."""

RESTART_KAFKA_ANNOTATION = f"{GROUP}/restart-kafka"
"""On a WALCluster with kafka.managed, any new value: restart all nodes of Kafka, one by one
(docs/kafka.md#what-is-rolled-out)."""

CONFIG_HASH_ANNOTATION = f"{GROUP}/wal-config-hash"
"""On the pod template, and so on each pod made from it: which rendered `[wal]` configuration it is for."""

RESTARTED_AT_ANNOTATION = "kubectl.kubernetes.io/restartedAt"
"""On the pod template: what `kubectl rollout restart` writes."""


class UpdateStrategy(StrEnum):
    """Who replaces pods when the pod template changes."""

    ON_DELETE = "OnDelete"
    """Whoever deletes them: each comes back as the newest template says."""
    ROLLING_UPDATE = "RollingUpdate"
    """Kubernetes, from the highest ordinal down to the partition; below it pods come back as the old template says."""


@dataclass(frozen=True, slots=True)
class Template:
    """What Seawall reads of the pod template.

    Attributes:
        config_hash: for which rendered configuration it is; None: nobody said.
        restarted_at: the value that `kubectl rollout restart` wrote; None: it never did.
        startup_seconds: for how long the startup probe lets a container start; None: there is no startup probe.
    """

    config_hash: str | None = None
    restarted_at: str | None = None
    startup_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class StatefulSet:
    """The StatefulSet of the datanodes.

    Attributes:
        selector: of its pods, as the API server takes it.
        first_ordinal: the number in the name of its first pod (`spec.ordinals.start`).
        controller: kind and name of the object that controls it; what another operator owns is never patched.
        partition: with RollingUpdate, the lowest ordinal that gets the newest template. 0 with OnDelete.
        update_revision: the revision of the newest template. Kubernetes writes it a moment after the template.
        generation: rises with every change of the spec.
        observed: whether Kubernetes has looked at the newest spec; before that `update_revision` is the old one.
        declared_partition: what the GreptimeDBCluster says that controls it; None: none does, or it is not named.
    """

    key: Key
    uid: str
    resource_version: str
    replicas: int
    strategy: UpdateStrategy
    partition: int
    update_revision: str
    observed: bool
    template: Template = Template()
    selector: str = ""
    first_ordinal: int = 0
    controller: str | None = None
    generation: int = 0
    declared_partition: int | None = None

    @property
    def is_gated(self) -> bool:
        """Whether a GreptimeDBCluster leaves it to Seawall when pods get a new template.

        greptimedb-operator writes the declared partition with each edit: below the replicas it restarts pods by itself.
        """
        is_rolling = self.strategy is UpdateStrategy.ROLLING_UPDATE
        return is_rolling and self.declared_partition is not None and self.declared_partition >= self.replicas

    @property
    def drives_itself(self) -> bool:
        """Whether its partition is another operator's, and never Seawall's to set."""
        return self.controller is not None and not self.is_gated

    @property
    def parked(self) -> int:
        """The partition that keeps all pods: as declared, or the replicas."""
        return self.declared_partition or 0 if self.is_gated else self.replicas

    def has(self, pod: Pod) -> bool:
        """Whether the pod is one of its own."""
        return pod.name.rpartition("-")[0] == self.key.name

    def expects(self, name: str) -> bool:
        """Whether it makes a pod of this name."""
        return name in self.missing(())

    def missing(self, pods: Iterable[Pod]) -> tuple[str, ...]:
        """The names of pods that should be there and are not."""
        there = {pod.ordinal for pod in pods}
        return tuple(f"{self.key.name}-{self.first_ordinal + at}" for at in range(self.replicas) if at not in there)


@dataclass(frozen=True, slots=True)
class Termination:
    """How the container of a pod ended last.

    Attributes:
        message: what it left as its last word (`terminationMessagePath`), or the end of its log.
        lasted: from its start to its end; None: the kubelet does not say.
    """

    reason: str
    message: str
    exit_code: int
    lasted: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the StatefulSet.

    Attributes:
        ordinal: its place: 0 is the StatefulSet's first, whatever the number in its name.
        address: its IP; None: it has none yet.
        revision: of the template that it was made from.
        gone_by: when it should be gone; None: nobody deletes it.
        restarts: of its first container.
        waiting: why its first container does not run, such as CrashLoopBackOff; empty: it runs.
        restart: the value of `seawall.dev/restart` on the pod itself.
        config_hash: `seawall.dev/wal-config-hash`, as its template had it.
        restarted_at: `kubectl.kubernetes.io/restartedAt`, as its template had it.
    """

    key: Key
    uid: str
    ordinal: int
    revision: str
    ready: bool
    address: str | None = None
    gone_by: datetime | None = None
    restarts: int = 0
    waiting: str = ""
    last_termination: Termination | None = None
    restart: str | None = None
    config_hash: str | None = None
    restarted_at: str | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.key.name

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted."""
        return self.gone_by is not None


def is_stuck(gone_by: datetime | None, now: datetime) -> bool:
    """Whether a pod should have gone long ago: of one on a node that is gone its StatefulSet makes no other."""
    return gone_by is not None and now >= gone_by + ROLLOUT_STUCK


@dataclass(frozen=True, slots=True)
class Evicted:
    """The pod is being deleted."""


@dataclass(frozen=True, slots=True)
class NotThere:
    """No pod has this name and UID: it is gone, or another one took its name. Nothing was deleted."""


@dataclass(frozen=True, slots=True)
class BudgetForbids:
    """A PodDisruptionBudget forbids it now, with the API server's sentence. It may allow it later."""

    message: str


Eviction = Evicted | NotThere | BudgetForbids
