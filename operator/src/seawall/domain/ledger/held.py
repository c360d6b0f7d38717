"""The values of holds: what is claimed, what was granted, what the granter sees, and how much of its limits is used up.

`holds.py` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.clocks import TrustedTime, prolonged
from seawall.domain.ledger.fence import Break, Finding
from seawall.domain.ledger.held_logs import LogIds
from seawall.domain.times import CLOCKS_AGREE, LEDGER_LEAST_AT_RISK, LEDGER_LEAST_BREAK


@dataclass(frozen=True, slots=True)
class Claim:
    """Keep these topics from these offsets on; `everything`: no deletes on any topic (`"*": earliest`)."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    everything: bool = False

    def offsets_among(self, topics: Iterable[str]) -> Mapping[str, int]:
        """By topic the first offset that is claimed; of a claim on everything all of these topics, from 0 on."""
        return dict.fromkeys(topics, 0) if self.everything else self.offsets

    def joined(self, other: Claim) -> Claim:
        """Of each topic from the lower offset on."""
        both = {**self.offsets, **other.offsets}
        offsets = {name: min(offset, self.offsets.get(name, offset)) for name, offset in both.items()}
        return Claim(offsets, self.everything or other.everything)


@dataclass(frozen=True, slots=True)
class Renewal:
    """A renewTime, as it stands in the spec, and when the operator first saw it."""

    stated: datetime | None
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold: what its spec asks, and what its status says."""

    name: str
    claim: Claim
    ttl: timedelta
    renew_time: datetime | None = None
    max_lag_bytes: int | None = None
    max_lag_age: timedelta | None = None
    release: bool = False
    """Its owner wants to let it go."""
    state: HoldState = HoldState.REQUESTED
    granted: Claim | None = None
    granted_logs: LogIds | None = None
    """The logs of what was granted, as they were then."""
    granted_prefix: str | None = None
    """The prefix of the pool on which it was granted; None: by a version that did not write it down."""
    granted_cluster_id: str | None = None
    """The id of its Kafka; None: as above."""
    renewal: Renewal | None = None
    unrenewed: Stretch | None = None
    at_risk_since: datetime | None = None
    subscription: str | None = None
    """The WALSubscription that it is of; None: somebody else's."""
    kept_by: tuple[str, ...] | None = None
    """The finalizers that keep a hold which is being deleted; None: it is not."""

    @property
    def kept(self) -> Claim:
        """What counts: its claim, and until that is granted also what was granted before."""
        return self.claim if self.granted is None else self.claim.joined(self.granted)

    @property
    def described(self) -> str:
        """Its name, whose it is, and why it still counts if somebody has deleted it."""
        named = self.name if self.subscription is None else f"{self.name} of WALSubscription {self.subscription}"
        return named if self.kept_by is None else f"{named}, which is being deleted and kept by {self.keeper}"

    @property
    def keeper(self) -> str:
        """Who keeps a hold that is being deleted."""
        first, *others = self.kept_by or ("the API server",)
        return f"{first} and {len(others)} more" if others else first


@dataclass(frozen=True, slots=True)
class HeldTopic:
    """A topic as the granter sees it; the intent is read uncached, after the hold existed and after Kafka's offsets."""

    log_start: int | None
    high_watermark: int | None
    intent: int | None
    floor: int | None = None
    record_bytes: float | None = None
    """What a record takes on disk, by the mean."""
    topic_id: str | None = None
    finding: Finding | None = None
    """What the identity fence found of it."""
    is_broken: bool = False
    """Whether two looks found it."""
    near_from: int | None = None
    """The first offset that is younger than the share `NEAR` of the hold's maxLagAge; the end if none is."""
    young_from: int | None = None
    """The first offset that is younger than the hold's maxLagAge; the end if none is."""
    trouble: str | None = None
    """Why there is no intent, as far as it is known."""

    def is_foreign(self) -> bool:
        """Somebody else deletes: the log starts beyond the intent."""
        return self.intent is not None and self.log_start is not None and self.log_start > self.intent

    def is_recreated(self) -> bool:
        """Whether the fence sees another log than the one that was recorded."""
        return self.finding is not None and self.finding.what is Break.TOPIC_ID_CHANGED

    def ends_before(self, offset: int) -> bool:
        """Whether the log ends before a granted offset, which was in it, or its end, when it was granted."""
        return self.high_watermark is not None and self.high_watermark < offset


@dataclass(frozen=True, slots=True)
class HoldView:
    """What the granter sees: all topics of the pool, and who else deletes."""

    topics: Mapping[str, HeldTopic]
    database_deletes: bool | None = False
    """Whether the database deletes by itself, through any hold; None: nobody knows."""
    cure: str = ""
    """What ends that."""
    prefix: str | None = None
    """What the topics of the pool are called."""
    cluster_id: str | None = None
    """Of their Kafka."""

    @property
    def second_pruner(self) -> str | None:
        """That no hold is worth anything, and the keys to set, in one sentence that stays the same."""
        if not self.database_deletes:
            return None
        return f"the database deletes by itself, through any hold: {self.cure}"

    @property
    def why_no_promise(self) -> str | None:
        """Why nothing can be promised by anybody; None: it can."""
        if self.database_deletes is None:
            return "the database does not say whether it deletes records by itself"
        return self.second_pruner

    def logs_of(self, claim: Claim, *, as_held: LogIds | None = None) -> LogIds | None:
        """The ids of the claimed topics' logs, of those alone that were held; None while any is unknown."""
        claimed = claim.offsets_among(self.topics)
        names = claimed if as_held is None else as_held.among(claimed)
        known = {
            name: topic.topic_id
            for name in names
            if (topic := self.topics.get(name)) is not None and topic.topic_id is not None
        }
        return LogIds.of(known, everything=claim.everything) if len(known) == len(names) else None


