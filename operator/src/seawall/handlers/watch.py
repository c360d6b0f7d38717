"""kopf as the front of the work queue: it watches, and wakes the queue when something that matters changed.

kopf runs in a thread and a loop of its own. Its handlers return nothing and patch nothing, so it leaves no annotation
and no finalizer on our objects (its timers and daemons would).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import kopf

from seawall.api.meta import GROUP, VERSION
from seawall.api.v1alpha1.kinds import KINDS
from seawall.domain.times import WATCH_INACTIVITY_SECONDS, WATCH_LIST_SECONDS
from seawall.handlers.event_filter import EventFilter, Subject

_IDENTITY: Any = "seawall"
"""Only kopf's peering, which is off, reads it. Left to itself kopf looks up the user's name: uid 65532 has none."""


class Watcher:
    """Watches our kinds in a thread.

    Args:
        namespaces: namespaces to watch; empty means all.
        wake: called in kopf's thread with each object to look at.
    """

    def __init__(self, namespaces: Sequence[str], wake: Callable[[Subject], None]) -> None:
        self._namespaces = namespaces
        self._wake = wake
        self._summary = EventFilter()
        self._stop = threading.Event()
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def start(self) -> None:
        """Starts watching."""
        self._thread.start()

    def stop(self) -> None:
        """Stops watching and waits for the thread's end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def has_ended(self) -> bool:
        """Whether the thread was started and runs no more."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def is_watching(self) -> bool:
        """Whether it has begun to watch, and has not ended. It may be deaf all the same (`handlers/unheard.py`)."""
        return self.ready.is_set() and not self.has_ended()

    def has_heard(self, kind: str, metadata: Mapping[str, Any]) -> bool:
        """Whether it has told of an object as it is in this metadata."""
        return self._summary.has_heard(kind, metadata)

    def successor(self) -> Watcher:
        """One that logs in and looks for the kinds anew, and knows what this one has heard. First stop this one."""
        other = Watcher(self._namespaces, self._wake)
        other._summary = self._summary
        return other

    def _run(self) -> None:
        with closing(asyncio.new_event_loop()) as loop:
            kopf.run(
                registry=self._registry(),
                settings=_settings(),
                identity=_IDENTITY,
                standalone=True,
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                stop_flag=self._stop,
                ready_flag=self.ready,
                loop=loop,
            )

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry)(_login)
        for kind in KINDS:
            kopf.on.event(GROUP, VERSION, kind.plural, registry=registry)(self.on_event)
        return registry

    async def on_event(self, type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name for it
        """Wakes whoever has to know."""
        for subject in sorted(self._summary.wakes(str(body["kind"]), body, deleted=type == "DELETED")):
            self._wake(subject)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.inactivity_timeout = WATCH_INACTIVITY_SECONDS
    settings.watching.server_timeout = 300
    settings.networking.request_timeout = WATCH_LIST_SECONDS
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = _Backoffs()
    return settings


class _Backoffs:
    """Pauses before a request is tried again, without an end.

    After the last one kopf would end the watch, and so the process, with one namespace that is gone or an API server
    that is away for long. kopf takes from the start again for each request.
    """

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((0.5, 1, 2), itertools.repeat(3))


async def _login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return kopf.login_with_service_account(**kwargs)
    return kopf.login_with_kubeconfig(**kwargs)
