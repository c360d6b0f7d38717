"""What the annotations have in common by which a person answers for something for a while.

<reason>@<expiry>             Grounds: seawall.dev/readopt, seawall.dev/override-restart-gate
<what>: <reason>@<expiry>     Declaration: seawall.dev/dead-regions, seawall.dev/purge-unused-topics
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from seawall.domain.clocks import TrustedTime
from seawall.domain.times import DECLARATION_LONGEST

_REASON_AND_EXPIRY = r"(?P<reason>.*\S.*)@(?P<expires>[^@]+)"
_GROUNDS = re.compile(_REASON_AND_EXPIRY, re.DOTALL)
_DECLARATION = re.compile(rf"(?P<what>[^:]+):{_REASON_AND_EXPIRY}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a person answers for it, and until when."""

    reason: str
    expires: datetime

    @property
    def until_and_why(self) -> str:
        """For people."""
        until = self.expires.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"by annotation until {until} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared (as it was written, one by one), and on which grounds."""

    what: tuple[str, ...]
    grounds: Grounds


def parse_grounds(annotation: str, text: str, time: TrustedTime | None, *, example: str) -> Grounds | str:
    """The grounds, or the sentence that says why the annotation counts for nothing now.

    Args:
        annotation: its name.
        text: its value.
        time: what has expired by either clock, or expires too late, counts for nothing, and neither does anything
            while the clocks disagree. None: the caller compares the expiry by itself.
        example: a value that is right.
    """
    found = _GROUNDS.fullmatch(text.strip())
    if found is None:
        return f"{annotation} must be <reason>@<expiry>, such as {example}"
    return _read_grounds(annotation, found, time)


def parse_declaration(annotation: str, text: str, time: TrustedTime, *, what: str, example: str) -> Declaration | str:
    """The declaration, or the sentence that says why the annotation declares nothing now.

    Args:
        annotation: its name.
        text: its value.
        time: what has expired by either clock, or expires too late, declares nothing, and neither does anything while
            the clocks disagree.
        what: what is declared, as a person is told to write it.
        example: a value that is right.
    """
    found = _DECLARATION.fullmatch(text.strip())
    if found is None:
        return f"{annotation} must be <{what}>: <reason>@<expiry>, such as {example}"
    grounds = _read_grounds(annotation, found, time)
    if isinstance(grounds, str):
        return grounds
    return Declaration(tuple(one.strip() for one in found["what"].split(",")), grounds)


def _read_grounds(annotation: str, found: re.Match[str], time: TrustedTime | None) -> Grounds | str:
    """The grounds, or the sentence that says what is wrong with the expiry."""
    written = found["expires"].strip()
    try:
        expires = datetime.fromisoformat(written)
    except ValueError:
        return f"{annotation}: {written!r} is no time such as 2026-12-24T18:00:00Z"
    if expires.tzinfo is None:
        return f"{annotation}: {written!r} has no time zone"
    problem = None if time is None else _why_not_now(annotation, expires, written, time)
    if problem is not None:
        return problem
    return Grounds(found["reason"].strip(), expires)


def _why_not_now(annotation: str, expires: datetime, written: str, time: TrustedTime) -> str | None:
    now = time.latest
    if now is None:
        return doubtful(annotation, time)
    if expires <= now:
        return f"{annotation} has expired: remove it"
    if expires > now + DECLARATION_LONGEST:
        return f"{annotation}: the expiry {written} is more than 24 hours ahead"
    return None


def doubtful(annotation: str, time: TrustedTime) -> str:
    """That an annotation counts for nothing while two clocks disagree."""
    return f"{annotation} does not count, as it may have expired: {time.problem}"
