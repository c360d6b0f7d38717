"""What became of a flush that was asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlushFailure:
    """A region that was not flushed, in the database's words.

    `final` means that asking again changes nothing: there is no such region. Otherwise it is busy, moving, or its
    datanode is away, and asking again may help.
    """

    message: str
    final: bool
