"""The sequence numbers of a region's entries, in the order of the log: rows are numbered, so what is left out shows.

the number after the last one     → as it should be
numbers that were there before    → REPEATED_SEQUENCE: legal if the bytes are the same, which `reuse.py` looks at
numbers that were left out before → SEQUENCE_ORDER, at the offset where they should have been
numbers beyond the next one       → a gap; at the end SEQUENCE_GAP if nothing has filled it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sparkjob.integrity.findings import Kind

MOST_GAPS = 1_000
"""So many gaps of a region may still be filled; a log with more is beyond repair, and memory is not."""


@dataclass(frozen=True, slots=True)
class Run:
    """Entries that follow each other without a gap: sequences [first, after), offsets [offset, last_offset].

    `after` is None when it is not known how many rows an entry has (bulk entries): one at least.
    """

    first: int
    after: int | None
    offset: int
    last_offset: int


class Seen(NamedTuple):
    """A finding about sequences, without its region."""

    kind: Kind
    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class _Gap:
    first: int
    after: int
    offset: int

    def told(self) -> Seen:
        numbers = (
            f"sequence {self.first}" if self.after - self.first == 1 else f"sequences {self.first} to {self.after - 1}"
        )
        return Seen(
            Kind.SEQUENCE_GAP, self.offset, f"{numbers} are nowhere: entries are missing here, or were never written"
        )


class Sequences:
    """Takes the runs of one region, in the order of their offsets."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._is_exact = True
        """Whether the next number is known, and not only that it is no lower one."""
        self._gaps: list[_Gap] = []

    def add(self, run: Run) -> Iterator[Seen]:
        """What is to be said about this run."""
        expected, was_exact = self._next, self._is_exact
        after = run.first + 1 if run.after is None else run.after
        if expected is None or after > expected:
            self._next, self._is_exact = after, run.after is not None
        if expected is None:
            return
        if run.first > expected and was_exact:
            self._gaps.append(_Gap(expected, run.first, run.offset))
            if len(self._gaps) > MOST_GAPS:
                yield self._gaps.pop(0).told()
        elif run.first < expected:
            yield from self._again(run, after)

    def end(self) -> Iterator[Seen]:
        """What is to be said when the log has ended."""
        yield from (gap.told() for gap in self._gaps)

    def _again(self, run: Run, after: int) -> Iterator[Seen]:
        filled = [gap for gap in self._gaps if gap.first < after and run.first < gap.after]
        if not filled:
            said = f"sequence {run.first} comes again in the same bytes (legal: sent again by the producer)"
            yield Seen(Kind.REPEATED_SEQUENCE, run.offset, said)
            return
        for gap in filled:
            at = self._gaps.index(gap)
            left = [_Gap(gap.first, run.first, gap.offset)] if gap.first < run.first else []
            right = [_Gap(after, gap.after, gap.offset)] if after < gap.after else []
            self._gaps[at : at + 1] = left + right
            said = f"sequence {max(gap.first, run.first)} should stand before this offset, and stands at {run.offset}"
            yield Seen(Kind.SEQUENCE_ORDER, gap.offset, said)
