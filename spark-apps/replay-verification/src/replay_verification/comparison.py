"""What of a snapshot can be compared with the log: pairs of cuts between which the log is whole. Pure.

rows at the older cut + entries (older, newer] of the log = rows at the newer cut
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from replay_verification.coverage import LogState
from replay_verification.report import NOT_COMPARED, Comparison
from replay_verification.request import Region, Topic
from sparkjob.integrity.findings import Finding, Kind
from sparkjob.snapshot import Cut, SnapshotRegion


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring cuts of a region."""

    region: SnapshotRegion
    older: Cut
    newer: Cut


@dataclass(slots=True)
class Plan:
    """The pairs to compare, the regions that cannot be compared, and what is wrong already."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: dict[int, Comparison] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Topic → the offsets [start, end) that the pairs need."""
        found: dict[str, tuple[int, int]] = {}
        for pair in self.pairs:
            start, end = found.get(pair.region.topic, (pair.older.entry_id + 1, 0))
            found[pair.region.topic] = min(start, pair.older.entry_id + 1), max(end, pair.newer.entry_id + 1)
        return found


def plan_comparison(
    topics: tuple[Topic, ...],
    snapshot: Mapping[int, SnapshotRegion],
    states: Mapping[str, LogState],
    replayed: Collection[int],
) -> Plan:
    """What can be compared of these topics, all of which have a state. `replayed` are the regions that replay any."""
    plan = Plan()
    for topic in topics:
        for region in topic.regions:
            own = snapshot.get(region.id)
            _plan_region(plan, topic, region, own, states[topic.name], replays=region.id in replayed)
    return plan


def _plan_region(
    plan: Plan, topic: Topic, region: Region, found: SnapshotRegion | None, state: LogState, *, replays: bool
) -> None:
    own = found if found is not None and found.topic == topic.name else None  # entry ids are offsets of its topic
    if own is not None and (ahead := [cut for cut in own.cuts if cut.entry_id >= state.end]):
        said = (
            f"the snapshot has rows up to entry {ahead[0].entry_id}, but the log ends at {state.end}: it lost its tail"
        )
        plan.findings.append(Finding(Kind.LOG_ENDS_BEFORE_CUT, topic.name, said, state.end, region.id))
    pairs = [] if own is None or own.append_mode else list(_pairs(own, state))
    if pairs and replays and pairs[-1].newer.entry_id + 1 < region.reads_from:
        # Flushed since: that the log was right up to there is no proof of what is replayed after the newest flush.
        newest = f"its newest cut, at entry {pairs[-1].newer.entry_id}"
        said = f"{newest}, lies before what it would read, from {region.reads_from} on: take the snapshot anew"
        plan.left_out[region.id] = Comparison(NOT_COMPARED, said)
    elif pairs:
        plan.pairs += pairs
    else:
        plan.left_out[region.id] = Comparison(NOT_COMPARED, _why_not(topic, found, state))


def _pairs(region: SnapshotRegion, state: LogState) -> Iterator[Pair]:
    for older, newer in pairwise(region.cuts):
        if state.start <= older.entry_id + 1 and newer.entry_id < state.end:
            yield Pair(region, older, newer)


def _why_not(topic: Topic, region: SnapshotRegion | None, state: LogState) -> str:
    if region is None:
        return "the snapshot does not have it"
    if region.topic != topic.name:
        return f"the snapshot has it on topic {region.topic}"
    if region.append_mode:
        return "its table is in append_mode: rows of the same key all count, and which entry a row is of is not known"
    if len(region.cuts) < 2:  # noqa: PLR2004 - two cuts make a pair
        return "the snapshot has fewer than two cuts of it"
    if region.cuts[-2].entry_id + 1 < state.start:
        return f"the log starts at {state.start}, after what follows the cut at entry {region.cuts[-2].entry_id}"
    return f"the log ends at {state.end}, before the cut at entry {region.cuts[-1].entry_id}"
