"""Who is next, and all that comes before the pod is written into the status: gate, flushes, maintenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from seawall.api.v1alpha1.rollout import PodIdentity, Restarting, RestartStatus, RollStage
from seawall.domain.rollout.checks import Candidate, Refusal, refusal
from seawall.domain.rollout.decision import RollDecision, blocked, changed, decided, meanwhile
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.flushes import flush, is_flushed
from seawall.domain.rollout.maintenance import enter, give_back, kept_until
from seawall.domain.rollout.order import in_order
from seawall.domain.rollout.replay import replay_seconds, restart_budget
from seawall.domain.rollout.requests import Cause, is_kept_back
from seawall.domain.rollout.workload import Pod
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.times import MAINTENANCE_LEASE

BEFORE_FLUSH = frozenset({Blocker.REPLAY_TOO_LONG})
"""What a flush may mend."""


def begin_next(status: RestartStatus, facts: Facts, due: Mapping[str, Cause]) -> RollDecision:
    """The first datanode in the order for which the gate is open; if it is shut for all, why it is for the first."""
    if status.stage in {None, RollStage.COMPLETED}:
        message = f"{len(due)} of {len(facts.pods)} datanodes are to be restarted"
        update = {"stage": RollStage.WAITING, "start_time": facts.now, "completion_time": None, "restarted": 0}
        return changed(status, Reason.BEGINS, message, **update)
    chosen = None if status.next is None else status.next.uid
    refusals: dict[str, Refusal] = {}
    for pod in in_order(due, facts, chosen):
        if _is_partition_of_others(pod, facts, due[pod.name]):
            message = f"{pod.name} would come back with the old pod template: another operator sets the partition"
            return _waits(facts, decided(status, Reason.PARTITION_NOT_OURS, message))
        found = _against(status, pod, facts)
        if found is None:
            return _prepare(_with_next(status, pod), pod, facts)
        refusals[pod.name] = found
    if not refusals:
        return _waits(facts, decided(status, Reason.BEGINS, "Kubernetes makes the pods that are to be restarted"))
    first = in_order(due, facts)[0]
    return _waits(facts, blocked(_with_next(status, first), refusals[first.name], facts))


def _with_next(status: RestartStatus, pod: Pod) -> RestartStatus:
    """Its turn stays its turn as long as the gate lets it: how much each would replay changes all the time."""
    return status.model_copy(update={"next": PodIdentity(name=pod.name, uid=pod.uid)})


def _against(status: RestartStatus, pod: Pod, facts: Facts) -> Refusal | None:
    but = frozenset[Blocker]() if is_flushed(status, pod, facts) else BEFORE_FLUSH
    found = refusal(Candidate(pod.name, facts, status.last_replay), but=but)
    if found is not None or flush(status, pod, facts) is not None:
        return found
    return refusal(Candidate(pod.name, facts, status.last_replay))


def _waits(facts: Facts, reported: RollDecision) -> RollDecision:
    """Nothing is about to happen: nobody needs the maintenance."""
    status = reported.status.model_copy(update={"stage": RollStage.WAITING})
    return meanwhile(give_back(status, facts), replace(reported, status=status))


def _prepare(status: RestartStatus, pod: Pod, facts: Facts) -> RollDecision:
    flushes = flush(status, pod, facts)
    if flushes is not None:
        return flushes
    enters = enter(status, facts, RollStage.MAINTENANCE)
    if enters is not None:
        return enters
    entry = _journal(status, pod, facts)
    update = {
        "restarting": entry,
        "maintenance": kept_until(status, facts, MAINTENANCE_LEASE),
        "next": None,
        "progress": None,
    }
    return changed(status, Reason.RESTARTING, f"{pod.name} is restarted", stage=RollStage.RESTARTING, **update)


def _journal(status: RestartStatus, pod: Pod, facts: Facts) -> Restarting:
    datanode = facts.datanodes.get(pod.name)
    expected = None if datanode is None else replay_seconds(datanode, status.last_replay)
    budget: timedelta = restart_budget(facts.limits.replay_budget, expected)
    return Restarting(
        name=pod.name,
        uid=pod.uid,
        datanode=None if datanode is None else datanode.id,
        epoch=None if datanode is None else datanode.epoch,
        start_time=facts.now,
        entries=None if datanode is None else datanode.entries,
        bytes=None if datanode is None else datanode.size_bytes,
        expected_seconds=expected,
        budget_seconds=int(budget.total_seconds()),
    )


def _is_partition_of_others(pod: Pod, facts: Facts, cause: Cause) -> bool:
    statefulset = facts.statefulset
    if statefulset is None or statefulset.controller is None or not cause.needs_template:
        return False
    return is_kept_back(statefulset, pod)
