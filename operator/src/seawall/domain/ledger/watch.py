"""What the watch of a WALCluster's ledger decides: first records are written at once, else it is looked at again soon.

Whoever purges, grants or asks needs reports that were seen to advance, so somebody has to look all the time. What is
seen is kept in memory: `WALCluster.status.wal`, the condition WALIntact and `seawall ledger` tell of the newest look.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.decision import Decision, silent
from seawall.domain.ledger.actions import ClaimDatabase, WriteRecords, claim_of
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.ledger.policy import Safety
from seawall.domain.ledger.report_history import POLLS_PER_STALE_AFTER
from seawall.domain.times import LEDGER_IDLE_SECONDS, LEDGER_MAX_POLL_SECONDS


@dataclass(frozen=True, slots=True)
class Watched:
    """What one tick sees; `may_write` is False while the WALCluster is paused, or being deleted."""

    observation: Observation | Unavailable
    may_write: bool


LedgerAction = WriteRecords | ClaimDatabase
LedgerDecision = Decision[WALClusterStatus, LedgerAction]


def decide(cluster: WALCluster, watched: Watched) -> LedgerDecision:
    """What one tick decides. The status is another controller's; whatever fails, it is looked at again at the poll."""
    observation = watched.observation
    if isinstance(observation, Unavailable):
        is_idle = observation.why in {UnavailableReason.NO_DATA_PLANE, UnavailableReason.INVALID_SPEC}
        return silent(cluster, observation.message, LEDGER_IDLE_SECONDS if is_idle else _poll_seconds(None))
    pace, actions = _poll_seconds(observation), writes(watched)
    return replace(silent(cluster, "it is looked at again soon", pace, *actions), pace=pace)


def writes(watched: Watched) -> tuple[LedgerAction, ...]:
    """What is to be written: first records, and when there are none the claim."""
    observation = watched.observation
    if isinstance(observation, Unavailable) or not watched.may_write:
        return ()
    records = observation.urgent_records()
    shards = observation.shards.changed(records)
    if shards:
        adoption = observation.read.readoption
        reason = "" if adoption is None else adoption.reason
        topics = tuple(sorted(records))
        return (WriteRecords(observation.pool, shards, topics, observation.cluster, observation.readopted(), reason),)
    claim = claim_of(observation)
    return () if claim is None else (claim,)


def _poll_seconds(observation: Observation | None) -> float:
    """A sixth of the strictest staleAfter; people hear within half a minute of a database that is silent."""
    policies = observation.assessment.policies.values() if observation is not None else ()
    stale_after = min((policy.safety.stale_after for policy in policies), default=Safety().stale_after)
    return min(stale_after.total_seconds() / POLLS_PER_STALE_AFTER, LEDGER_MAX_POLL_SECONDS)
