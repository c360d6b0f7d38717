"""What is decided of a WALCluster's replication, as a part of its status, and which step that is.

What is decided is recorded before it is acted on; sentences only when there is nothing to do. Numbers that moved are
recorded once they are due even if there is more to do: a run whose every tick acts would seem to stand still, and the
work queue, which takes acts without end for a loop, would slow it down to one in half a minute.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from seawall.api.meta import REASSIGNMENT_FINALIZER, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.reassignment import FailedChange, ReassignmentSpec, ReassignmentStage, ReassignmentStatus
from seawall.domain.clocks import is_to_come
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.reassignment.actions import ReassignmentAction, RemoveFinalizer
from seawall.domain.reassignment.case import MAX_MESSAGE
from seawall.domain.reassignment.in_time import in_time
from seawall.domain.reassignment.observed import Observed
from seawall.domain.reassignment.run import decide_run
from seawall.domain.reassignment.unreadable import LEFT_BEHIND, UNREADABLE, is_unreadable
from seawall.domain.step import Event, EventType
from seawall.domain.times import REASSIGNMENT_IDLE_SECONDS, REASSIGNMENT_PROGRESS_EVERY, REASSIGNMENT_WAIT_SECONDS

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
    since = before.progress_time
    is_due = since is None or is_to_come(since, now) or now - since >= REASSIGNMENT_PROGRESS_EVERY
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
        events.append(Event(EventType.WARNING, EventReason.REASSIGNMENT_INFEASIBLE, now.infeasible))
    if now.failed_change is not None and now.failed_change != was.failed_change:
        events.append(Event(EventType.WARNING, now.failed_change.reason, now.failed_change.message))
    if len(now.refused) > len(was.refused):
        first = now.refused[len(was.refused)]
        message = f"Kafka refused to move {first.topic}-{first.partition}: {first.message}"
        events.append(Event(EventType.WARNING, EventReason.MOVE_REFUSED, message))
    if now.stage is not None and (now.stage, now.digest) != (was.stage, was.digest):
        kind = EventType.WARNING if now.stage in _WARNING else EventType.NORMAL
        events.append(Event(kind, f"Reassignment{now.stage.value}", now.message))
    return tuple(events)


def _hard(status: ReassignmentStatus | None) -> ReassignmentStatus | None:
    if status is None:
        return None
    defaults = ReassignmentStatus()
    return status.model_copy(update={name: getattr(defaults, name) for name in _SOFT})


ReplicationDecision = Decision[WALClusterStatus, ReassignmentAction]


def decide(cluster: WALCluster, observed: Observed) -> ReplicationDecision:
    """What one tick decides; nothing while the run of another version cannot be read: it has set throttles."""
    if is_unreadable(cluster):
        return _of_another_version(cluster)
    spec = ReassignmentSpec() if isinstance(cluster.spec, InvalidSpec) else cluster.spec.reassignment
    before = cluster.status.reassignment
    counted = before and in_time(before, observed.now)
    run = decide_run(replace(cluster, status=_with(cluster, counted)), spec, observed)
    status = run.status if run.actions else _without_failure(run.status)
    decided = _with(cluster, status) if is_new(before, status) else cluster.status
    has_moved = has_come_on(before, progressed(before, status, observed.now, failed=False))
    verdict = Verdict(Outlook.PROGRESSING, "", run.why, run.after)
    return Decision(decided, verdict, () if has_moved else run.actions, partial(_published, cluster, status, observed))


def _of_another_version(cluster: WALCluster) -> ReplicationDecision:
    """Whether the run is over cannot be read either: who deletes the WALCluster hears of the throttle."""
    if cluster.metadata.deletion_timestamp is None or REASSIGNMENT_FINALIZER not in cluster.metadata.finalizers:
        return silent(cluster, UNREADABLE, REASSIGNMENT_IDLE_SECONDS)
    released = RemoveFinalizer(LEFT_BEHIND, EventType.WARNING)
    return silent(cluster, LEFT_BEHIND, REASSIGNMENT_WAIT_SECONDS, released)


def _published(
    cluster: WALCluster, status: ReassignmentStatus | None, observed: Observed, verdict: Verdict
) -> Published[WALClusterStatus]:
    """Only this part of the status is this controller's; the rest stays as it was read."""
    before, has_failed = cluster.status.reassignment, verdict.reason in FAILURES
    shown = progressed(before, _failing(status, verdict) if has_failed else status, observed.now, failed=has_failed)
    return Published(_with(cluster, shown), events_of(before, shown))


def _failing(status: ReassignmentStatus | None, verdict: Verdict) -> ReassignmentStatus:
    """What failed is told until the same works, or need not be done."""
    found, message = status or ReassignmentStatus(), verdict.message[:MAX_MESSAGE]
    failed = FailedChange(reason=verdict.reason, message=message)
    return found.model_copy(update={"failed_change": failed, "message": message if found.is_active else found.message})


def _without_failure(status: ReassignmentStatus | None) -> ReassignmentStatus | None:
    if status is None:
        return None
    found = status.model_copy(update={"failed_change": None})
    return None if found == ReassignmentStatus() else found


def _with(cluster: WALCluster, status: ReassignmentStatus | None) -> WALClusterStatus:
    return cluster.status.model_copy(update={"reassignment": status})
