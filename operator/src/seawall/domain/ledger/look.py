"""One look: what was read becomes the ledger's inputs, and what the process remembers of it.

Who reads must keep this order, and read everything anew: the time, reports, metadata, Kafka's offsets, intents,
holds, the run's status, the time again. Reports before metadata: a region that was born meanwhile is never forgotten,
and the sample of a leader that was replaced is seen to be one. Reports before offsets: what they name is in the log.
Offsets before intents: the deletes of another operator are not taken for somebody else's. Intents before holds: a
hold that is not listed yet will read them before it is granted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.reports import RegionReport
from seawall.domain.ledger import fence, flushed_ids, rules
from seawall.domain.ledger.bounds import Claims, Verified, Watched, make_bounds
from seawall.domain.ledger.columns import Ids, Numbers, mask_of
from seawall.domain.ledger.dead import DeadRegions
from seawall.domain.ledger.dead_watch import RegionWatch, Surroundings, find_dead
from seawall.domain.ledger.fence import Finding, LogSeen, Readoption
from seawall.domain.ledger.flushed_ids import FlushedIds
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.identity import Identity, identify
from seawall.domain.ledger.intents import FenceRecord, database_digest
from seawall.domain.ledger.ledger import Inputs
from seawall.domain.ledger.mode import Regime
from seawall.domain.ledger.policy import EffectivePolicy, Policy, Safety, effective_policy
from seawall.domain.ledger.regions import RegionsOfTopics, build_regions
from seawall.domain.ledger.restarts import RestartClaims, kept_for_restarts
from seawall.domain.ledger.sightings import (
    Evidence,
    Sightings,
    freshness,
    is_newest,
    is_settled,
    look_again,
    vanished_topics,
    watched_too_shortly,
)
from seawall.domain.ledger.tables import TopicLog, Topics, make_topics
from seawall.domain.ledger.unused import Unused

VANISHED_KEPT = 3_600_000
"""Milliseconds for which a region that vanished is remembered at least: another look may have a longer openGrace."""


@dataclass(frozen=True, slots=True)
class Read:
    """What was read, in the order of the fields."""

    began: int
    """Milliseconds of the operator's monotonic clock, before the reports were read."""
    reports: Sequence[RegionReport]
    snapshot: MetadataSnapshot
    logs: Mapping[str, TopicLog]
    epoch_ends: Mapping[str, int]
    """Where the leader epoch of a topic's record ends now; a topic is left out when Kafka does not know it."""
    records: Mapping[str, FenceRecord]
    holds: Iterable[Hold] | None
    seen: Mapping[str, int]
    """The values in the run's status, by topic; empty: no run, or it has seen none yet."""
    ended: int
    """As `began`, after everything was read."""
    now: datetime
    """The operator's wall clock."""
    unreadable_records: frozenset[str] = frozenset()
    verified: tuple[Verified, ...] = ()
    stopped: bool = False
    readoption: Readoption | None = None
    unused: Unused | None = None
    """The topics that a person declared unused."""
    dead: DeadRegions | None = None
    """The regions that a person declared dead."""
    processes: Mapping[int, int] = field(default_factory=dict)
    """By datanode the epoch of its process, as the reports say; of those too that report no region."""
    restarts: RestartClaims = field(default_factory=RestartClaims)
    """The datanodes that restart, as the WALCluster's status says."""
    lost_records: frozenset[str] = frozenset()
    """Topics whose shard of records is gone, although it was written once."""
    contested: bool = False
    """Another WALCluster claims the same topics."""
    newest_revision: int = 0
    """The metadata store's after the records were read, where any of them is newer than the snapshot."""
    newest_ids: Mapping[str, int] = field(default_factory=dict)
    """By topic the greatest id that any datanode's statistics know."""
    earlier: Mapping[str, FenceRecord] = field(default_factory=dict)
    """The records as they were before the reports were read; only needed of a process that remembers none."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """By topic where the log ends now that this process saw in `Memory.logs`, if it ended later then."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process remembers of its looks. All of it may be lost: then it waits again."""

    sightings: Sightings
    flushed: FlushedIds = field(default_factory=FlushedIds.none)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    seen_since: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """By topic and value, when this process first knew that the value is recorded."""
    dead: Mapping[int, RegionWatch] = field(default_factory=dict)
    """The regions that are declared dead, by their ids."""
    logs: Mapping[str, TopicLog] = field(default_factory=dict)
    """Each log as it was observed last: what is cut off between two observations is noticed by it."""
    records: Mapping[str, FenceRecord] | None = None
    """The records as they were when this process began: newer ones may know of flushes that came after the reports."""

    @classmethod
    def at_start(cls, now: int) -> Memory:
        """A process that starts now remembers nothing."""
        return cls(Sightings.none(now))


