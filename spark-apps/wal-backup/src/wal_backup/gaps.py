"""Offsets that a log does not have: markers and aborted records of transactions, what compaction took."""

from __future__ import annotations

from collections.abc import Iterable

Gap = tuple[int, int]
"""Offsets [first, after the last)."""


def merge(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """The same offsets in rising order; gaps that touch are one."""
    merged: list[Gap] = []
    for first, end in sorted(gaps):
        if merged and merged[-1][1] >= first:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((first, end))
    return tuple(merged)


def width(gaps: Iterable[Gap]) -> int:
    """How many offsets they are, when none comes twice."""
    return sum(end - first for first, end in gaps)
