"""`seawall.dev/purge-unused-topics: <topics>: <reason>@<expiry>`: a person says that nobody needs what is in them.

It is about topics that no region writes to, and about no others: of those nothing says what is still needed. A region
that appears, is reported, or vanished a moment ago stops it at once. Such a topic goes up to where its log ended when a
run saw it, and one openGrace later; holds, margins and the identity fence count as ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from seawall.api.meta import UNUSED_ANNOTATION
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.declaration import Grounds, parse_declaration

_GLOB = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")
_EXAMPLE = "wal_7, wal_9: table dropped in May@2026-12-24T18:00:00Z"


@dataclass(frozen=True, slots=True)
class Unused:
    """The topics that a person declared unused, why, and until when."""

    topics: tuple[str, ...]
    grounds: Grounds

    def is_about(self, topic: str) -> bool:
        """Whether a topic is named, or matched by a glob."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)

    @property
    def sentence(self) -> str:
        """For people."""
        return f"declared unused {self.grounds.until_and_why}"


def parse_unused(annotation: str, time: TrustedTime) -> Unused | str:
    """The declaration, or the sentence that says why the annotation declares nothing now."""
    found = parse_declaration(UNUSED_ANNOTATION, annotation, time, what="topics", example=_EXAMPLE)
    if isinstance(found, str):
        return found
    wrong = next((topic for topic in found.what if _GLOB.fullmatch(topic) is None), None)
    if wrong is not None:
        return f"{UNUSED_ANNOTATION}: {wrong!r} is no name of a topic, nor a glob"
    return Unused(found.what, found.grounds)
