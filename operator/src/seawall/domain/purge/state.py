"""What one look means for one run: which topics may be purged, which wait or are left alone, and what is flushed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from seawall.api.v1alpha1.purge import AskedRegion, WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.domain.dataplane.flush import Flushed
from seawall.domain.dataplane.in_memory import InMemory
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.frozen_targets import MAX_TARGETS, Target, TargetsLost, Written
from seawall.domain.kafka_log import DeleteRefused
from seawall.domain.ledger import offsets
from seawall.domain.ledger.fence import Verdict
from seawall.domain.ledger.ledger import Holder, Ledger, as_bytes, permit, plan, recorded_column
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.ledger.page import held_by
from seawall.domain.ledger.policy import counts_followers
from seawall.domain.ledger.reasons import Reason
from seawall.domain.purge.reasons import TopicEnd


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. Nothing is looked at while it is not the run's turn, or there is no WALCluster."""

    now: datetime
    """By the API server's clock, which all operators share: by it a run is counted, whoever leads."""
    has_cluster: bool = False
    front: WALPurge | None = None
    """The run that has its turn before."""
    paused: str | None = None
    """Where a person stopped it, as a clause."""
    observation: Observation | Unavailable | None = None
    asked_lately: frozenset[int] = frozenset()
    """Regions that this process asked to flush a moment ago; others may have been asked, too."""
    written: Written | None = None
    """Targets that this process has written for the run."""
    refused_before: Mapping[str, DeleteRefused] = field(default_factory=dict)
    """By topic, why Kafka refused to delete in earlier ticks of this process."""
    refused: Mapping[str, DeleteRefused] = field(default_factory=dict)
    """By topic, why Kafka refused to delete in this tick."""


MAX_DECLARED = 512
"""Characters of a declaration that a status takes."""

PASSING = frozenset(
    {
        Reason.AWAITING_REPORTS,
        Reason.WATCHED_TOO_SHORTLY,
        Reason.REGION_STALE,
        Reason.REGION_MISSING,
        Reason.REGION_OPENING,
        Reason.REGION_UNMAPPED,
        Reason.UNDER_MIN_ISR,
        Reason.DATANODE_RESTARTS,
        Reason.OFFSETS_UNKNOWN,
        Reason.HOLDS_UNREADABLE,
        Reason.INTENTS_UNREADABLE,
        Reason.VERSION_UNKNOWN,
        Reason.SETTINGS_UNKNOWN,
    }
)
"""What may pass by itself while a run waits."""


UNVERIFIED = frozenset({Reason.VERIFICATION_MISSING, Reason.VERIFICATION_TOO_OLD})
"""What a verification that runs may end."""


