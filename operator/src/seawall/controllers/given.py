"""Which passwords this process gave to users of a Kafka, which does not tell which ones they have."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key


@dataclass(frozen=True, slots=True)
class Given:
    """By WALCluster and user what it was given last: memory only, a process that begins gives all once more.

    What is not known is not remembered: a request that was not answered may have been done, and while another process
    led it may have given something else. So each is forgotten before its request, and all of them with the term of the
    Lease in which they were given.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, tuple[int, dict[str, str]]] = field(default_factory=dict)

    def of(self, key: Key, term: int) -> Mapping[str, str]:
        """By user what was given in this term."""
        with self._lock:
            return dict(self._of(key, term))

    def note(self, key: Key, term: int, user: str, given: str | None) -> None:
        """Notes what a user was given; None: nobody knows what."""
        with self._lock:
            known = {name: each for name, each in self._of(key, term).items() if name != user}
            self._known[key] = (term, known if given is None else {**known, user: given})

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster."""
        with self._lock:
            self._known.pop(key, None)

    def _of(self, key: Key, term: int) -> Mapping[str, str]:
        noted, known = self._known.get(key, (term, {}))
        return known if noted == term else {}
