"""Who is next, and all that comes before the journal has it: the first in the order for which the gate is open."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import PodIdentity, RollStage
from seawall.domain.decision import Decision
from seawall.domain.rollout.decision import ActionT, Roll, StatusT, blocked, changed, decided, journaled, meanwhile
from seawall.domain.rollout.gate import Member, MemberT, RolloutGate
from seawall.domain.rollout.refusal import Refusal
from seawall.domain.rollout_reasons import Reason


def begin_next(roll: Roll[StatusT], gate: RolloutGate[StatusT, ActionT, MemberT]) -> Decision[Roll[StatusT], ActionT]:
    """The first member for which the gate is open; if it is refused to all, why it is to the first."""
    status, other = roll.status, roll.entry
    if status.stage in {None, RollStage.COMPLETED}:
        message = f"{len(gate.due(status))} of {len(gate.members)} {gate.noun}s are to be restarted"
        update = {"stage": RollStage.WAITING, "start_time": gate.now, "completion_time": None, "restarted": 0}
        return journaled(other, changed(status, Reason.BEGINS, message, **update))
    if other is not None:
        return journaled(other, _waits(decided(status, Reason.SLOT_TAKEN, _standing(other)), gate))
    chosen = None if status.next is None else status.next.uid
    refusals: dict[str, Refusal] = {}
    for member in gate.order(status, chosen):
        impossible = gate.impossible(status, member)
        if impossible is not None:
            return journaled(None, _waits(impossible, gate))
        found = gate.refusal(status, member, is_chosen=False)
        if found is None:
            return _prepare(_with_next(status, member), member, gate)
        refusals[member.name] = found
    if not refusals:
        message = "Kubernetes makes the pods that are to be restarted"
        return journaled(None, _waits(decided(status, Reason.BEGINS, message), gate))
    first = gate.order(status)[0]
    refused: Decision[StatusT, ActionT] = blocked(
        _with_next(status, first), refusals[first.name], gate.override_problem
    )
    return journaled(None, _waits(refused, gate))


def _standing(other: Disruption) -> str:
    what = f"{other.kind} of {other.name}" if other.name else other.kind
    return f"status.disruption has {what}, and two disruptions cannot stand: whoever wrote it has to finish it"


def _with_next(status: StatusT, member: Member) -> StatusT:
    """Its turn stays its turn as long as the gate lets it: what the order depends on changes all the time."""
    return status.model_copy(update={"next": PodIdentity(name=member.name, uid=member.uid)})


def _waits(
    reported: Decision[StatusT, ActionT], gate: RolloutGate[StatusT, ActionT, MemberT]
) -> Decision[StatusT, ActionT]:
    """Nothing is about to happen."""
    status = reported.status.model_copy(update={"stage": RollStage.WAITING})
    return meanwhile(gate.rest(status), replace(reported, status=status))


def _prepare(
    status: StatusT, member: MemberT, gate: RolloutGate[StatusT, ActionT, MemberT]
) -> Decision[Roll[StatusT], ActionT]:
    first = gate.prepare(status, member)
    if first is not None:
        return journaled(None, first)
    begun, entry = gate.begins(status, member)
    message = f"{member.name} is restarted"
    return journaled(entry, changed(begun, Reason.RESTARTING, message, stage=RollStage.RESTARTING, next=None))
