"""The watch of the API server: it tells each process of changes, late, each in its order; it may be silent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from seawall.api.meta import Key
from tests.fakes.kube import FakeKube

if TYPE_CHECKING:  # they import this module
    from tests.simulation.process import Process
    from tests.simulation.run import Simulation

LATEST_SECONDS = 1.0


class Watch:
    """Compares what there is with what there was, and tells of it."""

    def __init__(self, sim: Simulation, kube: FakeKube) -> None:
        self._sim, self._kube = sim, kube
        self._seen: dict[tuple[str, Key], tuple[str, str]] = {}
        self._silent: dict[str, float] = {}

    def look(self) -> None:
        """After a change: whoever listens hears of it."""
        now = {
            which: (raw["metadata"]["uid"], raw["metadata"]["resourceVersion"])
            for which, raw in self._kube._objects.items()
        }
        before, self._seen = self._seen, now
        if before == now:
            return
        gone = [which for which in before if which not in now]
        changed = [which for which, at in now.items() if before.get(which) != at]
        bodies = {which: _sent(self._kube._objects[which]) for which in changed}
        for process in self._sim.processes:
            for which in gone:
                self._tell(process, which, None)
            for which, body in bodies.items():
                self._tell(process, which, body)

    def list_all(self, process: Process) -> None:
        """A new watch begins with all that there is."""
        self._silent.pop(process.name, None)
        for which, raw in self._kube._objects.items():
            self._tell(process, which, _sent(raw))

    def silence(self, process: Process, seconds: float) -> None:
        """The watch is dead; after a while it is replaced."""
        loop = asyncio.get_running_loop()
        self._silent[process.name] = loop.time() + seconds
        loop.call_later(seconds, self._replace, process)

    def _replace(self, process: Process) -> None:
        if process in self._sim.processes:
            self.list_all(process)

    def _tell(self, process: Process, which: tuple[str, Key], sent: dict[str, Any] | None) -> None:
        loop = asyncio.get_running_loop()
        if self._silent.get(process.name, 0.0) > loop.time():
            return
        kind, key = which
        body = {"metadata": {"namespace": key.namespace, "name": key.name}} if sent is None else sent
        delay = self._sim.random.uniform(0.0, LATEST_SECONDS)
        loop.call_later(delay, self._hear, process, kind, body, sent is None)

    def _hear(self, process: Process, kind: str, body: dict[str, Any], deleted: bool) -> None:  # noqa: FBT001 - a timer's argument
        process.hear(kind, body, deleted=deleted)


def _sent(raw: dict[str, Any]) -> dict[str, Any]:
    """As it is now; whoever hears of it only reads."""
    found: dict[str, Any] = json.loads(json.dumps(raw))
    return found