@dataclass(frozen=True, slots=True)
class RunState:
    """One look, as one run sees it."""

    observation: Observation
    status: WALPurgeStatus
    planned: Ledger
    permitted: Ledger
    rows: Mapping[str, int]
    """The rows of the run's topics."""
    frozen: Mapping[str, Target]
    """What this run has frozen, by topic; empty until its status says so."""
    refused: Mapping[str, DeleteRefused] = field(default_factory=dict)
    """By topic, why Kafka refused to delete."""

    @classmethod
    def of(
        cls,
        observation: Observation,
        spec: WALPurgeSpec,
        status: WALPurgeStatus,
        refused: Mapping[str, DeleteRefused] | None = None,
    ) -> RunState:
        """The ledger twice: what a run that begins now would get to, and what this one may delete now."""
        inputs = observation.assessment.inputs
        names = inputs.topics.names
        rows = {name: row for row, name in enumerate(names) if name in observation.topics and spec.selects(name)}
        permitted = permit(inputs, recorded_column(names, dict(observation.read.recorded)))
        frozen = {} if isinstance(observation.frozen, TargetsLost) else observation.frozen
        named = {
            each.topic: DeleteRefused(each.message, each.reason == TopicEnd.NOT_SUPPORTED) for each in status.refused
        }
        known = named | dict(refused or {})
        return cls(observation, status, plan(inputs), permitted, rows, frozen, known)

    def known_since(self) -> datetime:
        """When this process had known all that the run has seen; before it knows of any: when it began to watch."""
        known = self.observation.assessment.memory.recorded_since.values()
        return self._time_of(max(known)) if known else self.watched_since()

    def watched_since(self) -> datetime:
        """When this process began to watch, without a pause since."""
        return self._time_of(self.observation.assessment.memory.reports_history.since)

    def _time_of(self, counted: int | None) -> datetime:
        """By the clock by which a run is counted, for milliseconds of this process's stopwatch; None: now."""
        read = self.observation.read
        now = read.shared_now or read.now
        return now if counted is None else now - timedelta(milliseconds=read.began - counted)

    def log_start(self, topic: str) -> int | None:
        """Where the log starts now."""
        return self.planned.topics.log_start.at(self.rows[topic]) if topic in self.rows else None

    def size_bytes(self) -> int | None:
        """Bytes of the run's topics on disk; None if any is unknown."""
        sizes = [self.planned.topics.size_bytes.at(row) for row in self.rows.values()]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def against_plan(self, topic: str) -> Reason | None:
        """What is against a topic, for a run that begins now."""
        return self.planned.reason(self.rows[topic])

    def against_delete(self, topic: str) -> Reason | None:
        """What is against deleting from a topic now."""
        if topic not in self.rows:
            return Reason.OFFSETS_UNKNOWN
        found = self.permitted.reason(self.rows[topic])
        return Reason.DECLARATION_CONTRADICTED if found is None and not self._is_as_declared(topic) else found

    def _is_as_declared(self, topic: str) -> bool:
        """Whether the same regions are dead, by the same word, as when this run saw what may go."""
        target = self.frozen.get(topic)
        return target is None or target.dead == self._dead(self.rows[topic])

    def is_watched_too_shortly(self, topic: str) -> bool:
        """Whether the operator began to watch less than openGrace ago, whatever else is against the topic."""
        return bool(self.planned.case.bounds.watched_too_shortly[self.rows[topic]])

    def awaited_verification(self) -> str | None:
        """The verification that is not over and that a topic of the run lacks only; None: there is none."""
        for topic in self.rows:
            if self.against_plan(topic) not in UNVERIFIED:
                continue
            required = self.observation.assessment.policies[topic].safety.verification
            for running in self.observation.verifying:
                if required is not None and running.may_satisfy(topic, required):
                    return running.name
        return None

    def may_pass(self, topic: str, reason: Reason | None) -> bool:
        """Whether a reason may pass by itself; the identity fence is sure only after a second look."""
        if reason is Reason.FENCE_BROKEN:
            return self._is_suspected_only(topic)
        if reason is Reason.FENCE_BROKEN_ELSEWHERE:
            return all(map(self._is_suspected_only, self.observation.assessment.memory.findings))
        return reason in PASSING

    def _is_suspected_only(self, topic: str) -> bool:
        found = self.observation.assessment.identities.get(topic)
        return found is not None and found.verdict is not Verdict.BROKEN

    def targets(self) -> dict[str, Target]:
        """What is seen of the topics that nothing is against; as many as can be kept, the others in the next run."""
        found: dict[str, Target] = {}
        for topic, row in self.rows.items():
            if len(found) == MAX_TARGETS:
                break
            values = (self.planned.floor.at(row), self.log_start(topic), self.planned.purge_to.at(row))
            recorded, log_start, purge_to = values
            if recorded is not None and log_start is not None and purge_to is not None:
                found[topic] = Target(
                    recorded=recorded,
                    log_start=log_start,
                    purge_to=purge_to,
                    declared=self.declared(row),
                    dead=self._dead(row),
                )
        return found

    def declared(self, row: int) -> str | None:
        """Why a topic without regions may go, for those who look into it later; None: by what its regions say."""
        case = self.planned.case
        sentence = case.bounds.unused_sentence if case.without_regions()[row] else None
        return None if sentence is None else sentence[:MAX_DECLARED]

    def _dead(self, row: int) -> str | None:
        """Which regions of a topic do not count, and by whose word; None: all do."""
        sentence = self.planned.case.bounds.dead_sentences[row]
        return None if sentence is None else sentence[:MAX_DECLARED]

    def purge_to(self, topic: str) -> int | None:
        """Before which offset may be deleted now; None: nothing may be."""
        return self.permitted.purge_to.at(self.rows[topic]) if self.against_delete(topic) is None else None

    def flushed(self, topics: Collection[str]) -> dict[int, Flushed]:
        """What the leaders of these topics' regions had flushed, as far as they told; the dead do not."""
        regions, wanted = self.planned.case.regions, np.zeros(len(self.planned.topics), np.bool_)
        wanted[[self.rows[topic] for topic in topics]] = True
        found: dict[int, Flushed] = {}
        known = self.observation.assessment.table.followers.by_region()
        reports = RegionReports.of(self.observation.read.reports)
        claims, follows = reports.claimants(), reports.followers()
        for row in np.flatnonzero(wanted[regions.topic]):
            leader, data = regions.leader.at(row), regions.data_flushed.at(row)
            if leader is not None and data is not None:
                region, metadata = int(regions.region[row]), regions.metadata_flushed.at(row)
                followers = known.get(region, frozenset()) if self._counts_followers(regions.topic[row]) else None
                unnamed = frozenset() if followers is None else follows.get(region, frozenset()) - followers
                claimants = claims.get(region, frozenset())
                found[region] = Flushed(leader, data, metadata, followers, claimants, unnamed)
        return found

    def _counts_followers(self, row: int) -> bool:
        return counts_followers(self.observation.assessment.policies.get(self.planned.topics.names[row]))

    def intent(self, topic: str) -> int | None:
        """The intent, as it was read before the holds, of the log that Kafka has."""
        return self.permitted.case.bounds.intent.at(self.rows[topic])

    def held_by(self, topic: str) -> str:
        """Who keeps the oldest record that stays, for people."""
        return held_by(self.planned, self.rows[topic])


