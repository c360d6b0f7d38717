"""What is decided of a roll: a pure function of its status, of its journal and of what its gate observed.

    in the journal        what is done                                what ends it
    --------------------  ------------------------------------------  --------------------------------------------------
    nothing, none is due  what was prepared is given back             one is due
    nothing, some are     the first for which the gate is open is     the journal has it (begin.py)
                          prepared
    another's disruption  —                                           whoever wrote it has finished it
    the member, its UID   the gate once more, then it goes            that pod is gone or going (finish.py)
    when it went          —                                           it is back; too long: Stalled, until it is back

A tick records or acts, never both; a process may die between any two calls, and the next one ends at the same place.

Laws, each with a test: one member at a time; it is in the journal before it is touched, and is finished before another
one is; the gate is asked in the very tick that acts; causes are looked at anew for each member, so that what changes in
mid-roll is part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.clocks import not_to_come
from seawall.domain.conditions import Verdict
from seawall.domain.decision import Decision, Published
from seawall.domain.rollout.begin import begin_next
from seawall.domain.rollout.decision import ActionT, Roll, StatusT, changed, journaled
from seawall.domain.rollout.finish import finish
from seawall.domain.rollout.gate import MemberT, RolloutGate
from seawall.domain.rollout_reasons import Reason
from seawall.domain.step import Event, EventType

MAX_MESSAGE = 1_024


def decide(roll: Roll[StatusT], gate: RolloutGate[StatusT, ActionT, MemberT]) -> Decision[Roll[StatusT], ActionT]:
    """What one tick decides."""
    status, entry = roll.status, roll.entry
    unknown = gate.unknown(status)
    if unknown is not None:
        return journaled(entry, unknown)
    if entry is not None and entry.kind == gate.kind:
        return finish(status, _in_time(entry, gate.now), gate)
    first = gate.before_next(status)
    if first is not None:
        return journaled(entry, first)
    return begin_next(roll, gate) if gate.due(status) else journaled(entry, _end(status, gate))


def _in_time(entry: Disruption, now: datetime) -> Disruption:
    """No wait is counted from a time that is to come: one of several API servers may have a clock that was ahead."""
    return entry.model_copy(update={"gone_time": not_to_come(entry.gone_time, now)})


def published(
    before: Roll[StatusT], after: Roll[StatusT], verdict: Verdict, warnings: Collection[str]
) -> Published[Roll[StatusT]]:
    """The roll with a sentence, and the event of a reason that a person has to hear of."""
    update = {"reason": verdict.reason, "message": verdict.message[:MAX_MESSAGE]}
    status = after.status.model_copy(update=update)
    now: Roll[StatusT] = Roll(status=status, entry=after.entry)
    if status.reason == before.status.reason or not (status.reason in warnings or status.reason == Reason.COMPLETED):
        return Published(now)
    kind = EventType.WARNING if status.reason in warnings else EventType.NORMAL
    return Published(now, (Event(kind, status.reason, status.message),))


def _end(status: StatusT, gate: RolloutGate[StatusT, ActionT, MemberT]) -> Decision[StatusT, ActionT]:
    first = gate.ends(status)
    if first is not None:
        return first
    done = {} if status.request is None else {"done_request": status.request.value, "request": None}
    if status.stage in {None, RollStage.COMPLETED}:
        reason, message = gate.nothing_to_do(status)
        return changed(status, reason, message, **done)
    update = {"stage": RollStage.COMPLETED, "completion_time": gate.now, "next": None}
    message = f"restarted {status.restarted} {gate.noun}s"
    return changed(gate.completed(status), Reason.COMPLETED, message, **update, **done)
