"""What of a managed Kafka was found in the API server, and what Kafka says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from seawall.domain.clocks import TrustedTime
from seawall.domain.managed_kafka.certificates import Certificates
from seawall.domain.managed_kafka.names import TAKEN_OUT_ANNOTATION
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.partitions import Broker, Partition, PartitionId, Quorum
from seawall.domain.rollout.workload import Termination

VOLUME_EMPTY = "VolumeEmpty"
"""How the entrypoint's last words begin when it found nothing on its volume, and no token: `VolumeEmpty <question>: …`.
Each emptiness is a question of its own, so that no answer is used twice."""

REFUSALS = (VOLUME_EMPTY, "ForeignVolume", "NotEmpty")
"""How they begin when it refuses a volume. Java ends with the entrypoint's exit code, too: with
-XX:+ExitOnOutOfMemoryError."""


@dataclass(frozen=True, slots=True)
class VolumeSize:
    """How large a volume is.

    Attributes:
        requested: the bytes that its claim asks for.
        capacity: the bytes that it has; None: the claim is not bound to a volume yet.
        waits_for_pod: its file system grows when a pod mounts it the next time.
        trouble: what Kubernetes says of a growth that fails; empty: nothing.
    """

    requested: int
    capacity: int | None = None
    waits_for_pod: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that has the labels of a managed Kafka.

    Attributes:
        node: the node that it is of; None: it is of all.
        owner_uid: the UID of the object that controls it.
        version: its resource version.
        replicas: of a StatefulSet, the pods that it makes.
        spec_digest: of a budget or a NetworkPolicy, of all that it says.
        size: of a volume.
        generation: how often what it declares was edited, as the API server counts.
        created: when it was made, by the API server's clock; None: it does not tell.
    """

    kind: ObjectKind
    name: str
    uid: str
    node: int | None = None
    owner_uid: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_terminating: bool = False
    version: str = ""
    replicas: int | None = None
    spec_digest: str = ""
    size: VolumeSize | None = None
    generation: int = 0
    created: datetime | None = None

    @property
    def mark_of_stop(self) -> str:
        """What marks the edit that lets a StatefulSet make no pod: who scales it later makes another generation."""
        return f"{self.uid}@{self.generation if self.replicas == 0 else self.generation + 1}"

    @property
    def is_taken_out(self) -> bool:
        """Whether Seawall stopped its node for good: whoever else scales a StatefulSet to 0 means to scale it back."""
        return self.replicas == 0 and self.annotations.get(TAKEN_OUT_ANNOTATION) == self.mark_of_stop


@dataclass(frozen=True, slots=True)
class InSync:
    """What the condition of a pod's readiness gate says.

    Attributes:
        message: names the container of which it was said: a condition outlives the container.
    """

    holds: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class FoundPod:
    """The pod of a node.

    Attributes:
        is_ready: all of its containers are, so its port is open.
        is_started: the container of Kafka runs.
        said: the last words of the container that formats volumes, if it failed at its last try.
        began: when the container of Kafka began, and with it read its certificate; None: it does not run.
        trouble: why a container does not run, or the pod has no machine, in Kubernetes' words; empty: nothing.
        template: the hash of all that it was made of; None: it does not tell.
        spec_hash: of what the spec said when its template was written; None: it does not tell.
        certificate: what its template says of the Secret of the nodes (renewal.py); None: it does not tell.
        gone_by: when it should be gone; None: nobody deletes it.
        last_termination: how Kafka ended last in it.
        version: its resource version.
        container: which container of Kafka runs in it; empty: none.
        is_gated: it is not Ready before its readiness gate is open.
        in_sync: what the condition of that gate says; None: there is none.
        placed: when it got its machine, by the API server's clock: its claims were there before. None: it has none.
    """

    node: int
    name: str
    uid: str
    is_terminating: bool = False
    is_ready: bool = False
    is_started: bool = False
    said: str = ""
    trouble: str = ""
    began: datetime | None = None
    template: str | None = None
    spec_hash: str | None = None
    certificate: str | None = None
    gone_by: datetime | None = None
    last_termination: Termination | None = None
    version: str = ""
    container: str = ""
    is_gated: bool = False
    in_sync: InSync | None = None
    placed: datetime | None = None

    @property
    def has_empty_volume(self) -> bool:
        """Whether it waits because nothing is on its volume."""
        return self.said.startswith(VOLUME_EMPTY)

    @property
    def question(self) -> str | None:
        """What a token must answer that lets it format; None: it asks nothing."""
        return self.said.partition(":")[0].removeprefix(VOLUME_EMPTY).strip() or None if self.has_empty_volume else None


@dataclass(frozen=True, slots=True)
class Record:
    """A ConfigMap that outlives the WALCluster, at the version that was read."""

    data: Mapping[str, str]
    version: str


@dataclass(frozen=True, slots=True)
class FoundKafka:
    """What there is in the API server."""

    objects: Mapping[tuple[ObjectKind, str], FoundObject] = field(default_factory=dict)
    pods: Mapping[int, FoundPod] = field(default_factory=dict)
    identity: Record | None = None
    tokens: Record | None = None

    def volume(self, name: str) -> FoundObject | None:
        """A volume that is not about to go."""
        found = self.objects.get((ObjectKind.VOLUME, name))
        return None if found is None or found.is_terminating else found


@dataclass(frozen=True, slots=True)
class KafkaAnswer:
    """What Kafka says.

    Attributes:
        quorum: a sentence: why it is not known.
        partitions: of all topics; a sentence: why not all are known; None: nobody asked.
        eligible: the eligible leader replicas; None: not known.
        min_isr: by topic its min.insync.replicas, where that is known.
        is_moving: whether replicas are being moved; None: nobody asked.
        adding: by partition the replicas that are being made, where that was asked.
    """

    cluster_id: str
    brokers: Mapping[int, Broker]
    quorum: Quorum | str
    features: Mapping[str, int]
    partitions: tuple[Partition, ...] | str | None = None
    eligible: Mapping[PartitionId, frozenset[int]] | None = None
    min_isr: Mapping[str, int] = field(default_factory=dict)
    is_moving: bool | None = None
    adding: Mapping[PartitionId, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        kafka: a sentence: why it was not asked, or did not answer.
        cleared: nodes without whose volume nothing is lost, in looks that lie far enough apart.
        is_enabled: whether this operator may run a Kafka.
        certificates: as they are in their Secrets; None: this Kafka has none, or nobody has looked.
        operator: the namespace of this operator.
        obstacle: why its objects may not be read, in one sentence: a right that this operator lacks.
    """

    time: TrustedTime
    found: FoundKafka = FoundKafka()
    kafka: KafkaAnswer | str = "nobody has asked it"
    cleared: frozenset[int] = frozenset()
    is_enabled: bool = True
    certificates: Certificates | None = None
    operator: str = ""
    obstacle: str | None = None
