"""Holds: claims on a topic that are granted, not assumed (design section 3).

    Requested ──granted──► Active ◄──────► Extended        Extended: it keeps records that the database needs no more
        │                    │ ▲              │ ▲
        │                    ▼ └── renewed ── ▼ │
        │                   AtRisk ◄────────────┘          AtRisk: near or beyond its ttl or maxLagBytes
        │ refused, expired     │ still beyond, one look later
        └────────────► Lost ◄──┘                           Lost and Released are final
    any but Lost ──release──► Released

Every change is written with the hold's resource version as compare-and-swap, and binds only once it is written: until
then, and until the end of its life, a hold keeps what it claims, Requested too. A renewal that the API server took
before Lost was written has won, because the write of Lost then conflicts.

Ages are counted by the operator's own clock from when it saw the renewTime change: a clock that is behind, or a
renewal in the future, does neither harm nor good. What is not known (a size, an age) never costs a hold its life.

Safe readings of the design:
* An edited spec is a new request. While it is open, both the old grant and the new claim count; a new claim that lies
  below the intent does not cost the old grant, it is refused with a sentence.
* A request on a topic that does not exist, or beyond its high watermark, is refused with a sentence and stays
  Requested until its ttl is over: it may be right a moment later. A topic without an intent yet is waited for.
* `"*": earliest` claims everything; what is granted of a topic begins at the greater of its intent and its log start,
  as a delete that was decided before the hold may still arrive.
* A hold passes through AtRisk for at least one look before it is Lost, except where records are gone already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from seawall.api.v1alpha1.wal_hold import HoldState


@dataclass(frozen=True, slots=True)
class Claim:
    """Keep these topics from these offsets on; `everything`: no deletes on any topic (`"*": earliest`)."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    everything: bool = False

    def offsets_among(self, topics: Iterable[str]) -> Mapping[str, int]:
        """By topic the first offset that is claimed; of a claim on everything all of these topics, from 0 on."""
        return dict.fromkeys(topics, 0) if self.everything else self.offsets


@dataclass(frozen=True, slots=True)
class Renewal:
    """A renewTime, as it stands in the spec, and when the operator first saw it."""

    stated: datetime | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold: what its spec asks, and what its status says."""

    name: str
    claim: Claim
    ttl: timedelta
    renew_time: datetime | None = None
    max_lag_bytes: int | None = None
    release: bool = False
    """Its owner wants to let it go."""
    state: HoldState = HoldState.REQUESTED
    granted: Claim | None = None
    renewal: Renewal | None = None


@dataclass(frozen=True, slots=True)
class HeldTopic:
    """A topic as the granter sees it; the intent is read uncached, after the hold existed and after Kafka's offsets."""

    log_start: int | None
    high_watermark: int | None
    intent: int | None
    floor: int | None = None
    size_bytes: int | None = None

    def is_foreign(self) -> bool:
        """Somebody else deletes: the log starts beyond the intent."""
        return self.intent is not None and self.log_start is not None and self.log_start > self.intent


@dataclass(frozen=True, slots=True)
class HoldView:
    """What the granter sees: all topics of the pool."""

    topics: Mapping[str, HeldTopic]


@dataclass(frozen=True, slots=True)
class HoldChange:
    """What to write, by compare-and-swap, and the sentence that the condition and the event show."""

    hold: Hold
    sentence: str


GRANTED = "granted: what it claims is there and stays"
NEAR = 0.8
"""From this share of a limit on a hold is AtRisk."""


def lowest_claims(holds: Iterable[Hold]) -> tuple[dict[str, tuple[int, str]], str | None]:
    """By topic the lowest offset that a hold claims, and which; and the name of a hold on everything.

    Every hold counts that is not written Lost or Released: Requested too, and both halves of an edited one.
    """
    lowest: dict[str, tuple[int, str]] = {}
    everything: str | None = None
    for hold in sorted(holds, key=lambda one: one.name):
        if hold.state.is_final:
            continue
        for claim in (hold.claim, hold.granted or Claim()):
            everything = everything or (hold.name if claim.everything else None)
            for topic, offset in claim.offsets.items():
                if topic not in lowest or offset < lowest[topic][0]:
                    lowest[topic] = (offset, hold.name)
    return lowest, everything


def next_change(hold: Hold, view: HoldView, now: datetime) -> HoldChange | None:
    """The next thing to write of a hold; None: it is as it should be. One look writes at most one change."""
    if hold.state.is_final:
        return None
    return next(filter(None, (step(hold, view, now) for step in STEPS)), None)


def why_not_granted(hold: Hold, view: HoldView) -> str | None:
    """Why what is asked cannot be granted now, in one sentence; None: it can, or was."""
    if hold.granted == hold.claim or hold.state.is_final:
        return None
    return _obstacle(hold.claim, view) or _below(hold.claim, view)


