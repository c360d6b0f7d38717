"""What differs between the versions of the database's reader: GreptimeDB, src/log-store/src/kafka/util/record.rs."""

from __future__ import annotations

import re

DROPS_REPEATED_MIDDLE_SINCE = (1, 1, 3)
"""GreptimeDB #8514. The versions before refuse such a record, and so does a version that is not known."""

_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")


def drops_repeated_middle(version: str | None) -> bool:
    """Whether a Middle that equals the part right before it is dropped, instead of being an illegal sequence.

    `version` is "major.minor" or "major.minor.patch"; a patch that is not given counts as 0, and whatever is no such
    version (a nightly build, None) as the strictest one.
    """
    found = None if version is None else _VERSION.fullmatch(version)
    if found is None:
        return False
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch) >= DROPS_REPEATED_MIDDLE_SINCE
