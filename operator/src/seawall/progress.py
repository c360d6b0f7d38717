"""Whether a tick gets on. A tick may take long, because its Kafka is slow; one in which nothing ends any more has hung.

Each request to the outside that ends, with an answer or without, renews the clock of the tick whose thread asked. What
asks outside of ticks (pages, commands, the Lease) renews nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from seawall.domain.times import TURN_SECONDS

P = ParamSpec("P")
T = TypeVar("T")


class Progress:
    """When something ended last in a tick, by the clock that is given, which only rises."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.at = clock()

    def renew(self) -> None:
        """Something has ended."""
        self.at = self._clock()

    def follow(self, other: Progress) -> None:
        """Whoever waits for another tick gets on as that one does: of two that wait for each other, neither does."""
        self.at = max(self.at, other.at)

    @contextmanager
    def of_this_thread(self) -> Iterator[None]:
        """What ends in this thread meanwhile counts here."""
        token = _of_this_tick.set(self)
        try:
            yield
        finally:
            _of_this_tick.reset(token)


_of_this_tick: ContextVar[Progress | None] = ContextVar("progress of the tick that runs in this thread", default=None)


def request_ended() -> None:
    """Called by adapters after each request."""
    found = _of_this_tick.get()
    if found is not None:
        found.renew()


def in_this_tick(work: Callable[P, T]) -> Callable[P, T]:
    """The same for other threads that work for this tick: what ends in them counts here, too."""
    found = _of_this_tick.get()

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with nullcontext() if found is None else found.of_this_thread():
            return work(*args, **kwargs)

    return run


class Turn:
    """A lock for as long as many requests take. Whoever waits for it gets on as its holder does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: Progress | None = None

    def __enter__(self) -> None:
        mine = _of_this_tick.get()
        while not self._lock.acquire(timeout=TURN_SECONDS):
            holder = self._holder
            if mine is not None and holder is not None:
                mine.follow(holder)
        if mine is not None:
            mine.renew()
        self._holder = mine

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()
