"""What a WALHold's controller decides, its status and events: a pure function of the hold and of what was observed.

    over → findings (spec, WALCluster, look) → the next change of its state (`ledger/holds.py`)
    → first records of its topics are written → status tells the truth → nothing to do

A hold is deleted without a finalizer of ours: that it is gone releases it. One that somebody else's finalizer keeps
still counts, says so, and ends by its ttl at last. What cannot be known changes nothing: a hold never expires or is
lost while nobody can look, and never expires while two clocks do not agree on the time. Where nobody ever will, as the
WALCluster is gone, names no database, or has other topics, its ttl counts, and what was granted stands until that is
over, for who has its topics by then. Its release, the holder's own word, counts whatever is known.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.hold import HoldState, WALHold, WALHoldStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    transition_events,
)
from seawall.domain.decision import Decision, Published, silent, with_edit_observed
from seawall.domain.hold.reasons import Reason
from seawall.domain.hold.status import measured, unmeasured
from seawall.domain.hold.view import Observed, hold_view
from seawall.domain.ledger.actions import WriteRecords
from seawall.domain.ledger.declared import hold_of
from seawall.domain.ledger.held import (
    DUE_SHARE,
    NEAR,
    Hold,
    HoldChange,
    HoldView,
    at_risk_until,
    expires_at,
)
from seawall.domain.ledger.holds import next_change, next_change_alone, release, why_not_granted
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import Observation, UnavailableReason
from seawall.domain.ledger.shards import PoolId
from seawall.domain.step import Event, EventType
from seawall.domain.times import HOLD_OBSERVE_SECONDS, HOLD_RETRY_SECONDS


def published(
    obj: WALHold,
    status: WALHoldStatus,
    hold: Hold | None,
    time: TrustedTime,
    verdict: Verdict,
    *,
    database_deletes: bool | None = None,
) -> Published[WALHoldStatus]:
    """The status with its conditions, and the events. `database_deletes` is the look's; None: nobody knows."""
    update = {
        "observed_generation": obj.metadata.generation,
        "conditions": _conditions(obj, hold, verdict, time, database_deletes),
    }
    found = status.model_copy(update=update)
    return Published(found, _events(obj, found, verdict))


def _events(obj: WALHold, status: WALHoldStatus, verdict: Verdict) -> tuple[Event, ...]:
    """A state that changed, else what became of Ready: a hold never ends in silence."""
    judged = loss_event(obj.status.conditions, status.conditions, ConditionType.EXPIRY_JUDGED, "limits count again")
    reported = () if judged is None else (judged,)
    is_again = status.state is HoldState.AT_RISK and status.at_risk_time != obj.status.at_risk_time
    if status.state is None or (status.state == obj.status.state and not is_again):
        return (*transition_events(obj.status.conditions, status.conditions), *reported)
    is_warning = status.state in {HoldState.AT_RISK, HoldState.LOST}
    kind = EventType.WARNING if is_warning else EventType.NORMAL
    return (Event(kind, f"Hold{status.state.value}", verdict.message), *reported)


def _conditions(
    obj: WALHold,
    hold: Hold | None,
    verdict: Verdict,
    time: TrustedTime,
    database_deletes: bool | None,  # noqa: FBT001 - of the look
) -> tuple[Condition, ...]:
    """Granted is about the spec as it stands: an edited one is not granted until it says so again."""
    build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, time.now)
    if hold is None:
        return build.kstatus(verdict)
    is_granted = hold.granted == hold.claim and not hold.state.is_final and _is_worth(obj, hold, database_deletes)
    is_known = not is_granted or verdict.reason not in UNKNOWN_TOPICS
    return (
        *build.kstatus(verdict),
        build(
            ConditionType.GRANTED,
            as_status(is_granted) if is_known else "Unknown",
            verdict.reason,
            verdict.message,
        ),
        build(ConditionType.AT_RISK, as_status(hold.state is HoldState.AT_RISK), verdict.reason, verdict.message),
        build(ConditionType.LOST, as_status(hold.state is HoldState.LOST), verdict.reason, verdict.message),
        _expiry_judged(build, time),
    )


def _is_worth(obj: WALHold, hold: Hold, database_deletes: bool | None) -> bool:  # noqa: FBT001 - of the look
    """Whether what was granted is worth anything. Where nobody knows, it is as it was before."""
    if database_deletes is not None:
        return not database_deletes
    before = find_condition(obj.status.conditions, ConditionType.GRANTED)
    return hold.state is not HoldState.AT_RISK or before is None or before.status == "True"


