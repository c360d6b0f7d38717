"""What restarting datanodes ask of others: what they read is not deleted, and no reassignment begins on their topics.

The gate waits for deletes that are on their way (`DeleteOngoing`). So that it does not wait for ever, no other one
begins meanwhile; and none does while a datanode restarts, or cannot come up: what it has to read must stay. A roll that
waits for anything else keeps no purge away: that may take days, and disks are finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.columns import Mask, any_by
from seawall.domain.ledger.tables import Bounds, Regions, Topics
from seawall.domain.rollout_reasons import Blocker, FailureReason


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

WAITING_FOR_OTHERS = frozenset(Blocker) - {Blocker.REASSIGNMENT}

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


def claims_of(status: RestartStatus | None) -> RestartClaims:
    """What a roll asks of purges. A delete that has begun ends while the gate waits for it, or both would wait.

    Before a pod goes the status has another reason: a gate that was shut gives maintenance back, and who enters it anew
    records that first. A purge reads the status after it wrote its intent: so one of the two always sees the other.
    """
    if status is None:
        return RestartClaims()
    crashing = frozenset(row.datanode for row in status.datanodes if row.ailment in CRASHES)
    rolling = _rolling(status)
    if status.reason == Blocker.DELETE_ONGOING:
        return RestartClaims(crashing, rolling)
    return RestartClaims(crashing | rolling)


def datanodes_that_keep(status: RestartStatus) -> frozenset[int]:
    """The ids of the datanodes from whose topics no delete may begin."""
    claims = claims_of(status)
    return claims.datanodes | claims.lets_finish


def pod_that_restarts(status: RestartStatus | None) -> str | None:
    """The pod because of which no replicas begin to move: it restarts now, or as soon as those that move have arrived.

    While the roll waits for anything else they may: it may wait for the very replicas that are to be moved.
    """
    if status is None or status.stage is RollStage.STALLED or status.reason in WAITING_FOR_OTHERS:
        return None
    if status.restarting is not None:
        return status.restarting.name
    return status.next.name if status.next is not None and status.stage in BEFORE_THE_RESTART else None


def _rolling(status: RestartStatus) -> frozenset[int]:
    """The datanode that restarts, or is about to."""
    ids = {row.pod: row.datanode for row in status.datanodes}
    found: set[int] = set()
    if status.restarting is not None:
        found.add(ids.get(status.restarting.name, -1))
        found.add(-1 if status.restarting.datanode is None else status.restarting.datanode)
    if status.next is not None and (status.stage in BEFORE_THE_RESTART or status.reason == Blocker.DELETE_ONGOING):
        found.add(ids.get(status.next.name, -1))
    return frozenset(found - {-1})
