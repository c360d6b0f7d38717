"""The status of a hold, conditions apart: what is kept of it, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.v1alpha1 import hold as wal_hold
from seawall.api.v1alpha1.hold import ALL_TOPICS, EARLIEST, HeldFrom, WALHold, WALHoldStatus
from seawall.domain.ledger.held import Claim, Hold, HoldView, expires_at, lag_bytes
from seawall.domain.ledger.held_logs import LogIds


def measured(obj: WALHold, hold: Hold, view: HoldView) -> WALHoldStatus:
    """The status of a hold whose topics were looked at, conditions apart."""
    logs = hold.granted_logs
    return WALHoldStatus(
        observed_generation=obj.status.observed_generation,
        conditions=obj.status.conditions,
        state=hold.state,
        granted={} if hold.granted is None else _topics_of(hold.granted),
        granted_logs=None if logs is None else _logs_of(logs),
        granted_prefix=hold.granted_prefix,
        granted_cluster_id=hold.granted_cluster_id,
        renewal=_renewal_of(hold),
        unrenewed=hold.unrenewed,
        at_risk_time=hold.at_risk_since,
        topics=len(view.topics) if hold.claim.everything else len(hold.claim.offsets),
        expire_time=None if hold.state.is_final else expires_at(hold),
        lag_entries=_lag_entries(hold.kept, view),
        lag_bytes=lag_bytes(hold.kept, view.topics),
    )


def unmeasured(obj: WALHold, hold: Hold) -> WALHoldStatus:
    """The status of a hold whose topics nobody looks at: its grant and its numbers stay as they were."""
    update = {
        "state": hold.state,
        "renewal": _renewal_of(hold),
        "unrenewed": hold.unrenewed,
        "at_risk_time": hold.at_risk_since,
        "expire_time": None if hold.state.is_final else expires_at(hold),
    }
    return obj.status.model_copy(update=update)


def _renewal_of(hold: Hold) -> wal_hold.Renewal | None:
    found = hold.renewal
    return None if found is None else wal_hold.Renewal(renew_time=found.stated, seen_time=found.observed_at)


def _logs_of(logs: LogIds) -> wal_hold.GrantedLogs:
    return wal_hold.GrantedLogs(topics=logs.count, digest=logs.digest, numbers=logs.numbers)


def _topics_of(claim: Claim) -> Mapping[str, HeldFrom]:
    return {ALL_TOPICS: EARLIEST, **claim.offsets} if claim.everything else dict(claim.offsets)


def _lag_entries(claim: Claim, view: HoldView) -> int | None:
    """From the claimed offsets, or the log starts above them, to the ends; None if Kafka does not say."""
    total = 0
    for name, offset in claim.offsets_among(view.topics).items():
        topic = view.topics.get(name)
        if topic is None or topic.high_watermark is None or topic.log_start is None:
            return None
        total += max(0, topic.high_watermark - max(offset, topic.log_start))
    return total
