"""The closed set of reasons of the condition KafkaVolumesSized."""

from __future__ import annotations

from enum import StrEnum


class VolumesReason(StrEnum):
    """Whether volumes are as large as declared; each member says the status of the condition, and what ends it."""

    ALL = "AllSized"
    """True. Every volume is as large as its pool says. The message names those that are larger, and those that the
    identity does not know: they stay so."""
    GROWING = "VolumesGrowing"
    """False. Volumes are smaller than their pool says; the message says which, and how large they are. Their claims ask
    for more, and the storage driver does the rest; nodes run on meanwhile."""
    POD_NEEDED = "PodHasToBeginAnew"
    """False. The file system of a volume grows when a pod mounts it the next time: `seawall restart-kafka` restarts
    nodes one by one (docs/kafka.md#larger-volumes)."""
    FAILED = "ResizeFailed"
    """False. The storage driver cannot make a volume larger; the message has its words. Mend the storage: it is tried
    again by Kubernetes."""
    NOT_KNOWN = "VolumesNotKnown"
    """Unknown. Which volumes are those of this Kafka is not known, so none is changed: KafkaNodesHealthy says why."""
    PAUSED = "Paused"
    """Unknown. seawall.dev/paused is set, and claims would ask for more."""
