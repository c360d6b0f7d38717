"""What differs between GreptimeDB's versions (facts/greptimedb.md, version matrix)."""

from __future__ import annotations

MARKER_READ_SINCE = (1, 1)
"""The pruned marker was written and never read before: a region opened from its own manifest alone."""


def reads_marker_at_open(version: str) -> bool:
    """Whether a region that opens starts no earlier than its topic's pruned marker; `version` is "major.minor"."""
    major, minor = map(int, version.split("."))
    return (major, minor) >= MARKER_READ_SINCE
