"""What a WALPurge's controller decides: a pure function of the run and of what was observed.

    being deleted, over → spec, WALCluster, data plane → not paused, its turn → the ledger can be looked at
    → the deadline → the stage: the status tells the truth → actions → nothing to do

A tick records or acts, never both; a process may die between any two calls, and the next one ends at the same place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.purge import Stage, WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.domain.conditions import Outlook, Verdict, transition_events
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.frozen_targets import TargetsLost
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.purge.reasons import Reason
from seawall.domain.purge.stages import Case, PurgeDecision, begin, communicate, freeze, prepare, purge, verify
from seawall.domain.purge.state import Observed, RunState
from seawall.domain.purge.status import with_conditions
from seawall.domain.purge.waits import Times, in_time, why_waiting
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed
from seawall.domain.times import PURGE_RETRY_SECONDS
from seawall.domain.unreadable_spec import wait_or_end


def decide(run: WALPurge, observed: Observed) -> PurgeDecision:
    """What one tick decides."""
    if run.metadata.deletion_timestamp is not None:
        return silent(run, "the run is being deleted")
    if run.status.is_finished:
        return silent(run, "the run is over")
    decision = _decide(in_time(run, observed.now), observed)

    def publish(verdict: Verdict) -> Published[WALPurgeStatus]:
        status = with_conditions(run, decision.status, verdict, observed.now)
        declared = _declared(run.status, status, observed)
        return Published(status, (*declared, *transition_events(run.status.conditions, status.conditions)))

    return replace(decision, publish=publish)


def _declared(before: WALPurgeStatus, after: WALPurgeStatus, observed: Observed) -> tuple[Event, ...]:
    """Tells once, when the targets are recorded, of topics that go because of what a person declared."""
    if observed.written is None or before.frozen is not None or after.frozen is None:
        return ()
    new = observed.written.targets
    unused = {name: target.declared for name, target in new.items() if target.declared is not None}
    dead = {name: target.dead for name, target in new.items() if target.dead is not None}
    events: list[Event] = []
    if unused:
        message = f"No region writes to {listed(sorted(unused))}: {next(iter(unused.values()))}"
        events.append(Event(EventType.NORMAL, EventReason.DECLARED_UNUSED, message))
    if dead:
        message = f"Not every region of {listed(sorted(dead))} counts: {dead[min(dead)]}"
        events.append(Event(EventType.WARNING, EventReason.DECLARED_DEAD, message))
    return tuple(events)


def _decide(run: WALPurge, observed: Observed) -> PurgeDecision:
    spec = run.spec
    if isinstance(spec, InvalidSpec):
        return wait_or_end(run, spec, _failed(run, observed, Reason.INVALID_SPEC, spec.message))
    blocker = _blocker(run, spec, observed)
    if blocker is not None:
        return blocker
    if not isinstance(observed.observation, Observation):
        return _unavailable(run, spec, observed, observed.observation)
    if isinstance(observed.observation.frozen, TargetsLost):
        return _failed(run, observed, Reason.TARGETS_LOST, f"{observed.observation.frozen}; nothing more is deleted")
    refused = {**observed.refused_before, **observed.refused}
    state = RunState.of(observed.observation, spec, run.status, refused)
    case = Case(spec, observed, state, Times.of(spec, observed.observation.assessment.policies, state.rows))
    if run.status.stage is not None and observed.now >= case.times.over_by(run.status, observed.now):
        return _failed(run, observed, Reason.DEADLINE_EXCEEDED, "it took too long; what was deleted stays deleted")
    return _stage(case)


def _blocker(run: WALPurge, spec: WALPurgeSpec, observed: Observed) -> PurgeDecision | None:
    """What keeps the run from looking at all."""
    if not observed.has_cluster:
        message = f"there is no WALCluster {spec.cluster_ref.name} in this namespace, or it is being deleted"
        return _failed(run, observed, Reason.CLUSTER_MISSING, message)
    if observed.paused is not None:  # first: else a run behind another says nothing of what keeps both
        return _waits(run, Reason.PAUSED, observed.paused)
    if observed.front is not None:
        return _waits(run, Reason.QUEUED, why_waiting(observed.front))
    return None


def _stage(case: Case) -> PurgeDecision:
    if case.observed.written is not None and case.status.frozen is None:
        return freeze(case, case.observed.written)
    match case.status.stage:
        case None:
            return begin(case)
        case Stage.PREPARATION:
            return prepare(case)
        case Stage.COMMUNICATION:
            return communicate(case)
        case Stage.VERIFICATION:
            return verify(case)
        case Stage.PURGE:
            return purge(case)
        case Stage.COMPLETED | Stage.FAILED:
            raise ValueError("a run that is over has no next stage")
        case unknown:
            assert_never(unknown)


def _unavailable(run: WALPurge, spec: WALPurgeSpec, observed: Observed, found: Unavailable | None) -> PurgeDecision:
    """The ledger cannot be looked at: wait, visibly, and within the deadline if the run has begun."""
    message = "nothing was looked at yet" if found is None else found.message
    if found is not None and found.why is UnavailableReason.NO_DATA_PLANE:
        return _failed(run, observed, Reason.NO_DATA_PLANE, message)
    times = Times.of(spec, {}, ())
    if run.status.stage is not None and observed.now >= times.over_by(run.status, observed.now):
        return _failed(run, observed, Reason.DEADLINE_EXCEEDED, f"it took too long: {message}")
    return _waits(run, Reason.CANNOT_OBSERVE, message)


def _failed(run: WALPurge, observed: Observed, reason: Reason, message: str) -> PurgeDecision:
    """The end, with what was counted until now."""
    status = run.status.model_copy(update={"stage": Stage.FAILED, "completion_time": observed.now})
    return Decision(status, Verdict(Outlook.STALLED, reason, message))


def _waits(run: WALPurge, reason: Reason, message: str) -> PurgeDecision:
    outlook = Outlook.PAUSED if reason is Reason.PAUSED else Outlook.PROGRESSING
    return Decision(run.status, Verdict(outlook, reason, message, PURGE_RETRY_SECONDS))
