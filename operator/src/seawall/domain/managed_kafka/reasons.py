"""The closed set of reasons of the condition KafkaNodesHealthy."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why the nodes of a managed Kafka are so; each member says the status of the condition, and what ends it."""

    ALL_ONLINE = "AllOnline"
    """True. Every node is Online. The message says whether what a newer Seawall would make of nodes waits for
    approval (docs/kafka.md#a-newer-seawall)."""
    ROLLING = "RollingNodes"
    """True. Nodes are restarted one by one, and all but that one are Online; the message says which one, or why the
    next one does not go yet (docs/kafka.md#what-a-roll-waits-for)."""
    REMOVING = "RemovingNode"
    """True. A node is taken out, and all that stay are Online; the message says how far it is
    (docs/kafka.md#fewer-brokers)."""
    REMOVAL_REFUSED = "RemovalRefused"
    """False. A node that is to be taken out has to stay as it is until what the message says is changed, such as a
    topic with more replicas than brokers would be left. Or raise replicas again (docs/kafka.md#fewer-brokers)."""
    ROLL_STALLED = "RollStalled"
    """False. A node that was restarted has not come back in time; the message has its last words. All others keep what
    they run with. Edit what is wrong, and it is made anew (docs/kafka.md#a-roll-is-stalled)."""
    BRINGING_UP = "BringingUp"
    """False. Nodes have not registered yet; the message says which one waits for what."""
    SCALING_UP = "ScalingUp"
    """False. Nodes that were added have not registered yet; the message says which one waits for what. All others are
    Online, and clients miss nothing (docs/kafka.md#more-brokers)."""
    CHANGING_VOTERS = "ChangingVoters"
    """False. A controller that was added, or whose disk was lost, does not vote yet; the message says what that waits
    for. Clients miss nothing, and it goes on by itself. Where it says that another controller has not caught up, mend
    that one (docs/kafka.md#voters)."""
    NODES_NOT_DECLARED = "NodesNotDeclared"
    """False. The WALCluster was made again with fewer nodes than this Kafka has, and what is on the volumes of the
    others may be needed: give their pool as many replicas as it had (docs/kafka.md#more-brokers). Or Kafka knows
    brokers that nobody declares: the API server was restored from before they were there
    (docs/kafka.md#kubernetes-is-restored). Or controllers vote, or were to vote from the first start on, that are not
    declared: do what the message says (docs/kafka.md#voters)."""
    NOT_ONLINE = "NodesNotOnline"
    """False. Nodes that had registered are not Online; the message says what their pods say, or by which command one
    comes back whose StatefulSet somebody scaled to 0."""
    VOLUME_LOST = "VolumeLost"
    """False. A node's volume is empty, or gone, and records may be lost if it is formatted; the message names the
    partitions. Or its claim is deleted, and the pod has all that is left: do not delete that pod. Bring the volume
    back, or set seawall.dev/format-volume (docs/kafka.md#a-volume-is-lost)."""
    VOLUME_FOREIGN = "VolumeForeign"
    """False. There is something else on a node's volume than this node of this Kafka left there: it is neither read nor
    formatted. Put the right volume in its place."""
    IDENTITY_UNCLEAR = "IdentityUnclear"
    """False. ConfigMap, volumes, status and Kafka do not say the same cluster id, or all but one are gone: nothing is
    started or formatted. Do what the message says (docs/kafka.md#which-kafka-is-it)."""
    FORMER_LIFE = "FormerLife"
    """False. Objects of an earlier WALCluster of this name are still there: Kubernetes removes them. If they stay,
    delete what the message names; volumes are not meant."""
    CERTIFICATES_UNUSABLE = "CertificatesUnusable"
    """False. A Secret of security.tls or security.operatorTls is missing, expired, of another CA, or without the names
    of all nodes, so nothing is started: do what the message says (docs/kafka.md#certificates)."""
    VERSION_TOO_OLD = "VersionTooOld"
    """False. Kafka's features are finalized at a level that spec.kafka.managed.version does not know, so a node of it
    would not start, and nothing is started or restarted: declare the version of before again, or a newer one
    (docs/kafka.md#another-version)."""
    NOT_ENABLED = "ManagedKafkaNotEnabled"
    """False. This operator may not run a Kafka: give the chart `managedKafka.enabled: true`."""
    NAME_NOT_USABLE = "NameNotUsable"
    """False. The WALCluster's name cannot be part of a host name: make one with a name of at most 40 letters, digits
    and dashes that begins with a letter."""
    EMPTIED_DISK_MAY_LEAD = "EmptiedDiskMayLead"
    """False. Kafka's feature eligible.leader.replicas.version is at 0, so a disk that was emptied may lead: run
    `kafka-features.sh upgrade --feature eligible.leader.replicas.version=1`."""
    NOT_ASKED = "NotAsked"
    """Unknown. Kafka was not asked, or did not answer; the message says why. All else is well as far as pods show it;
    status.managedKafka.nodes are as Kafka said last."""
    PAUSED = "Paused"
    """Unknown. seawall.dev/paused is set: nothing is made, given or taken."""


WELL = frozenset({Reason.ALL_ONLINE, Reason.ROLLING, Reason.REMOVING})
"""Clients miss nothing."""
NEEDS_A_PERSON = frozenset(
    {
        Reason.VOLUME_LOST,
        Reason.VOLUME_FOREIGN,
        Reason.IDENTITY_UNCLEAR,
        Reason.NAME_NOT_USABLE,
        Reason.CERTIFICATES_UNUSABLE,
        Reason.VERSION_TOO_OLD,
        Reason.NOT_ENABLED,
        Reason.EMPTIED_DISK_MAY_LEAD,
        Reason.ROLL_STALLED,
        Reason.NODES_NOT_DECLARED,
        Reason.REMOVAL_REFUSED,
    }
)
"""They do not mend themselves: the WALCluster is Stalled by them."""
