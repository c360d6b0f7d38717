"""Whether an edit of the GreptimeDBCluster waits for Seawall before it restarts datanodes: the condition RestartsGated.

greptimedb-operator (v0.6.0, `deployers/datanode.go`) writes `rollingUpdate.partition` of the GreptimeDBCluster into the
StatefulSet with every edit, and leaves it alone in between. So the gate is what the GreptimeDBCluster declares: with a
partition of at least the replicas an edit restarts nobody, and Seawall then lowers that of the StatefulSet pod by pod.
"""

from __future__ import annotations

from collections.abc import Callable

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.greptimedb_cluster import GreptimeDBCluster
from seawall.domain.step import Event, EventType

KIND = ConditionType.RESTARTS_GATED
NEVER_TOO_LOW = 1_000
"""A partition that needs no edit when datanodes are added."""


def gate_conditions(cluster: WALCluster, observed: Observed, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition; none where no GreptimeDBCluster is named. What was known stands while nobody looked."""
    spec, found = cluster.spec, observed.named_cluster
    if isinstance(spec, InvalidSpec) or spec.data_plane is None or spec.data_plane.cluster_ref is None:
        return ()
    before = find_condition(cluster.status.conditions, KIND)
    match found:
        case GreptimeDBCluster():
            return (_gate(found, build),)
        case None if before is not None:
            return (before,)
        case _:
            return (build(KIND, "Unknown", Reason.CLUSTER_UNKNOWN, "the GreptimeDBCluster cannot be read"),)


def gate_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when the gate is found open, or shut again."""
    was, now = find_condition(cluster.status.conditions, KIND), find_condition(status.conditions, KIND)
    before = None if was is None else was.status
    if now is None or now.status in {before, "Unknown"}:
        return None
    if now.status == "False":
        return Event(EventType.WARNING, now.reason, now.message)
    return Event(EventType.NORMAL, now.reason, now.message) if before == "False" else None


def _gate(found: GreptimeDBCluster, build: Callable[..., Condition]) -> Condition:
    still = [each for each in found.datanodes if not each.keeps_all]
    name = found.key.name
    if not still:
        return build(KIND, "True", Reason.GATED, f"an edit of GreptimeDBCluster {name} restarts no datanode by itself")
    fields = ", ".join(
        f"{each.where}.rollingUpdate.partition is {each.partition} for {each.replicas} datanodes" for each in still
    )
    message = (
        f"an edit of GreptimeDBCluster {name} restarts datanodes at once, whether their WAL can be replayed or not:"
        f" {fields}; set {NEVER_TOO_LOW}, and Seawall lets them through one by one"
    )
    return build(KIND, "False", Reason.PARTITION_OPEN, message)
