"""One observation: what was read becomes the ledger's inputs, and what the process remembers of it.

    assess   _case           for how long is waited, whether all was read at one time, what was there before
             _judge_logs     who the logs are: identities, findings, what a person readopts
             _judge_reports  which reports count: staleness, evidence, regions that are declared dead
             _bounds         what bounds deletes beside the regions: policies, holds, intents, verifications, restarts
             _remember       what the next observation compares with

The order in which everything is read anew is in `read.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from seawall.domain.columns import Ids, Mask, mask_of
from seawall.domain.dataplane.followers import Followers
from seawall.domain.ledger import flushed_ids
from seawall.domain.ledger.bounds import Claims, Watched, make_bounds
from seawall.domain.ledger.dead_watch import DeadFound, Surroundings, back_behind_marker, find_dead
from seawall.domain.ledger.fence import Finding
from seawall.domain.ledger.followers import follower_bounds
from seawall.domain.ledger.identities import (
    Identity,
    find_findings,
    find_identities,
    find_replaced,
    first_records,
    marked_records,
    remembered_logs,
    remembered_markers,
)
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import Inputs
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.policy import EffectivePolicy, Policy, counts_followers
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.regions import RegionsOfTopics, build_regions
from seawall.domain.ledger.report_history import (
    Evidence,
    ReportHistory,
    advance,
    advanced_within,
    freshness,
    watched_too_shortly,
)
from seawall.domain.ledger.restarts import kept_for_restarts
from seawall.domain.ledger.tables import Bounds, Freshness, Topics, make_topics
from seawall.domain.ledger.unplaced import UnplacedWatch, stopped_topics, watch_unplaced
from seawall.domain.ledger.vanished import vanished_topics
from seawall.domain.ledger.waits import Waits, waits_of

VANISHED_KEPT = 3_600_000
"""Milliseconds for which a region that vanished is remembered at least: another look may have a longer openGrace."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The ledger's inputs, and what goes with them."""

    memory: Memory
    inputs: Inputs
    table: RegionsOfTopics
    policies: Mapping[str, EffectivePolicy]
    identities: Mapping[str, Identity]
    """By topic; one of which Kafka said nothing has none."""
    marked: Mapping[str, FenceRecord]
    """Records to write at once of topics that have no identity: a readoption has met them."""
    dead_problems: tuple[str, ...] = ()
    """Why declarations of dead regions are ignored, one sentence each."""

    def with_records_of_others(self, topics: Collection[str]) -> Assessment:
        """The same, knowing which topics' logs contradict a region (`witness.py`)."""
        names = self.inputs.topics.names
        column = mask_of((name in topics for name in names), len(names))
        bounds = replace(self.inputs.bounds, records_of_others=column)
        return replace(self, inputs=replace(self.inputs, bounds=bounds))


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """What was read, beside what was observed before."""

    memory: Memory
    """Without what it has of logs that are other ones now."""
    read: Read
    table: RegionsOfTopics
    waits: Waits
    reports_history: ReportHistory
    """With this observation."""
    unplaced: tuple[UnplacedWatch, ...]
    topics: Topics
    follower_topics: Mask
    """By topic, whether followers count."""
    followers: Followers
    """Those that count."""


@dataclass(frozen=True, slots=True)
class _Logs:
    """Who the logs are."""

    identities: Mapping[str, Identity]
    findings: Mapping[str, Finding]
    adopted: set[str]
    """The topics that a person readopts by this observation."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reports:
    """Which reports count."""

    freshness: Freshness
    dead: DeadFound
    recorded_since: Mapping[tuple[str, int], int]
    observed_at: Ids
    """By topic, since when this process knows that the run's value is recorded."""


def assess(memory: Memory, read: Read, prune_mode: PruneMode, policies: Iterable[Policy]) -> Assessment:
    """Puts together what was read. A topic without a policy is shown with the default times."""
    case = _case(memory, read, tuple(policies))
    logs, reports = _judge_logs(case), _judge_reports(case, prune_mode.mode)
    bounds = _bounds(case, logs, reports, prune_mode.mode)
    return Assessment(
        _remember(case, logs, reports),
        Inputs(prune_mode, case.table.regions, reports.freshness, case.topics, bounds),
        case.table,
        case.waits.policies,
        logs.identities,
        marked_records(case.read, logs.identities),
        reports.dead.problems,
    )


def _case(memory: Memory, read: Read, policies: tuple[Policy, ...]) -> _Case:
    table = build_regions(read.reports, read.snapshot, read.logs)
    replaced = find_replaced(memory, read)
    memory = memory.without(replaced, _regions_of(table, replaced))
    waits = waits_of(table.names, policies)
    read = _of_one_time(read, waits.shortest_grace)
    reports_history = advance(
        memory.reports_history,
        table.names,
        table.regions,
        read.began,
        keep_vanished=max(VANISHED_KEPT, waits.longest_grace),
        longest_pause=waits.shortest_grace,
    )
    unplaced = watch_unplaced(memory.unplaced, table.unplaced, memory.reports_history, read.began)
    topics = _topics(table, read, reports_history, waits, unplaced)
    counts = mask_of((counts_followers(waits.policies.get(name)) for name in table.names), len(table.names))
    counted = table.followers.of_regions(table.regions.region[counts[table.regions.topic]])
    return _Case(memory, read, table, waits, reports_history, unplaced, topics, counts, counted)


