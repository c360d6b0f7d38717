"""The ledger as people read it: one line for each topic, and a summary of them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from seawall.domain.ledger.columns import Ids
from seawall.domain.ledger.held_by import held_by
from seawall.domain.ledger.ledger import Ledger, as_bytes, entries_to_purge, plan
from seawall.domain.ledger.looked import Looked
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.replay import replay_by_region

DISASTERS = frozenset({Reason.LOG_START_BEYOND_REPLAY, Reason.FENCE_BROKEN})


@dataclass(frozen=True, slots=True)
class TopicLine:
    """One topic. Offsets are inclusive but `log_end` and `purge_to`; None: unknown, or nothing."""

    topic: str
    log_start: int | None
    log_end: int | None
    floor: int | None
    marker: int | None
    purge_to: int | None
    entries_to_purge: int
    bytes: int | None
    held_by: str | None
    reason: str | None
    why: str | None
    """The reason as a sentence."""
    remedy: str | None
    replay_entries: int | None
    """Entries that a restart would read: of the region that would read the most."""
    replay_bytes: int | None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """All topics of a WALCluster, as one look saw them."""

    lines: tuple[TopicLine, ...]
    purgeable_bytes: int | None

    def to_json(self) -> Mapping[str, object]:
        """As the operator serves it."""
        return {"topics": [asdict(line) for line in self.lines], "purgeable_bytes": self.purgeable_bytes}

    def damaged(self) -> tuple[TopicLine, ...]:
        """Topics whose log is not what the database needs."""
        return tuple(line for line in self.lines if line.reason in DISASTERS)


def build_page(looked: Looked) -> LedgerPage:
    """What a run that begins now would get to, topic by topic."""
    ledger = plan(looked.look.inputs)
    rows = [row for row, name in enumerate(ledger.topics.names) if name in looked.topics]
    entries = entries_to_purge(ledger)
    lines = tuple(_line(looked, ledger, row, entries) for row in rows)
    return LedgerPage(lines, _purgeable_bytes(ledger, rows, entries))


def _line(looked: Looked, ledger: Ledger, row: int, entries: Ids) -> TopicLine:
    topics, reason = ledger.topics, ledger.reason(row)
    regions = replay_by_region(ledger, row)
    finding = looked.look.identities.get(topics.names[row])
    why = None if reason is None else reason.sentence
    if reason is Reason.FENCE_BROKEN and finding is not None and finding.finding is not None:
        why = finding.finding.sentence
    return TopicLine(
        topic=topics.names[row],
        log_start=topics.log_start.at(row),
        log_end=topics.high_watermark.at(row),
        floor=ledger.floor.at(row),
        marker=topics.marker.at(row),
        purge_to=ledger.purge_to.at(row),
        entries_to_purge=entries.at(row) or 0,
        bytes=topics.size_bytes.at(row),
        held_by=held_by(ledger, row),
        reason=None if reason is None else reason.value,
        why=why,
        remedy=None if reason is None else reason.remedy,
        replay_entries=max((one.entries for one in regions if one.entries is not None), default=None),
        replay_bytes=max((one.size_bytes for one in regions if one.size_bytes is not None), default=None),
    )


def _purgeable_bytes(ledger: Ledger, rows: list[int], entries: Ids) -> int | None:
    """None while the size of a topic that would be purged is unknown."""
    sizes = as_bytes(ledger, np.arange(len(ledger.topics), dtype=np.int64), entries)
    found = [sizes.at(row) for row in rows if ledger.purge_to.known[row]]
    known = [size for size in found if size is not None]
    return sum(known) if len(known) == len(found) else None
