"""The ledger: for each topic how far it may be purged, or why it is left alone, and who holds it.

`plan` says what a run would get to, and is what people see. `permit` says what may be deleted now: it needs the value
that the run has seen before, and evidence that every region has reported twice since. Both apply the same rules
(`rules.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from seawall.domain.columns import Ids, Numbers, choose, first_by, greatest, least
from seawall.domain.ledger import offsets, rules
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.tables import Bounds, Freshness, Regions, Topics


class Holder(StrEnum):
    """What keeps the oldest record that stays."""

    REGION = "Region"
    """The region that needs the oldest record: a flush of it would help."""
    FOLLOWER = "Follower"
    """A follower of a region, which is behind its leader."""
    MARKER = "Marker"
    """No region: the database has not moved its marker up to what its regions allow (mode A)."""
    RECORDED_COLUMN = "SeenValue"
    """No region: the run deletes to what it has seen; the next one takes the newer value."""
    MARGIN = "KeepEntries"
    """keepEntries of a policy."""
    HOLD = "Hold"
    """A WALHold."""
    VERIFICATION = "Verification"
    """A policy requires a verification, and the last good one began there."""
    DECLARED = "DeclaredUnused"
    """Nothing: no region writes there, and a person declared that nobody needs it."""
    NOBODY = "Nobody"
    """There is no floor."""


_HOLDERS: tuple[Holder, ...] = tuple(Holder)


@dataclass(frozen=True, slots=True)
class Inputs:
    """One look at everything, as it came from the outside in this order: reports, metadata, Kafka, intents, holds."""

    prune_mode: PruneMode
    regions: Regions
    freshness: Freshness
    topics: Topics
    bounds: Bounds

    def without_dead(self) -> Inputs:
        """The inputs as they count: a region that is dead by a person's word needs nothing and is not waited for."""
        dead = self.freshness.dead
        if not dead.any():
            return self
        return replace(self, regions=self.regions.only(~dead), freshness=self.freshness.only(~dead))


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """One row for each topic."""

    case: rules.Case
    floor: Ids
    """Highest id at and below which the database needs nothing for replay; the log is kept from it on."""
    purge_to: Ids
    """Exclusive offset for DeleteRecords; unknown where the topic is left alone."""
    finding: Ids
    """Row in `rules.LEFT_ALONE`; unknown where the topic is not left alone."""
    holder: Numbers
    """Number of the `Holder`."""
    holding_region: Ids
    """The row of the region with the lowest prunable id."""

    @property
    def topics(self) -> Topics:
        """The table of topics."""
        return self.case.topics

    def reason(self, row: int) -> Reason | None:
        """Why the topic is left alone; None: it is not."""
        finding = self.finding.at(row)
        return None if finding is None else rules.LEFT_ALONE[finding][0]

    def holder_of(self, row: int) -> Holder:
        """What keeps the oldest record that stays."""
        return _HOLDERS[int(self.holder[row])]


def plan(inputs: Inputs) -> Ledger:
    """What a run that begins now would get to, if nothing changed."""
    inputs = inputs.without_dead()
    regions, topics, mode = inputs.regions, inputs.topics, inputs.prune_mode.mode
    prunable = offsets.prunable(regions, inputs.freshness, mode, undrops=inputs.prune_mode.undrops)
    floor = offsets.to_be_recorded(prunable, regions, topics, mode, inputs.bounds)
    return _decide(inputs, prunable, floor, needs_evidence=False)


