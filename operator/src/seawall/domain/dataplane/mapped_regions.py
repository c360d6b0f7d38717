"""Which regions write to which topic by the metadata.

    topic→region keys + WAL options of the datanodes' tables + tombstoned copies of either

Where the first two contradict each other, the topic has a disagreement and must be left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, any_by, are_same, everywhere, first_by, in_order
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import PairTable, RegionKeys, RegionTopics


class Disagreement(StrEnum):
    """How the metadata contradict themselves about a region."""

    KEY_WITHOUT_OPTIONS = "KeyWithoutOptions"
    """The topic→region key is there, and no datanode's table gives the region this topic."""
    OPTIONS_WITHOUT_KEY = "OptionsWithoutKey"
    """A datanode's table gives the region this topic, and the topic→region key is missing."""
    TWO_TOPICS = "TwoTopics"
    """The region is said to write to more than one topic."""


_CLAUSES = {
    Disagreement.KEY_WITHOUT_OPTIONS: "has a key beside the topic, and in no datanode's table it has this topic",
    Disagreement.OPTIONS_WITHOUT_KEY: "has this topic in a datanode's table, and no key beside the topic",
    Disagreement.TWO_TOPICS: "is said to write to more than one topic",
}


@dataclass(frozen=True, slots=True, eq=False)
class MappedRegions:
    """One row for each region of each topic, each of which may need the topic's log; sorted by both."""

    names: tuple[str, ...]
    """Every topic that anything in the snapshot names, in their order; one without regions has no row."""
    topic: Numbers
    region: RegionIds
    key: Ids
    """The row of the topic→region key in `RegionKeys`."""
    optioned: Mask
    """A datanode's table gives the region this topic."""
    of_two_topics: Mask
    """Another row has the same region."""

    @property
    def tombstoned(self) -> Mask:
        """Those that only tombstones name: dropped, and perhaps to come back."""
        return ~(self.key.known | self.optioned)

    @property
    def disagrees(self) -> Mask:
        """Of which the metadata contradict themselves; any such row means that its topic must be left alone."""
        return (self.key.known ^ self.optioned) | self.of_two_topics

    @property
    def torn(self) -> dict[str, str]:
        """The topics that must be left alone, and why, as a clause about the first such region of each."""
        first = first_by(self.disagrees, self.topic, len(self.names))
        return {self.names[topic]: self._clause(int(first.numbers[topic])) for topic in np.flatnonzero(first.known)}

    @property
    def topics_in_use(self) -> int:
        """How many topics a region may write to."""
        return int(np.count_nonzero(np.bincount(self.topic, minlength=1)))

    def _clause(self, row: int) -> str:
        found = self.disagreement(row)
        assert found is not None  # noqa: S101 - only asked of those that disagree
        return f"region {int(self.region[row])} {_CLAUSES[found]}"

    def disagreement(self, row: int) -> Disagreement | None:
        """What is contradicted of a region; None: nothing."""
        if self.of_two_topics[row]:
            return Disagreement.TWO_TOPICS
        if self.key.known[row] and not self.optioned[row]:
            return Disagreement.KEY_WITHOUT_OPTIONS
        is_only_optioned = self.optioned[row] and not self.key.known[row]
        return Disagreement.OPTIONS_WITHOUT_KEY if is_only_optioned else None


def map_regions(snapshot: MetadataSnapshot, topics: Iterable[str] = ()) -> MappedRegions:
    """All that the snapshot names; `topics` are names that must be there in any case."""
    keys = RegionKeys.of(snapshot.region_keys).pairs
    options, buried = RegionTopics.of(snapshot.wal_topics).pairs, RegionTopics.of(snapshot.tombstoned_topics).pairs
    names = tuple(sorted({*snapshot.topics, *topics, *keys.names, *options.names, *buried.names}))
    numbers = {name: number for number, name in enumerate(names)}
    keyed, optioned = _renumbered(keys, numbers), _renumbered(options, numbers)
    if not len(buried) and are_same(keyed, optioned) and are_same(keys.region, options.region):
        # As it is where nothing is made or dropped: there is nothing to merge.
        rows = in_order(len(keys))
        return MappedRegions(names, keyed, keys.region, rows, everywhere(len(keys)), _repeated(keys.region))
    topic = np.concatenate([keyed, optioned, _renumbered(buried, numbers)])
    region = np.concatenate([keys.region, options.region, buried.region])
    order = np.lexsort((region, topic))
    topic, region = topic[order], region[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (topic[1:] != topic[:-1]) | (region[1:] != region[:-1])
    pair = np.cumsum(is_first) - 1
    from_key, from_options = order < len(keys), (order >= len(keys)) & (order < len(keys) + len(options))
    topic, region = topic[is_first], region[is_first]
    key_rows = np.zeros(len(region), np.int64)
    key_rows[pair[from_key]] = order[from_key]
    key = Ids(key_rows, any_by(from_key, pair, len(region)))
    return MappedRegions(names, topic, region, key, any_by(from_options, pair, len(region)), _repeated(region))


def _renumbered(pairs: PairTable, numbers: dict[str, int]) -> Numbers:
    place = np.fromiter((numbers[name] for name in pairs.names), np.int64, count=len(pairs.names))
    return place[pairs.topic]


def _repeated(region: RegionIds) -> Mask:
    """Which regions are there more than once."""
    ordered = np.sort(region)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.isin(region, twice) if len(twice) else np.zeros(len(region), np.bool_)
