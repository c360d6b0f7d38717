"""The newest flushed id of each region, in memory only: one that goes back was restored from an older copy.

A follower that takes over from its own position is no such copy, if what it lacked was kept for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import (
    Ids,
    Mask,
    RegionIds,
    any_by,
    choose,
    first_by,
    first_rows,
    found_at,
    greatest,
    least_of_all,
    rows_of,
)
from seawall.domain.dataplane.followers import Followers
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.offsets import flushed_to
from seawall.domain.ledger.tables import Regions


@dataclass(frozen=True, slots=True, eq=False)
class FlushedIds:
    """The greatest flushed id that each region's leader ever reported, by region id."""

    region: RegionIds
    data: Ids
    metadata: Ids

    @classmethod
    def none(cls) -> FlushedIds:
        """Nothing was reported yet."""
        return cls(np.zeros(0, np.uint64), Ids.unknown(0), Ids.unknown(0))

    def forget(self, regions: Iterable[int]) -> FlushedIds:
        """Without these: their topic was readopted."""
        kept = ~np.isin(self.region, np.fromiter(regions, np.uint64))
        return FlushedIds(
            self.region[kept],
            Ids(self.data.numbers[kept], self.data.known[kept]),
            Ids(self.metadata.numbers[kept], self.metadata.known[kept]),
        )


def went_back(before: FlushedIds, regions: Regions, newest: Mask) -> Mask:
    """By region, whether its flushed id is lower than before; a report that is not the newest says nothing."""
    at = rows_of(before.region, regions.region)
    data, metadata = found_at(before.data, at).above(regions.data_flushed), found_at(before.metadata, at)
    return newest & (data | metadata.above(regions.metadata_flushed))


def is_below_record(regions: Regions, names: tuple[str, ...], records: Mapping[str, FenceRecord], newest: Mask) -> Mask:
    """By region, whether it has flushed less than every region of its topic had when the topic's record was written.

    It was one of them if its key in the metadata store is not newer than the record: a region that was made since may
    begin anywhere.

    Args:
        regions: as they are reported now.
        names: of the topics.
        records: that were read before the reports were made.
        newest: the regions whose report was certainly made after that.
    """
    found = [records.get(name) for name in names]
    least = Ids.of(record.min_flushed if record is not None else None for record in found).take(regions.topic)
    written = Ids.of(record.revision if record is not None else None for record in found).take(regions.topic)
    was_there = regions.key_revision.known & written.known & ~regions.key_revision.above(written)
    return newest & was_there & least.above(flushed_to(regions))


def remember(before: FlushedIds, regions: Regions, followers: Followers) -> FlushedIds:
    """The greatest ids after this look, of the regions that are there; a lower one is not remembered.

    Of a region with followers that count, the lowest of all: any of them may lead next, and opens from where it is.
    """
    region, rows, _ = first_rows(regions.region)
    at = rows_of(before.region, region)
    old_data, old_metadata = found_at(before.data, at), found_at(before.metadata, at)
    data = greatest(old_data, regions.data_flushed.take(rows))
    metadata = greatest(old_metadata, regions.metadata_flushed.take(rows))
    followed = rows_of(region, followers.region)
    return FlushedIds(
        region,
        _not_beyond(data, followers.data, followed, old_data),
        _not_beyond(metadata, followers.metadata, followed, old_metadata),
    )


def lowest_by_topic(regions: Regions, followers: Followers, count: int) -> Ids:
    """By topic the least that any region's leader has flushed, or a follower has; unknown where one does not say."""
    lowest = flushed_to(regions).least_of_all_by(regions.topic, count)
    if not len(followers):
        return lowest
    order = np.argsort(regions.region, kind="stable")
    at = rows_of(regions.region[order], followers.region)
    topic = regions.topic[order][at.numbers] if len(regions) else at.numbers
    return _not_beyond(lowest, followers.position, Ids(topic, at.known), Ids.unknown(count))


def _not_beyond(ids: Ids, positions: Ids, at: Ids, unknown: Ids) -> Ids:
    """Each id, or a lower position of a row that is `at` it; where such a position is unknown, that of `unknown`."""
    rows = np.flatnonzero(at.known)
    if not len(rows):
        return ids
    groups, is_followed = at.numbers[rows], np.zeros(len(ids), np.bool_)
    is_followed[groups] = True
    lowest = positions.take(rows).least_of_all_by(groups, len(ids))
    return choose(is_followed, choose(lowest.known, least_of_all(ids, lowest), unknown), ids)


def clauses(regions: Regions, back: Mask, names: tuple[str, ...]) -> dict[str, str]:
    """By topic, the first region that went back, as the fence's clause."""
    rows = first_by(back, regions.topic, len(names))
    return {
        name: f"the flushed id of region {int(regions.region[row])} went back to {regions.data_flushed.at(row)}"
        for number, name in enumerate(names)
        if (row := rows.at(number)) is not None
    }


def greatest_known_ids(regions: Regions, marker: Ids) -> Ids:
    """By topic the greatest id of its log that the database knows: flushed, checkpoint, idle, and the marker.

    Unknown for a topic without regions: nobody would skip rows there.
    """
    count = len(marker)
    by_region = greatest(
        regions.data_flushed,
        regions.data_checkpoint,
        regions.data_idle,
        regions.metadata_flushed,
        regions.metadata_checkpoint,
        regions.metadata_idle,
    )
    has_regions = any_by(np.ones(len(regions), np.bool_), regions.topic, count)
    return greatest(by_region.greatest_by(regions.topic, count), marker).only(has_regions)


def greatest_flushed_ids(regions: Regions, count: int) -> Ids:
    """By topic the greatest flushed id or checkpoint of any region, inner ones too."""
    by_region = greatest(
        regions.data_flushed, regions.data_checkpoint, regions.metadata_flushed, regions.metadata_checkpoint
    )
    return by_region.greatest_by(regions.topic, count)
