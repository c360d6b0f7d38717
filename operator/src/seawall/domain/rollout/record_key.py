"""Which records the database's reader ends at, by their keys alone: what only a whole entry shows is not seen here."""

from __future__ import annotations

import json

KEYLESS = "the record has a value but no key"
NOT_JSON = "the key of the record is not JSON"


def describe_unreadable(key: bytes | None, *, has_value: bool) -> str | None:
    """A clause that says why a record cannot be read; None: it can. One without a value is skipped by every reader."""
    if not has_value:
        return None
    if key is None:
        return KEYLESS
    try:
        json.loads(key)
    except ValueError:
        return NOT_JSON
    return None
