"""Times in the names of objects that are made on a schedule: what was due when is then read from the names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class TimeInName:
    """How a time is written, in digits and in UTC.

    Attributes:
        form: as `strftime` takes it.
        length: how many digits that are.
    """

    form: str
    length: int

    def write(self, time: datetime) -> str:
        """The digits."""
        return time.astimezone(UTC).strftime(self.form)

    def read(self, text: str) -> datetime | None:
        """The time; None when the text is none."""
        if len(text) != self.length or not (text.isascii() and text.isdigit()):
            return None
        try:
            return datetime.strptime(text, self.form).replace(tzinfo=UTC)
        except ValueError:
            return None
