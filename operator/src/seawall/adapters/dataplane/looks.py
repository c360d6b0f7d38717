"""Looks at data planes in the background, one at a time for each object: a tick never waits for a database.

What a look finds is kept in memory only. Losing it costs one look, and what people see of it is in the status.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from seawall.adapters.dataplane.etcd import Etcd
from seawall.adapters.dataplane.greptimedb import GreptimeDB
from seawall.adapters.dataplane.greptimedb_metadata import GreptimeMetadata
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    DataPlaneConnection,
    NoDataPlane,
    NotReached,
    PartRefused,
    PartUnavailable,
)
from seawall.domain.dataplane.identity import find_contradiction
from seawall.domain.dataplane.view import DataPlaneView, view_data_plane
from seawall.ports import Clock, DataPlane, MetadataStore

_log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
"""A finished look is good for this long, however often its object is reconciled."""
LOOKS = 8
"""Looks that run at the same time."""

T = TypeVar("T")
Parts = tuple[DataPlane, MetadataStore]


@dataclass(slots=True, eq=False)
class _Looked:
    connection: DataPlaneConnection
    parts: Parts | None = None
    found: DataPlaneView | NoDataPlane | None = None
    finished: float = float("-inf")
    is_running: bool = False


class BackgroundLooks:
    """The DataPlaneLooks port.

    Args:
        clock: dates the looks.
        wake: told the key of an object whose look found something else than the one before; from another thread.
    """

    def __init__(self, clock: Clock, wake: Callable[[Key], None], *, seconds: float = LOOK_SECONDS) -> None:
        self._clock, self._wake, self._seconds = clock, wake, seconds
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(LOOKS)
        self._looked: dict[Key, _Looked] = {}

    def latest(self, key: Key, connection: DataPlaneConnection) -> DataPlaneView | NoDataPlane | None:
        """What the last look found; begins another when that is old."""
        with self._lock:
            looked = self._looked.get(key)
            if looked is None or looked.connection != connection:
                looked = self._looked[key] = _Looked(connection)
            if not looked.is_running and time.monotonic() - looked.finished >= self._seconds:
                looked.is_running = True
                # A daemon: a process that stops does not wait for a database either.
                threading.Thread(target=self._look, args=(key, looked), name=f"look {key}", daemon=True).start()
            return looked.found

    def forget(self, key: Key) -> None:
        """Drops what is held for an object; a look that runs ends by itself and wakes nobody."""
        with self._lock:
            self._looked.pop(key, None)

    def _look(self, key: Key, looked: _Looked) -> None:
        found = looked.found
        try:
            with self._slots:
                looked.parts = looked.parts or open_parts(looked.connection)
                found = look(*looked.parts, self._clock)
        except (PartRefused, PartUnavailable) as trouble:
            found = NoDataPlane(trouble.why, str(trouble))
        except Exception as error:  # noqa: BLE001 - the thread's outermost handler: the next look tries again
            _log.exception("%s: looking at the data plane failed", key)
            message = f"looking at the data plane failed ({type(error).__name__}): the operator's log says where"
            found = NoDataPlane(NotReached.UNEXPECTED_ANSWER, message)
        finally:
            with self._lock:
                is_news = found != looked.found and self._looked.get(key) is looked
                looked.found, looked.finished, looked.is_running = found, time.monotonic(), False
            if is_news:
                self._wake(key)


def open_parts(connection: DataPlaneConnection) -> Parts:
    """The adapters of a GreptimeDB cluster; nothing is connected yet.

    Raises:
        PartRefused: a certificate or key makes no sense.
    """
    store = GreptimeMetadata(Etcd(connection.etcd))
    return GreptimeDB(connection.metasrv, connection.frontend), store


def look(data_plane: DataPlane, store: MetadataStore, clock: Clock) -> DataPlaneView | NoDataPlane:
    """Asks every part, so that all that is silent is told; reports first, then metadata."""
    troubles: list[PartRefused | PartUnavailable] = []
    reports = _asked(data_plane.reports, troubles)
    snapshot = _asked(store.snapshot, troubles)
    nodes = _asked(data_plane.nodes, troubles)
    if reports is None or snapshot is None or nodes is None or troubles:
        return NoDataPlane(troubles[0].why, "; ".join(map(str, troubles)))
    contradiction = find_contradiction(reports, snapshot, nodes)
    if contradiction is not None:
        return NoDataPlane(NotReached.CONTRADICTION, contradiction)
    return view_data_plane(reports, snapshot, nodes, clock.now())


def _asked(ask: Callable[[], T], troubles: list[PartRefused | PartUnavailable]) -> T | None:
    try:
        return ask()
    except (PartRefused, PartUnavailable) as trouble:
        troubles.append(trouble)
        return None
