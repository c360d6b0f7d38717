"""The parts of a metadata snapshot that have a row for each region, as columns: a tenth of what objects would take.

Each is a mapping like any other, so that whoever asks for one region need not know. Who asks for all uses the columns.
Of two entries with one key the later one counts, as in a dict.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from seawall.domain.columns import Mask, Numbers, RegionIds, Words
from seawall.domain.dataplane.metadata import LeaderState, RegionKey, Route

STATES: tuple[LeaderState, ...] = tuple(LeaderState)
"""Their numbers are those of the column."""
_NUMBER_OF_STATE = {state: number for number, state in enumerate(STATES)}


@dataclass(slots=True)
class _WordsWritten:
    """Words while they are read one by one."""

    numbers: array[int] = field(default_factory=lambda: array("Q"))
    known: bytearray = field(default_factory=bytearray)

    def append(self, value: int | None) -> None:
        self.numbers.append(value or 0)
        self.known.append(value is not None)

    def words(self) -> Words:
        return Words(np.frombuffer(self.numbers, np.uint64), np.frombuffer(self.known, np.bool_))


@dataclass(slots=True)
class _Names:
    """Numbers of names, in the order in which they came."""

    number: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.number.setdefault(name, len(self.number))

    def ordered(self, topic: array[int]) -> tuple[tuple[str, ...], Numbers]:
        """The names in their order, and the rows of the topics in it."""
        names = tuple(sorted(self.number))
        place = np.empty(len(names), np.int64)
        place[[self.number[name] for name in names]] = np.arange(len(names))
        return names, place[np.frombuffer(topic, np.int64)]


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Topics and regions in pairs, sorted by both; `topic` has rows of `names`."""

    names: tuple[str, ...]
    topic: Numbers
    region: RegionIds

    def __len__(self) -> int:
        return len(self.region)

    def row(self, topic: str, region: int) -> int | None:
        """The row of a pair; None: it is not there."""
        number = bisect_left(self.names, topic)
        if number == len(self.names) or self.names[number] != topic:
            return None
        first, last = (int(row) for row in np.searchsorted(self.topic, [number, number + 1]))
        at = first + int(np.searchsorted(self.region[first:last], np.uint64(region)))
        return at if at < last and self.region[at] == region else None