def _judge_logs(case: _Case) -> _Logs:
    memory, read = case.memory, case.read
    table = replace(case.table, followers=case.followers)
    identities = find_identities(memory, read, table, case.topics, case.reports_history)
    findings = find_findings(memory, read, table.names, identities)
    return _Logs(identities, findings, {name for name, found in identities.items() if found.is_readopted})


def _judge_reports(case: _Case, mode: Mode) -> _Reports:
    read, table, waits = case.read, case.table, case.waits
    recorded_since = _recorded_since(case.memory, read)
    observed_at = _recorded_at(table.names, read, recorded_since)
    evidence = Evidence(observed_at, waits.open_grace)
    fresh = freshness(case.reports_history, table.regions, read.began, waits.stale_after, evidence)
    around = Surroundings(
        began=read.began,
        last_observation=case.memory.reports_history.observed_at,
        table=table,
        snapshot=read.snapshot,
        reports=read.reports,
        processes=read.processes,
        pool=read.logs.keys(),
        stale=fresh.stale,
        stale_after=waits.stale_after,
        open_grace=waits.open_grace,
    )
    back = back_behind_marker(read.lapsed, table.regions, fresh.stale, case.topics, mode)
    dead = find_dead(case.memory.dead, read.dead, around).with_lapsed(back, table.regions)
    fresh = replace(fresh, dead=dead.dead, contradicted=dead.contradicted)
    return _Reports(fresh, dead, recorded_since, observed_at)


def _bounds(case: _Case, logs: _Logs, reports: _Reports, mode: Mode) -> Bounds:
    read, regions = case.read, case.table.regions
    claims = Claims(
        policies=case.waits.policies,
        holds=read.holds,
        records=read.records,
        unreadable_records=read.unreadable_records,
        lost_records=read.lost_records,
        contested=read.contested,
        fence_broken=frozenset(logs.findings),
        verified=tuple(each for each in read.verified if each.topic not in logs.adopted),
        stopped=read.stopped,
        unused=read.unused,
        dead=reports.dead.sentences,
    )
    watched = _watched(case, reports, mode)
    bounds = make_bounds(case.table.names, read.logs, claims, watched, read.shared_now or read.now)
    return replace(bounds, restarting=kept_for_restarts(read.restarts, regions, case.topics, bounds))


def _watched(case: _Case, reports: _Reports, mode: Mode) -> Watched:
    began, grace, regions = case.read.began, case.waits.open_grace, case.table.regions
    dead, idles = regions.region[reports.dead.dead], reports.freshness.settled & mode.reads_marker
    return Watched(
        watched_too_shortly(case.reports_history, began, grace),
        reports.observed_at.known & (began - reports.observed_at.numbers >= grace),
        follower_bounds(case.table.followers, regions, idles, dead, case.follower_topics),
    )


def _remember(case: _Case, logs: _Logs, reports: _Reports) -> Memory:
    memory, read, table = case.memory, case.read, case.table
    flushed = memory.flushed.forget(_regions_of(table, logs.adopted))
    return Memory(
        case.reports_history,
        flushed_ids.remember(flushed, table.regions, case.followers),
        logs.findings,
        reports.recorded_since,
        reports.dead.watches,
        remembered_logs(memory, read, logs.findings, logs.adopted),
        first_records(memory, read, logs.adopted),
        case.unplaced,
        remembered_markers(memory, read, logs.adopted),
    )


def _of_one_time(read: Read, open_grace: int) -> Read:
    """Without offsets, if the process froze while it read for longer than one openGrace.

    Another operator may then have purged by a marker that is newer than the metadata here, and the log would seem to
    begin beyond what regions need: a false disaster. Earlier it cannot have: it waits for one openGrace at least.
    """
    if read.ended - read.began < open_grace:
        return read
    unknown = {name: replace(log, log_start=None, high_watermark=None) for name, log in read.logs.items()}
    return replace(read, logs=unknown)


def _recorded_since(memory: Memory, read: Read) -> dict[tuple[str, int], int]:
    """Counted from the end of the look: the value was recorded at some time before."""
    return {pair: memory.recorded_since.get(pair, read.ended) for pair in read.recorded.items()}


def _recorded_at(names: tuple[str, ...], read: Read, recorded_since: Mapping[tuple[str, int], int]) -> Ids:
    return Ids.of(recorded_since[name, read.recorded[name]] if name in read.recorded else None for name in names)


def _topics(
    table: RegionsOfTopics,
    read: Read,
    reports_history: ReportHistory,
    waits: Waits,
    unplaced: tuple[UnplacedWatch, ...],
) -> Topics:
    grace, longest = dict(zip(table.names, waits.open_grace.tolist(), strict=True)), waits.longest_grace
    others_report = advanced_within(reports_history, read.began, longest)
    stopped = stopped_topics(unplaced, table.names, read.began, open_grace=longest, others_report=others_report)
    return make_topics(
        table.names,
        read.snapshot.revision,
        logs=read.logs,
        markers={name: marker.pruned_entry_id for name, marker in read.snapshot.topics.items()},
        unmapped={**stopped, **table.torn},
        vanished=vanished_topics(reports_history.vanished, read.began, lambda name: int(grace.get(name, 0))),
    )


def _regions_of(table: RegionsOfTopics, topics: set[str]) -> list[int]:
    regions = table.regions
    return (
        [
            int(region)
            for topic, region in zip(regions.topic, regions.region, strict=True)
            if table.names[topic] in topics
        ]
        if topics
        else []
    )
