"""Which topics of a look are read, from where and to where; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.ledger import offsets, rules
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason

UNREADABLE = frozenset(
    {
        Reason.LOG_START_BEYOND_REPLAY,
        Reason.FENCE_BROKEN,
        Reason.OFFSETS_UNKNOWN,
        Reason.MARKER_MISSING,
        Reason.REGION_START_UNKNOWN,
        Reason.REGION_UNMAPPED,
        Reason.REGION_MISSING,
        Reason.REGION_STALE,
        Reason.REGION_OPENING,
        Reason.DECLARATION_CONTRADICTED,
        Reason.COMPACTED,
        Reason.INTENTS_UNREADABLE,
        Reason.FOREIGN_DELETE,
    }
)
"""Why a topic is not read: what a restart would read of it is not known, known to be gone, or cannot be held."""

PASSING = frozenset(
    {
        Reason.OFFSETS_UNKNOWN,
        Reason.REGION_UNMAPPED,
        Reason.REGION_MISSING,
        Reason.REGION_STALE,
        Reason.REGION_OPENING,
    }
)
"""What of it may pass by itself."""


@dataclass(frozen=True, slots=True)
class RegionRange:
    """A region: the first offset that it would read, and up to where it is durable (inclusive; None: nothing is)."""

    region_id: int
    reads_from: int
    flushed: int | None


@dataclass(frozen=True, slots=True)
class TopicRange:
    """A topic to read: [start, end) of the log with this id."""

    name: str
    topic_id: str
    log_start: int
    start: int
    end: int
    regions: tuple[RegionRange, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The topics that a verification selects, by what can be done with them."""

    readable: tuple[TopicRange, ...] = ()
    idle: tuple[str, ...] = ()
    """No region writes to them: nothing is replayed."""
    against: Mapping[str, Reason] = field(default_factory=dict)
    """By topic why it is not read."""
    watched_too_briefly: bool = False
    """Whether this operator began to watch such topics a moment ago, and may not have seen their reports advance."""

    @property
    def count(self) -> int:
        """How many topics are selected."""
        return len(self.readable) + len(self.idle) + len(self.against)

    def may_pass(self) -> bool:
        """Whether some of what keeps topics from being read may pass by itself."""
        return any(reason in PASSING for reason in self.against.values())


def select(observation: Observation, spec: VerificationTemplate) -> Selection:
    """Sorts the topics of the pool that the spec selects, by one look."""
    case = plan(observation.assessment.inputs).case
    names = case.topics.names
    against = _against(case)
    without_regions = case.without_regions()
    readable: list[TopicRange] = []
    idle: list[str] = []
    left: dict[str, Reason] = {}
    regions = _regions(case)
    for row, name in enumerate(names):
        if name not in observation.topics or not spec.selects(name):
            continue
        reason, found = against.get(row), None
        if reason is None and not without_regions[row]:
            found = _range(observation, case, row, regions.get(row, ()))
        if reason is not None:
            left[name] = reason
        elif found is not None:
            readable.append(found)
        elif without_regions[row]:
            idle.append(name)
        else:
            left[name] = Reason.REGION_START_UNKNOWN
    young = any(case.bounds.watched_too_shortly[row] for row, name in enumerate(names) if left.get(name) in PASSING)
    return Selection(tuple(readable), tuple(idle), left, watched_too_briefly=young)


def _against(case: rules.Case) -> dict[int, Reason]:
    """By row the first reason not to read a topic, in the ledger's order."""
    found: dict[int, Reason] = {}
    for reason, rule in rules.LEFT_ALONE:
        if reason in UNREADABLE:
            for row in np.flatnonzero(rule(case)).tolist():
                found.setdefault(row, reason)
    return found


def _regions(case: rules.Case) -> dict[int, tuple[RegionRange | None, ...]]:
    """By row of a topic its regions; None for one whose start is not known."""
    flushed, found = offsets.flushed_to(case.regions), dict[int, list[RegionRange | None]]()
    for at, topic in enumerate(case.regions.topic.tolist()):
        start = case.reads_from.at(at)
        region = None if start is None else RegionRange(int(case.regions.region[at]), start, flushed.at(at))
        found.setdefault(topic, []).append(region)
    return {topic: tuple(ranges) for topic, ranges in found.items()}


def _range(
    observation: Observation, case: rules.Case, row: int, regions: tuple[RegionRange | None, ...]
) -> TopicRange | None:
    """None: something that must be known is not."""
    known = tuple(region for region in regions if region is not None)
    log = observation.read.logs[case.topics.names[row]]
    if len(known) != len(regions) or log.topic_id is None or log.log_start is None or log.high_watermark is None:
        return None
    start = min(region.reads_from for region in known)
    if start > log.high_watermark:
        return None
    return TopicRange(case.topics.names[row], log.topic_id, log.log_start, start, log.high_watermark, known)