class RegionKeys(Mapping[tuple[str, int], RegionKey]):
    """By topic and region its key."""

    __slots__ = ("checkpoint", "metadata", "mod_revision", "pairs")

    def __init__(self, pairs: PairTable, checkpoint: Words, metadata: Words, mod_revision: Numbers) -> None:
        self.pairs, self.checkpoint, self.metadata, self.mod_revision = pairs, checkpoint, metadata, mod_revision

    @classmethod
    def of(cls, given: Mapping[tuple[str, int], RegionKey] | Iterable[tuple[tuple[str, int], RegionKey]]) -> RegionKeys:
        """These; columns stay as they are."""
        if isinstance(given, cls):
            return given
        names, topic, region = _Names(), array("q"), array("Q")
        checkpoint, metadata, revision = _WordsWritten(), _WordsWritten(), array("q")
        for (name, region_id), key in given.items() if isinstance(given, Mapping) else given:
            topic.append(names[name])
            region.append(region_id)
            checkpoint.append(key.checkpoint_entry_id)
            metadata.append(key.metadata_entry_id)
            revision.append(key.mod_revision)
        pairs, rows = _pairs(names, topic, region)
        revisions = np.frombuffer(revision, np.int64)[rows]
        return cls(pairs, checkpoint.words().take(rows), metadata.words().take(rows), revisions)

    def of_regions(self, regions: Collection[int]) -> Iterator[tuple[str, int, RegionKey]]:
        """Topic, region and key of those of these regions."""
        wanted = np.fromiter(regions, np.uint64, count=len(regions))
        for row in np.flatnonzero(np.isin(self.pairs.region, wanted)):
            yield self.pairs.names[self.pairs.topic[row]], int(self.pairs.region[row]), self._key(row)

    def __getitem__(self, pair: tuple[str, int]) -> RegionKey:
        row = self.pairs.row(*pair)
        if row is None:
            raise KeyError(pair)
        return self._key(row)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return (
            (self.pairs.names[topic], int(region))
            for topic, region in zip(self.pairs.topic, self.pairs.region, strict=True)
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def _key(self, row: int | np.int64) -> RegionKey:
        return RegionKey(self.checkpoint.at(row), self.metadata.at(row), int(self.mod_revision[row]))


class RegionTopics(Mapping[int, frozenset[str]]):
    """By region the topics that somebody names; two datanodes may contradict each other."""

    __slots__ = ("by_region", "pairs")

    def __init__(self, pairs: PairTable) -> None:
        self.pairs = pairs
        self.by_region = _order_of(pairs.region)

    @classmethod
    def of(cls, given: Mapping[int, Iterable[str]] | Iterable[tuple[int, str]]) -> RegionTopics:
        """These, or these pairs of region and topic; columns stay as they are."""
        if isinstance(given, cls):
            return given
        names, topic, region = _Names(), array("q"), array("Q")
        for region_id, name in _named(given) if isinstance(given, Mapping) else given:
            topic.append(names[name])
            region.append(region_id)
        return cls(_pairs(names, topic, region)[0])

    def without(self, regions: Collection[int]) -> frozenset[int]:
        """Those of these regions of which no topic is named."""
        asked = np.fromiter(regions, np.uint64, count=len(regions))
        return frozenset(asked[~np.isin(asked, self.pairs.region)].tolist())

    def __getitem__(self, region: int) -> frozenset[str]:
        ids = self.pairs.region if self.by_region is None else self.pairs.region[self.by_region]
        first, last = (int(np.searchsorted(ids, np.uint64(region), side)) for side in ("left", "right"))
        if first == last:
            raise KeyError(region)
        rows = range(first, last) if self.by_region is None else self.by_region[first:last]
        return frozenset(self.pairs.names[self.pairs.topic[row]] for row in rows)

    def __iter__(self) -> Iterator[int]:
        return (int(region) for region in np.unique(self.pairs.region))

    def __len__(self) -> int:
        return len(np.unique(self.pairs.region))


class Routes(Mapping[int, Route]):
    """By region its route; `region` rises.

    A follower is a row of `follower`, its datanode, and of `follower_route`, the row of its region; that rises.
    """

    __slots__ = ("follower", "follower_route", "leader", "may_have_staged", "mod_revision", "region", "state")

    def __init__(
        self,
        region: RegionIds,
        leader: Words,
        state: npt.NDArray[np.uint8],
        mod_revision: Numbers,
        followers: tuple[Numbers, RegionIds] | None = None,
        *,
        may_have_staged: Mask | None = None,
    ) -> None:
        self.region, self.leader, self.state, self.mod_revision = region, leader, state, mod_revision
        self.may_have_staged = np.ones(len(region), np.bool_) if may_have_staged is None else may_have_staged
        self.follower_route, self.follower = followers or (np.zeros(0, np.int64), np.zeros(0, np.uint64))

    @classmethod
    def of(cls, given: Mapping[int, Route] | Iterable[tuple[int, Route]]) -> Routes:
        """These; columns stay as they are."""
        if isinstance(given, cls):
            return given
        region, leader, state, revision = array("Q"), _WordsWritten(), bytearray(), array("q")
        staged = bytearray()
        followed, follower = array("q"), array("Q")
        for region_id, route in given.items() if isinstance(given, Mapping) else given:
            for datanode in route.followers:
                followed.append(len(region))
                follower.append(datanode)
            region.append(region_id)
            leader.append(route.leader)
            state.append(_NUMBER_OF_STATE[route.state])
            revision.append(route.mod_revision)
            staged.append(route.may_have_staged)
        ids = np.frombuffer(region, np.uint64)
        order = np.argsort(ids, kind="stable")
        rows = order[_is_last(ids[order])]
        states, revisions = np.frombuffer(state, np.uint8)[rows], np.frombuffer(revision, np.int64)[rows]
        place = np.full(len(ids), -1, np.int64)
        place[rows] = np.arange(len(rows))
        at, datanodes = place[np.frombuffer(followed, np.int64)], np.frombuffer(follower, np.uint64)
        order = np.lexsort((datanodes, at))
        order = order[at[order] >= 0]
        followers, may_have_staged = (at[order], datanodes[order]), np.frombuffer(staged, np.bool_)[rows]
        leaders = leader.words().take(rows)
        return cls(ids[rows], leaders, states, revisions, followers, may_have_staged=may_have_staged)

    @property
    def is_normal(self) -> Mask:
        """Whose leader leads, and is not about to stop."""
        normal: Mask = self.state == _NUMBER_OF_STATE[LeaderState.NORMAL]
        return normal

    def __getitem__(self, region: int) -> Route:
        row = int(np.searchsorted(self.region, np.uint64(region)))
        if row == len(self.region) or self.region[row] != region:
            raise KeyError(region)
        first, last = np.searchsorted(self.follower_route, [row, row + 1])
        followers = tuple(self.follower[first:last].tolist())
        state, revision = STATES[self.state[row]], int(self.mod_revision[row])
        return Route(self.leader.at(row), state, revision, followers, bool(self.may_have_staged[row]))

    def __iter__(self) -> Iterator[int]:
        return (int(region) for region in self.region)

    def __len__(self) -> int:
        return len(self.region)


def _named(given: Mapping[int, Iterable[str]]) -> Iterator[tuple[int, str]]:
    return ((region, name) for region, names in given.items() for name in names)


def _pairs(names: _Names, topic: array[int], region: array[int]) -> tuple[PairTable, Numbers]:
    """The pairs in their order, each once, and which rows they were."""
    ordered, topics = names.ordered(topic)
    ids = np.frombuffer(region, np.uint64)
    order = np.lexsort((ids, topics))
    topics, ids = topics[order], ids[order]
    last = _is_last(topics, ids)
    return PairTable(ordered, topics[last], ids[last]), order[last]


def _is_last(*sorted_columns: npt.NDArray[np.generic]) -> Mask:
    """Where the next row is another; columns of equal rows follow each other."""
    last = np.ones(len(sorted_columns[0]), np.bool_)
    last[:-1] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_columns])
    return last


def _order_of(region: RegionIds) -> Numbers | None:
    """Which rows rise; None: all do as they stand, as where no table was made after another topic's."""
    return None if bool(np.all(region[1:] >= region[:-1])) else np.argsort(region, kind="stable")
