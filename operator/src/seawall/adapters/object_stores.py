"""The port `ObjectStores`: objects with equal connections share one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from seawall.adapters.times import STORE_SECONDS
from seawall.api.meta import Key
from seawall.domain.object_store import S3Connection

if TYPE_CHECKING:
    from seawall.adapters.object_store import S3Bucket


class S3Stores:
    """One client for each different connection, until no object uses it. Ticks of different threads share it."""

    def __init__(self, *, seconds: float = STORE_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._used: dict[Key, S3Connection] = {}
        self._buckets: dict[S3Connection, S3Bucket] = {}

    def connect(self, key: Key, connection: S3Connection) -> S3Bucket:
        """The bucket of the object `key`."""
        with self._lock:
            if connection not in self._buckets:
                self._buckets[connection] = _bucket(connection, self._seconds)
            self._drop(self._used.get(key), {**self._used, key: connection})
            return self._buckets[connection]

    def forget(self, key: Key) -> None:
        """Drops the connection of an object that is gone."""
        with self._lock:
            self._drop(self._used.get(key), {other: used for other, used in self._used.items() if other != key})

    def _drop(self, before: S3Connection | None, used: dict[Key, S3Connection]) -> None:
        self._used = used
        if before is not None and before not in used.values():
            del self._buckets[before]


def _bucket(connection: S3Connection, seconds: float) -> S3Bucket:
    """The library takes 4 MB that an operator without backups need not have."""
    from seawall.adapters.object_store import S3Bucket  # noqa: PLC0415 - as above

    return S3Bucket(connection, seconds)
