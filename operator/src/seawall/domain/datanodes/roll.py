"""What is decided of a roll of datanodes: pure, by `status.restart`, `status.disruption` and what was observed.

    stage        what is in the status         what is done in the world        what ends it
    -----------  ----------------------------  -------------------------------  ---------------------------------------
    (none)       —                             —                                a datanode is due (requests.py)
    Waiting      the request                   —                                the gate is open for one (checks.py)
    Flushing     who was asked                 regions flush                    they did, or two minutes: but rows that
                                                                                no log has are waited for
    Maintenance  that it is wanted             the database enters maintenance  it has been in it for ten seconds
    Restarting   the pod and its UID           the pod is evicted, or the       that pod is gone or going
                                               partition is lowered to it
                 who was asked                 regions flush once more          they did, or two minutes
                 that a budget forbids it      maintenance ends                 it was forbidden for a while (budget.py)
    Replaying    when the old pod went         —                                Ready, and all regions lead: Waiting
                                                                                for the next; too long: Stalled
    Stalled      the pod and its UID           maintenance ends                 it serves after all, or is none any more
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

from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.datanodes.actions import RolloutAction
from seawall.domain.datanodes.decision import DatanodeRoll, Observed, RollDecision
from seawall.domain.datanodes.gate import DatanodeGate
from seawall.domain.datanodes.in_time import in_time
from seawall.domain.datanodes.maintenance import give_back, with_address
from seawall.domain.datanodes.published import with_costs, with_progress
from seawall.domain.decision import FAILURES, Decision
from seawall.domain.rollout import machine
from seawall.domain.rollout.decision import Roll, decided
from seawall.domain.rollout.requests import taken_up
from seawall.domain.rollout_reasons import Blocker, Reason

WARNINGS = frozenset(
    {
        *(reason.value for reason in Blocker),
        Reason.NO_STATEFUL_SET,
        Reason.RESTARTED_BY_OTHERS,
        Reason.PARTITION_NOT_OURS,
        Reason.TEMPLATE_NOT_OURS,
        Reason.UNLOGGED_NOT_FLUSHED,
        Reason.DISRUPTION_BUDGET,
        Reason.SLOT_TAKEN,
        Reason.BUDGET_EXCEEDED,
        Reason.NOT_NAMED,
        Reason.LEFT_OUT,
        Reason.STUCK_TERMINATING,
        *FAILURES,
        Reason.METASRV_EDITED,
        Reason.GIVEN_UP,
    }
)
"""Reasons whose beginning is an event, because a person may have to do something."""


def decide(roll: DatanodeRoll, observed: Observed) -> Decision[DatanodeRoll, RolloutAction]:
    """What one tick decides."""
    gate = DatanodeGate(observed.facts, observed.forbidden)
    found = machine.decide(Roll(status=_taken_up(roll, gate), entry=roll.entry), gate)
    return replace(found, publish=partial(machine.published, roll, found.status, warnings=WARNINGS))


def leave(status: RestartStatus, observed: Observed) -> RollDecision:
    """Restarts are nobody's business any more: the next thing to do to give maintenance back."""
    over: RollDecision = decided(status, Reason.LEAVING_MAINTENANCE, "the database has left maintenance", after=None)
    facts = observed.facts
    return give_back(in_time(with_address(status, facts), None, facts.now), facts) or over


def _taken_up(roll: DatanodeRoll, gate: DatanodeGate) -> RestartStatus:
    """With what people ask for, what the first configuration was, what restarts would cost, and how far one is."""
    status, entry, facts = roll.status, roll.entry, gate.facts
    first = status.config_hash
    if first is None and facts.statefulsets:
        first = facts.statefulsets[0].template.config_hash or facts.config_hash
    request = taken_up(status, facts.request, facts.pods)
    asked = status.requested_config_hash if request == status.request else facts.config_hash
    update = {
        "request": request,
        "config_hash": first,
        "requested_config_hash": None if request is None else asked,
    }
    found = in_time(with_address(status, facts), entry, facts.now).model_copy(update=update)
    found = with_costs(found, facts, gate.due(found))
    return found if entry is None or not facts.statefulsets else with_progress(found, entry, facts)
