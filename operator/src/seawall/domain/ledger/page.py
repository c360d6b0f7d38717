"""The ledger as people read it: a line for each topic, which answers why it is not shrinking, and the page of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from seawall.domain.columns import Ids, Numbers, first_by
from seawall.domain.kafka import by_number
from seawall.domain.ledger.ledger import Holder, Ledger, as_bytes, entries_above, entries_below, entries_to_purge, plan
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.policy import Safety
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.replay import longest_replay
from seawall.domain.ledger.rules import BY_REGION
from seawall.domain.text import few, written


@dataclass(frozen=True, slots=True)
class TopicLine:
    """One topic. None: unknown."""

    name: str
    log_start: int | None
    high_watermark: int | None
    marker: int | None
    floor: int | None
    purge_to: int | None
    reason: Reason | None
    """None: it would be purged."""
    message: str
    """The reason's sentence, with the region that gives it; or what would be deleted."""
    held_by: str
    hold_lag_entries: int | None
    """From the hold that keeps the topic to the end of the log."""
    entries_below: int | None
    entries_above: int | None
    bytes_below: int | None
    bytes_above: int | None
    entries_to_purge: int
    bytes_to_purge: int | None
    size_bytes: int | None
    """On disk, of one replica."""
    replay_entries: int | None
    """What a restart would read: of the region that would read the most."""
    replay_bytes: int | None


def topic_lines(ledger: Ledger) -> tuple[TopicLine, ...]:
    """All topics, in the ledger's order."""
    topics, every = ledger.topics, np.arange(len(ledger.topics), dtype=np.int64)
    below, above = entries_below(ledger), entries_above(ledger)
    bytes_below, bytes_above = as_bytes(ledger, every, below), as_bytes(ledger, every, above)
    purged, replay = entries_to_purge(ledger), longest_replay(ledger)
    bytes_purged, bytes_replayed = as_bytes(ledger, every, purged), as_bytes(ledger, every, replay)
    culprits = _culprits(ledger)
    return tuple(
        TopicLine(
            name,
            topics.log_start.at(row),
            topics.high_watermark.at(row),
            topics.marker.at(row),
            ledger.floor.at(row),
            ledger.purge_to.at(row),
            reason := ledger.reason(row),
            _message(ledger, row, reason, culprits),
            held_by(ledger, row),
            _hold_lag(ledger, row),
            below.at(row),
            above.at(row),
            bytes_below.at(row),
            bytes_above.at(row),
            purged.at(row) or 0,
            bytes_purged.at(row),
            topics.size_bytes.at(row),
            replay.at(row),
            bytes_replayed.at(row),
        )
        for row, name in enumerate(topics.names)
    )


def held_by(ledger: Ledger, row: int) -> str:
    """Who keeps the oldest record that stays, by name, or `empty`; and who does not, as a person declared it dead."""
    dead = ledger.case.bounds.dead_sentences[row]
    return _holder(ledger, row) if dead is None else f"{_holder(ledger, row)} ({dead})"


def _hold_lag(ledger: Ledger, row: int) -> int | None:
    """How far the hold that keeps the topic is behind the end of the log; None: no hold keeps it, or nobody knows."""
    end, held = ledger.topics.high_watermark.at(row), ledger.case.bounds.hold.at(row)
    if ledger.holder_of(row) is not Holder.HOLD or end is None or held is None:
        return None
    return end - held


def _holder(ledger: Ledger, row: int) -> str:  # noqa: PLR0911 - one for each holder
    holder = ledger.holder_of(row)
    match holder:
        case Holder.REGION:
            return _region(ledger, ledger.holding_region.at(row))
        case Holder.FOLLOWER:
            return str(ledger.case.bounds.follower_names[row])
        case Holder.HOLD:
            return f"WALHold {ledger.case.bounds.hold_names[row]}"
        case Holder.MARGIN:
            return f"keepEntries {int(ledger.case.bounds.keep_entries[row])}"
        case Holder.VERIFICATION:
            return f"the last verification, which began at {ledger.case.bounds.verified_from.at(row)}"
        case Holder.MARKER:
            return "the database's pruned marker"
        case Holder.RECORDED_COLUMN:
            return "the value that this run has seen"
        case Holder.DECLARED:
            return f"nobody: {ledger.case.bounds.unused_sentence}"
        case Holder.NOBODY:
            return "empty" if _is_empty(ledger, row) else "nobody knows: there is no floor"


