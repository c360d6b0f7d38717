"""What a process remembers lasts for one term of the Lease: one that leads again begins as a process that starts does.

In between another one may have led. What was found before, and since when, is of another time, and is not cleared piece
by piece: all controllers are made anew, and those of before may write nothing, also where one of their ticks was frozen
all the while (docs/adr/0082-a-term-begins-anew.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from seawall.api.meta import Key
from seawall.handlers.wiring import Wiring
from seawall.reconciler import NOT_LEADER, Reconciler, Ticked

FIRST = 1


class Candidate(Protocol):
    """Who runs for the Lease."""

    def is_leader(self) -> bool:
        """Whether this process holds it now."""
        ...

    def term(self) -> int:
        """How often it has begun to lead."""
        ...


@dataclass(frozen=True, slots=True)
class _Term:
    number: int
    wiring: Wiring
    reconcilers: Mapping[str, Reconciler[Any, Any, Any, Any]]


class Terms:
    """The controllers of the newest term.

    Args:
        wire: makes all of them, with nothing in their memory.
        lease: which term it is, and whether this process leads.
    """

    def __init__(self, wire: Callable[[], Wiring], lease: Candidate) -> None:
        self._wire, self._lease = wire, lease
        self._newest = self._begin(FIRST)

    @property
    def wiring(self) -> Wiring:
        """That of the newest term, for whoever shows what it has found."""
        return self._newest.wiring

    def kinds(self) -> tuple[str, ...]:
        """All that have a controller; they are the same in each term."""
        return tuple(self._newest.reconcilers)

    def tick(self, kind: str, key: Key) -> Ticked:
        """One tick, by the controllers of the newest term. One of a term that ended meanwhile says nothing."""
        begun = self._newest
        ticked = begun.reconcilers[kind].tick(key)
        return ticked if begun is self._newest else NOT_LEADER

    def renew(self) -> bool:
        """Begins anew if the Lease was taken since; returns whether it was."""
        number = self._lease.term()
        if number <= self._newest.number:
            return False
        self._newest = self._begin(number)
        return True

    def _begin(self, number: int) -> _Term:
        def may_write() -> bool:
            return self._lease.is_leader() and self._lease.term() == number  # the term is the later of the two answers

        wiring = self._wire()
        reconcilers = {each.kind: Reconciler(cast("Any", each), may_write) for each in wiring.controllers}
        return _Term(number, wiring, reconcilers)
