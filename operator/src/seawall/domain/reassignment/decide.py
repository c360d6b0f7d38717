"""What is decided of a WALCluster's replication: the run that moves replicas, as a part of its status.

What is decided is recorded before it is acted on; sentences only when there is nothing to do. Numbers that moved are
recorded once they are due even if there is more to do: a run whose every tick acts would seem to stand still, and the
work queue, which takes acts without end for a loop, would slow it down to one in half a minute.
"""

from __future__ import annotations

from functools import partial

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.reassignment import FailedChange, ReassignmentSpec, ReassignmentStatus
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision, Published
from seawall.domain.failure import FAILURES
from seawall.domain.reassignment.actions import ReassignmentAction
from seawall.domain.reassignment.case import MAX_MESSAGE
from seawall.domain.reassignment.observed import Observed
from seawall.domain.reassignment.run import decide_run
from seawall.domain.reassignment.steps import events_of, has_come_on, is_new, progressed

ReplicationDecision = Decision[WALClusterStatus, ReassignmentAction]


def decide(cluster: WALCluster, observed: Observed) -> ReplicationDecision:
    """What one tick decides."""
    spec = ReassignmentSpec() if isinstance(cluster.spec, InvalidSpec) else cluster.spec.reassignment
    before, run = cluster.status.reassignment, decide_run(cluster, spec, observed)
    status = run.status if run.actions else _without_failure(run.status)
    decided = _with(cluster, status) if is_new(before, status) else cluster.status
    has_moved = has_come_on(before, progressed(before, status, observed.now, failed=False))
    verdict = Verdict(Outlook.PROGRESSING, "", run.why, run.after)
    return Decision(decided, verdict, () if has_moved else run.actions, partial(_published, cluster, status, observed))


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
