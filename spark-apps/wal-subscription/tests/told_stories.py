"""All stories of the sink of records, and their names."""

from __future__ import annotations

from progress_stories import ProgressStories
from record_stories import RecordStories
from snapshot_stories import SnapshotStories


class Stories(RecordStories, ProgressStories, SnapshotStories):
    """All of them."""


NAMES = [
    name
    for kind in (RecordStories, ProgressStories, SnapshotStories)
    for name in vars(kind)
    if "_" in name.strip("_") and not name.startswith("_")
]
