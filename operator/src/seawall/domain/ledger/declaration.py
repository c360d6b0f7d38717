"""What the annotations have in common by which a person declares something for a while: `<what>: <reason>@<expiry>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

LONGEST = timedelta(hours=24)
"""A declaration that is forgotten must not be about what the database does later."""

_PARTS = re.compile(r"(?P<what>[^:]+):(?P<reason>.*\S.*)@(?P<expires>[^@]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared (as it was written, one by one), why, and until when."""

    what: tuple[str, ...]
    reason: str
    expires: datetime

    @property
    def until_and_why(self) -> str:
        """For people."""
        until = self.expires.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"by annotation until {until} ({self.reason})"


def parse_declaration(annotation: str, text: str, now: datetime, *, what: str, example: str) -> Declaration | str:
    """The declaration, or the sentence that says why the annotation declares nothing now.

    Args:
        annotation: its name.
        text: its value.
        now: the operator's wall clock: what has expired, or expires too late, declares nothing.
        what: what is declared, as a person is told to write it.
        example: a value that is right.
    """
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        return f"{annotation} must be <{what}>: <reason>@<expiry>, such as {example}"
    expires = _read_expiry(annotation, found["expires"].strip(), now)
    if isinstance(expires, str):
        return expires
    return Declaration(tuple(one.strip() for one in found["what"].split(",")), found["reason"].strip(), expires)


def _read_expiry(annotation: str, text: str, now: datetime) -> datetime | str:
    """The expiry, or the sentence that says why it is none."""
    try:
        expires = datetime.fromisoformat(text)
    except ValueError:
        return f"{annotation}: {text!r} is no time such as 2026-12-24T18:00:00Z"
    if expires.tzinfo is None:
        return f"{annotation}: {text!r} has no time zone"
    if expires <= now:
        return f"{annotation} has expired: remove it"
    if expires > now + LONGEST:
        return f"{annotation}: the expiry {text} is more than 24 hours ahead"
    return expires
