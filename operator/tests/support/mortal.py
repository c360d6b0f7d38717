"""Ports of a process that dies at one of its calls: before it, or after it, when its answer is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.watched import watched
from tests.worlds.purge_world import CHANGES


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

    def guard(self, port: Any) -> Any:
        """The same port, any of whose changes may be the last."""
        return watched(self, port)

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


class DeathRow:
    """Counts calls of the ports and kills the process at one of them."""

    def __init__(self, dies_at: int | None = None, *, after: bool = False) -> None:
        self.names: list[str] = []
        self._dies_at = dies_at
        self._after = after

    @property
    def calls(self) -> int:
        """How many there were."""
        return len(self.names)

    def guard(self, port: Any) -> Any:
        """The same port, each of whose calls may be the last."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """Counts, calls, and kills."""
        is_last = self.calls == self._dies_at
        self.names.append(name)
        if is_last and not self._after:
            raise Died
        try:
            return function(*args, **kwargs)
        finally:
            if is_last:
                raise Died
