"""The next step of a WALCluster's replication: the run that moves replicas, as a step of a tick."""

from __future__ import annotations

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.reassignment import ReassignmentSpec, ReassignmentStatus
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.reassignment.actions import ReassignmentAction
from seawall.domain.reassignment.next_step import decide
from seawall.domain.reassignment.observed import Observed
from seawall.domain.reassignment.steps import events_of, has_come_on, is_news, progressed
from seawall.domain.step import Act, Record, Step, Wait

ReplicationStep = Step[WALClusterStatus, ReassignmentAction]


def next_step(cluster: WALCluster, observed: Observed) -> ReplicationStep:
    """Decides what one tick does.

    What is decided is recorded before it is acted on; sentences only when there is nothing to do. Numbers that moved
    are recorded once they are due even if there is more to do: a run whose every tick acts would seem to stand still,
    and the work queue, which takes acts without end for a loop, would slow it down to one in half a minute.
    """
    spec = ReassignmentSpec() if isinstance(cluster.spec, InvalidSpec) else cluster.spec.reassignment
    before, decision = cluster.status.reassignment, decide(cluster, spec, observed)
    if is_news(before, decision.status):
        return _record(cluster, decision.status, 0.0)
    status = progressed(before, decision.status, observed.now, failed=observed.failure is not None)
    if decision.actions and not has_come_on(before, status):
        return Act(decision.actions)
    if status != before:
        return _record(cluster, status, decision.after)
    return Wait(decision.why, decision.after)


def _record(cluster: WALCluster, status: ReassignmentStatus | None, after: float) -> Record[WALClusterStatus]:
    """Only this part of the status is this controller's; the rest stays as it was read."""
    events = events_of(cluster.status.reassignment, status)
    return Record(cluster.status.model_copy(update={"reassignment": status}), events, after)
