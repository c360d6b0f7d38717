"""How an application ends: the verdict, and the exit code of its process."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The verdict."""

    PASSED = "Passed"
    """Nothing is wrong, and nothing that was asked for was left out."""
    FAILED = "Failed"
    """The log, the comparison or the backup is not what it must be."""
    REFUSED = "Refused"
    """The request cannot be worked on."""
    INTERRUPTED = "Interrupted"
    """Nothing was proved either way."""

    @property
    def exit_code(self) -> int:
        """Of the process."""
        return list(Outcome).index(self)
