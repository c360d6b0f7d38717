"""Holds: claims on a topic that are granted, not assumed (design section 3).

    Requested ──granted──► Active ◄──────► Extended        Extended: it keeps records that the database needs no more
        │                    │ ▲              │ ▲
        │                    ▼ └── renewed ── ▼ │
        │                   AtRisk ◄────────────┘          AtRisk: near or beyond a limit, or its log is in doubt
        │ refused, expired     │ still beyond, a minute later
        └────────────► Lost ◄──┘                           Lost and Released are final
    any but Lost ──release──► Released

Every change is written with the hold's resource version as compare-and-swap, and binds only once it is written: until
then, and until the end of its life, a hold keeps what it claims, Requested too. A renewal that the API server took
before Lost was written has won, because the write of Lost then conflicts.

Ages are counted by the operator's own clock from when it saw the renewTime change: a holder's clock that is behind, or
a renewal in the future, does neither harm nor good. The operator's own may be wrong, too: so a limit counts only while
it and the API server's agree (`domain/clocks.py`); until then a hold stays as it is, unless its records are gone, and
a renewal is counted from the later time of the two. What is not known (a size, an age) never costs a hold its life.

Safe readings of the design:
* An edited spec is a new request. While it is open, both the old grant and the new claim count; a new claim that lies
  below the intent does not cost the old grant, it is refused with a sentence.
* A request on a topic that does not exist, or beyond its high watermark, is refused with a sentence and stays
  Requested until its ttl is over: it may be right a moment later. A topic without an intent yet is waited for.
* `"*": earliest` claims everything; what is granted of a topic begins at the greater of its intent and its log start,
  as a delete that was decided before the hold may still arrive.
* A hold stays AtRisk for a minute, or a fifth of a short ttl, before it is Lost, except where records are gone already.
* A granted hold expires only when it was observed for half of its ttl to be due (not renewed for the other half). That
  is written down time and again; after a break of more than a sixth of the ttl (and two minutes), in which the API
  server may have been away for the holder, too, it begins anew. So who renews each third of the
  ttl has the time to do so after an outage, and a hold ends half a ttl after one at the latest, if it was the last.
* Records that were granted are gone when the log starts after them, when it is another log (its topic was recreated),
  or when it ends before the granted offset. The last two need the fence's verdict: until then, and while it finds
  anything else of the log, the hold is AtRisk. A hold on everything is lost by any delete beyond an intent, because
  Seawall itself deletes nothing then. It does not remember each topic's intent (a pool may have 10,000), so deletes of
  somebody else between an intent and a higher one that a purge wrote, but never used, go unseen, and so do those that
  a person readopted before the hold's next look.
* While the database deletes by itself no hold is granted, and each that was is AtRisk and not Granted: its records may
  go with the next prune. It is Lost when they are gone, and not before: a database that is set right in time has done
  no harm. While nobody knows whether it does, nothing is granted and what was granted stands.
* A hold that somebody deleted counts until it is gone, because who set the finalizer may be reading. It is granted
  nothing new and cannot be renewed, so its ttl ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.clocks import Agreement, TrustedTime, is_to_come
from seawall.domain.ledger.held import (
    NEAR,
    Claim,
    Hold,
    HoldChange,
    HoldView,
    Renewal,
    are_limits_known,
    limit_reached,
    unrenewed_now,
    was_recorded_at_risk,
)
from seawall.domain.ledger.hold_losses import why_in_doubt, why_overtaken

GRANTED = "granted: what it claims is there and stays"


def lowest_claims(holds: Iterable[Hold]) -> tuple[dict[str, tuple[int, str]], str | None]:
    """By topic the lowest offset that a hold claims, and which; and which hold is on everything, for people.

    Every hold counts that is not written Lost or Released: Requested too, and both halves of an edited one.
    """
    lowest: dict[str, tuple[int, str]] = {}
    everything: str | None = None
    for hold in sorted(holds, key=lambda one: one.name):
        if hold.state.is_final:
            continue
        for claim in (hold.claim, hold.granted or Claim()):
            everything = everything or (hold.described if claim.everything else None)
            for topic, offset in claim.offsets.items():
                if topic not in lowest or offset < lowest[topic][0]:
                    lowest[topic] = (offset, hold.described)
    return lowest, everything


def next_change(hold: Hold, view: HoldView, time: TrustedTime) -> HoldChange | None:
    """The next thing to write of a hold; None: it is as it should be. One look writes at most one change."""
    if hold.state.is_final:
        return None
    return next(filter(None, (step(hold, view, time) for step in STEPS)), None)


def why_not_granted(hold: Hold, view: HoldView) -> str | None:
    """Why what is asked cannot be granted now, in one sentence; None: it can, or was."""
    if hold.granted == hold.claim or hold.state.is_final:
        return None
    return _obstacle(hold.claim, view) or _below(hold.claim, view)


def _change(hold: Hold, state: HoldState, sentence: str) -> HoldChange:
    return HoldChange(replace(hold, state=state, at_risk_since=None), sentence)


def _at_risk(hold: Hold, sentence: str, time: TrustedTime) -> HoldChange | None:
    """None: it is already."""
    return None if hold.state is HoldState.AT_RISK else _warned(hold, sentence, time)


def _warned(hold: Hold, sentence: str, time: TrustedTime) -> HoldChange:
    return HoldChange(replace(hold, state=HoldState.AT_RISK, at_risk_since=time.later), sentence)


def release(hold: Hold) -> HoldChange | None:
    """What its owner let go; None: nobody did. It needs no look at the topics, and no time."""
    return _change(hold, HoldState.RELEASED, "its owner released it") if hold.release else None


def _released(hold: Hold, _: HoldView, __: TrustedTime) -> HoldChange | None:
    return release(hold)


def _renewed(hold: Hold, _: HoldView, time: TrustedTime) -> HoldChange | None:
    """Any other renewTime is a renewal, whatever it says; who deleted a hold does not renew it.

    While nobody knows the API server's time no hold ends, and a renewal that is counted from a wrong time would do harm
    later: so it waits.
    """
    if time.agreement is Agreement.UNKNOWN:
        return None
    if hold.renewal is not None and (hold.renewal.stated == hold.renew_time or hold.kept_by is not None):
        return _corrected(hold, hold.renewal, time)
    sentence = "seen for the first time" if hold.renewal is None else "renewed"
    return HoldChange(replace(hold, renewal=Renewal(hold.renew_time, time.later), unrenewed=None), sentence)


def _corrected(hold: Hold, renewal: Renewal, time: TrustedTime) -> HoldChange | None:
    """A renewal that was counted from a time to come, by a clock that was ahead, counts from now on (ADR 28)."""
    if time.agreement is not Agreement.AGREE or not is_to_come(renewal.observed_at, time.later):
        return None
    return HoldChange(replace(hold, renewal=Renewal(renewal.stated, time.later), unrenewed=None), "")


def _due(hold: Hold, _: HoldView, time: TrustedTime) -> HoldChange | None:
    """Before `_ended`, which so goes by what was written a moment ago."""
    written = unrenewed_now(hold, time)
    return None if written is None else HoldChange(replace(hold, unrenewed=written), "")


def _overtaken(hold: Hold, view: HoldView, _: TrustedTime) -> HoldChange | None:
    gone = why_overtaken(hold, view)
    return None if gone is None else _change(hold, HoldState.LOST, gone)


def _ended(hold: Hold, view: HoldView, time: TrustedTime) -> HoldChange | None:
    """Beyond a limit, by both clocks; what was granted was AtRisk before, for long enough to be seen."""
    now = time.earliest
    if now is None:
        return None
    is_ripe = hold.state is HoldState.AT_RISK and was_recorded_at_risk(hold, now)
    if not is_ripe and hold.state is not HoldState.REQUESTED:
        return None
    beyond = limit_reached(hold, view, now, 1.0)
    return None if beyond is None else _change(hold, HoldState.LOST, beyond)


def _granted(hold: Hold, view: HoldView, _: TrustedTime) -> HoldChange | None:
    """Grants, refuses for good, or leaves the request open (None)."""
    if hold.granted == hold.claim or hold.kept_by is not None or _obstacle(hold.claim, view) is not None:
        return None
    below = _below(hold.claim, view)
    if below is None:
        state = HoldState.ACTIVE if hold.state is HoldState.REQUESTED else hold.state
        granted = replace(hold, state=state, granted=hold.claim, granted_logs=view.logs_of(hold.claim))
        return HoldChange(_on_pool_of(view, granted), GRANTED)
    return _change(hold, HoldState.LOST, below) if hold.granted is None else None


def _obstacle(claim: Claim, view: HoldView) -> str | None:
    """What keeps a request open, in one sentence."""
    return view.why_no_promise or _not_in_the_logs(claim, view)


def _not_in_the_logs(claim: Claim, view: HoldView) -> str | None:
    for name, offset in claim.offsets.items():
        topic = view.topics.get(name)
        if topic is None:
            return f"there is no topic {name} in the pool"
        if topic.high_watermark is None or topic.log_start is None:
            return f"Kafka does not say where {name} starts and ends"
        if offset > topic.high_watermark:
            return f"offset {offset} is beyond the end of {name}, {topic.high_watermark}"
    for name in claim.offsets_among(view.topics):
        if view.topics[name].intent is None:
            return view.topics[name].trouble or f"no intent is written for {name} yet"
        if view.topics[name].is_foreign():
            return f"somebody else deletes from {name}, so nothing can be promised"
    return None


def _below(claim: Claim, view: HoldView) -> str | None:
    """Whether records of the claim are gone, or may go by a delete that was decided before."""
    for name, offset in claim.offsets.items():
        edge = max(known for known in (view.topics[name].intent, view.topics[name].log_start) if known is not None)
        if offset < edge:
            return f"{name} is deleted, or being deleted, up to {edge}, and offset {offset} is claimed"
    return None


def _stands(hold: Hold, view: HoldView, time: TrustedTime) -> HoldChange | None:
    """Active, Extended or AtRisk, as a granted hold is now."""
    if hold.granted is None:
        return None
    now = time.earliest
    near = None if now is None else limit_reached(hold, view, now, NEAR)
    risk = view.second_pruner or near or why_in_doubt(hold, hold.granted, view)
    if risk is not None:
        return _at_risk(hold, risk, time)
    is_known = now is not None and view.database_deletes is not None and are_limits_known(hold, view)
    if hold.state is HoldState.AT_RISK and not is_known:
        return None
    if _keeps_more_than_the_database(hold.granted, view):
        state, sentence = HoldState.EXTENDED, "records are kept for it that the database needs no more"
    else:
        state, sentence = HoldState.ACTIVE, GRANTED
    return None if hold.state is state else _change(hold, state, sentence)


def _keeps_more_than_the_database(claim: Claim, view: HoldView) -> bool:
    held = claim.offsets_among(view.topics)
    floors = ((name, view.topics[name].floor) for name in held if name in view.topics)
    return any(floor is not None and held[name] < floor for name, floor in floors)


def _counted(hold: Hold, view: HoldView, _: TrustedTime) -> HoldChange | None:
    """Which logs are held: of a grant by a version that did not write it down, and of a pool that has grown.

    After `_overtaken`, and not while that may come yet: what was held before is as it was.
    """
    if hold.granted is None or why_in_doubt(hold, hold.granted, view) is not None:
        return None
    before, recorded = hold.granted_logs, view.logs_of(hold.granted)
    if recorded is None or (before is not None and not before.is_outgrown_by(recorded)):
        return None
    sentence = "" if before is not None and before.count == recorded.count else f"it holds {recorded.count} topics"
    return HoldChange(replace(hold, granted_logs=recorded), sentence)


def _placed(hold: Hold, view: HoldView, _: TrustedTime) -> HoldChange | None:
    """On which pool: of a grant by a version that did not write down the Kafka, or of one on everything the prefix."""
    is_known = None not in {hold.granted_prefix, hold.granted_cluster_id}
    if hold.granted is None or is_known or None in {view.prefix, view.cluster_id}:
        return None
    return HoldChange(
        _on_pool_of(view, hold), "" if hold.granted_prefix is not None else f"it holds topics of {view.prefix}"
    )


def _on_pool_of(view: HoldView, hold: Hold) -> Hold:
    return replace(hold, granted_prefix=view.prefix, granted_cluster_id=view.cluster_id)


def _ended_alone(hold: Hold, view: HoldView, time: TrustedTime) -> HoldChange | None:
    """One that was AtRisk before it was renewed is told once more, before it ends."""
    is_old = hold.state is HoldState.AT_RISK and not _is_at_risk_since_renewed(hold)
    return None if is_old else _ended(hold, view, time)


def _due_alone(hold: Hold, view: HoldView, time: TrustedTime) -> HoldChange | None:
    """AtRisk as its ttl goes by. Nobody can say that it is not at risk any more, but it is told of each ttl."""
    now = time.earliest
    near = None if hold.granted is None or now is None else limit_reached(hold, view, now, NEAR)
    if near is None or _is_at_risk_since_renewed(hold):
        return None
    return _warned(hold, near, time)


def _is_at_risk_since_renewed(hold: Hold) -> bool:
    since, renewal = hold.at_risk_since, hold.renewal
    return since is not None and (renewal is None or since >= renewal.observed_at)


def next_change_alone(hold: Hold, time: TrustedTime) -> HoldChange | None:
    """The same of a hold of whose topics nobody will say anything: it is released, renewed, or expires."""
    if hold.state.is_final:
        return None
    nothing = HoldView({}, database_deletes=None)
    return next(filter(None, (step(hold, nothing, time) for step in ALONE)), None)


STEPS = (_released, _renewed, _overtaken, _due, _ended, _granted, _stands, _counted, _placed)
"""The changes, in the order in which they are looked for."""
ALONE = (_released, _renewed, _due, _ended_alone, _due_alone)
"""Those of a hold whose topics nobody will look at. Without topics no limit but the ttl is ever reached."""
