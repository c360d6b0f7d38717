"""What a topic begins with: rows of its regions at entry ids, in files whose layout `sparkjob.snapshot` has.

Of each region the newest cut counts. A topic's files have one order, whatever is selected: so a place in it is the
same for every run.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from sparkjob.snapshot import Cut, SnapshotRegion, parse_snapshot
from walrecord.region import region_group

END = 2**63 - 1
"""The row at which a file ends."""
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class File:
    """Rows of a region.

    Attributes:
        number: among the files of its topic.
        columns, key: of the region, whose key makes rows the same.
        types: what the log calls the types of some columns.
        sequence: the highest sequence number of the cut; None: it is not known.
    """

    name: str
    topic: str
    number: int
    region: int
    entry_id: int
    columns: tuple[str, ...]
    key: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict)
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """What a topic begins with.

    Attributes:
        folder: where the files are.
        digest: of the whole snapshot: another one is not gone on with.
        cuts: region → the entry id up to which its rows are in the files.
    """

    folder: str
    digest: str
    files: tuple[File, ...] = ()
    cuts: Mapping[int, int] = field(default_factory=dict)

    def is_over(self, number: int, position: int) -> bool:
        """Whether nothing of it matters any more to who is at that file and at that offset of the log."""
        return number >= len(self.files) and position > max(self.cuts.values(), default=-1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All topics of one."""

    folder: str
    digest: str
    bases: Mapping[str, Base]

    def of(self, topic: str) -> Base:
        """What a topic begins with; nothing, if the snapshot does not have it."""
        return self.bases.get(topic, Base(self.folder, self.digest))


def read_snapshot(content: bytes, folder: str, uri: str) -> Snapshot:
    """Reads a `snapshot.json`, which is at `uri`, in a folder.

    Raises:
        Refused: it is no snapshot that this program can read.
    """
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    by_topic: dict[str, list[tuple[SnapshotRegion, Cut]]] = defaultdict(list)
    for region in parse_snapshot(content, uri).values():
        if region.cuts and not region_group(region.id):  # the metric engine's own notes are no rows
            by_topic[region.topic].append((region, region.cuts[-1]))
    bases = {topic: _base(folder, digest, topic, regions) for topic, regions in by_topic.items()}
    return Snapshot(folder, digest, bases)


def _base(folder: str, digest: str, topic: str, regions: list[tuple[SnapshotRegion, Cut]]) -> Base:
    numbers = count()
    files = tuple(
        File(
            name,
            topic,
            next(numbers),
            region.id,
            cut.entry_id,
            region.columns,
            region.key,
            region.types,
            cut.sequence,
        )
        for region, cut in regions
        for name in cut.files
    )
    return Base(folder, digest, files, {region.id: cut.entry_id for region, cut in regions})
