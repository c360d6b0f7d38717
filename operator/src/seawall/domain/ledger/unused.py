"""`seawall.dev/purge-unused-topics: <topics>: <reason>@<expiry>`: a person says that nobody needs what is in them.

It is about topics that no region writes to, and about no others: of those nothing says what is still needed. A region
that appears, is reported, or vanished a moment ago stops it at once. Such a topic goes up to where its log ended when a
run saw it, and one openGrace later; holds, margins and the identity fence count as ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from seawall.api.meta import UNUSED_ANNOTATION

LONGEST = timedelta(hours=24)
"""A declaration that is forgotten must not be about what the database does with a topic later."""

_PARTS = re.compile(r"(?P<topics>[^:]+):(?P<reason>.*\S.*)@(?P<expires>[^@]+)", re.DOTALL)
_GLOB = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")
_EXAMPLE = "wal_7, wal_9: table dropped in May@2026-12-24T18:00:00Z"


@dataclass(frozen=True, slots=True)
class Unused:
    """The topics that a person declared unused, why, and until when."""

    topics: tuple[str, ...]
    reason: str
    expires: datetime

    def is_about(self, topic: str) -> bool:
        """Whether a topic is named, or matched by a glob."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)

    @property
    def sentence(self) -> str:
        """For people."""
        until = self.expires.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"declared unused by annotation until {until} ({self.reason})"


def parse_unused(annotation: str, now: datetime) -> Unused | str:
    """The declaration, or the sentence that says why the annotation declares nothing now."""
    found = _PARTS.fullmatch(annotation.strip())
    if found is None:
        return f"{UNUSED_ANNOTATION} must be <topics>: <reason>@<expiry>, such as {_EXAMPLE}"
    topics = tuple(topic.strip() for topic in found["topics"].split(","))
    wrong = next((topic for topic in topics if _GLOB.fullmatch(topic) is None), None)
    if wrong is not None:
        return f"{UNUSED_ANNOTATION}: {wrong!r} is no name of a topic, nor a glob"
    expires = _read_expiry(found["expires"].strip(), now)
    return expires if isinstance(expires, str) else Unused(topics, found["reason"].strip(), expires)


def _read_expiry(text: str, now: datetime) -> datetime | str:
    """The expiry, or the sentence that says why it is none."""
    try:
        expires = datetime.fromisoformat(text)
    except ValueError:
        return f"{UNUSED_ANNOTATION}: {text!r} is no time such as 2026-12-24T18:00:00Z"
    if expires.tzinfo is None:
        return f"{UNUSED_ANNOTATION}: {text!r} has no time zone"
    if expires <= now:
        return f"{UNUSED_ANNOTATION} has expired: remove it"
    if expires > now + LONGEST:
        return f"{UNUSED_ANNOTATION}: the expiry {text} is more than 24 hours ahead"
    return expires
