"""Builds a WALHold's status, and the events of what changed in it."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1 import hold as wal_hold
from seawall.api.v1alpha1.hold import ALL_TOPICS, EARLIEST, HeldFrom, HoldState, WALHold, WALHoldStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import (
    ConditionBuilder,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
)
from seawall.domain.decision import Published
from seawall.domain.ledger.held import Claim, Hold, HoldView
from seawall.domain.ledger.hold_limits import lag_bytes
from seawall.domain.step import Event, EventType


def measured(obj: WALHold, hold: Hold, view: HoldView) -> WALHoldStatus:
    """The status of a hold whose topics were looked at, conditions apart."""
    renewal, logs = hold.renewal, hold.granted_logs
    return WALHoldStatus(
        observed_generation=obj.status.observed_generation,
        conditions=obj.status.conditions,
        state=hold.state,
        granted={} if hold.granted is None else _topics_of(hold.granted),
        granted_logs=None if logs is None else wal_hold.GrantedLogs(topics=logs.count, digest=logs.digest),
        renewal=None if renewal is None else wal_hold.Renewal(renew_time=renewal.stated, seen_time=renewal.observed_at),
        at_risk_time=hold.at_risk_since,
        topics=len(view.topics) if hold.claim.everything else len(hold.claim.offsets),
        expire_time=None if renewal is None or hold.state.is_final else renewal.observed_at + hold.ttl,
        lag_entries=_lag_entries(hold.claim, view),
        lag_bytes=lag_bytes(hold.claim, view.topics),
    )


def published(
    obj: WALHold, status: WALHoldStatus, hold: Hold | None, time: TrustedTime, verdict: Verdict
) -> Published[WALHoldStatus]:
    """The status with its conditions, and the events."""
    update = {
        "observed_generation": obj.metadata.generation,
        "conditions": _conditions(obj, hold, verdict, time),
    }
    found = status.model_copy(update=update)
    return Published(found, _events(obj, found, verdict))


def _events(obj: WALHold, status: WALHoldStatus, verdict: Verdict) -> tuple[Event, ...]:
    """A state that changed, else what became of Ready: a hold never ends in silence."""
    judged = loss_event(obj.status.conditions, status.conditions, ConditionType.EXPIRY_JUDGED, "limits count again")
    reported = () if judged is None else (judged,)
    if status.state is None or status.state == obj.status.state:
        return (*transition_events(obj.status.conditions, status.conditions), *reported)
    is_warning = status.state in {HoldState.AT_RISK, HoldState.LOST}
    kind = EventType.WARNING if is_warning else EventType.NORMAL
    return (Event(kind, f"Hold{status.state.value}", verdict.message), *reported)


def _conditions(obj: WALHold, hold: Hold | None, verdict: Verdict, time: TrustedTime) -> tuple[Condition, ...]:
    """Granted is about the spec as it stands: an edited one is not granted until it says so again."""
    build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, time.now)
    if hold is None:
        return build.kstatus(verdict)
    is_granted = hold.granted == hold.claim and not hold.state.is_final
    return (
        *build.kstatus(verdict),
        build(ConditionType.GRANTED, as_status(is_granted), verdict.reason, verdict.message),
        build(ConditionType.AT_RISK, as_status(hold.state is HoldState.AT_RISK), verdict.reason, verdict.message),
        build(ConditionType.LOST, as_status(hold.state is HoldState.LOST), verdict.reason, verdict.message),
        _expiry_judged(build, time),
    )


def _expiry_judged(build: ConditionBuilder, time: TrustedTime) -> Condition:
    """Whether limits count. The skew is written once: it is never the same twice."""
    kind, problem = ConditionType.EXPIRY_JUDGED, time.problem
    if problem is None:
        return build(kind, "True", time.agreement.value, "its limits count: two clocks agree")
    before = find_condition(build.previous, kind)
    if before is not None and before.reason == time.agreement.value:
        return build(kind, "False", before.reason, before.message)
    by = "" if time.skew is None else f", by {abs(time.skew).total_seconds():.0f} s"
    return build(kind, "False", time.agreement.value, f"it ends by none of its limits meanwhile: {problem}{by}")


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
