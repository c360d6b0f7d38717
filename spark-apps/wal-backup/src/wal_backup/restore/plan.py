"""The plan of a restore: of each topic, which offsets come back, and how many are lost at most.

The same backup and the same request give the same plan. Its digest is what a person approves: the restore plans again,
and writes nothing when the digest is another one. What a manifest says of its sections is covered by the digest, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wal_backup.check import ObjectToCheck
from wal_backup.gaps import Gap, merge, width
from wal_backup.layout import chain_folder
from wal_backup.manifest import Parent, RestorePoint, TopicBackup
from wal_backup.parquet import Section

VERSION = 1


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a chain has of a topic without a hole in between: offsets [start, end) of one log."""

    name: str
    topic_id: str
    start: int
    end: int
    gaps: tuple[Gap, ...]
    sections: tuple[Section, ...]
    reads_from: int | None = None
    """The first offset that its regions read when it was backed up, of those that the log had; None: it had none."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as it shall be.

    Attributes:
        source_id: the topic's id where it was backed up.
        start, end: offsets [start, end) come back.
        pad_end: where the log shall end: nulls go from `end` to it.
        backed_up_to: where the backup ends, which may have more than comes back.
        gaps: offsets in [start, end) that the log did not have: nulls, too.
        sections: where the records are; the last one may have more than come back.
        missing: offsets before `start` that its regions read when it was backed up, and that the chain does not have.
    """

    name: str
    source_id: str
    start: int
    end: int
    pad_end: int
    gaps: tuple[Gap, ...]
    sections: tuple[Section, ...]
    backed_up_to: int
    missing: int = 0

    @property
    def records(self) -> int:
        """How many come back."""
        return self.end - self.start - width(self.gaps)

    @property
    def bytes(self) -> int:
        """Keys, values and headers of the sections that are read."""
        return sum(section.bytes for section in self.sections)

    @property
    def largest(self) -> int:
        """Bytes of the largest batch that has to be sent: `max.message.bytes` must not be less."""
        return max((section.largest for section in self.sections), default=0)

    @property
    def lost(self) -> int:
        """Offsets that the log had, or may have had, and whose records do not come back, at most."""
        return max(self.pad_end, self.backed_up_to) - self.end + self.missing

    def to_json(self) -> dict[str, Any]:
        """As it stands in the plan."""
        return {
            "name": self.name,
            "sourceTopicId": self.source_id,
            "from": self.start,
            "end": self.end,
            "padEnd": self.pad_end,
            "records": self.records,
            "bytes": self.bytes,
            "largestRecord": self.largest,
            "gaps": width(self.gaps),
            "lostAtMost": self.lost,
            **({"missingBefore": self.missing} if self.missing else {}),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """All topics of a restore.

    Attributes:
        backup: the newest manifest that is needed; its digest covers all before it.
        left_out: topics that older backups of the chain have, and this one has not.
        objects: what has to be read; the backup's digest covers them.
        point: the restore point that is gone back to; None: something else was meant.
        starts: by topic where each of its regions reads from; the backup's digest covers them, too.
    """

    cluster_id: str
    chain: str
    backup: Parent
    topics: tuple[TopicPlan, ...]
    left_out: tuple[str, ...]
    objects: tuple[ObjectToCheck, ...]
    point: RestorePoint | None = None
    starts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Where it is in the store."""
        return f"{self.folder}/plans/{self.digest}.json"

    @property
    def folder(self) -> str:
        """Its chain in the store."""
        return chain_folder(self.cluster_id, self.chain)

    @property
    def digest(self) -> str:
        """SHA-256 of its bytes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """JSON; the same plan gives the same bytes."""
        content = {
            "version": VERSION,
            "clusterId": self.cluster_id,
            "chain": self.chain,
            "backup": {"name": self.backup.name, "digest": self.backup.digest},
            "topics": [topic.to_json() for topic in self.topics],
            "leftOut": list(self.left_out),
            **({} if self.point is None else {"restorePoint": point_to_json(self.point)}),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def point_to_json(point: RestorePoint) -> dict[str, str]:
    """What people need of it: its name, and which snapshot belongs to it."""
    return {"name": point.name, "snapshot": point.snapshot}


def find_stretch(backups: Sequence[Mapping[str, TopicBackup]], name: str) -> Stretch:
    """What the newest backup has of a topic, and those before it that it continues; backups by topic, oldest first."""
    parts = [backups[-1][name]]
    for backup in reversed(backups[:-1]):
        before = backup.get(name)
        if before is None or (before.topic_id, before.end) != (parts[0].topic_id, parts[0].start):
            break
        parts.insert(0, before)
    gaps = merge(gap for part in parts for gap in part.gaps)
    sections = tuple(section for part in parts for section in part.sections)
    starts = (max(part.log_start, region.reads_from) for part in parts for region in part.regions)
    first_read = min(starts, default=None)
    return Stretch(name, parts[0].topic_id, parts[0].start, parts[-1].end, gaps, sections, first_read)


def plan_topic(stretch: Stretch, end: int, pad_to: int, missing: int = 0) -> TopicPlan:
    """The plan of one topic up to an offset that the stretch has."""
    gaps = tuple((first, min(last, end)) for first, last in stretch.gaps if first < end)
    sections = tuple(section for section in stretch.sections if section.first < end)
    pad_end = max(end, pad_to)
    return TopicPlan(stretch.name, stretch.topic_id, stretch.start, end, pad_end, gaps, sections, stretch.end, missing)
