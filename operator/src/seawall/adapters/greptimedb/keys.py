"""What GreptimeDB's metadata need of a store of keys: views of one revision, and writes that compare first.

`etcd.py`, `postgresql.py` and `mysql.py` are such stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

MAX_OPERATIONS = 128
"""In one write, of comparisons and of values: etcd's default for --max-txn-ops."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key without the prefix, its value, and the revision that wrote it last, or a later one."""

    key: str
    value: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Compare: the key was last written at this revision."""

    key: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class HasValue:
    """Compare: the key has this value; None: it is not there."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class NothingNewer:
    """Compare: no key that begins like this was written after the revision."""

    start: str
    revision: int


def range_end(start: bytes) -> bytes:
    """The first key that begins otherwise. Ours end in a character, never in 0xff."""
    return start[:-1] + bytes([start[-1] + 1])


Comparison = Unchanged | HasValue | NothingNewer


class View(Protocol):
    """The keys of one store as they were at one revision. All of it raises as `KeyStore` does."""

    @property
    def store_id(self) -> str:
        """Which store this is, by its own word, with the prefix of the keys."""
        ...

    @property
    def revision(self) -> int:
        """What is written later has a greater one; what was read may have, too, where writes or views overlap."""
        ...

    @property
    def issued(self) -> int | None:
        """Tells whether the store went back: it rises with each write, whoever writes. None: `revision` does that."""
        ...

    def range(self, start: str) -> Iterable[KeyValue]:
        """All keys that begin with `start`, whole or not at all."""
        ...

    def get(self, key: str) -> KeyValue | None:
        """One key; None when it was not there."""
        ...


class KeyStore(Protocol):
    """The keys below a prefix; safe to use from many threads.

    All of it raises PartUnavailable when nobody answers (a write may have happened then), and PartRefused when somebody
    says no, or leaves keys out, or is not one store but two.
    """

    @property
    def doubt(self) -> str:
        """What else than a change makes a write's comparison fail, as a clause; empty: nothing does."""
        ...

    def close(self) -> None:
        """Closes what is kept open."""
        ...

    def view(self) -> AbstractContextManager[View]:
        """The keys as they are now, to be read before the end of the context."""
        ...

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        """Writes keys if everything is as compared, all in one; False means that nothing was written.

        A second try after no answer fails at the comparison if the first one happened.

        Args:
            values: by key, at most MAX_OPERATIONS.
            compare: at most MAX_OPERATIONS.
        """
        ...