def _expiry_judged(build: ConditionBuilder, time: TrustedTime) -> Condition:
    """Whether limits count. The skew is written once: it is never the same twice."""
    kind, problem = ConditionType.EXPIRY_JUDGED, time.problem
    if problem is None:
        return build(kind, "True", time.agreement.value, "its limits count: two clocks agree")
    before = find_condition(build.previous, kind)
    if before is not None and before.reason == time.agreement.value:
        return build(kind, "False", before.reason, before.message)
    by = "" if time.skew is None else f", by {abs(time.skew).total_seconds():.0f} s"
    return build(kind, "False", time.agreement.value, f"it ends by none of its limits meanwhile: {problem}{by}")


HoldDecision = Decision[WALHoldStatus, WriteRecords]
UNKNOWN_TOPICS = frozenset({Reason.CLUSTER_MISSING, Reason.OTHER_TOPICS})
"""With these its topics are none of its WALCluster's: whether what was granted is there nobody knows."""


def decide(obj: WALHold, observed: Observed) -> HoldDecision:
    """What one tick decides."""
    if obj.status.state is not None and obj.status.state.is_final:
        return with_edit_observed(obj, silent(obj, f"the hold is {obj.status.state.value}, which is final"))
    hold = hold_of(obj)
    if isinstance(hold, InvalidSpec):
        reason = Reason.INVALID_SPEC if isinstance(obj.spec, InvalidSpec) else Reason.STATUS_UNREADABLE
        return _as_it_is(obj, None, Verdict(Outlook.STALLED, reason, hold.message), observed)
    observation = observed.observation
    if isinstance(observation, Observation):
        return _manage(obj, hold, observation, observed)
    if not observed.has_cluster or observation is None:
        return _alone(obj, hold, _verdict_without_cluster(), observed)
    verdict = Verdict(Outlook.PROGRESSING, observation.why.value, observation.message, HOLD_RETRY_SECONDS)
    if observation.why is UnavailableReason.NO_DATA_PLANE:
        message = f"{observation.message}; unless it is renewed it ends by its ttl"
        return _alone(obj, hold, replace(verdict, message=message), observed)
    change = release(hold)
    return _as_it_is(obj, hold, verdict, observed) if change is None else _over(obj, change, observed)


def _as_it_is(obj: WALHold, hold: Hold | None, verdict: Verdict, observed: Observed) -> HoldDecision:
    """What was granted stands, and the verdict says why nobody can look."""
    return Decision(obj.status, verdict, publish=partial(published, obj, obj.status, hold, observed.time))


def _alone(obj: WALHold, hold: Hold, verdict: Verdict, observed: Observed) -> HoldDecision:
    """Of a hold of whose topics nobody will say anything: it is released, renewed, or its ttl counts."""
    change = next_change_alone(hold, observed.time)
    if change is not None and change.hold.state.is_final:
        return _over(obj, change, observed)
    after = hold if change is None else change.hold
    status = unmeasured(obj, after)
    found = replace(verdict, after=_until_next_limit(after, observed.time))
    return Decision(status, found, publish=partial(published, obj, status, after, observed.time))


def _over(obj: WALHold, change: HoldChange, observed: Observed) -> HoldDecision:
    """It ends, and its numbers stay as they were."""
    state = change.hold.state
    outlook = Outlook.READY if state is HoldState.RELEASED else Outlook.STALLED
    status = unmeasured(obj, change.hold)
    verdict = Verdict(outlook, state.value, change.sentence)
    return Decision(status, verdict, publish=partial(published, obj, status, change.hold, observed.time))


def _verdict_without_cluster() -> Verdict:
    message = (
        "the WALCluster does not exist, or is being deleted: create it, or delete the hold; unless it is renewed "
        "it ends by its ttl"
    )
    return Verdict(Outlook.STALLED, Reason.CLUSTER_MISSING, message)


