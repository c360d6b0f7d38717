"""What restarting datanodes ask of others: what they read is not deleted, and no reassignment begins on their topics.

The gate waits for deletes that are on their way (`DeleteOngoing`). So that it does not wait for ever, no other one
begins meanwhile; and none does while a datanode restarts, or cannot come up: what it has to read must stay. A roll that
waits for anything else keeps no purge away: that may take days, and disks are finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage, RollStatus
from seawall.domain.columns import Mask, any_by
from seawall.domain.ledger.tables import Bounds, Regions, Topics
from seawall.domain.rollout_reasons import Blocker, FailureReason, Reason


@dataclass(frozen=True, slots=True)
class RestartClaims:
    """The datanodes that restart, or cannot come up.

    Attributes:
        datanodes: nothing is deleted from their topics.
        lets_finish: nothing begins to be deleted from their topics; what has an intent already is waited for.
    """

    datanodes: frozenset[int] = frozenset()
    lets_finish: frozenset[int] = frozenset()


def kept_for_restarts(claims: RestartClaims, regions: Regions, topics: Topics, bounds: Bounds) -> Mask:
    """By topic, whether a region of it is led by such a datanode."""
    has_begun = bounds.intent.above(topics.log_start)
    stopped = _topics_of(claims.datanodes, regions, topics)
    return stopped | (_topics_of(claims.lets_finish, regions, topics) & ~has_begun)


def _topics_of(datanodes: frozenset[int], regions: Regions, topics: Topics) -> Mask:
    led = regions.leader.known & np.isin(regions.leader.numbers, np.array(sorted(datanodes), np.int64))
    return any_by(led, regions.topic, len(topics))


BEFORE_THE_RESTART = frozenset({RollStage.FLUSHING, RollStage.MAINTENANCE})

WAITING_FOR_OTHERS = (frozenset(Blocker) - {Blocker.REASSIGNMENT}) | {Reason.UNLOGGED_NOT_FLUSHED}

CRASHES = frozenset(
    {
        FailureReason.OFFSET_OUT_OF_RANGE.value,
        FailureReason.BAD_RECORD.value,
        FailureReason.OUT_OF_MEMORY.value,
        FailureReason.PROBE_TOO_SHORT.value,
        FailureReason.CRASHES.value,
    }
)
"""One that only does not serve yet is the ledger's business: its reports are missing."""


def claims_of(status: WALClusterStatus) -> RestartClaims:
    """What a roll asks of purges. A delete that has begun ends while the gate waits for it, or both would wait.

    Before a pod goes the status has another reason: a gate that was shut gives maintenance back, and who enters it anew
    records that first. A purge reads the status after it wrote its intent: so one of the two always sees the other.
    """
    restart = status.restart or RestartStatus()
    crashing = frozenset(row.datanode for row in restart.datanodes if row.ailment in CRASHES)
    rolling = _rolling(restart, status.disruption)
    if restart.reason == Blocker.DELETE_ONGOING:
        return RestartClaims(crashing, rolling)
    return RestartClaims(crashing | rolling)


def datanodes_that_keep(status: WALClusterStatus) -> frozenset[int]:
    """The ids of the datanodes from whose topics no delete may begin."""
    claims = claims_of(status)
    return claims.datanodes | claims.lets_finish


ENDED_BY_MOVES = frozenset({"VolumeGoes", "NodeNotOnline", "WouldStopWrites", "OnlyReplica"})
"""Why a Kafka node does not go yet (kafka_nodes/reasons.py), of what may end only when replicas are elsewhere. Not what
every move is seen by: the restart would wait for all that are planned."""


def pod_that_restarts(status: WALClusterStatus) -> str | None:
    """The pod because of which no replicas begin to move: it restarts now, or as soon as those that move have arrived.

    While the roll waits for anything else they may: it may wait for the very replicas that are to be moved. A node of
    a managed Kafka that is Stalled may be the one that is drained, one whose pod has not gone may wait for another that
    is, and one that is taken out waits for just that when somebody put a replica on it.
    """
    restart, entry = status.restart or RestartStatus(), status.disruption
    if of_kind(entry, DisruptionKind.KAFKA_NODE_REMOVAL) is not None:
        return None
    if (node := of_kind(entry, DisruptionKind.KAFKA_NODE_RESTART)) is not None:
        roll = (None if status.managed_kafka is None else status.managed_kafka.roll) or RollStatus()
        may_wait = roll.stage is RollStage.STALLED or (node.gone_time is None and roll.reason in ENDED_BY_MOVES)
        return None if may_wait else node.name
    if restart.stage is RollStage.STALLED or restart.reason in WAITING_FOR_OTHERS:
        return None
    if entry is not None:
        return entry.name
    return restart.next.name if restart.next is not None and restart.stage in BEFORE_THE_RESTART else None


def _rolling(restart: RestartStatus, entry: Disruption | None) -> frozenset[int]:
    """The datanode that restarts, or is about to."""
    ids = {row.pod: row.datanode for row in restart.datanodes}
    found: set[int] = set()
    if entry is not None:
        found.add(ids.get(entry.name, -1))
        found.add(-1 if entry.datanode is None else entry.datanode.id)
    if restart.next is not None and (restart.stage in BEFORE_THE_RESTART or restart.reason == Blocker.DELETE_ONGOING):
        found.add(ids.get(restart.next.name, -1))
    return frozenset(found - {-1})
