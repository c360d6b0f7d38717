"""The closed sets of reasons: why the gate is shut, why a roll is as it is, and why a datanode does not come up."""

from __future__ import annotations

from enum import StrEnum

from seawall.domain.text import Explained


class Blocker(Explained):
    """Why a datanode is not restarted now, in the order in which it is asked: the first that holds is shown."""

    PAUSED = (
        "Paused",
        "seawall.dev/paused is set on the WALCluster.",
        "Remove it.",
    )
    KAFKA_UNREACHABLE = (
        "KafkaUnreachable",
        "Kafka does not answer, so a datanode that restarts could not replay.",
        "Look at the condition KafkaReachable.",
    )
    DATANODE_UNKNOWN = (
        "DatanodeUnknown",
        "Nobody knows what this datanode would replay: the database says nothing of it.",
        "Look whether it reports, and under which address.",
    )
    NOT_FULLY_IN_SYNC = (
        "NotFullyInSync",
        "A topic that it would replay lacks an in-sync replica: one more failure, and the replay has nothing to read.",
        "Bring the brokers back, and wait until they have caught up.",
    )
    WAL_NOT_INTACT = (
        "WALNotIntact",
        "The WAL is not known to be what the database wrote.",
        "Look at the condition WALIntact before anything restarts.",
    )
    LOG_START_BEYOND_REPLAY = (
        "LogStartBeyondReplay",
        "A log starts after the first offset that it would read: the restart would fail or lose rows.",
        "Write a row to the region and flush it while it lives; else restore it from a backup.",
    )
    REASSIGNMENT = (
        "ReassignmentOngoing",
        "Replicas of a topic that it would replay are being moved.",
        "Wait until the reassignment is done.",
    )
    DELETE_ONGOING = (
        "DeleteOngoing",
        "Records of a topic that it would replay are being deleted.",
        "Wait a moment: no other run begins to delete there. One that is paused keeps it so: the message names it.",
    )
    ANOTHER_DOWN = (
        "AnotherDatanodeDown",
        "Another datanode does not serve: two must never be down.",
        "Wait until it serves; if it does not come up by itself, DatanodesHealthy says why.",
    )
    BAD_RECORD = (
        "BadRecord",
        "A record that it would replay crashes the database's reader.",
        "Flush its regions beyond that record while it lives, or find out who wrote it.",
    )
    REPLAY_TOO_LONG = (
        "ReplayTooLong",
        "The replay would take longer than restart.replayBudget.",
        "Flush its regions, or raise the budget and the startup probe with it.",
    )


OVERRIDABLE = frozenset(Blocker) - {Blocker.PAUSED}
"""What a person may let through; a pause is theirs to end."""


