"""One look: what was read becomes the ledger's inputs, and what the process remembers of it.

The order in which everything is read anew is in `read.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from seawall.domain.columns import Ids, Numbers, mask_of
from seawall.domain.ledger import flushed_ids
from seawall.domain.ledger.bounds import Claims, Watched, make_bounds
from seawall.domain.ledger.dead_watch import Surroundings, find_dead
from seawall.domain.ledger.followers import follower_bounds
from seawall.domain.ledger.identities import (
    Identity,
    find_findings,
    find_identities,
    find_replaced,
    first_records,
    marked_records,
    remembered_logs,
)
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import Inputs
from seawall.domain.ledger.mode import PruneMode
from seawall.domain.ledger.policy import EffectivePolicy, Policy, Safety, counts_followers, effective_policy
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.regions import RegionsOfTopics, build_regions
from seawall.domain.ledger.report_history import (
    Evidence,
    ReportHistory,
    advance,
    advanced_within,
    freshness,
    vanished_topics,
    watched_too_shortly,
)
from seawall.domain.ledger.restarts import kept_for_restarts
from seawall.domain.ledger.tables import Topics, make_topics
from seawall.domain.ledger.unplaced import UnplacedWatch, stopped_topics, watch_unplaced

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


def assess(memory: Memory, read: Read, prune_mode: PruneMode, policies: Iterable[Policy]) -> Assessment:
    """Puts together what was read. A topic without a policy is shown with the default times."""
    table = build_regions(read.reports, read.snapshot, read.logs)
    names, regions = table.names, table.regions
    replaced = find_replaced(memory, read)
    memory = memory.without(replaced, _regions_of(table, replaced))
    by_topic = _effective(names, tuple(policies))
    stale_after, open_grace = _times(names, by_topic)
    shortest_grace = int(open_grace.min(initial=_milliseconds(Safety().open_grace)))
    read = _of_one_time(read, shortest_grace)
    recorded_since = _recorded_since(memory, read)
    reports_history = advance(
        memory.reports_history,
        names,
        regions,
        read.began,
        keep_vanished=max(VANISHED_KEPT, int(open_grace.max(initial=0))),
        longest_pause=shortest_grace,
    )
    unplaced = watch_unplaced(memory.unplaced, table.unplaced, memory.reports_history, read.began)
    topics = _topics(table, read, reports_history, open_grace, unplaced)
    counts = mask_of((counts_followers(by_topic.get(name)) for name in names), len(names))
    counted = table.followers.of_regions(regions.region[counts[regions.topic]])
    identities = find_identities(memory, read, replace(table, followers=counted), topics, reports_history)
    findings = find_findings(memory, read, table.names, identities)
    adopted = {name for name, found in identities.items() if found.is_readopted}
    observed_at = _recorded_at(names, read, recorded_since)
    fresh = freshness(reports_history, regions, read.began, stale_after, Evidence(observed_at, open_grace))
    around = Surroundings(
        began=read.began,
        last_observation=memory.reports_history.observed_at,
        table=table,
        snapshot=read.snapshot,
        reports=read.reports,
        processes=read.processes,
        pool=read.logs.keys(),
        stale=fresh.stale,
        stale_after=stale_after,
        open_grace=open_grace,
    )
    dead = find_dead(memory.dead, read.dead, around)
    claims = Claims(
        policies=by_topic,
        holds=read.holds,
        records=read.records,
        unreadable_records=read.unreadable_records,
        lost_records=read.lost_records,
        contested=read.contested,
        fence_broken=frozenset(findings),
        verified=tuple(each for each in read.verified if each.topic not in adopted),
        stopped=read.stopped,
        unused=read.unused,
        dead=dead.sentences,
    )
    too_short = watched_too_shortly(reports_history, read.began, open_grace)
    long_enough = observed_at.known & (read.began - observed_at.numbers >= open_grace)
    followers = follower_bounds(table.followers, regions, fresh.settled, regions.region[dead.dead], counts)
    watched = Watched(too_short, long_enough, followers)
    bounds = make_bounds(names, read.logs, claims, watched, read.shared_now or read.now)
    bounds = replace(bounds, restarting=kept_for_restarts(read.restarts, regions, topics, bounds))
    flushed = flushed_ids.remember(memory.flushed.forget(_regions_of(table, adopted)), regions, counted)
    fresh = replace(fresh, dead=dead.dead, contradicted=dead.contradicted)
    inputs = Inputs(prune_mode, regions, fresh, topics, bounds)
    logs = remembered_logs(memory, read, findings, adopted)
    records = first_records(memory, read, adopted)
    found = Memory(reports_history, flushed, findings, recorded_since, dead.watches, logs, records, unplaced)
    return Assessment(found, inputs, table, by_topic, identities, marked_records(read, identities), dead.problems)


def _of_one_time(read: Read, open_grace: int) -> Read:
    """Without offsets, if the process froze while it read for longer than one openGrace.

    Another operator may then have purged by a marker that is newer than the metadata here, and the log would seem to
    begin beyond what regions need: a false disaster. Earlier it cannot have: it waits for one openGrace at least.
    """
    if read.ended - read.began < open_grace:
        return read
    unknown = {name: replace(log, log_start=None, high_watermark=None) for name, log in read.logs.items()}
    return replace(read, logs=unknown)


def _effective(names: tuple[str, ...], policies: tuple[Policy, ...]) -> dict[str, EffectivePolicy]:
    found = ((name, effective_policy(name, policies)) for name in names)
    return {name: policy for name, policy in found if policy is not None}


def _times(names: tuple[str, ...], policies: Mapping[str, EffectivePolicy]) -> tuple[Numbers, Numbers]:
    """By topic staleAfter and openGrace, in milliseconds."""
    safeties = [policies[name].safety if name in policies else Safety() for name in names]
    stale = np.fromiter((_milliseconds(safety.stale_after) for safety in safeties), np.int64, count=len(names))
    grace = np.fromiter((_milliseconds(safety.open_grace) for safety in safeties), np.int64, count=len(names))
    return stale, grace


def _recorded_since(memory: Memory, read: Read) -> dict[tuple[str, int], int]:
    """Counted from the end of the look: the value was recorded at some time before."""
    return {pair: memory.recorded_since.get(pair, read.ended) for pair in read.recorded.items()}


def _recorded_at(names: tuple[str, ...], read: Read, recorded_since: Mapping[tuple[str, int], int]) -> Ids:
    return Ids.of(recorded_since[name, read.recorded[name]] if name in read.recorded else None for name in names)


def _topics(
    table: RegionsOfTopics,
    read: Read,
    reports_history: ReportHistory,
    open_grace: Numbers,
    unplaced: tuple[UnplacedWatch, ...],
) -> Topics:
    grace = dict(zip(table.names, open_grace.tolist(), strict=True))
    longest = int(open_grace.max(initial=0))
    others_report = advanced_within(reports_history, read.began, longest)
    stopped = stopped_topics(unplaced, table.names, read.began, open_grace=longest, others_report=others_report)
    return make_topics(
        table.names,
        read.snapshot.revision,
        logs=read.logs,
        markers={name: marker.pruned_entry_id for name, marker in read.snapshot.topics.items()},
        unmapped={**stopped, **table.torn},
        vanished=vanished_topics(reports_history, read.began, lambda name: int(grace[name]) if name in grace else 0),
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


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
