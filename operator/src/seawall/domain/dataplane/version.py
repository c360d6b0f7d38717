"""What differs between GreptimeDB's versions (facts/greptimedb.md, version matrix), and which one really runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from seawall.domain.dataplane.identity import Node, NodeRole

MARKER_READ_SINCE = (1, 1, 0)
"""The pruned marker was written and never read before: a region opened from its own manifest alone."""

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?P<suffix>.*)", re.ASCII)
_COUNTED = frozenset({NodeRole.DATANODE, NodeRole.METASRV})
"""Datanodes open regions, and the metasrv tells them from where on: what a frontend runs changes nothing about it."""


def parse_version(text: str) -> tuple[int, int, int] | None:
    """The version, a pre-release as the one before it would be; None if it is none."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.group(1, 2, 3))
    if not found["suffix"].startswith("-"):
        return major, minor, patch
    return (major, minor, patch - 1) if patch else (major, minor - 1, 0) if minor else (major - 1, 0, 0)


def reads_marker_at_open(version: str) -> bool:
    """Whether a region that opens starts no earlier than its topic's pruned marker."""
    found = parse_version(version)
    return found is not None and found >= MARKER_READ_SINCE


def weakest_version(nodes: Iterable[Node] | None) -> str | None:
    """The oldest version that any datanode or metasrv runs; None while one of them, or all, did not say theirs."""
    counted = [node for node in nodes or () if node.role in _COUNTED]
    parsed = [(version, node.version) for node in counted if (version := parse_version(node.version)) is not None]
    has_all = len(parsed) == len(counted) and any(node.role is NodeRole.DATANODE for node in counted)
    return min(parsed)[1].strip() if has_all else None


def is_older_than_declared(real: str, declared: str) -> bool:
    """Whether what runs is older than the "major.minor" that a person declared."""
    running, wanted = parse_version(real), parse_version(declared)
    return running is None or wanted is None or running[:2] < wanted[:2]