class Reason(StrEnum):
    """Why a roll is as it is; each member says if it is a Warning event, and what ends it. A shut gate has its own."""

    NOTHING_TO_DO = "NothingToRestart"
    """No datanode, or no Kafka node, is to be restarted; or what a newer Seawall would make of nodes waits for
    approval."""
    NO_STATEFUL_SET = "StatefulSetMissing"
    """Warning. There is no such StatefulSet, or it may not be read (chart value `datanodes.statefulSets`): correct the
    name, or create it."""
    BEGINS = "RollBegins"
    """A restart was asked for, and the next one is chosen; or Kubernetes has not taken up the newest spec of the
    StatefulSet, or makes a pod."""
    RESTARTED_BY_OTHERS = "RestartedByKubernetes"
    """Warning. The pod template changed and no partition keeps the pods: Kubernetes restarts them without asking. Set
    OnDelete, or a partition of at least the replicas, and it will be Seawall that restarts them."""
    PARTITION_NOT_OURS = "PartitionNotOurs"
    """Warning. Another operator owns the StatefulSet, and its partition keeps the old template: lower it there."""
    TEMPLATE_NOT_OURS = "TemplateNotOurs"
    """Warning. Another operator owns the StatefulSet: the changed configuration needs seawall.dev/restart."""
    FLUSHING = "Flushing"
    """Regions were asked to flush, a thousand at a time; it waits for them, two minutes at most each time, or as
    UnloggedNotFlushed says."""
    UNLOGGED_NOT_FLUSHED = "UnloggedNotFlushed"
    """Warning. Regions whose rows skip the log (skip_wal) did not flush in two minutes: a restart would lose what they
    have in memory. They are asked again and again, and nothing is restarted before they did: find out why, as an object
    store that does not answer. `seawall.dev/override-restart-gate` gives these rows up."""
    ENTERING_MAINTENANCE = "EnteringMaintenance"
    """The database is asked to enter maintenance, and a moment has to pass until all of it knows."""
    LEAVING_MAINTENANCE = "LeavingMaintenance"
    """The database is asked to leave maintenance."""
    METASRV_EDITED = "MetasrvEdited"
    """Warning. dataPlane.greptimedb.metasrv was edited in mid-roll: the database of before leaves maintenance first."""
    LEFT_ON = "MaintenanceLeftOn"
    """Warning. The database does not say that it has left maintenance, in which nothing fails over, or another one
    answers in its place: type the command that is in the message, where the first one can be reached. If that one is no
    more, set `seawall.dev/override-restart-gate`: ten minutes later it is waited for no longer."""
    IN_MAINTENANCE = "InMaintenance"
    """Warning. The database is in maintenance, in which nothing fails over, and it is not Seawall's: a person's, or
    that of a roll which the API server has forgotten. Type the command in the message when it is needed no more."""
    GIVEN_UP = "MaintenanceGivenUp"
    """Warning. A person lets restarts go on, and the database of before has been silent, or another one has answered in
    its place, for ten minutes: it is forgotten."""
    RESTARTING = "Restarting"
    """The pod is being deleted, or a Kafka node comes back: it has to be Online and in sync for a while."""
    DISRUPTION_BUDGET = "DisruptionBudget"
    """Warning. A PodDisruptionBudget forbids it now; it is tried again: a Kafka node every ten seconds, a datanode ever
    less often, in the end every five minutes. Between two tries the database is not kept in maintenance. Find out who
    else is down, and whether the budget allows any at all."""
    SLOT_TAKEN = "SlotTaken"
    """Warning. status.disruption has a disruption of another kind: a datanode and a Kafka node are never away at once.
    Wait until it is over. If another version of Seawall wrote it and it is none any more, remove it from the status."""
    REPLAYING = "Replaying"
    """The new pod has to be Ready, and to lead all its regions."""
    BUDGET_EXCEEDED = "RestartTookTooLong"
    """Warning. A datanode does not serve, or a Kafka node is not in sync, in time: DatanodesHealthy or
    KafkaNodesHealthy says why. No other one is restarted; it goes on when this one is back. What an edit broke, an
    edit mends: of a Kafka node, and of a datanode whose StatefulSet has OnDelete; elsewhere delete its pod after the
    edit."""
    NOT_NAMED = "DatanodeNotNamed"
    """Warning. The datanode that is restarted is none of the named StatefulSets' any more, and its pod is there, or a
    StatefulSet of its name makes it or may not be read, or Kubernetes has not looked at a newest spec. No other one is
    restarted. Delete what is left of it, or scale it down, or name that StatefulSet again."""
    LEFT_OUT = "DatanodeLeftOut"
    """Warning. The datanode that was restarted was scaled away, or its StatefulSet is gone and named no more: its
    restart is over, and others go on. Its regions are the database's to move."""
    STUCK_TERMINATING = "PodStuckTerminating"
    """Warning. The old pod has not gone a minute after it should have: check its node. Only when that is surely off,
    delete the pod by force."""
    PARKING = "PuttingPartitionBack"
    """All are restarted; the partition keeps the pods again."""
    COMPLETED = "Completed"
    """All that were to be restarted were."""


class FailureReason(Explained):
    """Why a datanode does not come up, in the order in which it is looked for."""

    OFFSET_OUT_OF_RANGE = (
        "OffsetOutOfRange",
        "The log starts after the first offset that the datanode has to read: the WAL was purged or expired.",
        "Restarts do not help: restore the region from a backup, or give it up.",
    )
    BAD_RECORD = (
        "MissingKey",
        "A record crashes the database's reader.",
        "Restarts do not help: find out who wrote it, and let the regions begin behind it (docs/restarting.md).",
    )
    OUT_OF_MEMORY = (
        "OutOfMemory",
        "The container is killed for the memory that the replay takes.",
        "Raise its memory limit.",
    )
    PROBE_TOO_SHORT = (
        "StartupProbeTooShort",
        "The startup probe kills the datanode before its replay is done, and it begins anew.",
        "Raise failureThreshold * periodSeconds of the startup probe.",
    )
    CRASHES = (
        "CrashLoop",
        "The datanode ends again and again.",
        "Its log says more.",
    )
    NOT_SERVING = (
        "NotServing",
        "The datanode does not serve all its regions.",
        "Wait for its replay; if nothing moves, look at its log.",
    )
    MISSING = (
        "PodMissing",
        "The pod is not there.",
        "Look at the events of the StatefulSet.",
    )


class HealthReason(StrEnum):
    """How the datanodes are, beside why one does not come up: the condition DatanodesHealthy of a WALCluster."""

    SERVING = "Serving"
    """True. All datanodes serve all their regions."""
    RESTARTING = "Restarting"
    """True. Seawall restarts one, and all others serve."""
    NOT_ASKED = "NotAsked"
    """Unknown. Datanodes cannot be observed; the message says why."""