def _manage(obj: WALHold, hold: Hold, observation: Observation, observed: Observed) -> HoldDecision:
    """A change of its state first; numbers, which are others at each look, with it, or when nothing is to be done."""
    pool = observation.pool
    if hold.granted_prefix not in {None, pool.prefix} or hold.granted_cluster_id not in {None, pool.cluster_id}:
        return _alone(obj, hold, _verdict_elsewhere(hold, pool), observed)
    view = hold_view(observation, observed.ages, may_write=observed.may_write)
    change = next_change(hold, view, observed.time)
    after = hold if change is None else change.hold
    status = measured(obj, after, view)
    publish = partial(published, obj, status, after, observed.time, database_deletes=view.database_deletes)
    if change is not None:
        verdict = (
            _verdict_of_change(after, view, change.sentence)
            if change.sentence
            else _verdict(obj, after, view, observed)
        )
        return Decision(status, verdict, publish=publish)
    records = _records_to_write(hold, observation)
    shards = observation.shards.changed(records)
    may_write = bool(shards) and hold.kept_by is None and observed.may_write
    actions = (
        (WriteRecords(observation.pool, shards, tuple(sorted(records)), observation.cluster),) if may_write else ()
    )
    return Decision(obj.status, _verdict(obj, hold, view, observed), actions, publish)


def _verdict_elsewhere(hold: Hold, pool: PoolId) -> Verdict:
    """Of a hold whose WALCluster's name is another one's now: of its topics nothing was observed."""
    was, now = (hold.granted_prefix, pool.prefix)
    if was in {None, now}:
        was, now = (f"{now} on Kafka {hold.granted_cluster_id}", f"Kafka {pool.cluster_id}")
    message = (
        f"it was granted on topics of {was}, and the WALCluster of this name has those of {now}: it "
        "counts for who has its topics now, and by this name; release it once nobody needs them, and place another; "
        "unless it is renewed it ends by its ttl"
    )
    return Verdict(Outlook.STALLED, Reason.OTHER_TOPICS, message)


def _records_to_write(hold: Hold, observation: Observation) -> dict[str, FenceRecord]:
    """First contacts of claimed topics."""
    wanted = observation.topics if hold.claim.everything else hold.claim.offsets.keys()
    return {name: record for name, record in observation.urgent_records().items() if name in wanted}


def _verdict_of_change(hold: Hold, view: HoldView, sentence: str) -> Verdict:
    match hold.state:
        case HoldState.REQUESTED:
            return _open_request(why_not_granted(hold, view) or sentence)
        case HoldState.LOST:
            return Verdict(Outlook.STALLED, hold.state.value, sentence)
        case HoldState.ACTIVE | HoldState.EXTENDED | HoldState.AT_RISK | HoldState.RELEASED:
            return Verdict(Outlook.READY, hold.state.value, sentence)


def _verdict(obj: WALHold, hold: Hold, view: HoldView, observed: Observed) -> Verdict:
    """Of a hold whose state does not change; its sentence stays, as it holds times that would change for ever."""
    leaving = _leaving(hold)
    if leaving is not None:
        return replace(leaving, after=_until_next_limit(hold, observed.time))
    problem = why_not_granted(hold, view)
    if hold.granted is None:
        return _open_request(problem or "it will be granted at the next look")
    if problem is not None:
        message = f"{problem}; what was granted before still stands"
        return Verdict(Outlook.STALLED, Reason.EDIT_REFUSED, message, HOLD_OBSERVE_SECONDS)
    before = find_condition(obj.status.conditions, ConditionType.READY)
    is_same = before is not None and before.reason == hold.state.value
    message = before.message if before is not None and is_same else f"the hold is {hold.state.value}"
    message = view.second_pruner or message
    return Verdict(Outlook.READY, hold.state.value, message, _until_next_limit(hold, observed.time))


def _leaving(hold: Hold) -> Verdict | None:
    """Of a hold that somebody deleted and that still counts."""
    if hold.kept_by is None or hold.state.is_final:
        return None
    message = (
        f"it is being deleted and kept by {hold.keeper}: what it claims counts until it is gone, or its ttl is over"
    )
    return Verdict(Outlook.PROGRESSING, Reason.BEING_DELETED, message)


def _open_request(message: str) -> Verdict:
    return Verdict(Outlook.PROGRESSING, Reason.NOT_GRANTED_YET, message, HOLD_RETRY_SECONDS)


def _until_next_limit(hold: Hold, time: TrustedTime) -> float:
    """Seconds until the hold is due, near its ttl, or beyond it; not longer than until the next look."""
    now = time.earliest
    if hold.renewal is None:
        return HOLD_RETRY_SECONDS
    if now is None:
        return HOLD_OBSERVE_SECONDS
    begins = (hold.renewal.observed_at + hold.ttl * share for share in (DUE_SHARE, NEAR))
    limits = (*begins, expires_at(hold), at_risk_until(hold))
    waits = [(limit - now).total_seconds() for limit in limits if limit is not None and limit > now]
    return min([*waits, HOLD_OBSERVE_SECONDS])
