"""Topics as bars: where a log begins and ends, how far it may be purged, and who keeps the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seawall.api.v1alpha1.hold import ALL_TOPICS, WALHold
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.domain.ledger.page import TopicLine

SHOWN = 100
"""Bars of one page: a browser, and a person, take in no more at once."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An offset that somebody stands at.

    Attributes:
        what: start, marker, floor, hold or end.
        name: of the hold, else empty.
        offset: where.
        at: where in the bar, in percent.
    """

    what: str
    name: str
    offset: int
    at: float


@dataclass(frozen=True, slots=True)
class TopicBar:
    """One topic.

    Attributes:
        line: what the ledger says of it.
        marks: from left to right.
        purged_from: where what could be purged begins, in percent; None: nothing could, or nobody knows.
        kept_from: where what stays begins, in percent; None: nobody knows the log.
    """

    line: TopicLine
    marks: tuple[Mark, ...]
    purged_from: float | None
    kept_from: float | None

    @property
    def text(self) -> str:
        """The bar in words."""
        if not self.marks:
            return "Kafka has not told where this log begins and ends"
        return ", ".join(f"{mark.what}{f' {mark.name}' if mark.name else ''} {mark.offset}" for mark in self.marks)


@dataclass(frozen=True, slots=True)
class BarPage:
    """Some of many topics.

    Attributes:
        bars: those that are shown, the largest first.
        total: how many there are that are meant.
        number: of this page, from 1.
        pages: how many there are, at least 1.
    """

    bars: tuple[TopicBar, ...]
    total: int
    number: int
    pages: int


def page_of_bars(lines: Iterable[TopicLine], holds: Sequence[WALHold], glob: str, number: int) -> BarPage:
    """The page with this number, or the nearest that there is, of the topics that a glob stands for; empty: of all."""
    meant = sorted(
        (line for line in lines if not glob or matches_any(line.name, (glob,))),
        key=lambda line: -(line.size_bytes or 0),
    )
    pages = max(1, -(-len(meant) // SHOWN))
    number = min(max(1, number), pages)
    shown = meant[(number - 1) * SHOWN : number * SHOWN]
    return BarPage(tuple(bar_of(line, holds) for line in shown), len(meant), number, pages)


def bar_of(line: TopicLine, holds: Sequence[WALHold]) -> TopicBar:
    """The bar of a topic: from the smallest offset that matters to the end of the log."""
    start, end = line.log_start, line.high_watermark
    if start is None or end is None:
        return TopicBar(line, (), None, None)
    named: list[tuple[str, str, int | None]] = [
        ("start", "", start),
        ("marker", "", line.marker),
        ("floor", "", line.floor),
        *(("hold", name, offset) for name, offset in _held(line.name, start, holds)),
        ("end", "", end),
    ]
    known = [(what, name, offset) for what, name, offset in named if offset is not None]
    least = min(offset for _, _, offset in known)
    length = max(max(offset for _, _, offset in known) - least, 1)

    def place(offset: int) -> float:
        return round(100 * (offset - least) / length, 2)

    marks = sorted((Mark(what, name, offset, place(offset)) for what, name, offset in known), key=lambda mark: mark.at)
    kept = max(start, min(line.purge_to, end)) if line.purge_to is not None else start
    return TopicBar(line, tuple(marks), place(start) if kept > start else None, place(kept))


def _held(topic: str, start: int, holds: Sequence[WALHold]) -> Iterator[tuple[str, int]]:
    """Holds that count for a topic, by what was granted; one on everything holds from the start on."""
    for hold in holds:
        if hold.status.is_final:
            continue
        offset = hold.status.granted.get(topic, start if ALL_TOPICS in hold.status.granted else None)
        if isinstance(offset, int):
            yield hold.metadata.name, offset
