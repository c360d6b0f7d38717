"""Looks at the brokers of a Kafka, which all WALClusters with the same connection share.

One look asks for all partitions and all log directories, whoever looks: with n WALClusters on one Kafka it would be
n times n work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from seawall.api.meta import Key
from seawall.domain.brokers.view import BrokersFound, NothingObserved
from seawall.domain.kafka import KafkaConnection
from seawall.ports import Stopwatch
from seawall.progress import Turn


@dataclass(frozen=True, slots=True)
class SharedObservation:
    """What was found, and the stopwatch's times at which the look began and ended, in milliseconds.

    Attributes:
        is_older: it began before whoever has it asked.
    """

    began: int
    ended: int
    found: BrokersFound | NothingObserved
    is_older: bool = False


@dataclass(slots=True)
class _OfOneKafka:
    """The newest look, how many have begun, and the turn of whoever looks."""

    turn: Turn = field(default_factory=Turn)
    begun: int = 0
    newest: SharedObservation | None = None
    number: int = 0
    """Of the newest look."""


@dataclass(frozen=True, slots=True)
class BrokersObserver:
    """The newest look of each connection that an object uses; all of them may be lost."""

    stopwatch: Stopwatch
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _used: dict[Key, KafkaConnection] = field(default_factory=dict)
    _shared: dict[KafkaConnection, _OfOneKafka] = field(default_factory=dict)

    def observe(
        self,
        key: Key,
        connection: KafkaConnection,
        oldest: int | None,
        ask: Callable[[], BrokersFound | NothingObserved],
    ) -> SharedObservation:
        """A look that begins after this was called, or that began at `oldest` or later; `ask` makes it if need be.

        What `ask` raises, only its own caller hears.

        Args:
            key: the object.
            connection: its Kafka; who has other credentials may be shown other things.
            oldest: in the stopwatch's milliseconds; None: none that has begun is new enough.
            ask: observes the brokers.
        """
        shared = self._of(key, connection)
        begun_before = shared.begun
        with shared.turn:
            newest = shared.newest
            if newest is not None and shared.number > begun_before:
                return newest
            if newest is not None and oldest is not None and newest.began >= oldest:
                return replace(newest, is_older=True)
            shared.begun += 1
            began, found = self.stopwatch.milliseconds(), ask()
            shared.newest, shared.number = SharedObservation(began, self.stopwatch.milliseconds(), found), shared.begun
            return shared.newest

    def forget(self, key: Key) -> None:
        """Drops what no other object uses."""
        with self._lock:
            self._drop(self._used.pop(key, None))

    def _of(self, key: Key, connection: KafkaConnection) -> _OfOneKafka:
        with self._lock:
            before = self._used.get(key)
            if before != connection:
                self._used[key] = connection
                self._drop(before)
            return self._shared.setdefault(connection, _OfOneKafka())

    def _drop(self, connection: KafkaConnection | None) -> None:
        if connection is not None and connection not in self._used.values():
            self._shared.pop(connection, None)
