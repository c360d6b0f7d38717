"""From a decision to a step: what is recorded at once, what once a while, and which events people hear of."""

from __future__ import annotations

from datetime import datetime

from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.domain.step import Event, EventType
from seawall.domain.times import REASSIGNMENT_PROGRESS_EVERY

_SOFT = ("message", "partitions", "bytes_left", "throttle_bytes_per_second", "progress_time", "failed_change")
_WARNING = frozenset({ReassignmentStage.ABORTING, ReassignmentStage.AWAITING_APPROVAL})


def is_new(before: ReassignmentStatus | None, after: ReassignmentStatus | None) -> bool:
    """Whether more changed than numbers and sentences: then it is recorded before anything is done."""
    return _hard(before) != _hard(after)


def progressed(
    before: ReassignmentStatus | None, after: ReassignmentStatus | None, now: datetime, *, failed: bool
) -> ReassignmentStatus | None:
    """The status to record if no more than numbers and sentences changed; the one before while it is too soon."""
    if before is None or after is None or before == after or is_new(before, after):
        return after
    is_due = before.progress_time is None or now - before.progress_time >= REASSIGNMENT_PROGRESS_EVERY
    is_due = is_due or failed or before.failed_change != after.failed_change
    return after.model_copy(update={"progress_time": now}) if is_due else before


def has_come_on(before: ReassignmentStatus | None, after: ReassignmentStatus | None) -> bool:
    """Whether partitions of a run have moved, or were refused, since the status was recorded."""
    return before is not None and after is not None and before.partitions != after.partitions


def events_of(before: ReassignmentStatus | None, after: ReassignmentStatus | None) -> tuple[Event, ...]:
    """What a person should hear of: stages, refusals, and what cannot be planned."""
    was, now = before or ReassignmentStatus(), after or ReassignmentStatus()
    events = []
    if now.infeasible is not None and now.infeasible != was.infeasible:
        events.append(Event(EventType.WARNING, "ReassignmentInfeasible", now.infeasible))
    if now.failed_change is not None and now.failed_change != was.failed_change:
        events.append(Event(EventType.WARNING, now.failed_change.reason, now.failed_change.message))
    if len(now.refused) > len(was.refused):
        first = now.refused[len(was.refused)]
        message = f"Kafka refused to move {first.topic}-{first.partition}: {first.message}"
        events.append(Event(EventType.WARNING, "MoveRefused", message))
    if now.stage is not None and (now.stage, now.digest) != (was.stage, was.digest):
        kind = EventType.WARNING if now.stage in _WARNING else EventType.NORMAL
        events.append(Event(kind, f"Reassignment{now.stage.value}", now.message))
    return tuple(events)


def _hard(status: ReassignmentStatus | None) -> ReassignmentStatus | None:
    if status is None:
        return None
    defaults = ReassignmentStatus()
    return status.model_copy(update={name: getattr(defaults, name) for name in _SOFT})