def lag_bytes(claim: Claim, topics: Mapping[str, HeldTopic]) -> int | None:
    """What the records from the claimed offsets on take on disk, by each topic's mean; None if a size is unknown."""
    total = 0
    for name, offset in claim.offsets_among(topics).items():
        topic = topics.get(name)
        if topic is None or topic.log_start is None or topic.high_watermark is None or topic.size_bytes is None:
            return None
        entries = topic.high_watermark - topic.log_start
        kept = topic.high_watermark - max(offset, topic.log_start)
        total += topic.size_bytes * max(kept, 0) // entries if entries else 0
    return total


def _change(hold: Hold, state: HoldState, sentence: str) -> HoldChange:
    return HoldChange(replace(hold, state=state), sentence)


def _released(hold: Hold, _: HoldView, __: datetime) -> HoldChange | None:
    return _change(hold, HoldState.RELEASED, "its owner released it") if hold.release else None


def _renewed(hold: Hold, _: HoldView, now: datetime) -> HoldChange | None:
    """Any other renewTime is a renewal, whatever it says."""
    if hold.renewal is not None and hold.renewal.stated == hold.renew_time:
        return None
    sentence = "seen for the first time" if hold.renewal is None else "renewed"
    return HoldChange(replace(hold, renewal=Renewal(hold.renew_time, now)), sentence)


def _overtaken(hold: Hold, view: HoldView, _: datetime) -> HoldChange | None:
    """A granted record is gone already: only somebody else can have deleted it."""
    for name, offset in (hold.granted or Claim()).offsets.items():
        topic = view.topics.get(name)
        if topic is not None and topic.log_start is not None and topic.log_start > offset:
            sentence = f"{name} starts at {topic.log_start} and offset {offset} was held: somebody else deleted it"
            return _change(hold, HoldState.LOST, sentence)
    return None


def _ended(hold: Hold, view: HoldView, now: datetime) -> HoldChange | None:
    """Beyond a limit; what was granted was AtRisk before."""
    if hold.state not in {HoldState.REQUESTED, HoldState.AT_RISK}:
        return None
    beyond = _limit(hold, view, now, 1.0)
    return None if beyond is None else _change(hold, HoldState.LOST, beyond)


def _limit(hold: Hold, view: HoldView, now: datetime, share: float) -> str | None:
    """The first limit of which this share is used up, as a sentence."""
    age = now - hold.renewal.seen_at if hold.renewal is not None else timedelta(0)
    if age >= hold.ttl * share:
        return f"it was last renewed {_duration(age)} ago and its ttl is {_duration(hold.ttl)}"
    used = lag_bytes(hold.granted or hold.claim, view.topics) if hold.max_lag_bytes is not None else None
    if used is not None and hold.max_lag_bytes is not None and used >= hold.max_lag_bytes * share:
        return f"it keeps {used} bytes and maxLagBytes is {hold.max_lag_bytes}"
    return None


def _granted(hold: Hold, view: HoldView, _: datetime) -> HoldChange | None:
    """Grants, refuses for good, or leaves the request open (None)."""
    if hold.granted == hold.claim or _obstacle(hold.claim, view) is not None:
        return None
    below = _below(hold.claim, view)
    if below is None:
        state = HoldState.ACTIVE if hold.state is HoldState.REQUESTED else hold.state
        return _change(replace(hold, granted=hold.claim), state, GRANTED)
    return _change(hold, HoldState.LOST, below) if hold.granted is None else None


def _obstacle(claim: Claim, view: HoldView) -> str | None:
    """What keeps a request open, in one sentence."""
    for name, offset in claim.offsets.items():
        topic = view.topics.get(name)
        if topic is None:
            return f"there is no topic {name} in the pool"
        if topic.high_watermark is None or topic.log_start is None:
            return f"Kafka does not say where {name} starts and ends"
        if offset > topic.high_watermark:
            return f"offset {offset} is beyond the end of {name}, {topic.high_watermark}"
    claimed = view.topics if claim.everything else claim.offsets
    for name in claimed:
        if view.topics[name].intent is None:
            return f"no intent is written for {name} yet"
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


def _stands(hold: Hold, view: HoldView, now: datetime) -> HoldChange | None:
    """Active, Extended or AtRisk, as a granted hold is now."""
    if hold.granted is None:
        return None
    near = _limit(hold, view, now, NEAR)
    if near is not None:
        return None if hold.state is HoldState.AT_RISK else _change(hold, HoldState.AT_RISK, near)
    if _keeps_more_than_the_database(hold.granted, view):
        state, sentence = HoldState.EXTENDED, "records are kept for it that the database needs no more"
    else:
        state, sentence = HoldState.ACTIVE, GRANTED
    return None if hold.state is state else _change(hold, state, sentence)


def _keeps_more_than_the_database(claim: Claim, view: HoldView) -> bool:
    held = claim.offsets_among(view.topics)
    floors = ((name, view.topics[name].floor) for name in held if name in view.topics)
    return any(floor is not None and held[name] < floor for name, floor in floors)


def _duration(age: timedelta) -> str:
    return f"{age.total_seconds():g} s"


STEPS = (_released, _renewed, _overtaken, _ended, _granted, _stands)
"""The changes, in the order in which they are looked for."""
