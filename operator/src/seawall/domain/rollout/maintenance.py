"""Maintenance: while a datanode restarts, nobody may take it for dead and move its regions.

It is one switch for all who use it, without an owner. So the roll writes into its status that it wants it before it
turns it on, and whether it was on before: then it is somebody else's, and stays on. It is given back in every end:
when the roll is over, when the gate is shut, when a restart takes too long (failover may then help), and when the time
that is in the status is over. The status forgets it only when it was seen off, and a request to turn it on that was on
its way has had the time to arrive.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seawall.api.v1alpha1.restart import Maintenance, RestartStatus, RollStage
from seawall.domain.rollout.actions import SetMaintenance
from seawall.domain.rollout.decision import Decision, changed
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.reasons import Reason

SETTLES = timedelta(seconds=10)
"""All of GreptimeDB knows of it after this: its metasrv reads the switch through a cache of 10 s."""

LEASE = timedelta(minutes=5)
"""Until the pod goes; then it is the restart's budget that counts."""

ON_ITS_WAY = timedelta(seconds=15)
"""Longer than the deadline of a request."""


def enter(status: RestartStatus, facts: Facts, stage: RollStage) -> Decision | None:
    """The next thing to do to be in maintenance; None: the database has been in it for long enough."""
    lease, is_on = status.maintenance, facts.in_maintenance
    if lease is not None and (lease.leaving_time is not None or facts.now >= lease.expiry_time):
        return give_back(status, facts)
    if is_on is None:
        return Decision(status, Reason.ENTERING_MAINTENANCE, "the database does not say whether it is in maintenance")
    if lease is None:
        taken = Maintenance(taken_time=facts.now, expiry_time=facts.now + LEASE, was_on=is_on)
        return _enters(status, stage=stage, maintenance=taken)
    return _settle(status, lease, facts) if is_on else _turn_on(status, lease)


def _settle(status: RestartStatus, lease: Maintenance, facts: Facts) -> Decision | None:
    if lease.seen_time is None:
        return _enters(status, maintenance=lease.model_copy(update={"seen_time": facts.now}))
    return _enters(status) if facts.now < lease.seen_time + SETTLES else None


def _turn_on(status: RestartStatus, lease: Maintenance) -> Decision:
    """Whoever had turned it on before turned it off meanwhile: from now on it is ours."""
    if lease.was_on or lease.seen_time is not None:
        return _enters(status, maintenance=lease.model_copy(update={"was_on": False, "seen_time": None}))
    return replace(_enters(status), actions=(SetMaintenance(enabled=True),))


def give_back(status: RestartStatus, facts: Facts) -> Decision | None:
    """The next thing to do to be out of it; None: it is given back."""
    lease, is_on = status.maintenance, facts.in_maintenance
    if lease is None:
        return None
    if lease.was_on:
        return _leaves(status, maintenance=None)
    if lease.leaving_time is None:
        return _leaves(status, maintenance=lease.model_copy(update={"leaving_time": facts.now}))
    if is_on:
        return replace(_leaves(status), actions=(SetMaintenance(enabled=False),))
    if is_on is None or facts.now < lease.leaving_time + ON_ITS_WAY:
        return _leaves(status)
    return _leaves(status, maintenance=None)


def kept_until(status: RestartStatus, facts: Facts, time: timedelta) -> Maintenance | None:
    """The lease with this much time from now on."""
    lease = status.maintenance
    return None if lease is None else lease.model_copy(update={"expiry_time": facts.now + time})


def _enters(status: RestartStatus, **update: object) -> Decision:
    return changed(status, Reason.ENTERING_MAINTENANCE, "the database enters maintenance", **update)


def _leaves(status: RestartStatus, **update: object) -> Decision:
    return changed(status, Reason.LEAVING_MAINTENANCE, "the database leaves maintenance", **update)