def _is_empty(ledger: Ledger, row: int) -> bool:
    """Whether a log has no record; one of which Kafka said nothing may have some."""
    start = ledger.topics.log_start.at(row)
    return start is not None and start == ledger.topics.high_watermark.at(row)


def _message(ledger: Ledger, row: int, reason: Reason | None, culprits: dict[Reason, Ids]) -> str:
    if reason is None:
        return f"everything before {ledger.purge_to.at(row)} can be purged"
    if reason is Reason.NOTHING_TO_PURGE and ledger.floor.at(row) is not None:
        return f"{reason.sentence} {_capital(_need(ledger, row))}."
    culprit = _culprit(ledger, row, reason, culprits)
    return reason.sentence if culprit is None else f"{reason.sentence} ({culprit})"


def _culprit(ledger: Ledger, row: int, reason: Reason, culprits: dict[Reason, Ids]) -> str | None:
    """Who gives the reason, as a clause; None: nobody in particular."""
    match reason:
        case Reason.FENCE_BROKEN_ELSEWHERE:
            return str(first_broken(ledger))
        case Reason.FOLLOWER_MISSING:
            return str(ledger.case.bounds.follower_names[row])
        case Reason.REGION_UNMAPPED:
            return ledger.topics.unmapped[row]
        case _:
            region = culprits[reason].at(row) if reason in culprits else None
            return None if region is None else _region(ledger, region)


def first_broken(ledger: Ledger) -> str | None:
    """The first topic whose identity fence is broken, or suspected to be; None: there is none."""
    return next((ledger.topics.names[row] for row in np.flatnonzero(ledger.case.bounds.fence_broken)), None)


def _need(ledger: Ledger, row: int) -> str:
    """What binds, and from where on it keeps the log."""
    holder, bounds, who = ledger.holder_of(row), ledger.case.bounds, held_by(ledger, row)
    if holder is Holder.HOLD:
        return f"{who} keeps everything from {bounds.hold.at(row)} on"
    if holder is Holder.FOLLOWER:
        return f"{who} keeps everything from {bounds.follower.at(row)} on"
    if holder is Holder.MARGIN:
        return f"{who} are kept below the floor, {ledger.floor.at(row)}"
    return f"{who} keeps everything from {ledger.floor.at(row)} on"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _culprits(ledger: Ledger) -> dict[Reason, Ids]:
    """For each reason that regions give, by topic the first region that gives it."""
    topic: Numbers = ledger.case.regions.topic
    return {reason: first_by(rule(ledger.case), topic, len(ledger.topics)) for reason, rule in BY_REGION.items()}


def _region(ledger: Ledger, row: int | None) -> str:
    if row is None:
        return "a region"
    regions = ledger.case.regions
    leader = regions.leader.at(row)
    where = "without a leader" if leader is None else f"on datanode {leader}"
    return f"region {int(regions.region[row])} {where}"


DISASTERS = frozenset({Reason.LOG_START_BEYOND_REPLAY, Reason.FENCE_BROKEN})


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """All topics of a WALCluster's pool, as one look saw them."""

    lines: tuple[TopicLine, ...]
    observed_at: datetime
    """When the look began: what happened later is not in it."""
    problems: tuple[str, ...] = ()
    """What is wrong with annotations of the WALCluster, or with the records of its logs, one sentence each."""
    record_shards: frozenset[int] = frozenset()
    """The shards of intents and identities that there are."""
    lost_shards: bool = False
    """Whether a shard is gone that was there before."""

    def to_json(self) -> Mapping[str, object]:
        """As the operator serves it."""
        return {
            "lookedAt": self.observed_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "topics": [line_to_json(line) for line in self.lines],
            "problems": self.problems,
        }

    def damaged(self) -> tuple[TopicLine, ...]:
        """Topics whose log is not what the database needs."""
        return tuple(line for line in self.lines if line.reason in DISASTERS)


