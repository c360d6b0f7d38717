"""By what it is told that a region has flushed since somebody asked it to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InMemory:
    """What a flush of one region is judged by.

    Attributes:
        flushed_to: its flushed entry id; None: unknown.
        size: of what is in memory, in bytes.
    """

    flushed_to: int | None
    size: int

    def is_flushed_since(self, flushed_to: int | None, size: int | None) -> bool:
        """Whether it has flushed since these were recorded.

        A region whose rows skip the log flushes for ever up to the same id: `size` was recorded of it (None: of no
        other), and a flush leaves less in memory, whatever is written meanwhile.
        """
        if self.size == 0 or self.flushed_to != flushed_to:
            return True
        return size is not None and self.size < size