def permit(inputs: Inputs, recorded: Ids) -> Ledger:
    """What may be deleted now, of topics whose value was seen (and in mode B announced) before."""
    inputs = inputs.without_dead()
    regions, topics, mode = inputs.regions, inputs.topics, inputs.prune_mode.mode
    prunable = offsets.prunable(regions, inputs.freshness, mode, undrops=inputs.prune_mode.undrops)
    floor = offsets.floor(recorded, offsets.read_again(regions, topics, mode, inputs.bounds.unused))
    return _decide(inputs, prunable, floor, needs_evidence=True)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A marker to write in one transaction of the metadata store.

    The transaction compares that the marker is still `expected`, and that no key under the topic's region keys is newer
    than `revision`, at which they were read: a region that was born in between would begin below.
    """

    topic: str
    expected: int
    marker: int
    revision: int


def announcements(ledger: Ledger) -> tuple[Announcement, ...]:
    """The markers that a run in mode B writes: only upwards, and none of a topic that is left alone."""
    if ledger.case.prune_mode.mode is not Mode.B or ledger.case.needs_evidence:
        return ()
    marker = ledger.topics.marker
    rows = np.flatnonzero(ledger.floor.above(marker) & ~ledger.finding.known)
    names, revision = ledger.topics.names, ledger.topics.revision
    return tuple(
        Announcement(names[row], int(marker.numbers[row]), int(ledger.floor.numbers[row]), revision) for row in rows
    )


def recorded_column(names: tuple[str, ...], recorded: dict[str, int]) -> Ids:
    """The recorded values as a column; unknown for the others."""
    return Ids.of(recorded.get(name) for name in names)


def _decide(inputs: Inputs, prunable: Ids, floor: Ids, *, needs_evidence: bool) -> Ledger:
    case = rules.Case(
        inputs.prune_mode,
        inputs.regions,
        inputs.freshness,
        inputs.topics,
        inputs.bounds,
        prunable,
        offsets.reads_from(inputs.regions, inputs.topics, inputs.prune_mode.mode),
        offsets.purge_to(floor, inputs.bounds),
        needs_evidence,
    )
    finding = _first_finding(case)
    holder, region = _holders(case, floor)
    return Ledger(case, floor, case.purge_to.only(~finding.known), finding, holder, region)


def _first_finding(case: rules.Case) -> Ids:
    """By topic the first rule that holds. Rules after that of the last topic are not asked: they could not be first."""
    left = len(case.topics)
    numbers, known = np.zeros(left, np.int64), np.zeros(left, np.bool_)
    for number, (_, rule) in enumerate(rules.LEFT_ALONE):
        fresh = rule(case) & ~known
        if count := int(np.count_nonzero(fresh)):
            numbers[fresh] = number
            known |= fresh
            left -= count
        if not left:
            break
    return Ids(numbers, known)


def _holders(case: rules.Case, floor: Ids) -> tuple[Numbers, Ids]:
    """What the minimum of `purge_to` is made of; of equals the one that no person can lift comes first."""
    bounds, count = case.bounds, len(case.topics)
    lowest = case.prunable.least_by(case.regions.topic, count)
    at_lowest = lowest.take(case.regions.topic).equals(case.prunable)
    region = first_by(at_lowest, case.regions.topic, count)
    verified = bounds.verified_from.only(bounds.verification_required)
    kept = floor - bounds.keep_entries
    behind = Holder.RECORDED_COLUMN if case.needs_evidence and case.prune_mode.mode is not Mode.A else Holder.MARKER
    holder = np.full(count, _HOLDERS.index(Holder.REGION))
    holder[lowest.above(floor) | ~lowest.known] = _HOLDERS.index(behind)
    holder[case.without_regions() & bounds.unused] = _HOLDERS.index(Holder.DECLARED)
    holder[floor.known & (bounds.keep_entries > 0)] = _HOLDERS.index(Holder.MARGIN)
    # A run has seen what the follower needed then: at the floor, too, it is the follower unless a region needs as much.
    binds = bounds.follower.known & ~bounds.follower.above(kept)
    holder[binds & (lowest.above(bounds.follower) | kept.above(bounds.follower))] = _HOLDERS.index(Holder.FOLLOWER)
    kept = least(kept, bounds.follower)
    holder[kept.above(bounds.hold)] = _HOLDERS.index(Holder.HOLD)
    holder[least(kept, bounds.hold).above(verified)] = _HOLDERS.index(Holder.VERIFICATION)
    holder[~floor.known] = _HOLDERS.index(Holder.NOBODY)
    return holder, region


def entries_below(ledger: Ledger) -> Ids:
    """Entries below the floor: what the database does not need any more."""
    log_start = ledger.topics.log_start
    edge = greatest(log_start, least(ledger.floor, ledger.topics.high_watermark))
    return Ids(edge.numbers - log_start.numbers, log_start.known & ledger.floor.known)


def entries_above(ledger: Ledger) -> Ids:
    """Entries from the floor on."""
    log_start, end = ledger.topics.log_start, ledger.topics.high_watermark
    edge = least(end, greatest(log_start, ledger.floor))
    return Ids(end.numbers - edge.numbers, log_start.known & end.known & ledger.floor.known)


def entries_to_purge(ledger: Ledger) -> Ids:
    """Entries that `purge_to` removes; 0 where the topic is left alone."""
    gone = ledger.purge_to.numbers - ledger.topics.log_start.numbers
    return choose(ledger.purge_to.known, Ids.of_known(gone), Ids.of_known(np.zeros_like(gone)))


def as_bytes(ledger: Ledger, topic: Numbers, entries: Ids) -> Ids:
    """Entries of these topics as bytes, by each topic's mean; unknown where its size is."""
    topics = ledger.topics
    total = topics.high_watermark.numbers - topics.log_start.numbers
    mean = np.divide(topics.size_bytes.numbers, total, out=np.zeros(len(topics)), where=total > 0)
    size = topics.size_bytes.take(topic)
    return Ids((entries.numbers * mean[topic]).astype(np.int64), entries.known & size.known)
