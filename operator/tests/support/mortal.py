"""Ports of a process that dies at one of its calls: before it, or after it, when its answer is lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.purge_world import CHANGES


class Died(BaseException):
    """The process was killed. Not an Exception, so that nothing in the operator can catch it."""


@dataclass(frozen=True)
class Point:
    """Right before, or right after, the so-manieth call of a name, counted from 0."""

    name: str
    number: int
    after: bool


def points_around(changes: Sequence[str]) -> list[Point]:
    """Before and after each of the changes of a run."""
    numbered = [(name, changes[:at].count(name)) for at, name in enumerate(changes)]
    return [Point(name, number, after) for name, number in numbered for after in (False, True)]


@dataclass
class Deaths:
    """Counts the calls that change something, and kills at one of them.

    Attributes:
        point: where it dies; None: it lives.
        names: the changes so far.
    """

    point: Point | None = None
    names: list[str] = field(default_factory=list)

    def guard(self, port: Any, opens: Collection[str] = ()) -> Any:
        """The same port; what its methods `opens` return is a port, too."""
        return _Guarded(self, port, frozenset(opens))

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if name not in CHANGES:
            return function(*args, **kwargs)
        number = self.names.count(name)
        self.names.append(name)
        if self.point == Point(name, number, after=False):
            raise Died
        try:
            return function(*args, **kwargs)
        finally:
            if self.point == Point(name, number, after=True):
                raise Died


class _Guarded:
    def __init__(self, deaths: Deaths, port: Any, opens: frozenset[str]) -> None:
        self._deaths, self._port, self._opens = deaths, port, opens

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = self._deaths.call(found, name, *args, **kwargs)
            return self._deaths.guard(answer) if name in self._opens else answer

        return call
