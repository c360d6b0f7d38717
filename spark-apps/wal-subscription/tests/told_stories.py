"""All stories of the sink of records, and their names."""

from __future__ import annotations

from progress_stories import ProgressStories
from record_stories import RecordStories


class Stories(RecordStories, ProgressStories):
    """All of them."""


NAMES = [
    name
    for kind in (RecordStories, ProgressStories)
    for name in vars(kind)
    if "_" in name.strip("_") and not name.startswith("_")
]
