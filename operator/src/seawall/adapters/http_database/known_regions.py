"""Regions and followers of the newest metadata: none is gone while the revision does not rise, and it never falls."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from seawall.adapters.http_database import wire
from seawall.domain.cluster.identity import WAY_OUT
from seawall.domain.columns import RegionIds
from seawall.domain.dataplane.connection import NotReached, PartRefused

DATABASES = 4
"""Of so many one URL is remembered, those that answered last: of one that has another identity each time, not all."""


@dataclass(frozen=True, slots=True)
class _Newest:
    """Which database, its greatest revision, and what it had.

    Attributes:
        regions: by topic, those too that may come back.
        followed: by node the regions that it follows.
        dropped: the regions that may come back: whoever followed them need not be named any more.
    """

    database: str
    revision: int
    regions: Mapping[str, RegionIds]
    followed: Mapping[int, RegionIds]
    dropped: RegionIds
    back_at: int | None = None
    """The first lower revision that was read since; None: there was none."""

    @classmethod
    def of(cls, found: wire.Metadata) -> _Newest:
        """Of these metadata."""
        regions: dict[str, list[int]] = {}
        followed: dict[int, list[int]] = {}
        for topic, region_id in chain(((one.topic, one.id) for one in found.regions), _may_come_back(found)):
            regions.setdefault(topic, []).append(region_id)
        for region in found.regions:
            for node in region.followers:
                followed.setdefault(node, []).append(region.id)
        return cls(
            found.database,
            found.revision,
            {topic: _ids(ids) for topic, ids in regions.items()},
            {node: _ids(ids) for node, ids in followed.items()},
            _ids(one.id for one in found.dropped),
        )


def _may_come_back(found: wire.Metadata) -> Iterator[tuple[str, int]]:
    return ((one.topic, one.id) for one in found.dropped)


def _ids(regions: Iterable[int]) -> RegionIds:
    return np.fromiter(regions, np.uint64)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was known when metadata were asked for, by database, and where what comes is remembered."""

    known: dict[str, _Newest]
    before: Mapping[str, _Newest]


class KnownRegions:
    """Refuses metadata that went back, or that lost a region or a follower without a change; for many threads.

    A control plane that starts with half of its catalogue answers with the revision that it had before, and one that
    lags behind with a lower one. Its reports leave out the same regions, so nothing else contradicts it; and of a
    follower that is not named nobody asks for a report. What another
    database answers in between changes nothing. After metadata went back a region is not gone either because their
    revision rose again: they may have been restored from an older copy, and have changed since.

    A process that restarts knows nothing of it, as after a readoption that is followed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[str, _Newest] = {}

    def asking(self) -> Asked:
        """To be called before metadata are asked for."""
        with self._lock:
            return Asked(self._newest, dict(self._newest))

    def require_kept(self, found: wire.Metadata, asked: Asked) -> None:
        """Compares them with those of before, and remembers them if nothing speaks against them.

        Raises:
            PartRefused: their revision is lower than one that was read before they were asked for, or a region is
                missing.
        """
        now = _Newest.of(found)
        with self._lock:
            _compare(asked.known, asked.before.get(now.database), now)

    def begin_anew(self) -> bool:
        """Forgets all of it. Whether metadata had gone back, and none were believed since."""
        with self._lock:
            went_back = any(each.back_at is not None for each in self._newest.values())
            self._newest = {}  # what was asked for before this goes into the old one
        return went_back


def _compare(known: dict[str, _Newest], before: _Newest | None, now: _Newest) -> None:
    """Of two that are under way the older may come last: only what was there when it was asked for is newer."""
    newest = known.get(now.database)
    if before is not None and now.revision < before.revision:
        newest = before if newest is None else newest
        back_at = now.revision if newest.back_at is None else newest.back_at
        known[now.database] = replace(newest, back_at=back_at)
        raise _went_back(newest.revision, back_at)
    if newest is not None and now.revision < newest.revision:
        return
    if newest is not None and (now.revision == newest.revision or newest.back_at is not None):
        _require_kept(newest, now)
    known.pop(now.database, None)
    known[now.database] = now
    while len(known) > DATABASES:
        known.pop(next(iter(known)))


def _went_back(newest: int, back_at: int) -> PartRefused:
    """The same sentence for all that follow: the revision may rise from there."""
    return PartRefused(
        NotReached.UNEXPECTED_ANSWER,
        f"the database contradicts itself: its metadata went back from revision {newest} to {back_at}. A control plane "
        f"that lags behind answers so, or one that was restored: {WAY_OUT}",
    )


def _require_kept(before: _Newest, now: _Newest) -> None:
    none = np.zeros(0, np.uint64)
    for topic, regions in before.regions.items():
        missing = np.setdiff1d(regions, now.regions.get(topic, none))
        if len(missing):
            raise _lost(before, f"region {missing[0]} of topic {topic}")
    for node, regions in before.followed.items():
        missing = np.setdiff1d(regions, np.union1d(now.followed.get(node, none), now.dropped))
        if len(missing):
            raise _lost(before, f"region {missing[0]}'s follower on node {node}")


def _lost(before: _Newest, what: str) -> PartRefused:
    why = "although the revision did not rise"
    if before.back_at is not None:
        why = f"after they had gone back to revision {before.back_at}: {WAY_OUT}"
    return PartRefused(
        NotReached.UNEXPECTED_ANSWER,
        f"the database contradicts itself: its metadata of revision {before.revision} had {what}, and lack it now, "
        f"{why}",
    )
