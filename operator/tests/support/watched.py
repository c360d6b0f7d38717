"""Ports as a test watches them: each call goes through somebody who counts it, waits, or dies of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from seawall.ports import DataPlaneParts

OPENS = frozenset({"connect", "logs", "reassigner", "users"})
"""Calls whose answer is a port, too, or the parts of a database."""


class Watcher(Protocol):
    """Through whom the calls go."""

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """Makes one call, or not."""
        ...


def watched(watcher: Watcher, port: Any) -> Any:
    """The same port, and those that it opens, with each call by way of the watcher."""
    if isinstance(port, DataPlaneParts):
        return DataPlaneParts(watched(watcher, port.data_plane), watched(watcher, port.metadata_store))
    return _Watched(watcher, port)


class _Watched:
    def __init__(self, watcher: Watcher, port: Any) -> None:
        self._watcher, self._port = watcher, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = self._watcher.call(found, name, *args, **kwargs)
            return watched(self._watcher, answer) if name in OPENS else answer

        return call
