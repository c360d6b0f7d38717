"""The regions of the metadata that were read last: as long as the revision does not rise, none of them is gone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from seawall.adapters.http_database import wire
from seawall.domain.columns import RegionIds
from seawall.domain.dataplane.connection import NotReached, PartRefused


@dataclass(frozen=True, slots=True)
class _Newest:
    """Which database, its revision, and by topic the regions that it had, those too that may come back."""

    database: str
    revision: int
    regions: Mapping[str, RegionIds]

    @classmethod
    def of(cls, found: wire.Metadata) -> _Newest:
        """Of these metadata."""
        regions: dict[str, list[int]] = {}
        for topic, region in chain(((one.topic, one.id) for one in found.regions), _may_come_back(found)):
            regions.setdefault(topic, []).append(region)
        return cls(found.database, found.revision, {topic: np.array(ids, np.uint64) for topic, ids in regions.items()})


def _may_come_back(found: wire.Metadata) -> Iterator[tuple[str, int]]:
    return ((one.topic, one.id) for one in found.dropped)


class KnownRegions:
    """Refuses metadata that lost a region without a change; safe to use from many threads.

    A control plane that starts with half of its catalogue answers so, with the revision that it had before. Its
    reports leave out the same regions, so nothing else contradicts it. A process that restarts knows nothing of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: _Newest | None = None

    def require_kept(self, found: wire.Metadata) -> None:
        """Compares them with those of before, and remembers them if nothing is missing.

        Raises:
            PartRefused: a region is missing, and the revision is the same.
        """
        now = _Newest.of(found)
        with self._lock:
            before = self._newest
            if before is not None and (before.database, before.revision) == (now.database, now.revision):
                _require_kept(before, now)
            self._newest = now


def _require_kept(before: _Newest, now: _Newest) -> None:
    none = np.zeros(0, np.uint64)
    for topic, regions in before.regions.items():
        missing = np.setdiff1d(regions, now.regions.get(topic, none))
        if len(missing):
            raise PartRefused(
                NotReached.UNEXPECTED_ANSWER,
                f"the database contradicts itself: its metadata of revision {now.revision} had region {missing[0]} "
                f"of topic {topic}, and lack it now, although the revision did not rise",
            )
