"""What is decided of a roll: a pure function of `status.restart` and of what was observed.

    stage        what is in the status         what is done in the world        what ends it
    -----------  ----------------------------  -------------------------------  ---------------------------------------
    (none)       —                             —                                a datanode is due (requests.py)
    Waiting      the request                   —                                the gate is open for one (checks.py)
    Flushing     who was asked                 regions flush                    they did, or two minutes
    Maintenance  that it is wanted             the database enters maintenance  it has been in it for ten seconds
    Restarting   the pod and its UID           the pod is evicted, or the       that pod is gone or going
                                               partition is lowered to it
    Replaying    when the old pod went         —                                Ready, and all regions lead: Waiting
                                                                                for the next; too long: Stalled
    Stalled      the pod and its UID           maintenance ends                 it serves after all
    Completed    what was done                 partition back, maintenance      a datanode is due
                                               ends

A tick records or acts, never both; a process may die between any two calls, and the next one ends at the same place.

Laws, each with a test: one pod at a time; it is in the status before it is touched, and is finished before another one
is; the gate is asked in the very tick that deletes; maintenance is wanted in the status before it is turned on, and is
given back in every end, where it was turned on; the configuration and requests are looked at anew for each pod, so that
what changes in mid-roll is part of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from seawall.api.v1alpha1.rollout import PodIdentity, RestartRequest, RestartStatus, RollStage
from seawall.domain.conditions import Verdict
from seawall.domain.decision import FAILURES, Published
from seawall.domain.rollout.actions import SetConfigHash, SetPartition
from seawall.domain.rollout.begin import begin_next
from seawall.domain.rollout.decision import Observed, RollDecision, changed, decided, meanwhile
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.finish import finish
from seawall.domain.rollout.maintenance import give_back, leave_first, with_address
from seawall.domain.rollout.published import with_costs
from seawall.domain.rollout.requests import Cause, due_pods, outdated_beyond_partition
from seawall.domain.rollout.workload import StatefulSet, UpdateStrategy
from seawall.domain.rollout_reasons import Blocker, Reason
from seawall.domain.step import Event, EventType

MAX_PODS = 1_000

MAX_VALUE = 253
"""Characters of the annotation that count."""

MAX_MESSAGE = 1_024

WARNINGS = frozenset(
    {
        *(reason.value for reason in Blocker),
        Reason.NO_STATEFUL_SET,
        Reason.RESTARTED_BY_OTHERS,
        Reason.PARTITION_NOT_OURS,
        Reason.TEMPLATE_NOT_OURS,
        Reason.DISRUPTION_BUDGET,
        Reason.BUDGET_EXCEEDED,
        Reason.STUCK_TERMINATING,
        *FAILURES,
        Reason.METASRV_EDITED,
        Reason.GIVEN_UP,
    }
)
"""Reasons whose beginning is an event, because a person may have to do something."""


def decide(status: RestartStatus, observed: Observed) -> RollDecision:
    """What one tick decides."""
    return _publishing(status, _decide(_taken_up(status, observed.facts), observed))


def leave(status: RestartStatus, observed: Observed) -> RollDecision:
    """Restarts are nobody's business any more: the next thing to do to give maintenance back."""
    over = decided(status, Reason.LEAVING_MAINTENANCE, "the database has left maintenance", after=None)
    return _publishing(status, give_back(with_address(status, observed.facts), observed.facts) or over)


def _publishing(before: RestartStatus, decision: RollDecision) -> RollDecision:
    return replace(decision, publish=partial(published, before, decision.status))


def published(before: RestartStatus, status: RestartStatus, verdict: Verdict) -> Published[RestartStatus]:
    """The status with a sentence, and the event of a reason that a person has to hear of."""
    update = {"reason": verdict.reason, "message": verdict.message[:MAX_MESSAGE]}
    now = status.model_copy(update=update)
    if now.reason == before.reason or not (now.reason in WARNINGS or now.reason == Reason.COMPLETED):
        return Published(now)
    kind = EventType.WARNING if now.reason in WARNINGS else EventType.NORMAL
    return Published(now, (Event(kind, now.reason, now.message),))


def _decide(status: RestartStatus, observed: Observed) -> RollDecision:
    facts = observed.facts
    if not facts.statefulsets:
        missing = "there is no such StatefulSet: correct dataPlane.datanodes.statefulSetRef, or create it"
        message = facts.statefulset_problem or missing
        return meanwhile(give_back(status, facts), decided(status, Reason.NO_STATEFUL_SET, message))
    due = _due(status, facts)
    if status.restarting is not None:
        return finish(status, status.restarting, observed, due)
    leaves = leave_first(status, facts)
    if leaves is not None:
        return leaves
    blocked = _blocked(status, facts)
    if blocked is not None:
        return blocked
    for each in facts.statefulsets:
        if _has_new_config(status, each, facts) and each.controller is None and not facts.is_paused:
            return _with_new_hash(status, each, facts.config_hash or "")
    return begin_next(status, facts, due) if due else _is_over(status, facts)


