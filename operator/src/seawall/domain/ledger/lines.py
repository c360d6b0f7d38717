"""The ledger for people: a line for each topic, which answers why it is not shrinking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.ledger.columns import Ids, Numbers, first_by
from seawall.domain.ledger.ledger import Holder, Ledger, as_bytes, entries_above, entries_below, entries_to_purge
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.replay import longest_replay
from seawall.domain.ledger.rules import BY_REGION


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


def _holder(ledger: Ledger, row: int) -> str:  # noqa: PLR0911 - one for each holder
    holder = ledger.holder_of(row)
    match holder:
        case Holder.REGION:
            return _region(ledger, ledger.holding_region.at(row))
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
    if reason is Reason.FENCE_BROKEN_ELSEWHERE:
        return f"{reason.sentence} ({first_broken(ledger)})"
    if reason is Reason.NOTHING_TO_PURGE and ledger.floor.at(row) is not None:
        return f"{reason.sentence} {_capital(_need(ledger, row))}."
    culprit = culprits[reason].at(row) if reason in culprits else None
    if culprit is None:
        return reason.sentence
    return f"{reason.sentence} ({_region(ledger, culprit)})"


def first_broken(ledger: Ledger) -> str | None:
    """The first topic whose identity fence is broken, or suspected to be; None: there is none."""
    return next((ledger.topics.names[row] for row in np.flatnonzero(ledger.case.bounds.fence_broken)), None)


def _need(ledger: Ledger, row: int) -> str:
    """What binds, and from where on it keeps the log."""
    holder, bounds, who = ledger.holder_of(row), ledger.case.bounds, held_by(ledger, row)
    if holder is Holder.HOLD:
        return f"{who} keeps everything from {bounds.hold.at(row)} on"
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
