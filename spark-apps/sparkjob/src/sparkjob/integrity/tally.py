"""Counts of entries and a digest that does not depend on their order, so that parts of a log can be added up."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

_MASK = (1 << 63) - 1


@dataclass(slots=True)
class Tally:
    """Entries, rows, bytes of payload, the last entry id, and the xor and the sum of the payloads' hashes.

    Both, because equal entries cancel each other in the xor; the sum is of 63 bits, which Spark's numbers can hold.
    """

    entries: int = 0
    rows: int = 0
    size: int = 0
    last_entry_id: int = -1
    xor: int = 0
    total: int = 0

    def add(self, entry_id: int, payload: bytes, rows: int) -> None:
        """Counts an entry."""
        self.entries += 1
        self.rows += rows
        self.size += len(payload)
        self.last_entry_id = max(entry_id, self.last_entry_id)
        hashed = int.from_bytes(blake2b(payload, digest_size=8).digest(), "big")
        self.xor ^= hashed
        self.total = (self.total + (hashed & _MASK)) & _MASK

    def merge(self, other: Tally) -> None:
        """Counts all that the other one has counted."""
        self.entries += other.entries
        self.rows += other.rows
        self.size += other.size
        self.last_entry_id = max(self.last_entry_id, other.last_entry_id)
        self.xor ^= other.xor
        self.total = (self.total + other.total) & _MASK

    def digest(self) -> str:
        """16 hex digits: two logs of a region with the same entries have the same, in whatever order and parts."""
        return blake2b(f"{self.entries}:{self.xor}:{self.total}".encode(), digest_size=8).hexdigest()