@dataclass(frozen=True, slots=True)
class HoldChange:
    """What to write, by compare-and-swap, and the sentence that the condition and the event show."""

    hold: Hold
    sentence: str
    """Empty: the one of before stays."""


NEAR = 0.8
"""From this share of a limit on a hold is AtRisk."""


LEAST_SHARE = 0.2
"""The greatest share of its ttl for which a hold stays AtRisk beyond a limit."""


DUE_SHARE = 0.5
"""After this share of its ttl a hold is due to be renewed; it expires when it was observed for as long to be due."""


BREAK_SHARE = 1 / 6
"""What is observed at least each such share of the ttl is observed without a break."""


def lag_bytes(claim: Claim, topics: Mapping[str, HeldTopic]) -> int | None:
    """What the records from the claimed offsets on take on disk, by each topic's mean; None if one is unknown."""
    total = 0.0
    for name, offset in claim.offsets_among(topics).items():
        topic = topics.get(name)
        if topic is None or topic.log_start is None or topic.high_watermark is None:
            return None
        kept = topic.high_watermark - max(offset, topic.log_start)
        if kept > 0 and topic.record_bytes is None:
            return None
        total += max(kept, 0) * (topic.record_bytes or 0.0)
    return int(total)


def limit_reached(hold: Hold, view: HoldView, now: datetime, share: float) -> str | None:
    """The first limit of which this share is used up, as a sentence; what is unknown is no limit."""
    age = now - hold.renewal.observed_at if hold.renewal is not None else timedelta(0)
    if age >= hold.ttl * share and (share < 1 or was_recorded_unrenewed(hold, now)):
        return f"it was last renewed {_duration(age)} ago and its ttl is {_duration(hold.ttl)}"
    used = lag_bytes(hold.granted or hold.claim, view.topics) if hold.max_lag_bytes is not None else None
    if used is not None and hold.max_lag_bytes is not None and used >= hold.max_lag_bytes * share:
        return f"it keeps {used} bytes and maxLagBytes is {hold.max_lag_bytes}"
    return None if hold.max_lag_age is None else _too_old(hold, hold.max_lag_age, view, share)


def _too_old(hold: Hold, max_lag_age: timedelta, view: HoldView, share: float) -> str | None:
    """The first record that is kept and too old, by its own timestamp; a topic of which nothing is known has none."""
    for name, offset in (hold.granted or hold.claim).offsets_among(view.topics).items():
        topic = view.topics.get(name)
        young = None if topic is None else topic.near_from if share < 1 else topic.young_from
        if topic is None or topic.log_start is None or young is None:
            continue
        kept = max(offset, topic.log_start)
        if kept < young:
            return f"the record of {name} at {kept} is older than {share:.0%} of maxLagAge, {_duration(max_lag_age)}"
    return None


def are_limits_known(hold: Hold, view: HoldView) -> bool:
    """Whether all that the hold's limits are about is known; else nobody can say that it is not near one any more."""
    claim = hold.granted or hold.claim
    if hold.max_lag_bytes is not None and lag_bytes(claim, view.topics) is None:
        return False
    held = (view.topics.get(name) for name in claim.offsets_among(view.topics))
    return hold.max_lag_age is None or all(topic is not None and topic.near_from is not None for topic in held)


def longest_break(hold: Hold) -> timedelta:
    """For so long a hold need not be observed, and the time counts all the same."""
    return max(LEDGER_LEAST_BREAK, hold.ttl * BREAK_SHARE)


def unrenewed_now(hold: Hold, time: TrustedTime) -> Stretch | None:
    """What is to be written of a granted hold that is due; None: nothing, it is not, or what is written is fresh.

    Whoever cannot write it cannot be written to: a time in which the API server was away does not count.
    """
    now = time.earliest
    if hold.granted is None or hold.renewal is None or now is None:
        return None
    if now < hold.renewal.observed_at + hold.ttl * DUE_SHARE:
        return None
    found = prolonged(hold.unrenewed, time.later, longest_break(hold))
    return None if found == hold.unrenewed else found


def was_recorded_unrenewed(hold: Hold, now: datetime) -> bool:
    """Whether it was observed to be due for long enough to be renewed; nobody relies on what was not granted."""
    if hold.granted is None:
        return True
    return hold.unrenewed is not None and now >= hold.unrenewed.from_time + hold.ttl * DUE_SHARE


def expires_at(hold: Hold) -> datetime | None:
    """When it expires unless it is renewed, as far as it is known now."""
    if hold.renewal is None:
        return None
    by_ttl = hold.renewal.observed_at + hold.ttl
    return by_ttl if hold.unrenewed is None else max(by_ttl, hold.unrenewed.from_time + hold.ttl * DUE_SHARE)


def at_risk_until(hold: Hold) -> datetime | None:
    """Until when a hold that is AtRisk is not Lost, by the operator's clock; None: it is not AtRisk."""
    if hold.at_risk_since is None:
        return None
    return hold.at_risk_since + min(LEDGER_LEAST_AT_RISK, hold.ttl * LEAST_SHARE)


def was_recorded_at_risk(hold: Hold, now: datetime) -> bool:
    """Whether the hold was AtRisk for long enough; a clock that was set back never makes it longer.

    That it began a little later than now is no such clock: both times are by clocks that agree (`CLOCKS_AGREE`).
    """
    until = at_risk_until(hold)
    return until is None or hold.at_risk_since is None or not hold.at_risk_since - 2 * CLOCKS_AGREE <= now < until


def _duration(age: timedelta) -> str:
    return f"{age.total_seconds():g} s"