MAX_REGIONS = 1_000


def candidates(state: RunState, spec: WALPurgeSpec) -> tuple[AskedRegion, ...]:
    """Regions that hold back more than the thresholds and have something to flush; who holds back most comes first.

    A topic that is left alone is left alone here, too, and where a hold or a verification keeps the records a flush
    frees nothing.
    """
    case, topics = state.planned.case, state.planned.topics
    end = topics.high_watermark.take(case.regions.topic)
    behind = end - case.prunable.numbers - 1
    behind = behind.only(end.known & case.prunable.known)
    size = as_bytes(state.planned, case.regions.topic, behind)
    rows = {row for topic, row in state.rows.items() if _is_worth_it(state, topic, row)}
    flushable, flushed = (
        RegionReports.of(state.observation.read.reports).bytes_in_memory,
        offsets.flushed_to(case.regions),
    )
    unlogged = state.observation.read.snapshot.unlogged
    found: list[tuple[int, AskedRegion]] = []
    for at, topic in enumerate(case.regions.topic.tolist()):
        region, entries = int(case.regions.region[at]), behind.at(at)
        if topic not in rows or region not in flushable or entries is None:
            continue
        if entries >= spec.flush.when_behind_entries or (size.at(at) or 0) >= spec.flush.when_behind_bytes:
            size_now = flushable[region] if region in unlogged else None
            asked = AskedRegion(region_id=str(region), flushed_to=flushed.at(at), unlogged_bytes=size_now)
            found.append((entries, asked))
    found.sort(key=lambda pair: (-pair[0], int(pair[1].region_id)))
    return tuple(asked for _, asked in found[:MAX_REGIONS])


def still_waited_for(state: RunState) -> tuple[int, ...]:
    """The regions that were asked, have rows in memory, and have not flushed since; one that is gone is out."""
    regions = state.planned.case.regions
    flushed = offsets.flushed_to(regions)
    ids = {int(region): flushed.at(at) for at, region in enumerate(regions.region)}
    sizes = RegionReports.of(state.observation.read.reports).bytes_in_memory
    now = {region: InMemory(ids.get(region), size) for region, size in sizes.items()}
    asked = state.status.flush.regions if state.status.flush else ()
    before = {int(one.region_id): one for one in asked}
    return tuple(
        region
        for region, then in before.items()
        if region in now and not now[region].is_flushed_since(then.flushed_to, then.unlogged_bytes)
    )


def _is_worth_it(state: RunState, topic: str, row: int) -> bool:
    if state.against_plan(topic) not in {None, Reason.NOTHING_TO_PURGE}:
        return False
    return state.planned.holder_of(row) not in {Holder.FOLLOWER, Holder.HOLD, Holder.VERIFICATION}
