"""The closed sets of reasons of the condition KafkaNodesInSync, and of the condition of a pod's readiness gate."""

from __future__ import annotations

from enum import StrEnum


class InSyncReason(StrEnum):
    """Whether all nodes are in sync; each member says the status of the condition, and what ends it."""

    ALL = "AllInSync"
    """True. Every node is in sync: one broker and one controller may be evicted."""
    NOT_ALL = "NodesNotInSync"
    """False. The message says which nodes are not, and why: no other one of their kind is evicted meanwhile. They catch
    up by themselves; ReplicationHealthy and QuorumHealthy say which replicas are behind."""
    NOT_ASKED = "NotAsked"
    """Unknown. Kafka was not asked, or did not answer; the message says why. Pods stay Ready, or not, as they were."""


class NodeReason(StrEnum):
    """Why the pod of a node has `seawall.dev/in-sync` so."""

    IN_SYNC = "InSync"
    """True. Kafka hears from the broker, and every replica on it is in sync; the controller is a voter that has caught
    up."""
    NOT_RUNNING = "NotRunning"
    """False. The container does not run, or its port is not open yet."""
    RESTARTED = "Restarted"
    """False. The container began anew, and Kafka has not shown it in sync since."""
    VOLUME_GOES = "VolumeGoes"
    """False. The claim of its volume is being deleted, or was replaced, so what is on it goes with the pod: do not
    delete the pod (docs/kafka.md#a-claim-is-deleted). Its budget lets nobody be evicted meanwhile."""
    NOT_HEARD = "NotHeard"
    """False. The broker is fenced, or has not registered: Kafka does not hear from it."""
    NOT_IN_SYNC = "ReplicasNotInSync"
    """False. A replica on the broker is not in sync. Those that a reassignment makes do not count."""
    NOT_CAUGHT_UP = "NotCaughtUp"
    """False. The controller is no voter, or has not caught up."""


SENTENCES = {
    NodeReason.IN_SYNC: "is in sync",
    NodeReason.NOT_RUNNING: "does not run, or its port is not open yet",
    NodeReason.RESTARTED: "began anew and was not seen in sync since",
    NodeReason.VOLUME_GOES: "loses its volume with its pod",
    NodeReason.NOT_HEARD: "is not heard from by Kafka",
    NodeReason.NOT_IN_SYNC: "has replicas that are not in sync",
    NodeReason.NOT_CAUGHT_UP: "is no voter that has caught up",
}
"""What is said of a node."""
