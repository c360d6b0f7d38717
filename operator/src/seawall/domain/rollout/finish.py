"""The one pod in the status: it is finished before anything else, by whoever comes next.

    the spec was edited      the database of before leaves maintenance first, while the old pod is there
    the old pod is there     the gate once more, then it goes: evicted, or the partition is lowered to it
    it is gone, or going     the new one has to be Ready, and to lead all its regions by reports of a later epoch
    that takes too long      Stalled: maintenance is given back, no other pod is touched, and it goes on when it serves

The entry is never taken back, even when nobody wants the restart any more: an operator that slept may still delete that
pod, and if another one were restarted meanwhile, two datanodes would be down.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from seawall.api.v1alpha1.rollout import Restarting, RestartStatus, RollStage
from seawall.domain.rollout.actions import Evict, RolloutAction, SetPartition
from seawall.domain.rollout.checks import Candidate, let_through, refusal
from seawall.domain.rollout.decision import Observed, RollDecision, blocked, changed, decided, meanwhile
from seawall.domain.rollout.diagnosis import diagnose
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.maintenance import enter, give_back, is_elsewhere, kept_until, leave_first
from seawall.domain.rollout.published import with_progress
from seawall.domain.rollout.replay import measure
from seawall.domain.rollout.requests import Cause, is_kept_back
from seawall.domain.rollout.workload import Pod
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.times import MAINTENANCE_LEASE, ROLLOUT_FORBIDDEN_SECONDS, ROLLOUT_STUCK


def finish(status: RestartStatus, entry: Restarting, observed: Observed, due: Mapping[str, Cause]) -> RollDecision:
    """The next thing to do for the pod that is restarted."""
    facts, pod = observed.facts, observed.facts.pod(entry.name)
    if entry.gone_time is not None:
        return _replays(with_progress(status, entry, facts), entry, facts)
    if pod is None or pod.uid != entry.uid or pod.is_terminating:
        gone = entry.model_copy(update={"gone_time": facts.now})
        lease = kept_until(status, facts, timedelta(seconds=entry.budget_seconds))
        update = {"stage": RollStage.REPLAYING, "restarting": gone, "maintenance": lease, "flush": None}
        return changed(status, Reason.REPLAYING, f"{entry.name} is gone, and comes back", **update)
    leaves = leave_first(status, facts)
    if leaves is not None:
        return leaves
    found = refusal(Candidate(pod.name, facts, status.last_replay), but=frozenset({Blocker.REPLAY_TOO_LONG}))
    if found is not None:
        return meanwhile(give_back(status, facts), blocked(status, found, facts))
    enters = enter(status, facts, RollStage.RESTARTING)
    return enters or _restart(status, pod, observed, due.get(pod.name))


def _restart(status: RestartStatus, pod: Pod, observed: Observed, cause: Cause | None) -> RollDecision:
    facts, statefulset = observed.facts, observed.facts.set_of(pod.name)
    if statefulset is not None and not statefulset.observed:  # it would come back as the old template says
        return decided(status, Reason.RESTARTING, "Kubernetes has not looked at the StatefulSet's newest spec yet")
    if statefulset is not None and cause is not None and cause.needs_template and is_kept_back(statefulset, pod):
        if not status.drives_partition:
            message = f"the partition is lowered to {pod.name}"
            return changed(status, Reason.RESTARTING, message, drives_partition=True)
        action: RolloutAction = SetPartition(statefulset, pod.ordinal)
    else:
        passed = let_through(Candidate(pod.name, facts, status.last_replay))
        action = Evict(pod, _by_whom(facts, passed.message) if passed is not None else "")
    if observed.forbidden is not None:
        message = f"a PodDisruptionBudget forbids to restart {pod.name}: {observed.forbidden}"
        return decided(status, Reason.DISRUPTION_BUDGET, message, (action,), ROLLOUT_FORBIDDEN_SECONDS)
    return decided(status, Reason.RESTARTING, f"{pod.name} is restarted", (action,))


def _by_whom(facts: Facts, message: str) -> str:
    why = "" if facts.override is None else f", let through {facts.override.until_and_why}"
    return f"{message}{why}"


def _replays(status: RestartStatus, entry: Restarting, facts: Facts) -> RollDecision:
    pod, gone_time = facts.pod(entry.name), entry.gone_time or facts.now
    if pod is not None and _is_back(pod, entry, facts):
        return _is_done(status, entry, pod, facts)
    overrun = facts.now >= gone_time + timedelta(seconds=entry.budget_seconds)
    stuck = pod is not None and pod.gone_by is not None and facts.now >= pod.gone_by + ROLLOUT_STUCK
    if status.stage is not RollStage.STALLED and (overrun or stuck):
        return _stalled(status.model_copy(update={"stage": RollStage.STALLED}), entry, facts, stuck=stuck)
    if status.stage is RollStage.STALLED:
        reported = _stalled(status, entry, facts, stuck=stuck)
        return meanwhile(give_back(status, facts), reported)
    reported = decided(status, Reason.REPLAYING, _how_far(status, entry, facts))
    lease = status.maintenance
    is_over = lease is not None and (lease.leaving_time is not None or facts.now >= lease.expiry_time)
    return meanwhile(give_back(status, facts), reported) if is_over or is_elsewhere(status, facts) else reported


def _is_back(pod: Pod, entry: Restarting, facts: Facts) -> bool:
    """Only what the new process reports counts: what the old one said stays the newest report for a while."""
    datanode = facts.datanodes.get(pod.name)
    if pod.uid == entry.uid or datanode is None or not facts.serves(pod):
        return False
    return entry.epoch is None or (datanode.epoch is not None and datanode.epoch > entry.epoch)


def _is_done(status: RestartStatus, entry: Restarting, pod: Pod, facts: Facts) -> RollDecision:
    update: dict[str, object] = {
        "stage": RollStage.WAITING,
        "restarting": None,
        "progress": None,
        "restarted": status.restarted + 1,
        "maintenance": kept_until(status, facts, MAINTENANCE_LEASE),
    }
    elapsed = facts.now - (entry.gone_time or facts.now)
    measured = None if pod.restarts else measure(entry, elapsed)  # a crash in between is no measure
    if measured is not None:
        update["last_replay"] = measured
    message = f"{entry.name} serves again after {int(elapsed.total_seconds())} s"
    return changed(status, Reason.BEGINS, message, **update)


def _stalled(status: RestartStatus, entry: Restarting, facts: Facts, *, stuck: bool) -> RollDecision:
    if stuck:
        message = f"the old pod {entry.name} does not go: is its node there?"
        return decided(status, Reason.STUCK_TERMINATING, message)
    ails = next((found.message for found in diagnose(facts, status.last_replay) if found.pod == entry.name), "")
    message = f"{entry.name} does not serve after {entry.budget_seconds} s, and no other datanode is restarted. {ails}"
    return decided(status, Reason.BUDGET_EXCEEDED, message.strip())


def _how_far(status: RestartStatus, entry: Restarting, facts: Facts) -> str:
    pod, reported = facts.pod(entry.name), status.progress
    if pod is None or pod.uid == entry.uid:
        return f"the old pod {entry.name} ends"
    if reported is None or not reported.total:
        return f"{entry.name} replays"
    return f"{entry.name} replays: {reported.done} of {reported.total} entries"
