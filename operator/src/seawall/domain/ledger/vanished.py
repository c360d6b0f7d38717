"""Regions that vanished from a topic: in the metadata of one look, and not of the next.

Each topic loses its own: of a region of two topics that is in one of them alone any more, the other one is left alone
for a grace, as if the region were gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, are_same, first_rows, rows_of


@dataclass(frozen=True, slots=True)
class Vanished:
    """A region that a topic does not have any more, and when that was first seen."""

    region: int
    topic: str
    missed_at: int


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """Which regions are of which topics: one row for each of both. A region may have several."""

    names: tuple[str, ...]
    topic: Numbers
    region: RegionIds

    @classmethod
    def none(cls) -> Mapped:
        """Nothing is mapped."""
        return cls((), np.zeros(0, np.int64), np.zeros(0, np.uint64))

    def has(self, region: RegionIds, topics: Iterable[str]) -> Mask:
        """Which of these regions are of these topics, pair by pair."""
        known, _, rows = first_rows(self.region)
        number_of = {name: number for number, name in enumerate(self.names)}
        at, topic = rows_of(known, region), Ids.of(number_of.get(name) for name in topics)
        there = np.isin(_pairs(at.numbers, topic.numbers, self), _pairs(rows, self.topic, self))
        return there & at.known & topic.known


def find_vanished(
    before: Mapped, missed: Iterable[Vanished], mapped: Mapped, *, now: int, keep: int
) -> tuple[Vanished, ...]:
    """What vanished from one look to the next, and what was missed earlier, for less than `keep`, and is not back."""
    still = _not_back([old for old in missed if now - old.missed_at < keep], mapped)
    return (*still, *(Vanished(region, topic, now) for region, topic in _gone(before, mapped)))


def vanished_topics(vanished: Iterable[Vanished], now: int, open_grace: Callable[[str], int]) -> frozenset[str]:
    """The topics of which a region vanished less than one grace ago."""
    return frozenset(gone.topic for gone in vanished if now - gone.missed_at < open_grace(gone.topic))


def _not_back(missed: list[Vanished], now: Mapped) -> list[Vanished]:
    if not missed:
        return []  # as nearly always: to look for pairs costs a sort of all regions
    back = now.has(np.array([old.region for old in missed], np.uint64), [old.topic for old in missed])
    return [old for old, is_back in zip(missed, back, strict=True) if not is_back]


def _gone(before: Mapped, now: Mapped) -> list[tuple[int, str]]:
    if before.names == now.names and are_same(before.region, now.region) and are_same(before.topic, now.topic):
        return []  # as nearly always
    names = [before.names[topic] for topic in before.topic]
    return [(int(before.region[row]), names[row]) for row in np.flatnonzero(~now.has(before.region, names))]


def _pairs(region: Numbers, topic: Numbers, among: Mapped) -> Numbers:
    """One number for each pair of a row of a region and the number of a topic."""
    pairs: Numbers = region * (len(among.names) + 1) + topic
    return pairs
