"""Who is next, and all that comes before the pod is written into the status: gate, flushes, maintenance.

A datanode that is down costs nothing to restart, and all others wait for it. Of those that serve, the one with the
least to read is back first, and what it shows of the replay's speed makes the estimate of the others better. What is
not known comes last. Names decide between equals, so that two operators choose the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from seawall.api.v1alpha1.rollout import (
    AskedFlush,
    FlushBefore,
    Flushed,
    PodIdentity,
    Restarting,
    RestartStatus,
    RollStage,
)
from seawall.domain.rollout.actions import FlushRegions
from seawall.domain.rollout.checks import Candidate, Refusal, against, refusal
from seawall.domain.rollout.decision import RollDecision, blocked, changed, decided, meanwhile
from seawall.domain.rollout.facts import Datanode, Facts
from seawall.domain.rollout.maintenance import enter, give_back, kept_until
from seawall.domain.rollout.replay import replay_seconds, restart_budget
from seawall.domain.rollout.requests import Cause, is_kept_back
from seawall.domain.rollout.workload import Pod
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.times import MAINTENANCE_LEASE, ROLLOUT_AGAIN, ROLLOUT_TIMEOUT


def in_order(due: Mapping[str, Cause], facts: Facts, first_uid: str | None = None) -> tuple[Pod, ...]:
    """The due pods that are there, the next one first.

    A partition is lowered one by one from the highest ordinal, and Kubernetes then replaces that pod itself: of the
    pods that it keeps back, and that need the newest template, only the highest of its StatefulSet can be next.

    Args:
        due: by the name of the pod why it is due.
        facts: what is known.
        first_uid: the pod whose turn it is already; it comes first of those that serve.
    """
    kept = {
        each.key.name: [pod for pod in facts.pods_of(each) if is_kept_back(each, pod)] for each in facts.statefulsets
    }
    highest = {max(found, key=lambda pod: pod.ordinal).name for found in kept.values() if found}
    bound = {pod.name for found in kept.values() for pod in found} - highest
    pods = [pod for name in due if (pod := facts.pod(name)) is not None]
    free = [pod for pod in pods if pod.name not in bound or not due[pod.name].needs_template]
    return tuple(sorted(free, key=lambda pod: _rank(pod, facts, first_uid)))


def _rank(pod: Pod, facts: Facts, first_uid: str | None) -> tuple[bool, bool, bool, int, str]:
    datanode = facts.datanodes.get(pod.name)
    entries = None if datanode is None else datanode.entries
    return (facts.serves(pod), pod.uid != first_uid, entries is None, entries or 0, pod.name)


MAX_REGIONS = 1_000

MAX_PODS = 1_000


def is_flushed(status: RestartStatus, pod: Pod, facts: Facts) -> bool:
    """Whether its regions were asked, and did or had the time to, not too long ago."""
    return pod.uid in {each.uid for each in _recent(status, facts)}


def flush(status: RestartStatus, pod: Pod, facts: Facts) -> RollDecision | None:
    """The next thing to do; None: nothing is to be flushed, or it was."""
    datanode, asked = facts.datanodes.get(pod.name), status.flush
    if datanode is None or is_flushed(status, pod, facts):
        return None
    message = f"regions of {pod.name} flush before its restart"
    if asked is None or asked.uid != pod.uid:
        regions = _candidates(datanode) if _is_wanted(status, pod, facts) else ()
        if not regions:
            return None
        found = FlushBefore(uid=pod.uid, start_time=facts.now, regions=regions)
        return changed(status, Reason.FLUSHING, message, stage=RollStage.FLUSHING, flush=found)
    waited_for = _waited_for(asked, datanode)
    if not waited_for or facts.now >= asked.start_time + ROLLOUT_TIMEOUT:
        flushed = (*_recent(status, facts), Flushed(uid=pod.uid, time=facts.now))[-MAX_PODS:]
        return changed(status, Reason.FLUSHING, message, flush=None, flushed=flushed)
    return decided(status, Reason.FLUSHING, message, (FlushRegions(waited_for),))


def _recent(status: RestartStatus, facts: Facts) -> tuple[Flushed, ...]:
    return tuple(each for each in status.flushed if facts.now < each.time + ROLLOUT_AGAIN)


def _is_wanted(status: RestartStatus, pod: Pod, facts: Facts) -> bool:
    if facts.limits.flush_first:
        return True
    found = against(Candidate(pod.name, facts, status.last_replay))
    return Blocker.REPLAY_TOO_LONG in {each.reason for each in found}


def _candidates(datanode: Datanode) -> tuple[AskedFlush, ...]:
    """Those with rows in memory; who would replay most comes first."""
    found = [region for region in datanode.regions if region.in_memory and region.leads]
    found.sort(key=lambda region: (-(region.entries or 0), region.region))
    return tuple(
        AskedFlush(region_id=str(region.region), flushed_to=region.flushed_to) for region in found[:MAX_REGIONS]
    )


def _waited_for(asked: FlushBefore, datanode: Datanode) -> tuple[int, ...]:
    """Those that have rows in memory and whose flushed id has not moved; one that is gone is out."""
    before = {int(each.region_id): each.flushed_to for each in asked.regions}
    return tuple(
        region.region
        for region in datanode.regions
        if region.region in before and region.in_memory and region.flushed_to == before[region.region]
    )


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
    statefulset = facts.set_of(pod.name)
    if statefulset is None or not statefulset.drives_itself or not cause.needs_template:
        return False
    return is_kept_back(statefulset, pod)
