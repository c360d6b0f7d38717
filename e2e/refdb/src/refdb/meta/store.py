"""A metadata store: reads at one revision, and writes that happen only if what was read is still so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key as it was read, and the revision of its last write, 1 where the store knows none: 0 if it is not there."""

    key: str
    value: str = ""
    mod_revision: int = 0

    @property
    def exists(self) -> bool:
        """Whether the key is there; its value may be empty."""
        return self.mod_revision > 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a range held at a revision."""

    prefix: str
    revision: int
    pairs: tuple[KeyValue, ...]


class Store(Protocol):
    """etcd, PostgreSQL or MySQL. No answer is `Unavailable`; whether a write happened is then unknown."""

    def get(self, key: str) -> KeyValue:
        """One key, there or not."""
        ...

    def range(self, prefix: str) -> Snapshot:
        """All keys with a prefix."""
        ...

    def txn(self, unchanged: Sequence[KeyValue | Snapshot], writes: Mapping[str, str | None]) -> bool:
        """Writes all (None removes a key), if what was read is unchanged; False means that nothing was written.

        Of a range only what is new or changed is noticed, not what was removed.
        """
        ...
