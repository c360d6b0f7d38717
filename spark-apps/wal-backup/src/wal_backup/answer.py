"""What a command found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkjob.outcome import Outcome
from wal_backup.findings import Finding


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence, findings, and what the summary has beside them.

    Attributes:
        broke_off: some of it could not be finished, and may be done again.
    """

    message: str
    findings: Sequence[Finding] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    broke_off: bool = False

    @property
    def outcome(self) -> Outcome:
        """The verdict of a command that was not refused."""
        if self.findings:
            return Outcome.FAILED
        return Outcome.INTERRUPTED if self.broke_off else Outcome.PASSED
