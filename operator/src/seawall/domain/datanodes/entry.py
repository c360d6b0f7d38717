"""A datanode's entry in the journal: what it would replay, and for how long it may be away.

Between the entry and the eviction hours may pass, for a PodDisruptionBudget or for the gate. So both are measured once
more when the pod goes: by then other rows are in memory, and in the log.
"""

from __future__ import annotations

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, RestartedDatanode
from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.datanodes.facts import Datanode, Facts
from seawall.domain.datanodes.replay import replay_seconds, restart_budget
from seawall.domain.rollout.workload import Pod


def begun(status: RestartStatus, pod: Pod, facts: Facts) -> Disruption:
    """As its restart begins."""
    datanode = facts.datanodes.get(pod.name)
    before = None if datanode is None else _before(datanode, status)
    return Disruption(
        kind=DisruptionKind.DATANODE_RESTART,
        name=pod.name,
        uid=pod.uid,
        start_time=facts.now,
        budget_seconds=_budget_seconds(before, facts),
        datanode=before,
    )


def measured_anew(entry: Disruption, status: RestartStatus, facts: Facts) -> Disruption:
    """As the pod goes. What a new process says already is no measure of what it had to read."""
    datanode, before = facts.datanodes.get(entry.name), entry.datanode
    if datanode is None or before is None or datanode.recorded_epoch != before.epoch:
        return entry
    found = _before(datanode, status)
    if found.expected_seconds is None:
        return entry
    return entry.model_copy(update={"datanode": found, "budget_seconds": _budget_seconds(found, facts)})


def noted(entry: Disruption, datanode: Datanode | None) -> Disruption:
    """With the epoch of the process that reports now."""
    if datanode is None or datanode.recorded_epoch is None:
        return entry
    before, epoch = entry.datanode or RestartedDatanode(id=datanode.id), datanode.recorded_epoch
    if epoch == before.epoch:
        return entry
    return entry.model_copy(update={"datanode": before.model_copy(update={"epoch": epoch})})


def _budget_seconds(before: RestartedDatanode | None, facts: Facts) -> int:
    expected = None if before is None else before.expected_seconds
    return int(restart_budget(facts.limits.replay_budget, expected).total_seconds())


def _before(datanode: Datanode, status: RestartStatus) -> RestartedDatanode:
    return RestartedDatanode(
        id=datanode.id,
        epoch=datanode.recorded_epoch,
        entries=datanode.entries,
        bytes=datanode.size_bytes,
        expected_seconds=replay_seconds(datanode, status.last_replay),
    )
