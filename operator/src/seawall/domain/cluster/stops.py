"""That somebody, or something, takes a stop away is told: by the absence of an annotation all goes on.

A person sets it on the page of an alert, and a tool that applies the object from Git may remove it minutes later
(docs/gitops). The status remembers which ones were set, so one that is gone is noticed, also by another operator.
"""

from __future__ import annotations

from seawall.api.meta import PAUSED_ANNOTATION, STOP_DELETES_ANNOTATION
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.events import EventReason
from seawall.domain.step import Event, EventType


def stops_of(cluster: WALCluster) -> tuple[str, ...]:
    """The annotations by which a person has Seawall stop."""
    metadata = cluster.metadata
    found = ((PAUSED_ANNOTATION, metadata.is_paused), (STOP_DELETES_ANNOTATION, metadata.stops_deletes))
    return tuple(name for name, is_set in found if is_set)


def stop_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when any of them is gone."""
    gone = [name for name in cluster.status.stops if name not in status.stops]
    if not gone:
        return None
    return Event(
        EventType.WARNING,
        EventReason.STOP_REMOVED,
        f"{' and '.join(gone)} is not set any more, and what it stopped goes on; if no person took it away, a tool "
        "that applies this object from Git did: set it by `seawall pause` or `seawall stop-deletes` (docs/gitops)",
    )