@dataclass(frozen=True, slots=True)
class Look:
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

    def with_records_of_others(self, topics: Collection[str]) -> Look:
        """The same, knowing which topics' logs contradict a region (`witness.py`)."""
        names = self.inputs.topics.names
        column = mask_of((name in topics for name in names), len(names))
        bounds = replace(self.inputs.bounds, records_of_others=column)
        return replace(self, inputs=replace(self.inputs, bounds=bounds))


def look(memory: Memory, read: Read, regime: Regime, policies: Iterable[Policy]) -> Look:
    """Puts together what was read. A topic without a policy is shown with the default times."""
    table = build_regions(read.reports, read.snapshot, read.logs)
    names, regions = table.names, table.regions
    by_topic = _effective(names, tuple(policies))
    stale_after, open_grace = _times(names, by_topic)
    read = _of_one_time(read, int(open_grace.min(initial=_milliseconds(Safety().open_grace))))
    seen_since = _seen_since(memory, read)
    sightings = look_again(
        memory.sightings, names, regions, read.began, max(VANISHED_KEPT, int(open_grace.max(initial=0)))
    )
    topics = _topics(table, read, sightings, open_grace)
    identities = _identities(memory, read, table, topics, sightings)
    findings = _findings(memory, read, table.names, identities)
    seen_at = _seen_at(names, read, seen_since)
    fresh = freshness(sightings, regions, read.began, stale_after, Evidence(seen_at, open_grace))
    around = Surroundings(
        began=read.began,
        last_look=memory.sightings.looked_at,
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
        verified=read.verified,
        stopped=read.stopped,
        unused=read.unused,
        dead=dead.sentences,
    )
    too_short = watched_too_shortly(sightings, read.began, open_grace)
    long_enough = seen_at.known & (read.began - seen_at.numbers >= open_grace)
    bounds = make_bounds(names, read.logs, claims, Watched(too_short, long_enough), read.now)
    bounds = replace(bounds, restarting=kept_for_restarts(read.restarts, regions, topics, bounds))
    adopted = {name for name, found in identities.items() if found.is_readopted}
    flushed = flushed_ids.remember(memory.flushed.forget(_regions_of(table, adopted)), regions)
    fresh = replace(fresh, dead=dead.dead, contradicted=dead.contradicted)
    inputs = Inputs(regime, regions, fresh, topics, bounds)
    logs = _remembered_logs(memory, read, findings, adopted)
    found = Memory(sightings, flushed, findings, seen_since, dead.watches, logs, _first_records(memory, read, adopted))
    return Look(found, inputs, table, by_topic, identities, _marked(read, identities), dead.problems)


def _first_records(memory: Memory, read: Read, adopted: Collection[str] = ()) -> dict[str, FenceRecord]:
    """The records as this process found them, without those of topics that a person has adopted since."""
    first = read.earlier if memory.records is None else memory.records
    return {name: record for name, record in first.items() if name not in adopted}


def _of_one_time(read: Read, open_grace: int) -> Read:
    """Without offsets, if the process froze while it read for longer than one openGrace.

    Another operator may then have purged by a marker that is newer than the metadata here, and the log would seem to
    begin beyond what regions need: a false disaster. Earlier it cannot have: it waits for one openGrace at least.
    """
    if read.ended - read.began < open_grace:
        return read
    unknown = {name: replace(log, log_start=None, high_watermark=None) for name, log in read.logs.items()}
    return replace(read, logs=unknown)


def _remembered_logs(
    memory: Memory, read: Read, findings: Mapping[str, Finding], adopted: set[str]
) -> dict[str, TopicLog]:
    """The newest of each log; one with a finding stays as it was, so that the next observation finds it again."""
    newest = {
        name: log
        for name, log in read.logs.items()
        if log.high_watermark is not None and (name not in findings or name in adopted)
    }
    return {**memory.logs, **newest}


def _effective(names: tuple[str, ...], policies: tuple[Policy, ...]) -> dict[str, EffectivePolicy]:
    found = ((name, effective_policy(name, policies)) for name in names)
    return {name: policy for name, policy in found if policy is not None}


