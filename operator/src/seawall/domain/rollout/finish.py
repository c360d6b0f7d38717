"""The one member in the journal: it is finished before anything else, by whoever comes next.

    the old pod is there   the gate once more, then it goes
    it is gone, or going   the new one has to be back, by its own word
    it was declared anew   the gate may let that one go, too: an edit mends what an edit broke
    it waits for others    those that do not run, as Kafka nodes may by a person's word, are mended beside it
    it goes again          by an edit, or by somebody: from then on it is waited for the next one
    that takes too long    Stalled: what was prepared is given back, no other is touched; it goes on when it is back
    it is none any more    the gate says whether that is for good, and it is over

The entry is never taken back, even when nobody wants the restart any more: an operator that slept may still delete that
pod, and if another one were restarted meanwhile, two members would be down. It ends without the member where that is
gone for good: a UID that is gone cannot be deleted.
"""

from __future__ import annotations

from datetime import timedelta

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.decision import Decision
from seawall.domain.rollout.decision import ActionT, Roll, StatusT, blocked, changed, decided, journaled, meanwhile
from seawall.domain.rollout.gate import MemberT, RolloutGate
from seawall.domain.rollout.workload import is_stuck
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import ROLLOUT_FORBIDDEN_SECONDS


def finish(
    status: StatusT, entry: Disruption, gate: RolloutGate[StatusT, ActionT, MemberT]
) -> Decision[Roll[StatusT], ActionT]:
    """The next thing to do for the member that is restarted."""
    member = _member(entry, gate)
    left_out = gate.left_out(status, entry) if member is None else None
    if left_out is not None:
        return left_out
    if member is not None and member.uid == entry.uid:
        entry = gate.noted(entry, member)
    if entry.gone_time is not None:
        return _returns(status, entry, member, gate)
    if member is None or member.uid != entry.uid or member.gone_by is not None:
        return _goes(status, entry, gate)
    return journaled(entry, gate.before_act(status) or _act(status, member, gate))


def restarts(status: StatusT, name: str, action: ActionT, forbidden: str | None) -> Decision[StatusT, ActionT]:
    """The act; `forbidden`: what a PodDisruptionBudget answered to it in this tick."""
    if forbidden is not None:
        message = f"a PodDisruptionBudget forbids to restart {name}: {forbidden}"
        return decided(status, Reason.DISRUPTION_BUDGET, message, (action,), ROLLOUT_FORBIDDEN_SECONDS)
    return decided(status, Reason.RESTARTING, f"{name} is restarted", (action,))


def _member(entry: Disruption, gate: RolloutGate[StatusT, ActionT, MemberT]) -> MemberT | None:
    return next((member for member in gate.members if member.name == entry.name), None)


def _act(status: StatusT, member: MemberT, gate: RolloutGate[StatusT, ActionT, MemberT]) -> Decision[StatusT, ActionT]:
    found = gate.refusal(status, member, is_chosen=True)
    if found is not None:
        return meanwhile(gate.rest(status), blocked(status, found, gate.override_problem))
    return gate.act(status, member)


def _goes(
    status: StatusT, entry: Disruption, gate: RolloutGate[StatusT, ActionT, MemberT], again: MemberT | None = None
) -> Decision[Roll[StatusT], ActionT]:
    found = gate.measured_anew(status, entry)
    if again is not None:
        found = gate.noted(found, again).model_copy(update={"uid": again.uid})
    return journaled(found.model_copy(update={"gone_time": gate.now}), gate.gone(status, found))


def _returns(
    status: StatusT, entry: Disruption, member: MemberT | None, gate: RolloutGate[StatusT, ActionT, MemberT]
) -> Decision[Roll[StatusT], ActionT]:
    gone_time = entry.gone_time or gate.now
    if member is not None and gate.is_back(entry, member):
        elapsed = int((gate.now - gone_time).total_seconds())
        update = {"stage": RollStage.WAITING, "restarted": status.restarted + 1}
        message = f"{entry.name} serves again after {elapsed} s"
        return journaled(None, changed(gate.is_done(status, entry, member), Reason.BEGINS, message, **update))
    if member is not None and gate.goes_again(entry, member):
        return _goes(status, entry, gate, again=member)
    mended = None if member is None else gate.mends(status, entry, member)
    if mended is not None:
        return journaled(entry, mended)
    overrun = gate.now >= gone_time + timedelta(seconds=entry.budget_seconds)
    stuck = member is not None and is_stuck(member.gone_by, gate.now)
    if status.stage is not RollStage.STALLED and (overrun or stuck):
        stalled = status.model_copy(update={"stage": RollStage.STALLED})
        return journaled(entry, _stalled(stalled, entry, gate, stuck=stuck))
    if status.stage is RollStage.STALLED:
        return journaled(entry, meanwhile(gate.rest(status), _stalled(status, entry, gate, stuck=stuck)))
    return journaled(entry, gate.returning(status, entry))


def _stalled(
    status: StatusT, entry: Disruption, gate: RolloutGate[StatusT, ActionT, MemberT], *, stuck: bool
) -> Decision[StatusT, ActionT]:
    if stuck:
        message = f"the old pod {entry.name} does not go: is its node there?"
        return decided(status, Reason.STUCK_TERMINATING, message)
    late = f"{entry.name} does not serve after {entry.budget_seconds} s, and no other {gate.noun} is restarted."
    return decided(status, Reason.BUDGET_EXCEEDED, f"{late} {gate.diagnosis(status, entry)}".strip())
