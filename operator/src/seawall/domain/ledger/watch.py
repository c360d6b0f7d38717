"""The next step of watching a WALCluster's ledger: first records are written at once, else it is looked at again soon.

Whoever purges, grants or asks needs reports that were seen to advance, so somebody has to look all the time. What is
seen is kept in memory: `WALCluster.status.wal`, the condition WALIntact and `seawall ledger` tell of the newest look.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.failure import Failure
from seawall.domain.ledger.actions import ClaimDatabase, WriteRecords, claim_of
from seawall.domain.ledger.looked import CannotLook, Looked, Obstacle
from seawall.domain.ledger.policy import Safety
from seawall.domain.ledger.sightings import POLLS_PER_STALE_AFTER
from seawall.domain.step import Act, Wait

IDLE_SECONDS = 60.0
"""Until the next look at a WALCluster that has nothing to look at."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What one tick sees; `may_write` is False while the WALCluster is paused, or being deleted."""

    looked: Looked | CannotLook
    may_write: bool
    failure: Failure | None = None


LedgerAction = WriteRecords | ClaimDatabase


def next_step(watched: Watched) -> Act[LedgerAction] | Wait:
    """Decides what one tick does."""
    looked = watched.looked
    if isinstance(looked, CannotLook):
        is_idle = looked.why in {Obstacle.NO_DATA_PLANE, Obstacle.INVALID_SPEC}
        return Wait(looked.message, IDLE_SECONDS if is_idle else _poll_seconds(None))
    records = looked.urgent_records()
    shards = looked.shards.changed(records)
    if shards and watched.may_write and watched.failure is None:
        adoption = looked.read.readoption
        reason = "" if adoption is None else adoption.reason
        topics = tuple(sorted(records))
        return Act((WriteRecords(looked.pool, shards, topics, looked.cluster, looked.readopted(), reason),))
    claim = claim_of(looked)
    if claim is not None and watched.may_write and watched.failure is None:
        return Act((claim,))
    return Wait("it is looked at again soon", _poll_seconds(looked))


def _poll_seconds(looked: Looked | None) -> float:
    """A sixth of the strictest staleAfter."""
    policies = looked.look.policies.values() if looked is not None else ()
    stale_after = min((policy.safety.stale_after for policy in policies), default=Safety().stale_after)
    return stale_after.total_seconds() / POLLS_PER_STALE_AFTER
