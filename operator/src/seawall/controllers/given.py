"""Which passwords this process gave to users of a Kafka, which does not tell which ones they have."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key


@dataclass(frozen=True, slots=True)
class Given:
    """By WALCluster and user what it was given last: memory only, so a process that begins to lead gives all once more.

    What is not known is not remembered: a request that was not answered may have been done. So each is forgotten before
    its request.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, dict[str, str]] = field(default_factory=dict)

    def of(self, key: Key) -> Mapping[str, str]:
        """By user what was given."""
        with self._lock:
            return dict(self._known.get(key, {}))

    def note(self, key: Key, user: str, given: str | None) -> None:
        """Notes what a user was given; None: nobody knows what."""
        with self._lock:
            known = {name: each for name, each in self._known.get(key, {}).items() if name != user}
            self._known[key] = known if given is None else {**known, user: given}

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster."""
        with self._lock:
            self._known.pop(key, None)