def _times(names: tuple[str, ...], policies: Mapping[str, EffectivePolicy]) -> tuple[Numbers, Numbers]:
    """By topic staleAfter and openGrace, in milliseconds."""
    safeties = [policies[name].safety if name in policies else Safety() for name in names]
    stale = np.fromiter((_milliseconds(safety.stale_after) for safety in safeties), np.int64, count=len(names))
    grace = np.fromiter((_milliseconds(safety.open_grace) for safety in safeties), np.int64, count=len(names))
    return stale, grace


def _seen_since(memory: Memory, read: Read) -> dict[tuple[str, int], int]:
    """Counted from the end of the look: the value was recorded at some time before."""
    return {pair: memory.seen_since.get(pair, read.ended) for pair in read.seen.items()}


def _seen_at(names: tuple[str, ...], read: Read, seen_since: Mapping[tuple[str, int], int]) -> Ids:
    return Ids.of(seen_since[name, read.seen[name]] if name in read.seen else None for name in names)


def _topics(table: RegionsOfTopics, read: Read, sightings: Sightings, open_grace: Numbers) -> Topics:
    grace = dict(zip(table.names, open_grace.tolist(), strict=True))
    return make_topics(
        table.names,
        read.snapshot.revision,
        logs=read.logs,
        markers={name: marker.pruned_entry_id for name, marker in read.snapshot.topics.items()},
        unmapped=table.unmapped,
        vanished=vanished_topics(sightings, read.began, lambda name: int(grace[name]) if name in grace else 0),
    )


def _identities(
    memory: Memory, read: Read, table: RegionsOfTopics, topics: Topics, sightings: Sightings
) -> dict[str, Identity]:
    """The fence, topic by topic; one of which Kafka said nothing is left out."""
    regions, names = table.regions, table.names
    back = flushed_ids.went_back(memory.flushed, regions, is_newest(sightings, regions))
    first = _first_records(memory, read)
    back |= flushed_ids.is_below_record(regions, names, first, is_settled(sightings, regions))
    clauses = flushed_ids.clauses(regions, back, names)
    known = flushed_ids.greatest_known_ids(regions, topics.marker)
    flushed = rules.flushed_to(regions)
    lowest, highest = (
        flushed.least_of_all_by(regions.topic, len(names)),
        flushed_ids.greatest_flushed_ids(regions, len(names)),
    )
    revision, database = max(read.snapshot.revision, read.newest_revision), database_digest(read.snapshot.store_id)
    found: dict[str, Identity] = {}
    for row, name in enumerate(names):
        log = read.logs.get(name)
        if log is None or log.topic_id is None or log.log_start is None or log.high_watermark is None:
            continue
        if name in read.unreadable_records or name in read.lost_records:
            continue
        seen = LogSeen(
            log.topic_id,
            log.leader_epoch,
            log.log_start,
            log.high_watermark,
            _greatest(known.at(row), read.newest_ids.get(name)),
            lowest.at(row),
            highest.at(row),
            read.epoch_ends.get(name),
            clauses.get(name),
            revision,
            database,
            _cut_clause(memory, read, name),
        )
        found[name] = identify(read.records.get(name), seen, memory.findings.get(name), read.readoption, read.now)
    return found


def _greatest(*numbers: int | None) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _cut_clause(memory: Memory, read: Read, name: str) -> str | None:
    before, end = memory.logs.get(name), read.cut.get(name)
    if before is None or end is None:
        return None
    return f"the log ended at {before.high_watermark} a moment ago and what was then ends at {end} now"


def _marked(read: Read, identities: Mapping[str, Identity]) -> dict[str, FenceRecord]:
    """Records of topics that could not be looked at, with the mark of a readoption that they do not break under."""
    adoption = read.readoption
    if adoption is None:
        return {}
    unseen = {name: record for name, record in read.records.items() if name not in identities and not record.broken}
    marked = {name: adoption.mark(record, read.now) for name, record in unseen.items()}
    return {name: record for name, record in marked.items() if record != unseen[name]}


def _findings(
    memory: Memory, read: Read, names: tuple[str, ...], identities: Mapping[str, Identity]
) -> dict[str, Finding]:
    """The findings of this look; of a topic that could not be looked at what was found before, or is recorded, stands.

    One that neither Kafka nor the database know any more stops nobody; when it is back, it is compared with its record.
    """
    unseen = [name for name in names if name not in identities]
    recorded = {name: fence.standing(read.records.get(name)) for name in unseen}
    kept = {name: found for name in unseen if (found := memory.findings.get(name) or recorded[name]) is not None}
    return kept | {name: found.finding for name, found in identities.items() if found.finding is not None}


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
