"""Revisions of rows where the store shows none: by what this process has read itself.

The revision of a row is the number of the first view in which it had its content; another content, or a row that was
missing meanwhile, is newer. It may be newer than the write was, never older. No two clients of one store number alike:
what was read by one, which a new Secret has replaced, is older than all that the other finds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

DIGEST_BYTES = 16
_LOCK = threading.Lock()
_GREATEST: dict[str, int] = {}
"""By store: the greatest number that any client of this process gave."""


@dataclass(frozen=True, slots=True)
class Asked:
    """That a view begins.

    Attributes:
        turn: counts what begins and what is numbered.
        before: a number that all that begins later exceeds.
    """

    turn: int
    before: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of one view.

    Attributes:
        view: what another view finds that this one has not is newer.
        rows: the revision of what this view is the first to find; greater than `view` if another view began meanwhile,
            for nobody knows then which of the two is older.
    """

    view: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Row:
    digest: bytes
    revision: int


class RowRevisions:
    """What the views of one store have found; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._store_id = ""
        self._turn = self._last = 0
        self._rows: dict[bytes, _Row] = {}
        self._ranges: dict[bytes, tuple[int, frozenset[bytes]]] = {}

    def ask(self) -> Asked:
        """To be called before the snapshot is taken."""
        with self._lock:
            self._turn += 1
            return Asked(self._turn, self._last)

    def number(self, asked: Asked, counter: int, store_id: str) -> Numbers:
        """To be called after it is taken.

        Args:
            asked: what `ask` gave before.
            counter: of the store, so that numbers of another process are comparable: later ones are greater.
            store_id: another store than before has rows of its own, all of them new.
        """
        with self._lock:
            if store_id != self._store_id:
                self._store_id, self._rows, self._ranges = store_id, {}, {}
            is_alone = self._turn == asked.turn
            self._turn += 1
            self._last = _next(store_id, counter)
            return Numbers(self._last if is_alone else asked.before, self._last)

    def observe(self, start: bytes, pairs: Iterable[tuple[bytes, bytes]], at: int) -> list[int]:
        """The revisions of all rows of a range, in the order of the pairs; a row that is gone is forgotten.

        Args:
            start: what the keys of the range begin with; a whole key is a range of one.
            pairs: of key and value.
            at: `Numbers.rows` of the view.
        """
        with self._lock:
            newest, before = self._ranges.get(start, (0, frozenset[bytes]()))
            is_newest = at >= newest
            digests = {key: _digest(value) for key, value in pairs}
            if is_newest:
                for gone in before - digests.keys():
                    self._rows.pop(gone, None)
                self._ranges[start] = at, frozenset(digests)
            return [self._observed(key, digest, at, is_newest=is_newest) for key, digest in digests.items()]

    def known(self, key: bytes, value: bytes, store_id: str) -> int | None:
        """The revision of a row with this content; None: newer than all that was observed."""
        with self._lock:
            row = self._rows.get(key)
            is_known = row is not None and store_id == self._store_id and row.digest == _digest(value)
            return row.revision if row is not None and is_known else None

    def _observed(self, key: bytes, digest: bytes, at: int, *, is_newest: bool) -> int:
        row = self._rows.get(key)
        if row is not None and row.digest == digest:
            return row.revision
        if is_newest and (row is None or row.revision < at):
            self._rows[key] = _Row(digest, at)
        return at


def _next(store_id: str, counter: int) -> int:
    with _LOCK:
        found = _GREATEST[store_id] = max(_GREATEST.get(store_id, 0) + 1, counter)
    return found


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=DIGEST_BYTES).digest()
