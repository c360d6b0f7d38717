"""Buckets of S3, which the operator reads and never writes.

All calls raise:

    Refused: the store, or the library, says no; the sentence has the bucket's name, and the store's code and message.
    OutsideUnavailable: no answer within ten seconds, or one that says to come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from seawall.api.meta import Key
from seawall.domain.object_store import S3Connection


class ObjectStore(Protocol):
    """One bucket, below a prefix. Threads may share it."""

    def names(self, folder: str, after: str = "") -> Sequence[str]:
        """Names, without the folder, of objects directly in a folder: the first ones beyond `after`, in their order.

        At most 1,000 of them (`PAGE`); a folder that nobody wrote to has none.
        """
        ...

    def get(self, path: str) -> bytes | None:
        """An object; None: there is none.

        Raises:
            Refused: it has more than 4 MiB (`MAX_OBJECT_BYTES`); or as all calls.
        """
        ...


class ObjectStores(Protocol):
    """Connections to buckets, kept while what they were made from stays the same; equal ones may be one."""

    def connect(self, key: Key, connection: S3Connection) -> ObjectStore:
        """The bucket of the object `key`; nothing is sent yet.

        Raises:
            Refused: its address or CA certificate makes no sense.
        """
        ...

    def forget(self, key: Key) -> None:
        """Drops the connection of an object that is gone, unless others use it."""
        ...
