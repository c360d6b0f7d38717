"""Which topics of the pool are read, from where and to where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seawall.domain.ledger import offsets, rules
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.text import few

PASSING = frozenset(
    {
        Reason.OFFSETS_UNKNOWN,
        Reason.REGION_UNMAPPED,
        Reason.REGION_MISSING,
        Reason.REGION_STALE,
        Reason.REGION_OPENING,
    }
)
"""Why a topic is not read, where that may pass by itself."""


@dataclass(frozen=True, slots=True)
class RegionRange:
    """A region: the first offset that it would read, and up to where it is durable (inclusive; None: nothing is)."""

    region_id: int
    reads_from: int
    flushed: int | None

    def to_json(self) -> dict[str, object]:
        """As the contracts have it."""
        return {"id": self.region_id, "readsFrom": self.reads_from, "flushed": self.flushed}


@dataclass(frozen=True, slots=True)
class TopicRange:
    """A topic to read: [start, end) of the log with this id."""

    name: str
    topic_id: str
    log_start: int
    start: int
    end: int
    regions: tuple[RegionRange, ...]
    first_read: int = 0
    """The first offset that any region would read, one that is created later too, and that is still there."""
    chain_start: int | None = None
    """Of a backup: the first offset that its chain has without a gap up to it; None: that is not known."""

    def to_json(self, **more: object) -> dict[str, object]:
        """As the contracts have it; `more` is what one of them alone has."""
        return {
            "name": self.name,
            "topicId": self.topic_id,
            "logStart": self.log_start,
            "from": self.start,
            "to": self.end,
            **more,
            "regions": [region.to_json() for region in self.regions],
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """The topics that a job selects, by what can be done with them."""

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

    def report(self) -> str:
        """The first few topics that are not read."""
        return few(f"{name} {reason}" for name, reason in sorted(self.against.items()))

    def may_pass(self) -> bool:
        """Whether some of what keeps topics from being read may pass by itself."""
        return any(reason in PASSING for reason in self.against.values())


class Topics:
    """The topics of the pool that a job selects, as the ledger has them."""

    def __init__(self, observation: Observation, selects: Callable[[str], bool]) -> None:
        self._logs = observation.read.logs
        self._case = plan(observation.assessment.inputs).case
        names = self._case.topics.names
        self._without_regions = self._case.without_regions()
        self._regions = _regions(self._case)
        self.rows = {name: row for row, name in enumerate(names) if name in observation.topics and selects(name)}
        """By name its row in the ledger."""

    def log(self, name: str) -> TopicLog:
        """What Kafka says of its log."""
        return self._logs[name]

    def intent(self, name: str) -> int:
        """Up to which offset records were meant to be deleted; 0: nothing ever was."""
        return self.known_intent(name) or 0

    def known_intent(self, name: str) -> int | None:
        """The same; None: it is not recorded, or cannot be read."""
        return self._case.bounds.intent.at(self.rows[name])

    def first_read(self, name: str) -> int:
        """The first offset that any region would read, one that is created later too; 0: that is not known."""
        return self.known_first_read(name) or 0

    def known_first_read(self, name: str) -> int | None:
        """The same; None: that is not known.

        Such a region has flushed nothing: it begins after the pruned marker, or, where the database reads none, at 0.
        """
        mode = self._case.prune_mode
        if not mode.mode.reads_marker:
            return None if mode.report_only is Reason.SETTINGS_UNKNOWN else 0
        is_read = mode.report_only is None  # else another version may run than is declared
        marker = self._case.topics.marker.at(self.rows[name]) if is_read else None
        return None if marker is None else marker + 1

    def why_first_read_unknown(self, name: str) -> Reason | None:
        """Why it is; None: it is known."""
        mode = self._case.prune_mode
        return None if self.known_first_read(name) is not None else mode.report_only or Reason.MARKER_MISSING

    def lowest_read(self, name: str) -> int | None:
        """The same, by its regions, too: another version than is declared reads no less than is said of them."""
        mode, found = self._case.prune_mode, [self.known_first_read(name)]
        if mode.mode.reads_marker or mode.report_only is not Reason.SETTINGS_UNKNOWN:
            found += [each.reads_from for each in self._regions_of(name)]
        return min((start for start in found if start is not None), default=None)

    def marker(self, name: str) -> int:
        """The pruned marker; 0: there is none, or it is not known."""
        return self._case.topics.marker.at(self.rows[name]) or 0

    def is_idle(self, name: str) -> bool:
        """Whether no region writes to it."""
        return bool(self._without_regions[self.rows[name]])

    def _regions_of(self, name: str) -> tuple[_Region, ...]:
        return self._regions.get(self.rows[name], ())

    def regions(self, name: str) -> tuple[RegionRange, ...] | None:
        """Its regions; None: where one of them would begin to read is not known."""
        found = self._regions_of(name)
        known = tuple(each.reading_from(each.reads_from) for each in found if each.reads_from is not None)
        return known if len(known) == len(found) else None

    def flushed(self, name: str) -> dict[int, int | None]:
        """By region up to where it is durable (inclusive); None: the database does not say."""
        return {each.region_id: each.flushed for each in self._regions_of(name)}

    def regions_at_most(self, name: str, start: int) -> tuple[RegionRange, ...]:
        """Its regions; one of which nobody knows where it would begin to read may read all that is not flushed."""
        return tuple(each.reading_from(each.at_most_from(start)) for each in self._regions_of(name))

    def may_read_before_log(self, name: str) -> int | None:
        """A region that does not say from where it reads, and may read what the log has no more; None: there is none.

        It reads no less than one that is created now. One of a table that was dropped nobody expects to read.
        """
        least, log_start = self.first_read(name), self.log(name).log_start or 0
        silent = (each for each in self._regions_of(name) if each.reads_from is None and not each.is_dropped)
        return next((each.region_id for each in silent if each.at_most_from(least) < log_start), None)

    def against(self, reasons: Collection[Reason]) -> dict[str, Reason]:
        """By topic the first of these reasons that the ledger has for it, in the ledger's order."""
        by_row = {row: name for name, row in self.rows.items()}
        found: dict[str, Reason] = {}
        for reason, rule in rules.LEFT_ALONE:
            if reason in reasons:
                for row in np.flatnonzero(rule(self._case)).tolist():
                    if row in by_row:
                        found.setdefault(by_row[row], reason)
        return found

    def is_young(self, against: Mapping[str, Reason]) -> bool:
        """Whether this operator began to watch a moment ago what may pass by itself."""
        briefly = self._case.bounds.watched_too_shortly
        return any(reason in PASSING and briefly[self.rows[name]] for name, reason in against.items())


class _Region(NamedTuple):
    """A region, as far as the ledger knows it."""

    region_id: int
    reads_from: int | None
    flushed: int | None
    is_dropped: bool

    def at_most_from(self, start: int) -> int:
        """What is durable, which is known also where a marker is not, no region reads."""
        if self.reads_from is not None:
            return self.reads_from
        return start if self.flushed is None else max(start, self.flushed + 1)

    def reading_from(self, start: int) -> RegionRange:
        return RegionRange(self.region_id, start, self.flushed)


def _regions(case: rules.Case) -> dict[int, tuple[_Region, ...]]:
    """By row of a topic its regions."""
    flushed, found = offsets.flushed_to(case.regions), dict[int, list[_Region]]()
    for at, topic in enumerate(case.regions.topic.tolist()):
        reads_from, is_dropped = case.reads_from.at(at), bool(case.regions.dropped[at])
        region = _Region(int(case.regions.region[at]), reads_from, flushed.at(at), is_dropped)
        found.setdefault(topic, []).append(region)
    return {topic: tuple(regions) for topic, regions in found.items()}