def build_page(observation: Observation) -> LedgerPage:
    """What a run that begins now would get to, topic by topic."""
    return page_of(observation, plan(observation.assessment.inputs))


def page_of(observation: Observation, ledger: Ledger) -> LedgerPage:
    """The same by a ledger of this look."""
    took = timedelta(milliseconds=observation.read.ended - observation.read.began)
    return LedgerPage(
        build_lines(observation, ledger),
        observation.read.now - took,
        observation.problems(),
        record_shards=observation.shards.written(),
        lost_shards=bool(observation.lost),
    )


def build_lines(observation: Observation, ledger: Ledger) -> tuple[TopicLine, ...]:
    """The topics of the pool by their numbers, by a ledger of this look."""
    lines = sorted(topic_lines(ledger), key=lambda line: by_number(line.name))
    return tuple(_with_finding(observation, line) for line in lines if line.name in observation.topics)


def _dropped(observation: Observation, topic: str) -> str:
    """Which tables of a topic were dropped and until when they may be undropped, as a clause."""
    table, kept = observation.assessment.table, observation.read.snapshot.kept_dropped
    rows = table.regions.dropped & (table.regions.topic == table.names.index(topic))
    tables = sorted({int(region) >> 32 for region in table.regions.region[rows]})
    ends = {each: kept.get(each) for each in tables}
    clauses = (f"table {each}" + (f" until {written(at)}" if at else "") for each, at in ends.items())
    return f"dropped, may be undropped: {few(clauses)}"


def _slow(observation: Observation, topic: str) -> str | None:
    """That the metasrv stores reports too rarely for staleAfter, as a clause; None: it does not, or did not say."""
    policy, wal = observation.assessment.policies.get(topic), observation.cluster.wal
    stale = (Safety() if policy is None else policy.safety).stale_after.total_seconds()
    every = None if wal is None else wal.report_seconds
    if wal is None or every is None or every < stale:
        return None
    return (
        f"the metasrv's heartbeat_interval is {wal.heartbeat_seconds:g}s and it stores each third report, "
        f"so one is up to {every:g}s old, and staleAfter is {stale:g}s: raise it, or lower the interval"
    )


def line_to_json(line: TopicLine) -> Mapping[str, object]:
    """A line as the operator serves it, with what a person can do."""
    return {**asdict(line), "remedy": None if line.reason is None else line.reason.remedy}


def _with_finding(observation: Observation, line: TopicLine) -> TopicLine:
    """What the identity fence found, or which hold cannot be read, says more than the reason."""
    if line.reason is Reason.CONTESTED:
        return replace(line, message=f"{line.message} Found: WALCluster {observation.contender}.")
    if line.reason is Reason.REGION_DROPPED:
        return replace(line, message=f"{line.message} Found: {_dropped(observation, line.name)}.")
    if line.reason is Reason.REGION_STALE and (slow := _slow(observation, line.name)) is not None:
        return replace(line, message=f"{line.message} Found: {slow}.")
    if line.reason is Reason.HOLDS_UNREADABLE and observation.holds_problem is not None:
        return replace(line, message=f"{line.message} Found: {observation.holds_problem}.")
    identity = observation.assessment.identities.get(line.name)
    if line.reason is not Reason.FENCE_BROKEN or identity is None or identity.finding is None:
        return line
    said = "" if observation.readopt_problem is None else f" But {observation.readopt_problem}."
    return replace(line, message=f"{line.message} Found: {identity.finding.sentence}.{said}")
