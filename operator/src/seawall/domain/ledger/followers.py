"""What followers of regions keep of each topic: a replica that replays the log by itself is one more reader of it.

One that has flushed as much as its leader needs as little, so that of an idle region need not hold the log back: what
its leader saw idle counts for it, too, where the database has markers: elsewhere nothing promises anything of it. A
stored checkpoint does not: it may be newer than both reports.

A database whose followers read no log loses nothing by counting them: one that lags keeps records for longer.
GreptimeDB's are such (1.3.0, `src/datanode/src/utils.rs` opens them with skip_wal_replay, and
`src/mito2/src/worker/handle_catchup.rs` opens the newest manifest before one becomes the leader).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Mask, RegionIds, any_by, choose, first_by, greatest, least_of_all
from seawall.domain.dataplane.followers import Followers
from seawall.domain.ledger.tables import Regions


@dataclass(frozen=True, slots=True, eq=False)
class FollowerBounds:
    """One row for each topic; nothing of a topic whose followers do not count."""

    position: Ids
    """The lowest of those that are known."""
    silent: Mask
    """There is a follower whose position is unknown."""
    names: tuple[str | None, ...]
    """The one that is silent, else the one with the lowest position."""


def follower_bounds(
    followers: Followers, regions: Regions, idles: Mask, dead: RegionIds, counts: Mask
) -> FollowerBounds:
    """What keeps the topics: `counts` says of which followers count, and those of dead regions do not.

    `idles`: the regions of which it counts what their leader saw idle.
    """
    count = len(counts)
    if not len(followers):
        return FollowerBounds(Ids.unknown(count), np.zeros(count, np.bool_), (None,) * count)
    # A region that is said to be of two topics counts for both.
    order = np.argsort(regions.region, kind="stable")
    ids = regions.region[order]
    first, last = (np.searchsorted(ids, followers.region, side) for side in ("left", "right"))
    times = last - first
    row = np.repeat(np.arange(len(followers), dtype=np.int64), times)
    within = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    led = order[np.repeat(first, times) + within]
    kept = counts[regions.topic[led]] & ~np.isin(followers.region[row], dead)
    row, led = row[kept], led[kept]
    topic, is_idle = regions.topic[led], idles[led]
    data = _needs(followers.data.take(row), regions.data_flushed.take(led), regions.data_idle.take(led).only(is_idle))
    metadata = _needs(
        followers.metadata.take(row), regions.metadata_flushed.take(led), regions.metadata_idle.take(led).only(is_idle)
    )
    position = choose(followers.metric[row] | regions.metric[led], least_of_all(data, metadata), data)
    lowest, silent = position.least_by(topic, count), any_by(~position.known, topic, count)
    is_culprit = ~position.known | (lowest.take(topic).equals(position) & ~silent[topic])
    culprit = first_by(is_culprit, topic, count)
    names = (None if at is None else _name(followers, int(row[at])) for at in culprit.listed())
    return FollowerBounds(lowest, silent, tuple(names))


def _needs(position: Ids, flushed: Ids, idle: Ids) -> Ids:
    """Nothing at and below this: of one that is as far as its leader, what that saw idle."""
    is_there = flushed.known & ~flushed.above(position)
    return greatest(position, idle.only(is_there)).only(position.known)


def _name(followers: Followers, row: int) -> str:
    return f"region {int(followers.region[row])}'s follower on datanode {int(followers.datanode[row])}"
