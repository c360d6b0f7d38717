"""Whether a database grows towards what Seawall can read of it: the condition NearLimit, before the limit is hit.

The answers about regions are what may grow beyond it: the metasrv's, and by the contract for any database its reports
and its metadata, which are the longer ones. What Seawall writes has bounds in its schema that keep it far below what a
ConfigMap or an object takes (docs/adr/0058-a-fleet.md).
"""

from __future__ import annotations

from collections.abc import Callable

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.step import Event, EventType

KIND = ConditionType.NEAR_LIMIT


def limit_conditions(cluster: WALCluster, observed: Observed, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition; none while there is nothing to tell. While the database does not answer, what was known stands."""
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.database is None:
        return ()
    view = observed.data_plane
    if not isinstance(view, DataPlaneView):
        before = find_condition(cluster.status.conditions, KIND)
        return () if before is None else (before,)
    if view.near_limit is None:
        return ()
    who = "the metasrv" if cluster.spec.http is None else "the database"
    message = (
        f"{who}'s answer about {view.regions} regions takes {view.near_limit} % of what Seawall reads of one: "
        "beyond it nothing is purged, granted or restarted"
    )
    return (build(KIND, "True", Reason.LARGE_ANSWER, message),)


def limit_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when it begins."""
    was, now = (find_condition(found, KIND) for found in (cluster.status.conditions, status.conditions))
    return None if now is None or was is not None else Event(EventType.WARNING, now.reason, now.message)
