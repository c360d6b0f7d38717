"""The values of holds: what is claimed, what was granted, and what the granter sees. `holds.py` has the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b

from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.ledger.fence import Break, Finding


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
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class LogIds:
    """Which logs were granted, small however many they are: a log that was recreated since has another id."""

    count: int
    digest: str
    """16 hexadecimal digits of their names and topic ids."""

    @classmethod
    def of(cls, topic_ids: Mapping[str, str]) -> LogIds:
        """Those of these topics."""
        listed = "\n".join(f"{name} {topic_ids[name]}" for name in sorted(topic_ids))
        return cls(len(topic_ids), blake2b(listed.encode(), digest_size=8).hexdigest())


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
    renewal: Renewal | None = None
    at_risk_since: datetime | None = None
    kept_by: tuple[str, ...] | None = None
    """The finalizers that keep a hold which is being deleted; None: it is not."""

    @property
    def described(self) -> str:
        """Its name, and why it still counts if somebody has deleted it."""
        return self.name if self.kept_by is None else f"{self.name}, which is being deleted and kept by {self.keeper}"

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
    size_bytes: int | None = None
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
    """What the granter sees: all topics of the pool."""

    topics: Mapping[str, HeldTopic]

    def logs_of(self, claim: Claim) -> LogIds | None:
        """The ids of the claimed topics' logs; None while any is unknown."""
        known = {
            name: topic.topic_id
            for name in claim.offsets_among(self.topics)
            if (topic := self.topics.get(name)) is not None and topic.topic_id is not None
        }
        return LogIds.of(known) if len(known) == len(claim.offsets_among(self.topics)) else None


@dataclass(frozen=True, slots=True)
class HoldChange:
    """What to write, by compare-and-swap, and the sentence that the condition and the event show."""

    hold: Hold
    sentence: str