def _due(status: RestartStatus, facts: Facts) -> dict[str, Cause]:
    requested = {} if status.request is None else {pod.name: pod.uid for pod in status.request.pods}
    return due_pods(facts.statefulsets, facts.pods, requested, on_config_change=facts.limits.on_config_change)


def _blocked(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """What keeps anything new from being begun; a gate that is open although it is declared shut is shut at once."""
    if not all(each.observed for each in facts.statefulsets):
        message = "Kubernetes has not looked at the StatefulSet's newest spec yet"
        return meanwhile(give_back(status, facts), decided(status, Reason.BEGINS, message))
    for each in facts.statefulsets:
        outdated = outdated_beyond_partition(each, facts.pods_of(each))
        if not outdated:
            continue
        message = f"Kubernetes restarts {', '.join(outdated[:3])} by itself: no partition keeps them"
        found = decided(status, Reason.RESTARTED_BY_OTHERS, message)
        if each.is_gated and not facts.is_paused:
            return replace(found, actions=(SetPartition(each, each.parked),))
        return meanwhile(give_back(status, facts), found)
    return None


def _has_new_config(status: RestartStatus, statefulset: StatefulSet, facts: Facts) -> bool:
    """Whether new pods would have another configuration than the template says; the first one seen is no change."""
    known = statefulset.template.config_hash or status.config_hash
    return facts.limits.on_config_change and facts.config_hash not in {None, known}


def _taken_up(status: RestartStatus, facts: Facts) -> RestartStatus:
    """With what people ask for, what the first configuration was, and what restarts would cost."""
    request, asked = status.request, (facts.request or "")[:MAX_VALUE]
    if not asked:
        request = None
    elif asked != status.done_request and (request is None or request.value != asked):
        pods = tuple(PodIdentity(name=pod.name, uid=pod.uid) for pod in facts.pods)
        request = RestartRequest(value=asked, pods=pods[:MAX_PODS]) if pods else None
    first = status.config_hash
    if first is None and facts.statefulsets:
        first = facts.statefulsets[0].template.config_hash or facts.config_hash
    found = with_address(status, facts).model_copy(update={"request": request, "config_hash": first})
    return with_costs(found, facts, _due(found, facts))


def _with_new_hash(status: RestartStatus, statefulset: StatefulSet, config_hash: str) -> RollDecision:
    """A partition that this write sets is driven from then on, or nobody would ever lower or raise it."""
    message = f"the [wal] configuration is {config_hash} now"
    if statefulset.strategy is UpdateStrategy.ROLLING_UPDATE and not status.drives_partition:
        return changed(status, Reason.BEGINS, message, drives_partition=True)
    return decided(status, Reason.BEGINS, message, (SetConfigHash(statefulset, config_hash),))


def _is_over(status: RestartStatus, facts: Facts) -> RollDecision:
    first = give_back(status, facts) or _park(status, facts)
    if first is not None:
        return first
    done = {} if status.request is None else {"done_request": status.request.value, "request": None}
    if status.stage in {None, RollStage.COMPLETED}:
        reason, message = _nothing_to_do(status, facts)
        return changed(status, reason, message, **done)
    update = {"stage": RollStage.COMPLETED, "completion_time": facts.now, "next": None}
    message = f"restarted {status.restarted} datanodes"
    is_everywhere = all(each.template.config_hash == facts.config_hash for each in facts.statefulsets)
    is_rolled_out = status.request is not None or is_everywhere
    known = facts.config_hash if is_rolled_out else status.config_hash
    return changed(status, Reason.COMPLETED, message, **update, **done, flush=None, flushed=(), config_hash=known)


def _nothing_to_do(status: RestartStatus, facts: Facts) -> tuple[Reason, str]:
    owned = [each for each in facts.statefulsets if each.controller is not None]
    if owned and _has_new_config(status, owned[0], facts):
        message = f"the [wal] configuration changed, and {owned[0].controller} owns the StatefulSet"
        return Reason.TEMPLATE_NOT_OURS, f"{message}: set seawall.dev/restart to roll it out"
    if facts.request and facts.request[:MAX_VALUE] == status.done_request:
        return (
            Reason.NOTHING_TO_DO,
            f"no datanode is to be restarted: seawall.dev/restart: {status.done_request} is done",
        )
    return Reason.NOTHING_TO_DO, "no datanode is to be restarted"


def _park(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """Partitions keep all pods again, one StatefulSet after another; None: they do."""
    message = "the partition keeps all pods again"
    opened = next((each for each in facts.statefulsets if _is_opened(status, each)), None)
    if opened is not None:
        return decided(status, Reason.PARKING, message, (SetPartition(opened, opened.parked),))
    return changed(status, Reason.PARKING, message, drives_partition=False) if status.drives_partition else None


def _is_opened(status: RestartStatus, statefulset: StatefulSet) -> bool:
    """What Seawall lowered; and what a GreptimeDBCluster declares to be shut, by whomever it was opened."""
    is_ours = statefulset.is_gated or (status.drives_partition and not statefulset.drives_itself)
    is_rolling = statefulset.strategy is UpdateStrategy.ROLLING_UPDATE
    return is_ours and is_rolling and statefulset.partition < statefulset.parked
